// Compares losses, gradients and optimizers of every device with the canon in plain loops.
#include <array>
#include <bit>

#include <heed/train.hpp>

#include "graph/build/build.hpp"
#include "graph/build/update.hpp"
#include "harness/setup.hpp"
#include "reproducible/inputs.hpp"

namespace heed::reproducible::training {
namespace {

constexpr int64_t kRows = 37, kColumns = 150, kDepth = 77, kTableRows = 5, kClasses = 3;
constexpr int64_t kSlice = 41;
constexpr float kEps = 1e-5f, kSmoothing = 0.1f, kScale = 0.3f, kAttentionScale = 0.01f;

struct Inputs {
  Floats x, up, gamma, beta, a, b, of_product, of_loss, of_slice, q, k, v;
  std::vector<int32_t> labels, classes, ids;

  explicit Inputs(bool wild)
      : x(values(kRows * kColumns, 21, wild)),
        up(values(kRows * kColumns, 22, wild)),
        gamma(values(kColumns, 23, wild)),
        beta(values(kColumns, 24, wild)),
        a(values(kRows * kDepth, 25, wild)),
        b(values(kDepth * kColumns, 26, wild)),
        of_product(values(kRows * kColumns, 27, wild)),
        of_loss(values(kRows, 28, wild)),
        of_slice(values(kRows * kSlice, 29, wild)),
        q(values(kRows * kDepth, 33, wild)),
        k(values(kRows * kDepth, 34, wild)),
        v(values(kRows * kColumns, 35, wild)) {
    for (int32_t i = 0; i < kRows * kColumns / kClasses; ++i) classes.push_back(i % static_cast<int32_t>(kClasses));
    for (int32_t i = 0; i < kRows; ++i) {
      labels.push_back(i % 9 == 4 ? -100 : i * 17 % static_cast<int32_t>(kColumns));
      ids.push_back(i * 7 % 11 % static_cast<int32_t>(kTableRows));
    }
  }
};

// The gradient of a slice puts columns kSlice .. 2 kSlice - 1 back among zeros, bit for bit.
Floats put_back(const Floats& slice) {
  Floats result(kRows * kColumns, 0.0f);
  for (int64_t r = 0; r < kRows; ++r)
    std::copy_n(slice.begin() + r * kSlice, kSlice, result.begin() + r * kColumns + kSlice);
  return result;
}

Results expected(const Oracle& oracle, const Inputs& in) {
  const auto layer = oracle.norm_backward(Oracle::Norm::Layer, in.x, in.up, in.gamma, kColumns, kEps),
             rms = oracle.norm_backward(Oracle::Norm::Rms, in.x, in.up, in.gamma, kColumns, kEps),
             l2 = oracle.norm_backward(Oracle::Norm::L2, in.x, in.up, {}, kColumns, kEps);
  const auto attention = oracle.causal_attention_backward(in.q, in.k, in.v, in.up, kRows, kAttentionScale);
  Results results = {
      {"loss", oracle.loss(in.x, in.labels, kColumns, 0.0f)},
      {"loss of classes", oracle.loss(in.x, in.classes, kClasses, 0.0f)},
      {"smoothed", oracle.loss(in.x, in.labels, kColumns, kSmoothing)},
      {"logits", oracle.loss_backward(in.x, in.labels, in.of_loss, kColumns, kSmoothing)},
      {"softmax", oracle.softmax_backward(oracle.softmax(in.x, kColumns, kScale), in.up, kColumns, kScale)},
      {"layernorm", layer.x},
      {"layernorm.gamma", layer.gamma},
      {"layernorm.beta", layer.beta},
      {"rmsnorm", rms.x},
      {"rmsnorm.gamma", rms.gamma},
      {"l2_normalize", l2.x},
      {"table", oracle.embedding_backward(in.up, in.ids, kTableRows, kColumns)},
      {"slice", put_back(in.of_slice)},
      {"q", attention.q},
      {"k", attention.k},
      {"v", attention.v},
      {"a", oracle.product(in.of_product, turned(in.b, kDepth), {}, kRows, kDepth, 1.0f, Activation::None)},
      {"b", oracle.product(turned(in.a, kRows), in.of_product, {}, kDepth, kColumns, 1.0f, Activation::None)},
  };
  for (const auto& [name, kind] : kActivations) {
    Floats slopes;
    for (const float v : in.x) slopes.push_back(oracle.derivative(kind, oracle.canonical(v)));
    results.emplace_back(name, oracle.multiply(in.up, slopes));
  }
  return results;
}

Graph graph() {
  Graph g;
  const Tensor x = g.input("x", {kRows, kColumns}), up = g.input("up", {kRows, kColumns});
  const Tensor gamma = g.input("gamma", {kColumns}), beta = g.input("beta", {kColumns});
  const Tensor labels = g.input("labels", {kRows}, DType::I32), ids = g.input("ids", {kRows}, DType::I32);
  const Tensor table = g.input("table_of_rows", {kTableRows, kColumns});
  const Tensor a = g.input("of_a", {kRows, kDepth}), b = g.input("of_b", {kDepth, kColumns});
  const auto outputs = [&](Tensor y, Tensor gradient, std::initializer_list<std::pair<const char*, Tensor>> of) {
    const train::Upstream upstream{y, gradient};
    std::vector<Tensor> wanted;
    for (const auto& one : of) wanted.push_back(one.second);
    const std::vector<Tensor> made = train::gradients(g, std::span(&upstream, 1), wanted);
    size_t i = 0;
    for (const auto& one : of) g.output(one.first, made[i++]);
  };
  const Tensor smoothed = g.cross_entropy(x, labels, kSmoothing);
  const auto head = [&](const char* name, int64_t width) { return g.input(name, {1, 1, kRows, width}); };
  const Tensor q = head("of_q", kDepth), k = head("of_k", kDepth), v = head("of_v", kColumns);
  outputs(g.attention(q, k, v, {.scale = kAttentionScale, .causal = Causal::TopLeft}).output,
          g.reshape(up, {1, 1, kRows, kColumns}), {{"q", q}, {"k", k}, {"v", v}});
  outputs(g.slice(x, 1, kSlice, kSlice), g.input("of_slice", {kRows, kSlice}), {{"slice", x}});
  g.output("loss", g.cross_entropy(x, labels));
  g.output("loss of classes", g.cross_entropy(g.reshape(x, {kRows * kColumns / kClasses, kClasses}),
                                              g.input("classes", {kRows * kColumns / kClasses}, DType::I32)));
  g.output("smoothed", smoothed);
  outputs(smoothed, g.input("of_loss", {kRows}), {{"logits", x}});
  outputs(g.softmax(x, {.scale = kScale}), up, {{"softmax", x}});
  outputs(g.layernorm(x, gamma, beta, kEps), up,
          {{"layernorm", x}, {"layernorm.gamma", gamma}, {"layernorm.beta", beta}});
  outputs(g.rmsnorm(x, gamma, kEps), up, {{"rmsnorm", x}, {"rmsnorm.gamma", gamma}});
  outputs(g.l2_normalize(x, kEps), up, {{"l2_normalize", x}});
  outputs(g.embedding(table, ids), up, {{"table", table}});
  outputs(g.matmul(a, b), g.input("of_product", {kRows, kColumns}), {{"a", a}, {"b", b}});
  for (const auto& [name, kind] : kActivations) outputs(g.activation(x, kind), up, {{name, x}});
  REQUIRE(g.status() == Status::Ok);
  return g;
}

Results computed(Plan& plan, const Inputs& in, const Results& like) {
  Results results = like;
  const Floats table(static_cast<size_t>(kTableRows * kColumns), 1.0f);
  std::vector<HostBuffer> buffers = {{"x", in.x},
                                     {"up", in.up},
                                     {"gamma", in.gamma},
                                     {"beta", in.beta},
                                     {"labels", in.labels},
                                     {"classes", in.classes},
                                     {"ids", in.ids},
                                     {"of_a", in.a},
                                     {"of_b", in.b},
                                     {"of_loss", in.of_loss},
                                     {"of_product", in.of_product},
                                     {"of_slice", in.of_slice},
                                     {"of_q", in.q},
                                     {"of_k", in.k},
                                     {"of_v", in.v},
                                     {"table_of_rows", table}};
  for (auto& [name, values] : results) buffers.emplace_back(name, values);
  REQUIRE(plan.run(buffers) == Status::Ok);
  return results;
}

constexpr int64_t kWeights = 9001;
constexpr UpdateSettings kAdam = {.rate = 0.1f,
                                  .decay = 0.01f,
                                  .first = 0.9f,
                                  .first_rest = 0.1f,
                                  .second = 0.99f,
                                  .second_rest = 0.01f,
                                  .eps = 1e-3f,
                                  .log_first = -0.105360516f,
                                  .log_second = -0.010050336f,
                                  .gradient = 1.0f,
                                  .most_norm = 7.0f,
                                  .applies = 1.0f,
                                  .loss_scale = 1.0f,
                                  .unused = {}};

// AdamW, and SGD by the gradient, with momentum, and by Nesterov's rule.
enum class Rule : uint8_t { AdamW, Sgd, Moment, Nesterov };
constexpr Rule kRules[] = {Rule::AdamW, Rule::Sgd, Rule::Moment, Rule::Nesterov};

Graph step_graph(Rule rule) {
  Graph g;
  const auto words = std::bit_cast<std::array<float, detail::kUpdateWords>>(kAdam);
  const Tensor row = g.constant("settings", {1, detail::kUpdateWords}, std::span<const float>(words));
  const Tensor gradient = g.input("gradient", {kWeights});
  const auto state = [&](const char* name) { return g.state(name, {kWeights}); };
  detail::GraphData& data = detail::data_of(g);
  const Tensor factors = detail::gradient_norm(data, std::span(&gradient, 1), row, g.state("step", {1})).factors;
  const Tensor first = rule == Rule::Sgd ? Tensor{} : state("m"), second = rule == Rule::AdamW ? state("v") : Tensor{};
  detail::update(data, {state("w"), first, second, gradient}, factors, row, 0,
                 {.rule = rule == Rule::AdamW ? UpdateAttrs::Rule::AdamW : UpdateAttrs::Rule::Sgd,
                  .nesterov = rule == Rule::Nesterov,
                  .clears = false});
  g.output("w.out", state("w"));
  if (first.valid()) g.output("m.out", state("m"));
  if (second.valid()) g.output("v.out", state("v"));
  REQUIRE(g.status() == Status::Ok);
  return g;
}

Results steps_of(const Oracle& oracle, Rule rule, bool wild) {
  Floats w(kWeights, 0.0f), m = rule == Rule::Sgd ? Floats() : w, v = w;
  for (const int step : {1, 2, 3}) {
    const Floats gradient = values(kWeights, 30 + static_cast<uint32_t>(step), wild);
    if (rule == Rule::AdamW)
      oracle.adamw(kAdam, static_cast<float>(step), gradient, &w, &m, &v);
    else
      oracle.sgd(kAdam, rule == Rule::Nesterov, gradient, &w, &m);
  }
  Results results = {{"w.out", w}};
  if (rule != Rule::Sgd) results.emplace_back("m.out", m);
  if (rule == Rule::AdamW) results.emplace_back("v.out", v);
  return results;
}

void check_steps(Plan& plan, Rule rule) {
  for (const bool wild : {false, true}) {
    const Results want = steps_of({}, rule, wild);
    Results got = want;
    State state = test::state_of(plan);
    for (const int step : {1, 2, 3}) {
      const Floats gradient = values(kWeights, 30 + static_cast<uint32_t>(step), wild);
      std::vector<HostBuffer> buffers = {{"gradient", gradient}};
      for (auto& [name, values] : got) buffers.emplace_back(name, values);
      REQUIRE(plan.run(buffers, {}, {.state = state}) == Status::Ok);
    }
    check_bits_of(got, want, wild ? " of wild values" : "");
  }
}

}  // namespace

TEST_CASE("reproducible: losses and gradients are what plain loops give, bit for bit", "[reproducible]") {
  on_devices(graph(), [](Plan& plan) {
    for (const bool wild : {false, true}) {
      const Inputs in(wild);
      const Results want = expected({}, in);
      check_bits_of(computed(plan, in, want), want, wild ? " of wild values" : "");
    }
  });
}

TEST_CASE("reproducible: steps of optimizers are what plain loops give, bit for bit", "[reproducible]") {
  for (const Rule rule : kRules) on_devices(step_graph(rule), [&](Plan& plan) { check_steps(plan, rule); });
}

TEST_CASE("reproducible: each fault changes some bits of losses, gradients and steps", "[reproducible]") {
  for (const Fault fault : {Fault::LibraryLog, Fault::ReversedTable, Fault::OneSumOfRows, Fault::LanesOfRows,
                            Fault::LibraryExp, Fault::LibraryRoot, Fault::RoughReciprocal, Fault::DividedMean,
                            Fault::FusedPolynomial, Fault::KeptSubnormals}) {
    INFO(to_string(fault));
    std::string noticed;
    for (const bool wild : {false, true}) {
      noticed += differing(expected({}, Inputs(wild)), expected({fault}, Inputs(wild)));
      noticed += differing(steps_of({}, Rule::AdamW, wild), steps_of({fault}, Rule::AdamW, wild));
    }
    CHECK_FALSE(noticed.empty());
  }
}

}  // namespace heed::reproducible::training
