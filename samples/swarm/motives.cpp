#include "motives.hpp"

#include <cmath>

namespace swarm {
namespace {

// Columns of a query or a key.
enum Part : int64_t { kSpace = 0, kSquare = 3, kPlace = 4, kTribe = 12, kCursor = 14 };
// Columns of a row, see shaders/shared.h.
enum Row : int64_t { kRowSquare = 3, kRowVelocity = 4, kRowPlace = 8, kRowTribe = 16, kRowCursor = 18 };

constexpr Rules kFlock = {
    .name = "flock",
    .attention = "bidirectional",
    .title = "every agent looks at all others",
    .heads =
        {{{.name = "company", .what = "towards those around", .reach = 0.8f, .pull = 1.2f},
          {.name = "heading", .what = "along with the near ones", .reach = 0.25f, .align = 3.0f, .color_weight = 0.8f},
          {.name = "kin", .what = "towards the own tribe", .reach = 0.5f, .tribe = 8, .pull = 1.6f},
          {.name = "elbow room", .what = "away from a crowd", .reach = 0.19f, .pull = -9.0f, .color_weight = 0.6f}}},
    .slowest = 0.35f,
    .fastest = 0.95f,
    .drag = 0.25f,
    .radius = 0.9f,
    .wander = 0.55f,
    .swirl = 0.3f,
    .leaders = 0,
};

constexpr Rules kConga = {
    .name = "conga",
    .attention = "causal",
    .title = "every agent sees only those before it",
    .heads = {{{.name = "the one before", .what = "after it", .place = {1, 8, 12, 160}, .tribe = 26, .pull = 3000},
               {.name = "in step",
                .what = "along with those before",
                .place = {0, 2, 12, 160},
                .tribe = 26,
                .align = 10,
                .color_weight = 3000},
               {.name = "short cut",
                .what = "to where the line is far ahead",
                .place = {0, 0, 4, 160},
                .tribe = 26,
                .pull = 14,
                .color_weight = 40},
               {.name = "give way",
                .what = "to those who were here before",
                .reach = 0.08f,
                .pull = -220,
                .color_weight = 300}}},
    .slowest = 0,
    .fastest = 1.9f,
    .drag = 55,
    .radius = 1.9f,
    .wander = 1.5f,
    .swirl = 0,
    .leaders = 2500,
};

constexpr Rules kCross = {
    .name = "cross",
    .attention = "cross",
    .title = "agents look at a second set",
    .heads =
        {{{.name = "food", .what = "to the nearest light", .reach = 0.2f, .cursor = -30, .pull = 9.0f, .swirl = 5.0f},
          {.name = "own light",
           .what = "to lights of the own tribe",
           .reach = 0.5f,
           .tribe = 8,
           .cursor = -30,
           .pull = 1.6f,
           .swirl = 1.2f,
           .color_weight = 3},
          {.name = "player", .what = "to the cursor", .cursor = 40, .pull = 2.2f, .swirl = 0.8f},
          {.name = "glare", .what = "not too close", .reach = 0.05f, .cursor = -30, .pull = -2.0f}}},
    .slowest = 0.1f,
    .fastest = 1.1f,
    .drag = 1.1f,
    .radius = 1.9f,
    .wander = 0.30f,
    .swirl = 0,
    .leaders = 0,
};

// These heads move agents of a hunt in addition to the learned action.
constexpr Rules kHunt = {
    .name = "hunt",
    .attention = "learning to flee",
    .title = "imitating those that got away",
    .heads = {{{.name = "company", .what = "towards those around", .reach = 0.6f, .pull = 0.4f},
               {.name = "heading", .what = "along with the near ones", .reach = 0.25f, .align = 0.4f},
               {.name = "kin", .what = "towards the own tribe", .reach = 0.5f, .tribe = 8, .pull = 0.2f},
               {.name = "elbow room", .what = "away from a crowd", .reach = 0.12f, .pull = -6.0f}}},
    .slowest = 0,
    .fastest = 0.9f,
    .drag = 1.0f,
    .radius = 1.2f,
    .wander = 0,
    .swirl = 0,
    .leaders = 0,
};

// A linear layer whose weights are set one by one.
struct Layer {
  int64_t out;
  std::vector<float> weight, bias;
  explicit Layer(int64_t rows)
      : out(rows), weight(static_cast<size_t>(rows * SWARM_ROW)), bias(static_cast<size_t>(rows)) {}
  void set(int64_t row, int64_t column, float value) { weight[static_cast<size_t>(row * SWARM_ROW + column)] = value; }
  void set_bias(int64_t row, float value) { bias[static_cast<size_t>(row)] = value; }
};

void fill_head(const Motive& motive, int64_t at, Layer* q, Layer* k) {
  if (motive.reach > 0) {  // x_i x_j / reach^2 - |x_j|^2 / (2 reach^2)
    const float scale = 1 / motive.reach;
    for (int64_t c = 0; c < 3; ++c) {
      q->set(at + kSpace + c, c, scale);
      k->set(at + kSpace + c, c, scale);
    }
    q->set_bias(at + kSquare, 1);
    k->set(at + kSquare, kRowSquare, -0.5f * scale * scale);
  }
  for (int64_t c = 0; c < 8; ++c) {
    const float scale = std::sqrt(motive.place[static_cast<size_t>(c / 2)]);
    q->set(at + kPlace + c, kRowPlace + c, scale);
    k->set(at + kPlace + c, kRowPlace + c, scale);
  }
  for (int64_t c = 0; c < 2; ++c) {
    q->set(at + kTribe + c, kRowTribe + c, std::sqrt(motive.tribe));
    k->set(at + kTribe + c, kRowTribe + c, std::sqrt(motive.tribe));
  }
  q->set_bias(at + kCursor, 1);
  k->set(at + kCursor, kRowCursor, motive.cursor);
}

void fill_value(int64_t at, Layer* v) {
  for (int64_t c = 0; c < 3; ++c) {
    v->set(at + c, c, 1);
    v->set(at + 4 + c, kRowVelocity + c, 1);
  }
  v->set(at + 3, kRowTribe, 1);
  v->set(at + 7, kRowTribe + 1, 1);
}

constexpr heed::nn::AttentionNames kNames = {.q = "q", .k = "k", .v = "v"};

heed::nn::MultiHeadOptions layer_options(Flavour flavour) {
  return {.heads = SWARM_HEADS,
          .d_k = kKeyWidth,
          .d_v = SWARM_VALUE,
          .names = kNames,
          .scale = 1.0f,
          .causal = flavour == Flavour::Conga ? heed::Causal::TopLeft : heed::Causal::None};
}

}  // namespace

const Rules& rules_of(Flavour flavour) {
  switch (flavour) {
    case Flavour::Conga: return kConga;
    case Flavour::Cross: return kCross;
    case Flavour::Hunt: return kHunt;
    default: return kFlock;
  }
}

MotiveWeights::MotiveWeights() {
  for (const Flavour flavour : kFlavours) add(rules_of(flavour));
  add(kHunt);
}

void MotiveWeights::add(const Rules& rules) {
  Layer q(SWARM_HEADS * kKeyWidth), k(SWARM_HEADS * kKeyWidth), v(SWARM_HEADS * SWARM_VALUE);
  for (int64_t h = 0; h < SWARM_HEADS; ++h) {
    fill_head(rules.heads[static_cast<size_t>(h)], h * kKeyWidth, &q, &k);
    fill_value(h * SWARM_VALUE, &v);
  }
  const auto put = [&](const char* name, const Layer& layer) {
    const std::string prefix = std::string(rules.name) + "." + name;
    all_.push_back({prefix + ".weight", {layer.out, SWARM_ROW}, layer.weight});
    all_.push_back({prefix + ".bias", {layer.out}, layer.bias});
  };
  put("q", q);
  put("k", k);
  put("v", v);
}

std::vector<heed::HostTensor> MotiveWeights::tensors() const {
  std::vector<heed::HostTensor> list;
  for (const Named& t : all_) list.push_back({t.name, heed::DType::F32, t.shape, std::as_bytes(std::span(t.values))});
  return list;
}

heed::Graph look_graph(Flavour flavour) {
  heed::Graph g;
  const heed::Tensor agents = g.input("agents", {1, g.extent("agents", kMaxAgents), SWARM_ROW});
  heed::Tensor seen = agents;
  if (flavour == Flavour::Cross) seen = g.input("targets", {1, g.extent("targets", kMaxTargets), SWARM_ROW});
  g.output("look", heed::nn::attention(g, agents, seen, seen, rules_of(flavour).name, layer_options(flavour)));
  return g;
}

heed::Graph weights_graph(Flavour flavour) {
  heed::Graph g;
  const int64_t most = flavour == Flavour::Cross ? kMaxTargets : kMaxAgents;
  const heed::Tensor row = g.input("row", {1, 1, SWARM_ROW});
  const heed::Tensor keys = g.input("keys", {1, g.extent("keys", most), SWARM_ROW});
  heed::nn::MultiHeadOptions options = layer_options(flavour);
  // With one query a causal mask would leave only the first key. shaders/strongest.comp hides later keys instead.
  options.causal = heed::Causal::None;
  heed::Tensor weights;
  options.weights = &weights;
  heed::nn::attention(g, row, keys, keys, rules_of(flavour).name, options);
  g.output("weights", weights);
  return g;
}

}  // namespace swarm
