// The policy of a hunted agent: from observations to accelerations.
//
// An agent observes SWARM_TOKENS things, itself first, then its neighbours, then the hunters, as rows of SWARM_SEEN numbers that
// shaders/observe.comp writes. A learned attention from itself to all of them feeds a small network:
//   x = embed(seen);  x0 += attention(x0, x);  x0 += feed_forward(x0);  action = tanh(out(x0))
//
// It learns by advantage-weighted regression (Peng et al. 2019, arXiv:1910.00177). An action near a hunter is stored in a memory with
// its reward: how much farther away the hunter was a third of a second later. The network is fitted to stored actions, each with the
// weight exp((reward - expected reward) / temperature); actions of caught agents have weight 0. The expected reward is the network's fourth
// output.
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

  // "seen" [1, agents, SWARM_TOKENS * SWARM_SEEN] -> "action" [1, agents, 4]: three accelerations from -1 to 1, and the expected reward.
  // The weights are states, which learn_graph shares.
  heed::Graph act_graph(int64_t most_agents) const;
  // Writes finished tries, "tried" [1, agents, SWARM_TRY], into the memory, a state, at "places", I32 [1, agents]; -1 skips a try. Then
  // reads those at "picks", I32 [1, kBatch], as "batch" [kBatch, SWARM_TRY], each mirrored: "mirrors" [kBatch, 1, 4] has the factors of the
  // three directions, and of values without a direction.
  heed::Graph remember_graph(int64_t most_agents) const;
  // One step of AdamW on "batch", with "optimizer.settings" from settings().
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
