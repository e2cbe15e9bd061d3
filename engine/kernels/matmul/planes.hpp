// The layout of quantized weights on GPUs: the file's bytes in another order, in which kernels can read aligned words and vectors of 16
// bytes. Blocks of 18, 22, 34 or 210 bytes would not be aligned.
//
// Each part of a block is stored in a separate plane: first the plane of the lower bits of all blocks, then those of the other parts, the
// scales last. Planes are contiguous, and each begins at a multiple of its parts' size.
//
//   clang-format off
//   Q8_0   32 bytes, scale                 Q5_1   16 bytes of 4 bits, 4 of fifth bits, scale and offset
//   Q4_0   16 bytes of 4 bits, scale       Q4_K   128 bytes of 4 bits, 16 of scales
//   Q4_1   the same, scale and offset      Q5_K   128 bytes of 4 bits, 32 of fifth bits, 16 of scales
//   Q5_0   the same, 4 of fifth bits,      Q6_K   128 bytes of 4 bits, 64 of 2 bits, 16 of scales, scale
//          scale
//   clang-format on
//
// shaders/shared/blocks.glsl reads them; base/blocks.hpp says what each part means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/schedule/backend.hpp"

namespace heed::kernels {

// A part of each block: its offset in a block of the file, and its bytes.
struct Plane {
  int64_t at = 0, bytes = 0;
};
// Empty for types that are not quantized.
std::span<const Plane> planes_of(DType type);

// The offset of the part of block `first` in plane i of a weight of `all` blocks.
int64_t offset_in_planes(DType type, size_t plane, int64_t first, int64_t all);

// Copies this part of each of `count` blocks to `to`, contiguously.
void gather_plane(DType type, size_t plane, const std::byte* blocks, int64_t count, std::byte* to);
// Writes a whole weight in the layout that kernels read: in planes if it is quantized, else converted to its entry's type.
void write_weight(const HostTensor& from, const detail::WeightsImpl::Entry& to, std::byte* target);

// The number of a quantized type in shaders/shared/blocks.h.
constexpr uint32_t number_of(DType type) {
  return is_quantized(type) ? static_cast<uint32_t>(type) - static_cast<uint32_t>(DType::Q8_0) + 1 : 0;
}

// The number of eights of a column (shaders/shared/blocks.glsl) that an invocation reads at a time if 128 invocations share the sum over k:
// four, which are 16 bytes of the lower bits, or one if four would leave invocations without work. Invocations with four read rows of A 128
// bytes apart, so that each uses a separate line of the first-level cache; for several rows that would take longer than reading B from
// memory. With one, four invocations share a line.
constexpr uint32_t run_of(int64_t k, uint32_t rows) { return rows == 1 && k >= 128 * 32 ? 4 : 1; }

}  // namespace heed::kernels
