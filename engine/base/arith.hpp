// Integer helpers. All values non-negative.
#pragma once

#include <cstdint>

namespace heed {

template <class T>
constexpr T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}

template <class T>
constexpr T align_up(T a, T alignment) {
  return ceil_div(a, alignment) * alignment;
}

// Product that says so instead of wrapping.
inline bool checked_mul(int64_t a, int64_t b, int64_t* product) { return !__builtin_mul_overflow(a, b, product); }
inline bool checked_add(int64_t a, int64_t b, int64_t* sum) { return !__builtin_add_overflow(a, b, sum); }

}  // namespace heed
