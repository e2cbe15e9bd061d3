#include "color.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace samples {

Color viridis(double t) {
  // The table has every eighth entry of the published one. Linear interpolation is within two steps of it.
  static constexpr Color kSteps[] = {{68, 1, 84},    {71, 45, 123}, {59, 82, 139},  {44, 114, 142}, {33, 145, 140},
                                     {40, 174, 128}, {94, 201, 98}, {173, 220, 48}, {253, 231, 37}};
  constexpr int kLast = static_cast<int>(std::size(kSteps)) - 1;
  if (!(t > 0)) t = 0;  // also NaN
  const double at = std::min(t, 1.0) * kLast;
  const int below = std::min(static_cast<int>(at), kLast - 1);
  const double part = at - below;
  const auto mix = [&](uint8_t a, uint8_t b) { return static_cast<uint8_t>(std::lround(a + (b - a) * part)); };
  const Color& a = kSteps[below];
  const Color& b = kSteps[below + 1];
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

Color ink_on(Color background) {
  const double luma = 0.299 * background.r + 0.587 * background.g + 0.114 * background.b;
  return luma > 130 ? Color{20, 20, 24} : Color{255, 255, 255};
}

}  // namespace samples
