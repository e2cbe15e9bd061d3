#include "cpu/masking.hpp"

#include <cstring>

namespace heed::cpu {
namespace {

// Whether all n bytes are zero, or all are nonzero. Eight at a time.
bool all_bytes(const uint8_t* bytes, int64_t n, bool zero) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes + i, 8);
    // Nonzero if some byte is zero.
    const uint64_t zeros = (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
    if (zero ? word != 0 : zeros != 0) return false;
  }
  for (; i < n; ++i)
    if ((bytes[i] == 0) != zero) return false;
  return true;
}

}  // namespace

bool BoolMask::hides_all(int64_t offset, int64_t n) const {
  if (row_stride(operand.view) == 1)
    return all_bytes(operand.at<const uint8_t>(offset), n, meaning == Mask::Meaning::Keep);
  for (int64_t i = 0; i < n; ++i)
    if (!hides(offset + i * row_stride(operand.view))) return false;
  return true;
}

bool BoolMask::hides_none(int64_t offset, int64_t n) const {
  if (row_stride(operand.view) == 1)
    return all_bytes(operand.at<const uint8_t>(offset), n, meaning == Mask::Meaning::Exclude);
  for (int64_t i = 0; i < n; ++i)
    if (hides(offset + i * row_stride(operand.view))) return false;
  return true;
}

void BoolMask::apply(int64_t offset, int64_t n, float value, float* logits) const {
  const int64_t stride = row_stride(operand.view);
  const auto* bytes = operand.at<const uint8_t>(offset);
  const bool excluded = meaning == Mask::Meaning::Exclude;
  for (int64_t i = 0; i < n; ++i) logits[i] = (bytes[i * stride] != 0) == excluded ? value : logits[i];
}

Masking::Masking(const View& shape, const SoftmaxAttrs& attrs, const Operand& bias_operand, const Operand& mask_operand,
                 const Operand& key_padding_operand)
    : logits(shape),
      bias(bias_operand),
      mask{mask_operand, attrs.mask_meaning},
      key_padding{key_padding_operand, attrs.key_padding_meaning},
      causal(attrs.causal),
      fill(attrs.masked_fill.value_or(kHidden)) {
  if (bias.valid()) bias.view = broadcast_to(bias.view, logits);
  if (mask.valid()) mask.operand.view = broadcast_to(mask.operand.view, logits);
}

int64_t Masking::causal_keys(int64_t query) const {
  if (causal == Causal::None) return keys();
  const int64_t shift = causal == Causal::BottomRight ? keys() - queries() : 0;
  return std::clamp<int64_t>(query + shift + 1, 0, keys());
}

int64_t Masking::padding_offset(int64_t row) const {
  return row / (row_count(logits) / logits.dim[0]) * key_padding.operand.view.stride[0];
}

void Masking::apply(int64_t row, float* row_logits, float* buffer) const {
  const int64_t n = keys();
  if (bias.valid()) bias.kernels->add(row_logits, load_row(bias, row, buffer), row_logits, n);
  if (mask.valid()) mask.apply(row_offset(mask.operand.view, row), n, fill, row_logits);
  if (key_padding.valid()) key_padding.apply(padding_offset(row), n, fill, row_logits);
  for (int64_t i = causal_keys(row % queries()); i < n; ++i) row_logits[i] = fill;
}

}  // namespace heed::cpu
