// Bias, masks and causality on logits [..., S_q, S_k]; shared by softmax and attention.
#pragma once

#include <limits>

#include "cpu/rows.hpp"

namespace heed::cpu {

// Logit of a key that is left out. Keys are told apart by comparing with it, never by arithmetic on it; a
// logit that is -infinity by itself counts as left out too.
inline constexpr float kHidden = -std::numeric_limits<float>::infinity();

struct BoolMask {
  Operand operand;  // U8, seen with the shape it is applied to
  Mask::Meaning meaning = Mask::Meaning::Exclude;

  bool valid() const { return operand.valid(); }
  bool hides(int64_t offset) const {
    return (*operand.at<const uint8_t>(offset) != 0) == (meaning == Mask::Meaning::Exclude);
  }
  // Whether all or none of n keys from `offset` on are left out. Both may be false.
  bool hides_all(int64_t offset, int64_t n) const;
  bool hides_none(int64_t offset, int64_t n) const;
  // Gives the keys that the mask leaves out the logit `value`.
  void apply(int64_t offset, int64_t n, float value, float* logits) const;
};

// Which keys a row of logits sees.
struct Masking {
  View logits;  // [..., S_q, S_k]; rank 1: one query
  Operand bias;
  BoolMask mask, key_padding;
  Causal causal = Causal::None;
  float fill = kHidden;

  // `bias` and `mask` are broadcast to `logits`; any of the operands may be invalid.
  Masking(const View& logits, const SoftmaxAttrs& attrs, const Operand& bias, const Operand& mask,
          const Operand& key_padding);

  int64_t keys() const { return row_length(logits); }
  int64_t queries() const { return logits.rank > 1 ? logits.dim[logits.rank - 2] : 1; }
  bool changes_nothing() const {
    return !bias.valid() && !mask.valid() && !key_padding.valid() && causal == Causal::None;
  }
  bool leaves_out() const { return fill == kHidden; }  // or gives hidden keys a finite logit
  // How many keys, from the first on, causality shows to a query.
  int64_t causal_keys(int64_t query) const;
  // Offset of the key padding of row `row` of the logits, counted row-major.
  int64_t padding_offset(int64_t row) const;

  // Adds the bias of row `row` to its logits, and gives hidden keys their fill. `buffer`: a row of floats.
  void apply(int64_t row, float* row_logits, float* buffer) const;
};

}  // namespace heed::cpu
