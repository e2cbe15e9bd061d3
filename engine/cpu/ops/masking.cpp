#include "cpu/ops/masking.hpp"

#include <algorithm>
#include <cstring>

namespace heed::cpu {
namespace {

// Whether all n bytes are zero, or all are nonzero. Checks eight at a time.
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

// Adds the bias. If `exact`, -infinity hides a key whatever its logit is. `bias` may be `buffer`.
void add_bias(const RowKernels& kernels, bool exact, const float* bias, int64_t n, float* some, float* buffer) {
  if (!exact) return kernels.add(some, bias, some, n);
  for (int64_t i = 0; i < n; ++i) buffer[i] = some[i] == kHidden ? kHidden : bias[i];
  kernels.add(some, buffer, some, n);
  for (int64_t i = 0; i < n; ++i)
    if (buffer[i] == kHidden) some[i] = kHidden;
}

}  // namespace

bool BoolMask::all_are(bool hidden, int64_t offset, int64_t n) const {
  if (row_stride(operand.view) == 1)
    return all_bytes(operand.at<const uint8_t>(offset), n, hidden == (meaning == Mask::Meaning::Keep));
  for (int64_t i = 0; i < n; ++i)
    if (hides(offset + i * row_stride(operand.view)) != hidden) return false;
  return true;
}

void BoolMask::apply(int64_t offset, int64_t n, float value, float* logits) const {
  const int64_t stride = row_stride(operand.view);
  const auto* bytes = operand.at<const uint8_t>(offset);
  const bool excluded = meaning == Mask::Meaning::Exclude;
  for (int64_t i = 0; i < n; ++i) logits[i] = (bytes[i * stride] != 0) == excluded ? value : logits[i];
}

Masking::Masking(const View& shape, const SoftmaxAttrs& attrs, const Operand& bias_operand, const Operand& mask_operand,
                 const Operand& key_padding_operand, const Operand& lengths_operand, const Operand& positions_operand)
    : logits(shape),
      bias(bias_operand),
      mask{mask_operand, attrs.mask_meaning},
      key_padding{key_padding_operand, attrs.key_padding_meaning},
      causal(attrs.causal),
      window(attrs.window),
      lengths(lengths_operand),
      positions(positions_operand),
      fill(attrs.masked_fill.value_or(kHidden)) {
  if (bias.valid()) bias.view = broadcast_to(bias.view, logits);
  if (mask.valid()) mask.operand.view = broadcast_to(mask.operand.view, logits);
}

int64_t Masking::keys_of(int64_t row) const {
  if (!lengths.valid()) return keys();
  return std::clamp<int64_t>(*lengths.at<const int32_t>(batch_of(row) * lengths.view.stride[0]), 0, keys());
}

int64_t Masking::place_of(int64_t row) const {
  const int64_t query = row % queries();
  // Clamped as in shaders, which use 32-bit sums, so that devices agree for any position.
  constexpr int32_t kMost = 0x3fffffff;
  if (positions.valid())
    return query + std::clamp(*positions.at<const int32_t>(batch_of(row) * positions.view.stride[0]), -kMost, kMost);
  return query + (causal == Causal::BottomRight ? keys_of(row) - queries() : 0);
}

int64_t Masking::causal_keys(int64_t row) const {
  const int64_t n = keys_of(row);
  return causal == Causal::None ? n : std::clamp<int64_t>(place_of(row) + 1, 0, n);
}

int64_t Masking::passed_keys(int64_t row) const {
  return window == 0 ? 0 : std::clamp<int64_t>(place_of(row) + 1 - window, 0, keys_of(row));
}

KeyRange Masking::visited_keys(int64_t first_row, int64_t last_row) const {
  if (leaves_out()) return {passed_keys(first_row), causal_keys(last_row)};
  return {0, keys_of(first_row)};
}

int64_t Masking::padding_offset(int64_t row) const { return batch_of(row) * key_padding.operand.view.stride[0]; }

void Masking::apply(int64_t row, KeyRange range, float* some, float* buffer, bool exact) const {
  const int64_t n = range.size();
  const auto first_of = [&](const Operand& x) { return range.begin * row_stride(x.view); };
  if (bias.valid()) {
    const int64_t offset = row_offset(bias.view, row) + first_of(bias);
    add_bias(*bias.kernels, exact || bias.kernels->canon != nullptr,
             load(bias, offset, row_stride(bias.view), n, buffer), n, some, buffer);
  }
  if (mask.valid()) mask.apply(row_offset(mask.operand.view, row) + first_of(mask.operand), n, fill, some);
  if (key_padding.valid()) key_padding.apply(padding_offset(row) + first_of(key_padding.operand), n, fill, some);
  std::fill_n(some, std::clamp<int64_t>(passed_keys(row) - range.begin, 0, n), fill);
  const int64_t visible = std::clamp<int64_t>(causal_keys(row) - range.begin, 0, n);
  std::fill_n(some + visible, n - visible, fill);
  const int64_t there = std::clamp<int64_t>(keys_of(row) - range.begin, 0, n);
  std::fill_n(some + there, n - there, kHidden);  // masked_fill does not apply to keys beyond the length
}

}  // namespace heed::cpu
