// Bias, masks and causality on logits [..., S_q, S_k]; shared by softmax and attention.
#pragma once

#include <limits>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {

// The logit of an excluded key. It is only compared, never used in arithmetic; a logit that is -infinity by itself also counts as excluded.
inline constexpr float kHidden = -std::numeric_limits<float>::infinity();

struct BoolMask {
  Operand operand;  // U8, viewed with the shape of the logits
  Mask::Meaning meaning = Mask::Meaning::Exclude;

  bool valid() const { return operand.valid(); }
  bool hides(int64_t offset) const {
    return (*operand.at<const uint8_t>(offset) != 0) == (meaning == Mask::Meaning::Exclude);
  }
  // Whether all of n keys from `offset` on are excluded; whether none is. Both may be false.
  bool hides_all(int64_t offset, int64_t n) const { return all_are(true, offset, n); }
  bool hides_none(int64_t offset, int64_t n) const { return all_are(false, offset, n); }
  // Sets the logits of excluded keys to `value`.
  void apply(int64_t offset, int64_t n, float value, float* logits) const;

 private:
  bool all_are(bool hidden, int64_t offset, int64_t n) const;
};

// Keys begin .. end - 1.
struct KeyRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Decides which keys a row of logits sees. Rows are numbered row-major.
struct Masking {
  View logits;  // [..., S_q, S_k]; rank 1: one query
  Operand bias;
  BoolMask mask, key_padding;
  Causal causal = Causal::None;
  int64_t window = 0;          // the most keys that a query sees, its own the last; 0: all
  Operand lengths, positions;  // I32 [B]: the number of keys, and the position of query 0 among them
  float fill = kHidden;

  // `bias` and `mask` are broadcast to `logits`; all operands may be absent.
  Masking(const View& logits, const SoftmaxAttrs& attrs, const Operand& bias, const Operand& mask,
          const Operand& key_padding, const Operand& lengths, const Operand& positions);

  int64_t keys() const { return row_length(logits); }
  int64_t batch_of(int64_t row) const { return row / (row_count(logits) / logits.dim[0]); }
  // The number of keys of a row, given by its length.
  int64_t keys_of(int64_t row) const;
  int64_t queries() const { return logits.rank > 1 ? logits.dim[logits.rank - 2] : 1; }
  bool changes_nothing() const {
    return !bias.valid() && !mask.valid() && !key_padding.valid() && !lengths.valid() && causal == Causal::None;
  }
  bool leaves_out() const { return fill == kHidden; }  // false: hidden keys get a finite logit
  // The position of a row's query among the keys.
  int64_t place_of(int64_t row) const;
  // The number of leading keys that causality allows for a row, and how many of these are before its window.
  int64_t causal_keys(int64_t row) const;
  int64_t passed_keys(int64_t row) const;
  // The range of keys that rows first .. last of one head may see, by their positions.
  KeyRange visited_keys(int64_t first_row, int64_t last_row) const;
  // Offset of a row's key padding.
  int64_t padding_offset(int64_t row) const;

  // Adds the bias of row `row` to the logits of some of its keys, and sets the logits of hidden keys. `buffer` has as many floats. If
  // `exact`, and in reproducible plans, a bias of -infinity hides its key even if the logit is infinite or NaN.
  void apply(int64_t row, KeyRange range, float* logits, float* buffer, bool exact = false) const;
};

// The shape of an attention's scores, [B, H, S_q, S_kv]; strides are unused.
inline View scores_view(const View& query, const View& key) {
  View view = query;
  view.dim[3] = key.dim[2];
  return view;
}

}  // namespace heed::cpu
