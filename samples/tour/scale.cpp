#include <algorithm>
#include <cmath>

#include "picture.hpp"

namespace tour {

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
