// How many of those that a hunter chased got away, over time.
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
    // The part of those chased that got away; 0 if none was chased.
    double share() const { return chases() == 0 ? 0.0 : static_cast<double>(fled) / chases(); }
  };

  // Takes what was counted up to some frame. Frames may be left out; counts that fall begin a new hunt.
  void add(const Counts& counts);
  const std::vector<Bin>& bins() const { return bins_; }  // of kBinFrames each
  const Counts& last() const { return last_; }
  // Bins from a `begin`th to an `end`th part of the time: the last quarter is (0.75, 1).
  Bin part(double begin, double end) const;

 private:
  Counts last_{};
  std::vector<Bin> bins_;
};

}  // namespace swarm
