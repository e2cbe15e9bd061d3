// Element types and shapes.
//
//   heed::Dim tokens = graph.extent("tokens", 512);
//   heed::Shape shape{1, tokens, 768};
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <heed/export.hpp>

namespace heed {

// Storage types. Arithmetic on F16 and BF16 is always done in F32.
//
// The types from Q8_0 on are quantized: blocks of 32 or 256 neighbours along the innermost axis share their scales, byte for byte as in a
// GGUF file. Each value is a small integer times a scale, plus an offset in some types, rounded once to F32 (as gguf.quants.dequantize of
// PyPI's `gguf` computes it); all arithmetic on it is F32. Only a Graph::weight has such a type, and only as the weight of linear, as
// matmul's b [..., N, K] with transpose_b, or as embedding's table.
enum class DType : uint8_t { F32, F16, BF16, I32, U8, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K };
inline constexpr int kDTypes = 13;  // number of enumerators

// The smallest storage unit of a type: `elements` neighbours in `bytes` bytes. One element, except of quantized types.
struct TypeBlock {
  int64_t elements = 0;
  int64_t bytes = 0;
};
// Zeros for a value that is not an enumerator.
constexpr TypeBlock block_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::I32: return {1, 4};
    case DType::F16:
    case DType::BF16: return {1, 2};
    case DType::U8: return {1, 1};
    case DType::Q8_0: return {32, 34};
    case DType::Q4_0: return {32, 18};
    case DType::Q4_1: return {32, 20};
    case DType::Q5_0: return {32, 22};
    case DType::Q5_1: return {32, 24};
    case DType::Q4_K: return {256, 144};
    case DType::Q5_K: return {256, 176};
    case DType::Q6_K: return {256, 210};
  }
  return {};
}
// Whether elements share scales in blocks.
constexpr bool is_quantized(DType dtype) { return block_of(dtype).elements > 1; }

// Bytes of one element. 0 for quantized types, whose elements share bytes.
constexpr size_t size_of(DType dtype) { return is_quantized(dtype) ? 0 : static_cast<size_t>(block_of(dtype).bytes); }

// Bytes of this many neighbours, which must be a whole number of blocks.
constexpr uint64_t bytes_of(DType dtype, uint64_t elements) {
  const TypeBlock block = block_of(dtype);
  return block.elements == 0 ? 0
                             : elements / static_cast<uint64_t>(block.elements) * static_cast<uint64_t>(block.bytes);
}

HEED_API const char* to_string(DType dtype);  // "f32", "f16", "bf16", "i32", "u8", "q8_0", ..., "q6_k"

// The most axes of a Shape.
inline constexpr int kMaxRank = 6;

// One dimension: a constant, or a number of a Graph that each run gives or computes. Graph::extent, Graph::position, arithmetic on them and
// operations on tensors with extents make such numbers. `value` is the constant, or the largest value that the number can have.
struct Dim {
  int64_t value = 0;
  int32_t expr = -1;  // < 0: constant; otherwise an index private to the graph

  constexpr Dim() = default;
  // A constant.
  template <std::integral T>
  constexpr Dim(T constant) : value(static_cast<int64_t>(constant)) {}
  // False if each run gives or computes it.
  constexpr bool is_constant() const { return expr < 0; }
  friend constexpr bool operator==(const Dim&, const Dim&) = default;
};

// Up to kMaxRank dimensions, outermost first. Views, elementwise functions and reductions support kMaxRank, other operations at most five.
// A graph call that gets a Shape of more dimensions makes the graph fail.
struct Shape {
  std::array<Dim, kMaxRank> dims{};
  int rank = 0;

  constexpr Shape() = default;
  // The dims, outermost first. More than kMaxRank make it invalid.
  constexpr Shape(std::initializer_list<Dim> list) {
    for (const Dim& d : list) push_back(d);
  }
  // Adds an inner dim. One too many makes the shape invalid.
  constexpr void push_back(const Dim& d) {
    if (rank < kMaxRank) dims[static_cast<size_t>(rank)] = d;
    ++rank;
  }
  // Whether it has at most kMaxRank dims.
  constexpr bool valid() const { return rank >= 0 && rank <= kMaxRank; }
  // Dim i, from 0 at the outermost, below `rank`.
  constexpr const Dim& operator[](int i) const { return dims[static_cast<size_t>(i)]; }
  constexpr Dim& operator[](int i) { return dims[static_cast<size_t>(i)]; }
};

}  // namespace heed
