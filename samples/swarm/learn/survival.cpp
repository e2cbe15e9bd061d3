#include "survival.hpp"

#include <cmath>

namespace swarm {

void Survival::add(const Counts& counts) {
  if (counts.frames < last_.frames) *this = {};
  if (counts.frames == last_.frames) return;
  const size_t bin = (counts.frames - 1) / kBinFrames;
  if (bins_.size() <= bin) bins_.resize(bin + 1);
  bins_[bin].caught += counts.caught - last_.caught;
  bins_[bin].fled += counts.fled - last_.fled;
  last_ = counts;
}

Survival::Bin Survival::part(double begin, double end) const {
  Bin sum;
  const auto count = static_cast<double>(bins_.size());
  const auto first = static_cast<size_t>(std::floor(begin * count)), last = static_cast<size_t>(std::ceil(end * count));
  for (size_t i = first; i < last; ++i) {
    sum.caught += bins_[i].caught;
    sum.fled += bins_[i].fled;
  }
  return sum;
}

}  // namespace swarm
