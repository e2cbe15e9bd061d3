// The innermost loops of attention that are not register tiles of matmul, one table per instruction set.
//
// A block has one query in each lane: scores are [keys][queries] and sums of values [d_v][queries], both products of matmul
// tiles whose panels are `queries` wide. So nothing is ever reduced across lanes, and keys and values are read in place,
// one broadcast element at a time.
#pragma once

#include <cstdint>

#include <heed/types.hpp>

namespace heed::cpu {

// Rows of queries, or of their weights, `pitch` floats apart.
struct Queries {
  const float* data;
  int64_t pitch, count;
};

// Rows of keys or values as they are stored, without gaps in a row, `pitch` elements apart.
struct StoredRows {
  const void* data;
  DType type;
  int64_t pitch;
};

// A query and some keys, for the gradient of attention: panels of as many keys as a block has queries, `panel_pitch` floats apart.
struct SlopeRow {
  float* weights = nullptr;  // in: logits, before the scale; out: dropped weights
  float* slopes = nullptr;   // in: products of upstream and values; out: slopes of the logits, times the other scale
  int64_t panels = 0, panel_pitch = 0;
  int64_t begin = 0, end = 0;  // of the keys that count; the others get zeros
  float logit_scale = 1.0f, scale = 1.0f, log_sum = 0.0f, delta = 0.0f;
  const float* factors = nullptr;  // of dropout, for all keys of the panels; null: none
  const float* passes = nullptr;   // 0 for keys that have a weight but no slope; null: there are none
};

struct AttentionKernels {
  int64_t queries = 0;  // per block: the columns of a matmul panel

  // panel[c][r] = factor * rows[r][c] for r < count, 0 for the other lanes. Rows are `pitch` floats apart.
  void (*pack)(const float* rows, int64_t pitch, int64_t count, int64_t width, float factor, float* panel) = nullptr;
  // rows[r][c] = panel[c][r] * factors[r] for r < count; 0 where the factor is 0, whatever the panel holds.
  void (*unpack)(const float* panel, const float* factors, int64_t count, int64_t width, float* rows,
                 int64_t pitch) = nullptr;
  // panel[c][r] += factor * rows[r][c], or *= rows[r][c], for r < count. A finite summand that the factor would make
  // infinite stays finite.
  void (*add)(const float* rows, int64_t pitch, int64_t count, int64_t width, float factor, float* panel) = nullptr;
  void (*multiply)(const float* rows, int64_t pitch, int64_t count, int64_t width, float* panel) = nullptr;

  // Hides keys from queries for causality: lanes below first + r of row r of the scores become `value`, for r < keys.
  void (*fill_triangle)(float* scores, int64_t keys, int64_t first, float value) = nullptr;
  // Online softmax (Milakov & Gimelshein 2018, arXiv:1805.02867): replaces scores by 2^(score - largest). `largest` and
  // `sums` are of all keys so far, per lane. Where the largest score grows, earlier sums and the `d_v` rows of `values` are
  // scaled to it. A score of -infinity counts nothing; a lane that has no others has the sum 0.
  void (*advance)(float* scores, int64_t keys, float* largest, float* sums, float* values, int64_t d_v) = nullptr;

  // weight = e^(logit - log_sum); slope = scale * weight * (factor * product - delta), 0 where the weight is.
  void (*slopes)(const SlopeRow& row) = nullptr;
  // Sum of a[i] b[i].
  double (*product)(const float* a, const float* b, int64_t n) = nullptr;

  // For up to `few` queries, which read a row of keys or values together.
  int64_t few = 0;
  // out[i][j] = factor * (queries[i] . rows[j]).
  void (*dot)(const Queries& queries, const StoredRows& rows, int64_t count, int64_t width, float factor, float* out,
              int64_t out_pitch) = nullptr;
  // Replaces logits by e^(logit - largest), where `largest` is their largest, and gives the sum of these. A logit of -infinity
  // counts nothing. If there are no others, `largest` is -infinity and the sum 0, or NaN if a logit is.
  float (*weigh)(float* logits, int64_t n, float* largest) = nullptr;
  // out[i] = sum over j of weights[i][j] rows[j]. A row whose weight is 0 for all queries counts nothing, whatever it holds.
  void (*mix)(const Queries& weights, const StoredRows& rows, int64_t count, int64_t width, float* out,
              int64_t out_pitch) = nullptr;
};

}  // namespace heed::cpu
