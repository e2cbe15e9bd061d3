#include <algorithm>
#include <cmath>

#include "picture.hpp"

namespace tour {

Color viridis(double t) {
  // Every eighth of the published table; linear in between, which stays within two steps of it.
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

double scale_end(const Picture& picture) {
  std::vector<float> weights;
  for (size_t row = 0; row < picture.rows.size(); ++row)
    for (size_t column = 0; column < picture.columns.size(); ++column)
      if (!picture.hidden(row, column)) weights.push_back(picture.weight(row, column));
  if (weights.empty()) return 1;
  std::sort(weights.begin(), weights.end());
  constexpr size_t kMany = 300;
  const size_t at = weights.size() > kMany ? weights.size() * 99 / 100 : weights.size() - 1;
  return std::clamp(std::ceil(static_cast<double>(weights[at]) / 0.05 - 1e-6) * 0.05, 0.05, 1.0);
}

bool exceeds(const Picture& picture, double end) {
  const auto above = [end](float weight) { return static_cast<double>(weight) > end + 1e-6; };
  if (std::any_of(picture.main.weights.begin(), picture.main.weights.end(), above)) return true;
  return std::any_of(picture.heads.begin(), picture.heads.end(),
                     [&](const Panel& head) { return std::any_of(head.weights.begin(), head.weights.end(), above); });
}

}  // namespace tour
