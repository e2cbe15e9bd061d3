// Attention weights by rules instead of training: the motives of the heads.
//
// A head's logit for agent i and the agent or target j is the sum of
//   -|x_i - x_j|^2 / (2 reach^2)          j is near in space; one step of attention is then one step of mean shift
//   sum_f place[f] cos(turn_f (i - j))    j is near in line
//   tribe cos(angle_i - angle_j)          j is of the same tribe
//   cursor                                j is the player's cursor
// Without summands that are the same for all j, this is the dot product of a query and a key, both linear in the rows
// of shaders/shared.h. A head returns the mean position and velocity of its keys; `pull`, `align` and `swirl`
// are an agent's reactions to them.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <heed/heed.hpp>

#include "shaders/shared.h"

namespace swarm {

enum class Flavour : uint8_t { Flock = SWARM_FLOCK, Conga = SWARM_CONGA, Cross = SWARM_CROSS, Hunt = SWARM_HUNT };
inline constexpr size_t kFlavourCount = 4;
// Those that keys go through. A hunt is one of its own.
inline constexpr Flavour kFlavours[] = {Flavour::Flock, Flavour::Conga, Flavour::Cross};
inline constexpr Flavour kHunted[] = {Flavour::Hunt};

struct Motive {
  const char* name;
  const char* what;
  float reach = 0;  // 0: distance does not count
  std::array<float, 4> place = {};
  float tribe = 0;
  float cursor = 0;  // negative: the head does not attend to the cursor
  float pull = 0, align = 0, swirl = 0;
  float color_weight = 1;
};

struct Rules {
  const char* name;       // the name on the command line
  const char* attention;  // the text in the panel, "bidirectional"
  const char* title;
  std::array<Motive, SWARM_HEADS> heads;
  float slowest, fastest, drag;  // bounds and damping of an agent's speed
  float radius, wander, swirl, leaders;
};

const Rules& rules_of(Flavour flavour);

inline constexpr int64_t kKeyWidth = 16;
inline constexpr int64_t kMaxAgents = 16384, kMaxTargets = 1024;

// Weights of all flavours, in heed's layout: "flock.q.weight" [heads * kKeyWidth, SWARM_ROW] and so on.
class MotiveWeights {
 public:
  MotiveWeights();
  std::vector<heed::HostTensor> tensors() const;  // valid while *this is

 private:
  struct Named {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  void add(const Rules& rules);
  std::vector<Named> all_;
};

// "agents" [1, agents, SWARM_ROW] (and "targets" in the cross flavour) -> "look" [1, agents, heads * SWARM_VALUE].
heed::Graph look_graph(Flavour flavour);
// "row" [1, 1, SWARM_ROW] over "keys" [1, keys, SWARM_ROW] -> "weights" [1, heads, 1, keys].
heed::Graph weights_graph(Flavour flavour);

}  // namespace swarm
