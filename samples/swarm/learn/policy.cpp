#include "policy.hpp"

#include <array>
#include <cmath>
#include <random>

#include <heed/train.hpp>

namespace swarm {
namespace {

constexpr int64_t kFeatures = 32, kHeads = 2, kHidden = 64, kSeen = SWARM_TOKENS * SWARM_SEEN;

// Attention of self [rows, 1, kFeatures] over x [rows, SWARM_TOKENS, kFeatures]. It is spelled out as matmuls of whole tensors: the fused
// pass is for many queries, and would compute a tile of 64 x 64 for each agent's single query and eight keys.
heed::Tensor attend(heed::Graph& g, heed::Tensor self, heed::Tensor x, heed::Dim rows) {
  // Matrices that sum a head's elements, repeat a head's number for its elements, and sum over tokens.
  std::array<float, kHeads * kFeatures> sum{}, repeat{};
  std::vector<float> tokens(kFeatures * SWARM_TOKENS * kFeatures);
  for (size_t c = 0; c < kFeatures; ++c) {
    const size_t head = c / (kFeatures / kHeads);
    sum[head * kFeatures + c] = repeat[c * kHeads + head] = 1.0f;
    for (size_t t = 0; t < SWARM_TOKENS; ++t) tokens[(c * SWARM_TOKENS + t) * kFeatures + c] = 1.0f;
  }
  const heed::Tensor query = heed::nn::linear(g, self, "attention.q", kFeatures);
  const heed::Tensor keys = heed::nn::linear(g, x, "attention.k", kFeatures);
  const heed::Tensor values = heed::nn::linear(g, x, "attention.v", kFeatures);
  const heed::Tensor logits = g.linear(g.mul(query, keys), g.constant("heads.sum", {kHeads, kFeatures}, sum));
  const heed::Tensor weights =
      g.softmax(g.transpose(logits, 1, 2), {.scale = 1.0f / std::sqrt(static_cast<float>(kFeatures / kHeads))});
  const heed::Tensor each =
      g.linear(g.transpose(weights, 1, 2), g.constant("heads.repeat", {kFeatures, kHeads}, repeat));
  const heed::Tensor weighted = g.reshape(g.mul(each, values), {rows, 1, SWARM_TOKENS * kFeatures});
  const heed::Tensor mixed =
      g.linear(weighted, g.constant("tokens.sum", {kFeatures, SWARM_TOKENS * kFeatures}, tokens));
  return heed::nn::linear(g, mixed, "attention.out", kFeatures);
}

struct Steered {
  heed::Tensor action, expected;  // [rows, 3], [rows, 1]
};

// seen [rows, SWARM_TOKENS, SWARM_SEEN]
Steered policy_network(heed::Graph& g, heed::Tensor seen, heed::Dim rows) {
  const heed::Tensor x = heed::nn::linear(g, seen, "embed", kFeatures);
  heed::Tensor self = g.slice(x, 1, 0, 1);
  self = g.add(self, attend(g, self, x, rows));
  self = g.add(self, heed::nn::feed_forward(g, self, "feed_forward",
                                            {.hidden = kHidden, .activation = heed::Activation::GeluTanh}));
  const heed::Tensor out = heed::nn::linear(g, g.reshape(self, {rows, kFeatures}), "out", 4);
  return {g.activation(g.slice(out, 1, 0, 3), heed::Activation::Tanh), g.slice(out, 1, 3, 1)};
}

}  // namespace

Policy::Policy() {
  heed::Graph g;
  policy_network(g, g.input("seen", {1, SWARM_TOKENS, SWARM_SEEN}), 1);
  // The graph has no other weights, so that they cannot be rejected.
  static_cast<void>(optimizer_.add_weights(g));
}

heed::Graph Policy::act_graph(int64_t most_agents) const {
  heed::Graph g;
  const heed::Dim agents = g.extent("agents", most_agents);
  const heed::Tensor seen = g.input("seen", {1, agents, kSeen});
  const Steered steered = policy_network(g, g.reshape(seen, {agents, SWARM_TOKENS, SWARM_SEEN}), agents);
  g.output("action", g.reshape(g.concat({steered.action, steered.expected}, 1), {1, agents, 4}));
  optimizer_.keep(g);
  return g;
}

heed::Graph Policy::remember_graph(int64_t most_agents) const {
  heed::Graph g;
  const heed::Dim agents = g.extent("agents", most_agents);
  const heed::Tensor tried = g.input("tried", {1, agents, SWARM_TRY});
  heed::Tensor memory = g.state("memory", {1, kMemory, SWARM_TRY});
  memory = g.append(memory, tried, 1, g.input("places", {1, agents}, heed::DType::I32));
  const heed::Tensor picked = g.take(memory, 1, g.input("picks", {1, kBatch}, heed::DType::I32));
  const heed::Tensor batch = g.mul(g.reshape(picked, {kBatch, SWARM_TRY4, 4}), g.input("mirrors", {kBatch, 1, 4}));
  g.output("batch", g.reshape(batch, {kBatch, SWARM_TRY}));
  return g;
}

heed::Graph Policy::learn_graph() const {
  heed::Graph g;
  const heed::Tensor batch = g.input("batch", {kBatch, SWARM_TRY});
  const heed::Tensor seen = g.reshape(g.slice(batch, 1, 0, kSeen), {kBatch, SWARM_TOKENS, SWARM_SEEN});
  const heed::Tensor tried = g.slice(batch, 1, kSeen, 3), weight = g.slice(batch, 1, kSeen + 3, 1);
  const heed::Tensor served = g.slice(batch, 1, kSeen + 7, 1);

  // mean of weight * (action - tried)^2, plus mean of (expected - reward)^2
  const Steered steered = policy_network(g, seen, kBatch);
  const heed::Tensor apart = g.add(steered.action, g.scale(tried, -1.0f));
  const heed::Tensor surprise = g.add(steered.expected, g.scale(served, -1.0f));
  const heed::Tensor imitation = g.mul(g.mul(apart, apart), weight);
  const heed::Tensor loss = g.add(g.mean(g.reshape(imitation, {1, kBatch * 3}), 1),
                                  g.mean(g.reshape(g.mul(surprise, surprise), {1, kBatch}), 1));
  const std::vector<heed::Tensor> gradients = heed::train::gradients(g, loss, optimizer_.weights(g));
  optimizer_.step(g, gradients, optimizer_.settings(g));
  return g;
}

heed::Status Policy::begin(heed::State& state, uint32_t seed, const heed::Log& log) const {
  std::mt19937 bits(seed);
  std::vector<std::vector<float>> values;
  std::vector<heed::HostTensor> tensors;
  for (const auto& parameter : optimizer_.parameters()) {
    std::vector<float>& one = values.emplace_back(static_cast<size_t>(parameter.elements()), 0.0f);
    if (parameter.shape.size() < 2) continue;  // biases
    float most = std::sqrt(6.0f / static_cast<float>(parameter.shape[0] + parameter.shape[1]));
    if (parameter.name == "out.weight") most *= 0.1f;  // no estimate at the beginning
    for (float& v : one) v = most * (static_cast<float>(bits() >> 8) / 8388608.0f - 1.0f);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const auto& parameter = optimizer_.parameters()[i];
    tensors.push_back({parameter.name, heed::DType::F32, parameter.shape, std::as_bytes(std::span(values[i]))});
  }
  return optimizer_.load(state, tensors, log);
}

heed::Status Policy::save(const heed::State& state, const std::string& path, const heed::Log& log) const {
  return optimizer_.save(state, path, log);
}

std::vector<float> Policy::settings() const {
  std::vector<float> rows;
  for (int group = 0; group < optimizer_.groups(); ++group) {
    heed::train::StepWords words{};
    // These numbers are within their ranges.
    static_cast<void>(heed::train::step_words(heed::train::UpdateRule::AdamW,
                                              {.rate = 4e-3f, .beta2 = 0.98f, .max_norm = 1.0f}, &words));
    rows.insert(rows.end(), words.begin(), words.end());
  }
  return rows;
}

int64_t Policy::weights() const {
  int64_t count = 0;
  for (const auto& parameter : optimizer_.parameters()) count += parameter.elements();
  return count;
}

}  // namespace swarm
