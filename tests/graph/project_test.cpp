// Which matmuls become one pass (engine/graph/rewrite/project.cpp). Needs no device: the tests read the schedule.
#include <algorithm>
#include <heed/nn.hpp>

#include "graph/given_weights.hpp"
#include "graph/schedule/backend.hpp"
#include "graph/support.hpp"

namespace heed::test {
namespace {

std::vector<Op> ops_with(const Graph& graph, uint64_t most_bytes = UINT64_MAX) {
  const GivenWeights weights(graph);
  const FusingDevice device({.max_tensor_bytes = most_bytes});
  const Scheduled scheduled = schedule_of(graph, {.device = &device, .weights = &weights});
  REQUIRE(scheduled.status == Status::Ok);
  return ops_of(scheduled.schedule);
}

using Ops = std::vector<Op>;
constexpr Op kScale = Op::Elementwise, kOne = Op::Projection, kAlone = Op::Matmul;

struct Layer {
  Graph g;
  Tensor x, rows;

  explicit Layer(Dim tokens = 1, int64_t depth = 64) {
    x = g.scale(g.input("x", {1, tokens, depth}), 0.5f);
    rows = g.rmsnorm(x, g.weight("gamma", {depth}), 1e-5f);
  }
  Tensor product(const char* name, int64_t columns) {
    return g.linear(rows, g.weight(name, {columns, g.shape(rows)[2].value}));
  }
  Tensor heads(Tensor y, int64_t count) {
    const Shape shape = g.shape(y);
    return g.transpose(g.reshape(y, {1, shape[1], count, shape[2].value / count}), 1, 2);
  }
};

}  // namespace

TEST_CASE("projections: norm, queries, keys and values are one pass, and write keys and values where they stay",
          "[graph]") {
  Layer layer;
  Graph& g = layer.g;
  const Dim past = g.position("past", 15);
  const RotaryOptions at{.first = past};
  const Tensor q = g.rotary(layer.heads(layer.product("q", 64), 4), at);
  const Tensor k = g.rotary(layer.heads(layer.product("k", 32), 2), at), v = layer.heads(layer.product("v", 32), 2);
  SECTION("head by head") {
    const Tensor keys = g.state("keys", {1, 2, 16, 16}), values = g.state("values", {1, 2, 16, 16});
    static_cast<void>(g.append(keys, k, 2, past));
    static_cast<void>(g.append(values, v, 2, past));
  }
  SECTION("token by token") {
    const Tensor keys = g.state("keys", {1, 16, 2, 16}), values = g.state("values", {1, 16, 2, 16});
    static_cast<void>(g.append(keys, g.transpose(k, 1, 2), 1, past));
    static_cast<void>(g.append(values, g.transpose(v, 1, 2), 1, past));
  }
  g.output("q", q);
  CHECK(ops_with(g) == Ops{kScale, kOne});
  CHECK(ops_with(g, 1 << 15).size() > 2);  // the device cannot bind so many weights at once
}

TEST_CASE("projections: keys and values go to a place for each token, and to caches of another type", "[graph]") {
  const auto ops = [](DType cache, bool turns, bool one_place, const char* other_places = nullptr) {
    Layer layer(2);
    Graph& g = layer.g;
    const Dim past = g.position("past", 14);
    const Tensor at = g.input("at", {1, 1, 2}, DType::I32);
    const Tensor values_at = other_places != nullptr ? g.input(other_places, {1, 1, 2}, DType::I32) : at;
    RotaryOptions options;
    if (one_place)
      options.first = past;
    else
      options.positions = at;
    Tensor q = layer.product("q", 64), k = layer.heads(layer.product("k", 32), 2);
    if (turns) q = g.rotary(layer.heads(q, 4), options), k = g.rotary(k, options);
    const Tensor v = layer.heads(layer.product("v", 32), 2);
    const Tensor keys = g.state("keys", {1, 2, 16, 16}, cache), values = g.state("values", {1, 2, 16, 16}, cache);
    static_cast<void>(one_place ? g.append(keys, k, 2, past) : g.append(keys, k, 2, at));
    static_cast<void>(one_place ? g.append(values, v, 2, past) : g.append(values, v, 2, values_at));
    g.output("q", q);
    return ops_with(g);
  };
  for (const DType cache : {DType::F32, DType::F16, DType::BF16})
    for (const bool turns : {false, true})
      for (const bool one_place : {false, true}) {
        INFO(to_string(cache) << (turns ? ", turned" : "") << (one_place ? ", one place" : ""));
        CHECK(ops(cache, turns, one_place) == Ops{kScale, kOne});
      }
  // Values have another destination than keys, and so a separate pass.
  CHECK(ops(DType::F32, true, false, "other") == Ops{kScale, kOne, Op::Place});
}

TEST_CASE("projections: values go with queries and keys whose heads have norms", "[graph]") {
  Layer layer;
  Graph& g = layer.g;
  nn::MultiHeadOptions options = {.heads = 4, .kv_heads = 2, .bias = false, .out_bias = false};
  options.names = nn::kSeparate;
  options.names->q_norm = "q_norm";
  options.names->k_norm = "k_norm";
  options.rotary = RotaryOptions();
  options.cache = {.capacity = 16, .past = g.position("past", 15)};
  g.output("y", nn::self_attention(g, layer.rows, "layer", options));
  CHECK(ops_with(g) == Ops{kScale, kOne, Op::RmsNorm, Op::RmsNorm, Op::Rotary, Op::Rotary, Op::Attention, kAlone});
}

TEST_CASE("projections: caches of another type stay apart where the device has no kernel for them", "[graph]") {
  Layer layer;
  Graph& g = layer.g;
  g.output("q", layer.product("q", 64));
  static_cast<void>(g.append(g.state("v", {1, 2, 16, 16}, DType::F16), layer.heads(layer.product("v", 32), 2), 2, 0));
  const GivenWeights weights(g);
  FusingDevice device;
  device.narrows = false;
  const Scheduled scheduled = schedule_of(g, {.device = &device, .weights = &weights});
  REQUIRE(scheduled.status == Status::Ok);
  CHECK(ops_of(scheduled.schedule) == Ops{kScale, kOne, Op::Elementwise});
}

TEST_CASE("projections: a gate and what it multiplies are one pass", "[graph]") {
  Layer layer;
  Graph& g = layer.g;
  const Tensor gate = g.activation(layer.product("gate", 96), Activation::Silu);
  const Tensor hidden = g.mul(gate, layer.product("up", 96));
  g.output("y", g.add(g.linear(hidden, g.weight("down", {64, 96})), layer.x));
  CHECK(ops_with(g) == Ops{kScale, kOne, kAlone});
}

TEST_CASE("projections: LayerNorm goes with its products, and with what is applied to a single one", "[graph]") {
  Graph g;
  const Tensor x = g.scale(g.input("x", {1, 2, 64}), 0.5f);
  const auto normed = [&](const char* name) {
    const std::string text = name;
    return g.layernorm(x, g.weight(text + ".gamma", {64}), g.weight(text + ".beta", {64}), 1e-5f);
  };
  const auto product = [&](const char* name, Tensor rows) {
    const std::string text = name;
    return g.linear(rows, g.weight(text + ".w", {32, 64}), g.weight(text + ".b", {32}));
  };
  SECTION("two products") {
    const Tensor rows = normed("norm");
    g.output("y", product("y", rows));
    g.output("z", product("z", rows));
    CHECK(ops_with(g) == Ops{kScale, kOne});
  }
  SECTION("a product with an activation") {
    g.output("y", g.activation(product("y", normed("norm")), Activation::GeluErf));
    CHECK(ops_with(g) == Ops{kScale, kOne});
  }
  SECTION("logits of a vocabulary") {
    g.output("y", g.linear(normed("norm"), g.weight("words", {32000, 64})));
    CHECK(ops_with(g) == Ops{kScale, Op::LayerNorm, kAlone});
  }
  SECTION("two products, one with an activation") {
    const Tensor rows = normed("norm");
    g.output("y", g.activation(product("y", rows), Activation::GeluErf));
    g.output("z", product("z", rows));
    CHECK(ops_with(g) == Ops{kScale, Op::LayerNorm, kAlone, kAlone});
  }
  SECTION("a product with a residual") {
    const Tensor other = g.scale(g.input("other", {1, 2, 32}), 2.0f);
    g.output("y", g.add(product("y", normed("norm")), other));
    CHECK(ops_with(g) == Ops{kScale, kScale, Op::LayerNorm, kAlone});
  }
  SECTION("rows that are read elsewhere, too") {
    const Tensor rows = normed("norm");
    g.output("y", product("y", rows));
    g.output("rows", rows);
    CHECK(ops_with(g) == Ops{kScale, Op::LayerNorm, kAlone});
  }
  SECTION("a norm that the host's program gives a factor with each run") {
    const Tensor rows = g.layernorm(x, g.input("gamma", {64}), {}, 1e-5f);
    g.output("y", product("y", rows));
    CHECK(ops_with(g) == Ops{kScale, Op::LayerNorm, kAlone});
  }
}

TEST_CASE("projections: what cannot be one pass stays apart", "[graph]") {
  SECTION("nine rows") {
    Layer layer(9);
    layer.g.output("y", layer.product("y", 8));
    layer.g.output("z", layer.product("z", 8));
    CHECK(ops_with(layer.g) == Ops{kScale, Op::RmsNorm, kAlone, kAlone});
  }
  SECTION("up to nine rows") {
    Graph g;
    const Tensor x = g.scale(g.input("x", {1, g.extent("s", 9), 64}), 0.5f);
    for (const char* name : {"y", "z"}) g.output(name, g.linear(x, g.weight(std::string("w") + name, {8, 64})));
    CHECK(ops_with(g) == Ops{kScale, kAlone, kAlone});
  }
  SECTION("rows of the host") {
    Graph g;
    const Tensor x = g.input("x", {1, 1, 64});
    for (const char* name : {"y", "z"}) g.output(name, g.linear(x, g.weight(std::string("w") + name, {8, 64})));
    CHECK(ops_with(g) == Ops{kAlone, kAlone});
  }
  SECTION("one product without a norm") {
    Graph g;
    g.output("y", g.linear(g.scale(g.input("x", {1, 1, 64}), 0.5f), g.weight("w", {8, 64})));
    CHECK(ops_with(g) == Ops{kScale, kAlone});
  }
  SECTION("sums over a number of elements that is no multiple of eight") {
    Layer layer(1, 68);
    layer.g.output("y", layer.product("y", 8));
    layer.g.output("z", layer.product("z", 8));
    CHECK(ops_with(layer.g) == Ops{kScale, Op::RmsNorm, kAlone, kAlone});
  }
  SECTION("a weight that the host gives with each run") {
    Layer layer;
    layer.g.output("y", layer.product("y", 8));
    layer.g.output("z", layer.g.linear(layer.rows, layer.g.input("z.weight", {8, 64})));
    CHECK(ops_with(layer.g) == Ops{kScale, Op::RmsNorm, kAlone, kAlone});
  }
  SECTION("a norm that somebody else reads stays a pass") {
    Layer layer;
    layer.g.output("y", layer.product("y", 8));
    layer.g.output("z", layer.product("z", 8));
    layer.g.output("n", layer.g.scale(layer.rows, 3.0f));
    CHECK(ops_with(layer.g).size() == 4);
  }
  SECTION("rotations that differ") {
    Layer layer;
    Graph& g = layer.g;
    g.output("q", g.rotary(layer.heads(layer.product("q", 64), 4)));
    g.output("k", g.rotary(layer.heads(layer.product("k", 64), 4), {.base = 500.0f}));
    CHECK(ops_with(g) == Ops{kScale, kOne, Op::Rotary});
  }
  SECTION("a rotation that differs, between the second and the third product") {
    Layer layer;
    Graph& g = layer.g;
    g.output("q", g.rotary(layer.heads(layer.product("q", 64), 4)));
    g.output("k", g.rotary(layer.heads(layer.product("k", 64), 4), {.base = 500.0f}));
    g.output("v", layer.product("v", 64));
    CHECK(ops_with(g) == Ops{kScale, Op::RmsNorm, kOne, Op::Rotary, kAlone});
  }
  SECTION("heads of another width than those that turn") {
    // Their matmul is a separate pass, and writes head by head.
    Layer layer;
    Graph& g = layer.g;
    g.output("q", g.rotary(layer.heads(layer.product("q", 64), 4)));
    static_cast<void>(g.append(g.state("values", {1, 4, 16, 8}), layer.heads(layer.product("v", 32), 4), 2, 0));
    CHECK(ops_with(g) == Ops{kScale, kOne, kScale});
  }
  SECTION("a state that is read between") {
    // The second matmul would write the state before it is read, or the first be read before it is computed.
    Layer layer;
    Graph& g = layer.g;
    const Tensor state = g.state("s", {1, 1, 8});
    const Tensor before = g.scale(state, 2.0f);
    const Tensor y = layer.product("y", 8);
    const Tensor mixed = g.mul(y, before);
    static_cast<void>(g.assign(state, layer.product("z", 8)));
    g.output("y", g.scale(g.activation(mixed, Activation::Tanh), 2.0f));
    const std::vector<Op> ops = ops_with(g);
    CHECK(std::count(ops.begin(), ops.end(), kOne) == 0);
  }
}

TEST_CASE("projections: weights of one type are one pass, and quantized ones of any", "[graph][quantized]") {
  const auto ops_by = [](DType a, DType b, bool gated) {
    Layer layer(1, 256);
    Graph& g = layer.g;
    const Tensor one = g.linear(layer.rows, g.weight("a", {16, 256}, a)),
                 other = g.linear(layer.rows, g.weight("b", {16, 256}, b));
    if (gated) {
      g.output("y", g.mul(g.activation(one, Activation::Silu), other));
    } else {
      g.output("one", one);
      g.output("other", other);
    }
    return ops_with(g);
  };
  CHECK(ops_by(DType::F16, DType::F16, false) == Ops{kScale, kOne});
  CHECK(ops_by(DType::F32, DType::F16, false) == Ops{kScale, Op::RmsNorm, kAlone, kAlone});
  CHECK(ops_by(DType::F16, DType::Q8_0, false) == Ops{kScale, Op::RmsNorm, kAlone, kAlone});
  CHECK(ops_by(DType::Q4_K, DType::Q8_0, false) == Ops{kScale, kOne});
  CHECK(ops_by(DType::Q4_K, DType::Q4_K, true) == Ops{kScale, kOne});
  CHECK(ops_by(DType::Q4_K, DType::Q6_K, true).size() > 2);
}

}  // namespace heed::test
