#include "cpu/ops/rows.hpp"

#include <cstring>

#include "base/half.hpp"

namespace heed::cpu {
namespace {

template <class Convert>
void load_strided(const uint16_t* from, int64_t stride, int64_t n, float* buffer, const Convert& convert) {
  for (int64_t i = 0; i < n; ++i) buffer[i] = convert(from[i * stride]);
}
template <class Convert>
void store_strided(uint16_t* to, int64_t stride, int64_t n, const float* values, const Convert& convert) {
  for (int64_t i = 0; i < n; ++i) to[i * stride] = convert(values[i]);
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
  if (x.view.dtype != DType::F32) {
    const auto* from = x.at<const uint16_t>(offset);
    if (stride == 1) return x.kernels->widen(x.view.dtype, from, buffer, n);
    return x.view.dtype == DType::F16 ? load_strided(from, stride, n, buffer, half_to_float)
                                      : load_strided(from, stride, n, buffer, bfloat_to_float);
  }
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
  if (x.view.dtype != DType::F32) {
    auto* to = x.at<uint16_t>(offset);
    if (stride == 1) return x.kernels->narrow(x.view.dtype, values, to, n);
    return x.view.dtype == DType::F16 ? store_strided(to, stride, n, values, float_to_half)
                                      : store_strided(to, stride, n, values, float_to_bfloat);
  }
  float* to = x.at<float>(offset);
  if (stride == 1 && x.past_caches) return x.kernels->copy_past_caches(values, to, n);
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
