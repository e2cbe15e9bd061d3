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
enum class DType : uint8_t { F32, F16, BF16, I32, U8 };

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::I32: return 4;
    case DType::F16:
    case DType::BF16: return 2;
    case DType::U8: return 1;
  }
  return 0;
}

HEED_API const char* to_string(DType dtype);  // "f32", "f16", "bf16", "i32", "u8"

inline constexpr int kMaxRank = 5;

// One dimension: a constant, or a number of one Graph that each run gives (made by Graph::extent, position and sum, and by
// operations on tensors that have extents). `value` is the constant, or the largest value that the number can take.
struct Dim {
  int64_t value = 0;
  int32_t expr = -1;  // < 0: constant; otherwise an index private to the graph

  constexpr Dim() = default;
  template <std::integral T>
  constexpr Dim(T constant) : value(static_cast<int64_t>(constant)) {}
  constexpr bool is_constant() const { return expr < 0; }
  friend constexpr bool operator==(const Dim&, const Dim&) = default;
};

// Up to kMaxRank dimensions, outermost first. A graph call that gets a Shape of more dimensions makes the graph fail.
struct Shape {
  std::array<Dim, kMaxRank> dims{};
  int rank = 0;

  constexpr Shape() = default;
  constexpr Shape(std::initializer_list<Dim> list) {
    for (const Dim& d : list) push_back(d);
  }
  constexpr void push_back(const Dim& d) {
    if (rank < kMaxRank) dims[static_cast<size_t>(rank)] = d;
    ++rank;
  }
  constexpr bool valid() const { return rank >= 0 && rank <= kMaxRank; }
  constexpr const Dim& operator[](int i) const { return dims[static_cast<size_t>(i)]; }
  constexpr Dim& operator[](int i) { return dims[static_cast<size_t>(i)]; }
};

}  // namespace heed
