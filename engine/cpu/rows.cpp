#include "cpu/rows.hpp"

#include <cstring>

#include "base/half.hpp"

namespace heed::cpu {
namespace {

struct AsHalf {
  static float load(uint16_t bits) { return half_to_float(bits); }
  static uint16_t store(float value) { return float_to_half(value); }
};
struct AsBfloat {
  static float load(uint16_t bits) { return bfloat_to_float(bits); }
  static uint16_t store(float value) { return float_to_bfloat(value); }
};

template <class Format>
void load_16(const uint16_t* from, int64_t stride, int64_t n, float* buffer) {
  for (int64_t i = 0; i < n; ++i) buffer[i] = Format::load(from[i * stride]);
}
template <class Format>
void store_16(uint16_t* to, int64_t stride, int64_t n, const float* values) {
  for (int64_t i = 0; i < n; ++i) to[i * stride] = Format::store(values[i]);
}

}  // namespace

int64_t row_offset(const View& view, int64_t row) {
  int64_t offset = 0;
  for (int i = view.rank - 2; i >= 0; --i) {
    offset += row % view.dim[i] * view.stride[i];
    row /= view.dim[i];
  }
  return offset;
}

void load_copy(const Operand& x, int64_t offset, int64_t stride, int64_t n, float* buffer) {
  if (x.view.dtype == DType::F16) return load_16<AsHalf>(x.at<uint16_t>(offset), stride, n, buffer);
  if (x.view.dtype == DType::BF16) return load_16<AsBfloat>(x.at<uint16_t>(offset), stride, n, buffer);
  const float* from = x.at<float>(offset);
  if (stride == 1) {
    std::memmove(buffer, from, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < n; ++i) buffer[i] = from[i * stride];
}

const float* load(const Operand& x, int64_t offset, int64_t stride, int64_t n, float* buffer) {
  if (x.view.dtype == DType::F32 && stride == 1) return x.at<float>(offset);
  load_copy(x, offset, stride, n, buffer);
  return buffer;
}

void store(const Operand& x, int64_t offset, int64_t stride, int64_t n, const float* values) {
  if (x.view.dtype == DType::F16) return store_16<AsHalf>(x.at<uint16_t>(offset), stride, n, values);
  if (x.view.dtype == DType::BF16) return store_16<AsBfloat>(x.at<uint16_t>(offset), stride, n, values);
  float* to = x.at<float>(offset);
  if (stride == 1) {
    std::memmove(to, values, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < n; ++i) to[i * stride] = values[i];
}

ScratchNeed row_scratch(const ScratchQuery& query, Tensor tensor, uint64_t rows) {
  const int64_t length = row_length(query.view(tensor));
  return {.shared = 0, .per_worker = rows * static_cast<uint64_t>(row_pitch(length)) * sizeof(float)};
}

}  // namespace heed::cpu
