// The share of chased agents that escaped, over time.
#pragma once

#include <vector>

#include "../shaders/shared.h"

namespace swarm {

class Survival {
 public:
  static constexpr uint32_t kBinFrames = 60;

  struct Bin {
    uint32_t caught = 0, fled = 0;
    uint32_t chases() const { return caught + fled; }
    // The share of chased agents that escaped; 0 if none was chased.
    double share() const { return chases() == 0 ? 0.0 : static_cast<double>(fled) / chases(); }
  };

  // Reads the counts up to some frame. Frames may be skipped; counts that fall begin a new hunt.
  void add(const Counts& counts);
  const std::vector<Bin>& bins() const { return bins_; }  // of kBinFrames each
  const Counts& last() const { return last_; }
  // Bins from fraction `begin` to fraction `end` of the time: the last quarter is (0.75, 1).
  Bin part(double begin, double end) const;

 private:
  Counts last_{};
  std::vector<Bin> bins_;
};

}  // namespace swarm
