// Recomputed activations: the same gradients, and the memory they need.
#include "graph/support.hpp"
#include "harness/devices.hpp"
#include "harness/setup.hpp"
#include "train/writer.hpp"

namespace heed::train_tests {
namespace {

constexpr int64_t kTokens = 40, kWidth = 32;

// A decoder's training graph with so many layers, whose gradients are outputs.
Graph decoder(int layers, std::string_view remat, std::vector<std::string>* names = nullptr) {
  Graph g;
  const DecoderConfig config = {
      .layers = layers, .width = kWidth, .heads = 4, .kv_heads = 2, .hidden = 48, .vocabulary = 50};
  const Tensor ids = g.input("ids", {1, kTokens}, DType::I32), labels = g.input("labels", {1, kTokens}, DType::I32);
  const DecoderResult y = nn::decoder(g, ids, config, {.all_logits = true});
  const Tensor loss = g.mean(g.reshape(g.cross_entropy(y.logits, labels), {1, kTokens}), 1);
  train::Optimizer optimizer;
  REQUIRE(optimizer.add_weights(g) == Status::Ok);
  const std::vector<Tensor> d = train::gradients(g, loss, optimizer.weights(g), {.remat = remat});
  for (size_t i = 0; i < d.size(); ++i) {
    g.output("d." + optimizer.parameters()[i].name, d[i]);
    if (names != nullptr) names->push_back(optimizer.parameters()[i].name);
  }
  INFO(g.error());
  REQUIRE(g.status() == Status::Ok);
  return g;
}

// A lower bound for any layout: the most bytes that are live between passes at once.
uint64_t least_scratch(const Schedule& schedule) {
  struct Life {
    size_t first = SIZE_MAX, last = 0;
  };
  std::map<uint32_t, Life> lives;
  for (size_t n = 0; n < schedule.passes.size(); ++n) {
    const auto touch = [&](Tensor t) {
      if (!t.valid() || schedule.placement(t).space != Placement::Space::Scratch) return;
      Life& life = lives[schedule.info(t).storage];
      life.first = std::min(life.first, n);
      life.last = std::max(life.last, n);
    };
    for (const Tensor t : schedule.passes[n].inputs) touch(t);
    for (const Tensor t : schedule.passes[n].outputs) touch(t);
    touch(schedule.passes[n].workspace);
  }
  uint64_t most = 0;
  for (size_t n = 0; n < schedule.passes.size(); ++n) {
    uint64_t bytes = 0;
    for (const auto& [storage, life] : lives)
      if (life.first <= n && n <= life.last) bytes += schedule.placements[storage].bytes;
    most = std::max(most, bytes);
  }
  return most;
}

// Keeps attention as one node, as devices do.
ScheduleOptions fused() {
  static const test::FusingDevice device;
  return {.asked = {.training = true}, .device = &device};
}

uint64_t scratch_of(int layers, std::string_view remat) {
  return test::schedule_of(decoder(layers, remat), fused()).schedule.scratch_bytes;
}

}  // namespace

TEST_CASE("remat: scratch of a training step is near the least there can be", "[train][remat]") {
  for (const std::string_view remat : {"", "model.layers"})
    for (const int layers : {1, 2, 5, 12}) {
      const auto made = test::schedule_of(decoder(layers, remat), fused());
      const uint64_t least = least_scratch(made.schedule), has = made.schedule.scratch_bytes;
      INFO("remat '" << remat << "', " << layers << " layers: " << has << " bytes, at least " << least);
      CHECK(has >= least);
      CHECK(static_cast<double>(has) <= 1.15 * static_cast<double>(least));
    }
  for (const std::string_view remat : {"", "layers"}) {
    const auto made = test::schedule_of(Writer({}, 0.1f).learns(remat), fused());
    CHECK(static_cast<double>(made.schedule.scratch_bytes) <= 1.15 * static_cast<double>(least_scratch(made.schedule)));
  }
}

TEST_CASE("remat: a layer more keeps what it was given, and nothing else", "[train][remat]") {
  constexpr uint64_t kRows = kTokens * kWidth * 4;
  const uint64_t kept = scratch_of(12, "") - scratch_of(11, "");
  const uint64_t again = scratch_of(12, "model.layers") - scratch_of(11, "model.layers");
  INFO(kept << " and " << again << " bytes a layer, rows are " << kRows);
  CHECK(again <= kRows + 1024);
  CHECK(kept > 6 * kRows);
  CHECK(scratch_of(12, "model.layer") == scratch_of(12, ""));  // no layer has this name
}

TEST_CASE("remat: the same gradients on every device", "[train][remat]") {
  for (const ops::TestDevice& test : ops::test_devices()) {
    INFO(test.word);
    std::vector<std::string> names;
    test::Tensors weights;
    std::vector<int32_t> ids, labels;
    for (int32_t i = 0; i < kTokens; ++i) ids.push_back(i * 7 % 50), labels.push_back(i * 11 % 50);
    const auto gradients_of = [&](std::string_view remat) {
      names.clear();
      const Graph g = decoder(2, remat, &names);
      weights.add_weights_of(g);
      Device device = test.device;
      Plan plan = test::compiled(device, g, test::uploaded(device, weights.list()));
      std::vector<std::vector<float>> d;
      std::vector<HostBuffer> buffers = {{"ids", ids}, {"labels", labels}};
      std::vector<std::string> outputs;
      for (const std::string& name : names) outputs.push_back("d." + name), d.emplace_back(weights.values[name].size());
      for (size_t i = 0; i < d.size(); ++i) buffers.push_back({outputs[i], std::span(d[i])});
      REQUIRE(plan.run(buffers) == Status::Ok);
      return d;
    };
    const auto kept = gradients_of(""), again = gradients_of("model.layers");
    REQUIRE(kept.size() == again.size());
    for (size_t i = 0; i < kept.size(); ++i) {
      INFO(names[i]);
      CHECK(test::difference(again[i].data(), kept[i]) == "");
      double largest = 0.0;
      for (const float value : kept[i]) largest = std::max(largest, std::abs(static_cast<double>(value)));
      CHECK(largest > 0.0);
    }
    CHECK(ops::take_checked_messages() == "");
  }
}

// A recomputed layer must draw the same dropout bits, or the losses of later steps would differ.
TEST_CASE("remat: a training with dropout is the same", "[train][remat]") {
  for (const ops::TestDevice& test : ops::test_devices()) {
    if (!test.word.starts_with("cpu")) continue;  // to a device a copy of a node is an ordinary node
    INFO(test.word);
    const auto losses = [&](std::string_view remat) {
      Writer writer({.accumulate = true}, 0.2f);
      Device device = test.device;
      Plan plan = test::compiled(device, writer.learns(remat), {}, {.training = true});
      State state = writer.begin(plan);
      std::vector<float> all;
      for (int64_t step = 0; step < 6; ++step) {
        const Writer::Loss now = writer.step(plan, state, step);
        all.push_back(now.loss);
        all.push_back(now.report.norm);
      }
      return all;
    };
    CHECK(test::difference(losses("layers").data(), losses("")) == "");
  }
}

TEST_CASE("remat: layers that cannot be computed again are kept", "[train][remat]") {
  const auto copies_of = [](auto build) {
    Graph g;
    const Tensor w = g.weight("w", {4, 4});
    g.push_label("layers");
    g.push_label("0");
    Tensor x = g.activation(g.linear(g.input("x", {3, 4}), w), Activation::Silu);
    x = build(g, x);
    x = g.activation(g.linear(x, w), Activation::Silu);
    g.pop_label();
    g.pop_label();
    const train::Upstream output{x, g.input("up", {3, 4})};
    const size_t before = g.data().nodes.size();
    static_cast<void>(train::gradients(g, std::span(&output, 1), std::span(&w, 1), {.remat = "layers"}));
    REQUIRE(g.status() == Status::Ok);
    int64_t copies = 0;
    for (size_t n = before; n < g.data().nodes.size(); ++n)
      copies += g.data().nodes[n].label.find("again.") != std::string::npos;
    return copies;
  };
  CHECK(copies_of([](Graph&, Tensor x) { return x; }) == 4);
  CHECK(copies_of([](Graph& g, Tensor x) {
          static_cast<void>(g.assign(g.state("s", {3, 4}), x));
          return x;
        }) == 0);
  CHECK(copies_of([](Graph& g, Tensor x) { return g.add(x, g.state("s", {3, 4})); }) == 5);
  CHECK(copies_of([](Graph& g, Tensor x) {
          x = g.add(x, g.state("s", {3, 4}));
          g.pop_label();
          g.pop_label();
          static_cast<void>(g.assign(g.state("s", {3, 4}), g.scale(x, 2.0f)));
          g.push_label("layers");
          g.push_label("0");
          return x;
        }) == 0);
}

}  // namespace heed::train_tests
