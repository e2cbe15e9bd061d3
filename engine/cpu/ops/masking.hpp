// Bias, masks and causality on logits [..., S_q, S_k]; shared by softmax and attention.
#pragma once

#include <limits>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {

// The logit of a key that is left out. Code compares with it and never computes with it; a logit that is -infinity by
// itself counts as left out, too.
inline constexpr float kHidden = -std::numeric_limits<float>::infinity();

struct BoolMask {
  Operand operand;  // U8, seen with the shape it is applied to
  Mask::Meaning meaning = Mask::Meaning::Exclude;

  bool valid() const { return operand.valid(); }
  bool hides(int64_t offset) const {
    return (*operand.at<const uint8_t>(offset) != 0) == (meaning == Mask::Meaning::Exclude);
  }
  // Whether all or none of n keys from `offset` on are left out. Both may be false.
  bool hides_all(int64_t offset, int64_t n) const { return all_are(true, offset, n); }
  bool hides_none(int64_t offset, int64_t n) const { return all_are(false, offset, n); }
  // Gives the keys that the mask leaves out the logit `value`.
  void apply(int64_t offset, int64_t n, float value, float* logits) const;

 private:
  bool all_are(bool hidden, int64_t offset, int64_t n) const;
};

// Keys begin .. end - 1.
struct KeyRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// Decides which keys a row of logits sees. Rows are counted row-major.
struct Masking {
  View logits;  // [..., S_q, S_k]; rank 1: one query
  Operand bias;
  BoolMask mask, key_padding;
  Causal causal = Causal::None;
  int64_t window = 0;          // keys that a query sees at most, its own the last; 0: all
  Operand lengths, positions;  // I32 [B]: how many keys there are, and the place of query 0 among them
  float fill = kHidden;

  // `bias` and `mask` are broadcast to `logits`; any of the operands may be invalid.
  Masking(const View& logits, const SoftmaxAttrs& attrs, const Operand& bias, const Operand& mask,
          const Operand& key_padding, const Operand& lengths, const Operand& positions);

  int64_t keys() const { return row_length(logits); }
  int64_t batch_of(int64_t row) const { return row / (row_count(logits) / logits.dim[0]); }
  // How many keys a row has: all but those behind its length.
  int64_t keys_of(int64_t row) const;
  int64_t queries() const { return logits.rank > 1 ? logits.dim[logits.rank - 2] : 1; }
  bool changes_nothing() const {
    return !bias.valid() && !mask.valid() && !key_padding.valid() && !lengths.valid() && causal == Causal::None;
  }
  bool leaves_out() const { return fill == kHidden; }  // false: hidden keys get a finite logit
  // The place of a row's query among the keys.
  int64_t place_of(int64_t row) const;
  // How many keys, from the first on, causality shows to a row, and how many of these are before its window.
  int64_t causal_keys(int64_t row) const;
  int64_t passed_keys(int64_t row) const;
  // The keys that have a logit in any of the rows first .. last of one head, as far as their places say.
  KeyRange visited_keys(int64_t first_row, int64_t last_row) const;
  // Offset of a row's key padding.
  int64_t padding_offset(int64_t row) const;

  // Adds the bias of row `row` to the logits of some of its keys, and gives hidden keys their fill. `buffer`: as many floats. A bias of
  // -infinity beside a logit that is infinite or NaN hides its key if `exact`, and in reproducible plans.
  void apply(int64_t row, KeyRange range, float* logits, float* buffer, bool exact = false) const;
};

// The shape of an attention's scores, [B, H, S_q, S_kv], of which only dims count.
inline View scores_view(const View& query, const View& key) {
  View view = query;
  view.dim[3] = key.dim[2];
  return view;
}

}  // namespace heed::cpu
