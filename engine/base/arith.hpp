// Integer helpers. All values are non-negative.
#pragma once

#include <cstdint>

namespace heed {

template <class T>
constexpr T ceil_div(T a, T b) {
  return static_cast<T>(a / b + (a % b != 0));  // a + b could overflow
}

template <class T>
constexpr T align_up(T a, T alignment) {
  return ceil_div(a, alignment) * alignment;
}

// Product and sum with overflow check: an overflow returns false, and gives the largest value.
inline bool checked_mul(int64_t a, int64_t b, int64_t* product) {
  constexpr int64_t kSmall = int64_t{1} << 31;  // the product of two values below this fits without a slow division to
                                                // check it
  const bool fits = (a < kSmall && b < kSmall) || b == 0 || a <= INT64_MAX / b;
  *product = fits ? a * b : INT64_MAX;
  return fits;
}
inline bool checked_add(int64_t a, int64_t b, int64_t* sum) {
  const bool fits = a <= INT64_MAX - b;
  *sum = fits ? a + b : INT64_MAX;
  return fits;
}

}  // namespace heed
