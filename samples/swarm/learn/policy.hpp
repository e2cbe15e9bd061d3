// What an agent that is hunted learns: from what it sees to how it accelerates.
//
// An agent sees SWARM_TOKENS things, itself first, then its neighbours, then the hunters, as rows of SWARM_SEEN numbers that
// shaders/observe.comp writes. It attends to all of them with a learned attention, and a small network steers by the result:
//   x = embed(seen);  x0 += attention(x0, x);  x0 += feed_forward(x0);  action = tanh(out(x0))
//
// It learns by imitation of those that got away (advantage-weighted regression, Peng et al. 2019, arXiv:1910.00177). What was tried
// near a hunter is remembered together with how well it served: how much farther away the hunter was a third of a second later.
// The network is fitted to what was tried, and counts each try by exp((how well it served - how well that was expected to) / a
// temperature); tries of those that were caught count 0. What is expected is a fourth number that the network learns.
#pragma once

#include <cstdint>
#include <vector>

#include <heed/heed.hpp>
#include <heed/optimizer.hpp>

#include "../shaders/shared.h"

namespace swarm {

inline constexpr int64_t kMemory = SWARM_MEMORY, kBatch = SWARM_BATCH;

class Policy {
 public:
  // Declares the network's weights.
  Policy();

  // "seen" [1, agents, SWARM_TOKENS * SWARM_SEEN] -> "action" [1, agents, 4]: three accelerations from -1 to 1,
  // and how well they are expected to serve. The weights are in states that learn_graph has, too.
  heed::Graph act_graph(int64_t most_agents) const;
  // Writes finished tries, "tried" [1, agents, SWARM_TRY], into the memory, a state: "places", I32 [1, agents], says where, and -1
  // nowhere. Then takes those at "picks", I32 [1, kBatch], as "batch" [kBatch, SWARM_TRY], each seen in a mirror: "mirrors"
  // [kBatch, 1, 4] is what the first three directions, and what is no direction, are multiplied by.
  heed::Graph remember_graph(int64_t most_agents) const;
  // One step of AdamW for "batch", with "optimizer.settings" as settings() gives them.
  heed::Graph learn_graph() const;

  // Random weights (Glorot & Bengio 2010), without moments.
  heed::Status begin(heed::State& state, uint32_t seed, const heed::Log& log) const;
  heed::Status save(const heed::State& state, const std::string& path, const heed::Log& log) const;
  std::vector<float> settings() const;
  int64_t weights() const;

 private:
  heed::train::Optimizer optimizer_;
};

}  // namespace swarm
