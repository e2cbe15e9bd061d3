// The innermost loops of attention that are not register tiles of matmul, one table per instruction set.
//
// A block has one query in each lane: scores are [keys][queries] and sums of values [d_v][queries], both computed by matmul tiles with
// panels `queries` wide. So there are no reductions across lanes, and keys and values are read in place, one broadcast element at a time.
#pragma once

#include <cstdint>

#include <heed/types.hpp>

namespace heed::cpu {

// Rows of queries, or of their weights, `pitch` floats apart.
struct Queries {
  const float* data;
  int64_t pitch, count;
};

// Rows of keys or values in their storage type, each contiguous, `pitch` elements apart.
struct StoredRows {
  const void* data;
  DType type;
  int64_t pitch;
};

// A query and some keys, for the gradient of attention. Keys are in panels of as many as a block has queries, `panel_pitch` floats apart.
struct SlopeRow {
  float* weights = nullptr;  // in: logits before the scale; out: weights after dropout
  float* slopes = nullptr;   // in: upstream times values; out: slopes of the logits, times the other scale
  int64_t panels = 0, panel_pitch = 0;
  int64_t begin = 0, end = 0;  // range of the keys that are used; the others get zeros
  float logit_scale = 1.0f, scale = 1.0f, log_sum = 0.0f, delta = 0.0f;
  const float* factors = nullptr;  // dropout factors for all keys of the panels; null: none
  const float* passes = nullptr;   // 0 for keys with a weight but no gradient; null: there are none
};

struct AttentionKernels {
  int64_t queries = 0;  // per block: the columns of a matmul panel

  // Transposes: panel[c][r] = factor * rows[r][c] for r < count, 0 for the other lanes. Rows are `pitch` floats apart.
  void (*pack)(const float* rows, int64_t pitch, int64_t count, int64_t width, float factor, float* panel) = nullptr;
  // Transposes back: rows[r][c] = panel[c][r] * factors[r] for r < count; 0 if the factor is 0, whatever the panel has.
  void (*unpack)(const float* panel, const float* factors, int64_t count, int64_t width, float* rows,
                 int64_t pitch) = nullptr;
  // panel[c][r] += factor * rows[r][c], or *= rows[r][c], for r < count. A finite summand stays finite even if the factor would make it
  // infinite.
  void (*add)(const float* rows, int64_t pitch, int64_t count, int64_t width, float factor, float* panel) = nullptr;
  void (*multiply)(const float* rows, int64_t pitch, int64_t count, int64_t width, float* panel) = nullptr;

  // Hides keys for causality: lanes below first + r of row r of the scores become `value`, for r < keys.
  void (*fill_triangle)(float* scores, int64_t keys, int64_t first, float value) = nullptr;
  // Online softmax (Milakov & Gimelshein 2018, arXiv:1805.02867): replaces scores by 2^(score - largest). `largest` and `sums` cover all
  // keys so far, per lane. If the largest score grows, earlier sums and the `d_v` rows of `values` are rescaled. A score of -infinity adds
  // nothing; a lane with no other scores has the sum 0.
  void (*advance)(float* scores, int64_t keys, float* largest, float* sums, float* values, int64_t d_v) = nullptr;

  // weight = e^(logit - log_sum); slope = scale * weight * (factor * product - delta), or 0 if the weight is 0.
  void (*slopes)(const SlopeRow& row) = nullptr;
  // Sum of a[i] b[i].
  double (*product)(const float* a, const float* b, int64_t n) = nullptr;

  // The most queries that read a row of keys or values together.
  int64_t few = 0;
  // out[i][j] = factor * (queries[i] . rows[j]).
  void (*dot)(const Queries& queries, const StoredRows& rows, int64_t count, int64_t width, float factor, float* out,
              int64_t out_pitch) = nullptr;
  // Replaces logits by e^(logit - largest), and returns their sum. A logit of -infinity adds nothing. If there are no others, `largest` is
  // -infinity and the sum 0, or NaN if a logit is NaN.
  float (*weigh)(float* logits, int64_t n, float* largest) = nullptr;
  // out[i] = sum over j of weights[i][j] rows[j]. A row whose weight is 0 for all queries adds nothing, whatever it contains.
  void (*mix)(const Queries& weights, const StoredRows& rows, int64_t count, int64_t width, float* out,
              int64_t out_pitch) = nullptr;
};

}  // namespace heed::cpu
