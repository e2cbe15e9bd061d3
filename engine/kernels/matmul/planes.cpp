#include "kernels/matmul/planes.hpp"

#include <cstring>

#include "shared/blocks.h"

namespace heed::kernels {
namespace {

static_assert(number_of(DType::Q8_0) == HEED_BLOCKS_Q8_0 && number_of(DType::Q4_0) == HEED_BLOCKS_Q4_0 &&
              number_of(DType::Q4_1) == HEED_BLOCKS_Q4_1 && number_of(DType::Q5_0) == HEED_BLOCKS_Q5_0 &&
              number_of(DType::Q5_1) == HEED_BLOCKS_Q5_1 && number_of(DType::Q4_K) == HEED_BLOCKS_Q4_K &&
              number_of(DType::Q5_K) == HEED_BLOCKS_Q5_K && number_of(DType::Q6_K) == HEED_BLOCKS_Q6_K);

constexpr Plane kQ8_0[] = {{2, 32}, {0, 2}};
constexpr Plane kQ4_0[] = {{2, 16}, {0, 2}};
constexpr Plane kQ4_1[] = {{4, 16}, {0, 4}};
constexpr Plane kQ5_0[] = {{6, 16}, {2, 4}, {0, 2}};
constexpr Plane kQ5_1[] = {{8, 16}, {4, 4}, {0, 4}};
constexpr Plane kQ4_K[] = {{16, 128}, {0, 16}};
constexpr Plane kQ5_K[] = {{48, 128}, {16, 32}, {0, 16}};
constexpr Plane kQ6_K[] = {{0, 128}, {128, 64}, {192, 16}, {208, 2}};

}  // namespace

std::span<const Plane> planes_of(DType type) {
  switch (type) {
    case DType::Q8_0: return kQ8_0;
    case DType::Q4_0: return kQ4_0;
    case DType::Q4_1: return kQ4_1;
    case DType::Q5_0: return kQ5_0;
    case DType::Q5_1: return kQ5_1;
    case DType::Q4_K: return kQ4_K;
    case DType::Q5_K: return kQ5_K;
    case DType::Q6_K: return kQ6_K;
    default: return {};
  }
}

int64_t offset_in_planes(DType type, size_t plane, int64_t first, int64_t all) {
  const std::span<const Plane> planes = planes_of(type);
  int64_t before = 0;
  for (size_t i = 0; i < plane; ++i) before += planes[i].bytes;
  return before * all + planes[plane].bytes * first;
}

void gather_plane(DType type, size_t plane, const std::byte* blocks, int64_t count, std::byte* to) {
  const Plane part = planes_of(type)[plane];
  const int64_t block = block_of(type).bytes;
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * part.bytes, blocks + i * block + part.at, static_cast<size_t>(part.bytes));
}

void write_weight(const HostTensor& from, const detail::WeightsImpl::Entry& to, std::byte* target) {
  if (!is_quantized(to.dtype)) return detail::convert_weight(from, to, target);
  const int64_t count = static_cast<int64_t>(from.data.size()) / block_of(to.dtype).bytes;
  for (size_t i = 0; i < planes_of(to.dtype).size(); ++i)
    gather_plane(to.dtype, i, from.data.data(), count, target + offset_in_planes(to.dtype, i, 0, count));
}

}  // namespace heed::kernels
