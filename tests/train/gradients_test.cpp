// The operations that gradients add to a graph, and the graphs that they refuse.
#include <cmath>

#include "graph/support.hpp"
#include "harness/trial.hpp"

namespace heed::train_tests {
namespace {

std::vector<Op> added_ops(const Graph& g, size_t before) {
  std::vector<Op> ops;
  for (size_t n = before; n < g.data().nodes.size(); ++n) ops.push_back(g.data().nodes[n].op);
  return ops;
}

using test::compiled;

// Outputs of one run on the CPU device, all of F32.
std::vector<std::vector<float>> run_on(Device device, const Graph& g, const test::Tensors& inputs,
                                       const test::Tensors& weights, std::span<const std::string> outputs,
                                       bool training = false) {
  const Weights uploaded = weights.values.empty() ? Weights() : test::uploaded(device, weights.list());
  Plan plan = compiled(device, g, uploaded, {.training = training});
  std::vector<std::vector<float>> results;
  std::vector<HostBuffer> buffers;
  for (const auto& [name, values] : inputs.values) buffers.emplace_back(name, values);
  for (const std::string& name : outputs) {
    size_t count = 1;
    for (const detail::NamedTensor& output : g.data().outputs)
      if (output.name == name) {
        const Shape shape = g.shape({output.tensor});
        for (int i = 0; i < shape.rank; ++i) count *= static_cast<size_t>(shape[i].value);
      }
    results.emplace_back(count, NAN);
  }
  for (size_t i = 0; i < outputs.size(); ++i) buffers.emplace_back(outputs[i], results[i]);
  REQUIRE(plan.run(buffers, {}, {.seed = 7}) == Status::Ok);
  return results;
}

struct Mistake {
  const char* name;
  Status status;
  const char* message;
  std::function<void(Graph&)> make;
};

void ask(Graph& g, Tensor loss, Tensor of) { static_cast<void>(train::gradients(g, loss, std::span(&of, 1))); }
void ask(Graph& g, Tensor output, Tensor gradient, Tensor of) {
  const train::Upstream given{output, gradient};
  static_cast<void>(train::gradients(g, std::span(&given, 1), std::span(&of, 1)));
}

}  // namespace

TEST_CASE("gradients: mistakes name what is wrong", "[train][graph]") {
  const Mistake mistakes[] = {
      {"a loss that is not one number", Status::ShapeMismatch, "f32 [2, 3] is not one number",
       [](Graph& g) {
         const Tensor x = g.input("x", {2, 3});
         ask(g, g.scale(x, 2.0f), x);
       }},
      {"a loss whose size may be one", Status::ShapeMismatch, "is not one number",
       [](Graph& g) {
         const Tensor x = g.input("x", {g.extent("n", 4)});
         ask(g, g.scale(x, 2.0f), x);
       }},
      {"a gradient of another shape", Status::ShapeMismatch, "f32 [3, 2] is not like the output",
       [](Graph& g) {
         const Tensor x = g.input("x", {2, 3});
         ask(g, g.scale(x, 2.0f), g.input("up", {3, 2}), x);
       }},
      {"a gradient of another type", Status::DTypeMismatch, "is not like the output",
       [](Graph& g) {
         const Tensor x = g.input("x", {2, 3});
         ask(g, g.scale(x, 2.0f), g.input("up", {2, 3}, DType::F16), x);
       }},
      {"a loss of whole numbers", Status::DTypeMismatch, "i32 [1] has no gradient",
       [](Graph& g) {
         const Tensor x = g.input("x", {1, 3});
         ask(g, g.argmax(x), x);
       }},
      {"ids were asked for", Status::DTypeMismatch, "'ids' i32 [3] has no gradient",
       [](Graph& g) {
         const Tensor ids = g.input("ids", {3}, DType::I32);
         ask(g, g.mean(g.reshape(g.embedding(g.input("t", {5, 4}), ids), {12, 1}), 0), ids);
       }},
      {"a tensor of another graph", Status::InvalidArgument, "is not a tensor of this graph",
       [](Graph& g) {
         Graph other;
         Tensor last;
         for (int i = 0; i < 9; ++i) last = other.input(std::string("x") + std::to_string(i), {1});
         ask(g, g.scale(g.input("x", {1}), 2.0f), last);
       }},
      {"an invalid tensor", Status::InvalidArgument, "is not a tensor of this graph",
       [](Graph& g) { ask(g, g.scale(g.input("x", {1}), 2.0f), Tensor{}); }},
      {"a quantized weight", Status::DTypeMismatch, "q8_0",
       [](Graph& g) {
         const Tensor w = g.weight("w", {1, 32}, DType::Q8_0);
         ask(g, g.reshape(g.linear(g.input("x", {1, 32}), w), {1}), w);
       }},
      {"a custom pass without a gradient", Status::Unsupported, "custom 'fade' has no gradient",
       [](Graph& g) {
         const Tensor x = g.input("x", {1});
         const CustomOutput out[] = {{{1}}};
         const auto pass = g.custom({.name = "fade", .outputs = out, .cpu = {[](void*, const CustomCall&) {}}}, {x});
         ask(g, pass.outputs[0], x);
       }},
      {"a gradient of a gradient", Status::Unsupported, "softmax_backward has no gradient",
       [](Graph& g) {
         const Tensor x = g.input("x", {1, 3}), up = g.input("up", {1, 3});
         const train::Upstream output{g.softmax(x), up};
         const Tensor d = train::gradients(g, std::span(&output, 1), std::span(&x, 1))[0];
         ask(g, d, g.input("more", {1, 3}), x);
       }},
      {"log_sum_exp beside masked_fill", Status::Unsupported, "log_sum_exp beside masked_fill",
       [](Graph& g) {
         const Tensor x = g.input("x", {1, 1, 1, 4});
         const auto y = g.attention(x, x, x, {.masked_fill = -1.0f, .return_log_sum_exp = true});
         ask(g, g.reshape(y.log_sum_exp, {1}), x);
       }},
      {"a state that has been written since", Status::InvalidArgument, "before it was written",
       [](Graph& g) {
         const Tensor w = g.state("w", {1, 3}), x = g.input("x", {1, 3});
         const Tensor y = g.mul(x, w);
         g.assign(w, x);
         ask(g, y, g.input("up", {1, 3}), x);
       }},
      {"keys in a state that has been written since", Status::InvalidArgument, "before it was written",
       [](Graph& g) {
         const Tensor x = g.input("x", {1, 2, 3, 4}), keys = g.state("keys", {1, 2, 3, 4});
         const Tensor y = g.attention(x, keys, x).output;
         g.assign(keys, x);
         ask(g, y, g.input("up", {1, 2, 3, 4}), x);
       }},
      {"positions in a state that has been written since", Status::InvalidArgument, "before it was written",
       [](Graph& g) {
         const Tensor x = g.input("x", {1, 2, 3, 4}), places = g.state("places", {3}, DType::I32);
         const Tensor y = g.rotary(x, {.positions = places});
         g.assign(places, g.input("next", {3}, DType::I32));
         ask(g, y, g.input("up", {1, 2, 3, 4}), x);
       }},
  };
  for (const Mistake& mistake : mistakes) {
    INFO(mistake.name);
    Graph g;
    mistake.make(g);
    INFO(g.error());
    CHECK(g.status() == mistake.status);
    CHECK(std::string(g.error()).find(mistake.message) != std::string::npos);
    CHECK(std::string(g.error()).starts_with("gradients"));
  }
}

TEST_CASE("gradients: nothing is added for what nobody asked for", "[train][graph]") {
  Graph g;
  const Tensor x = g.input("x", {4, 6}), w = g.weight("w", {5, 6}), b = g.weight("b", {5});
  const Tensor y = g.linear(x, w, b);
  static_cast<void>(g.softmax(y));  // not on the path to the loss
  const Tensor up = g.input("up", {4, 5});
  const train::Upstream output{y, up};
  const size_t before = g.data().nodes.size();
  const auto ops_for = [&](std::initializer_list<Tensor> of) {
    Graph copy = g;
    const std::vector<Tensor> found = train::gradients(copy, std::span(&output, 1), {of.begin(), of.size()});
    REQUIRE(copy.status() == Status::Ok);
    REQUIRE(found.size() == of.size());
    return added_ops(copy, before);
  };
  CHECK(ops_for({}).empty());
  CHECK(ops_for({y}).empty());
  CHECK(ops_for({x}) == std::vector{Op::Matmul});
  CHECK(ops_for({w}) == std::vector{Op::Matmul});
  CHECK(ops_for({b}) == std::vector{Op::Reduce});
  CHECK(ops_for({x, w, b}).size() == 3);
}

TEST_CASE("gradients: those of slices that make up a tensor are joined, others are put among zeros", "[train][graph]") {
  // Slices of the last axis, as heads.
  const auto ops_for = [](const std::vector<std::array<int64_t, 2>>& cuts, bool twice) {
    Graph g;
    const Dim tokens = g.extent("tokens", 9);
    const Tensor x = g.input("x", {2, tokens, 16}), y = g.scale(x, 2.0f);
    std::vector<train::Upstream> outputs;
    for (const auto& [begin, size] : cuts) {
      const Tensor part = g.slice(y, 2, begin, size);
      const Tensor heads = g.transpose(g.reshape(part, {2, tokens, size / 2, 2}), 1, 2);
      for (int i = 0; i < (twice ? 2 : 1); ++i) {
        const Tensor out = g.activation(heads, Activation::Tanh);
        const std::string name = "up" + std::to_string(outputs.size());
        outputs.push_back({out, g.input(name, g.shape(out))});
      }
    }
    const size_t before = g.data().nodes.size();
    static_cast<void>(train::gradients(g, outputs, std::span(&x, 1)));
    INFO(g.error());
    REQUIRE(g.status() == Status::Ok);
    std::map<Op, int> counts;
    for (const Op op : added_ops(g, before)) ++counts[op];
    return counts;
  };
  auto counts = ops_for({{0, 4}, {4, 8}, {12, 4}}, false);
  CHECK(counts[Op::Concat] == 1);
  CHECK(counts[Op::SliceBackward] == 0);
  CHECK(counts[Op::Elementwise] == 3 + 1);  // tanh, and the scale
  counts = ops_for({{8, 8}, {0, 8}}, true);
  CHECK(counts[Op::Concat] == 1);
  CHECK(counts[Op::SliceBackward] == 0);
  CHECK(counts[Op::Elementwise] == 4 + 2 + 1);
  for (const auto& cuts : {std::vector<std::array<int64_t, 2>>{{0, 4}, {8, 8}}, {{0, 8}, {4, 12}}, {{4, 8}, {12, 4}}}) {
    counts = ops_for(cuts, false);
    CHECK(counts[Op::Concat] == 0);
    CHECK(counts[Op::SliceBackward] == 2);
  }
}

TEST_CASE("gradients: what does not reach an output has zeros, several uses are summed", "[train]") {
  for (const ops::TestDevice& test : ops::test_devices()) {
    INFO(test.word);
    Graph g;
    const Tensor x = g.input("x", {2, 2}), w = g.weight("w", {2, 2}), other = g.weight("other", {3});
    // x w + (x w) x: a loss with one element.
    const Tensor product = g.mul(x, w), all = g.add(product, g.mul(product, x));
    const Tensor loss = g.mean(g.reshape(all, {4, 1}), 0);
    const Tensor of[] = {w, other, x, g.reshape(loss, {1})};
    const std::vector<Tensor> d = train::gradients(g, loss, of);
    REQUIRE(g.status() == Status::Ok);
    const std::string names[] = {"dw", "dother", "dx", "dloss"};
    for (size_t i = 0; i < d.size(); ++i) g.output(names[i], d[i]);
    test::Tensors inputs, weights;
    inputs.add("x", {2, 2}, {1, 2, -3, 4});
    weights.add("w", {2, 2}, {1, -1, 0.5f, 2});
    weights.add("other", {3}, {1, 2, 3});
    const auto got = run_on(test.device, g, inputs, weights, names);
    CHECK(got[0] == std::vector<float>{0.5f, 1.5f, 1.5f, 5.0f});  // (x + x^2) / 4
    CHECK(got[1] == std::vector<float>{0, 0, 0});
    CHECK(got[2] == std::vector<float>{0.75f, -1.25f, -0.625f, 4.5f});  // (w + 2 x w) / 4
    CHECK(got[3] == std::vector<float>{1});
  }
}

TEST_CASE("gradients: views show the gradients of what they show", "[train]") {
  Graph g;
  const Tensor w = g.weight("w", {3, 4}), x = g.input("x", {2, 3});
  const Tensor part = g.transpose(g.slice(w, 1, 1, 2), 0, 1);  // [2, 3]
  const train::Upstream output{g.mul(part, x), g.input("up", {2, 3})};
  const Tensor of[] = {w, part};
  const std::vector<Tensor> d = train::gradients(g, std::span(&output, 1), of);
  g.output("dw", d[0]);
  g.output("dpart", d[1]);
  test::Tensors inputs, weights;
  inputs.add("x", {2, 3}, {1, 2, 3, 4, 5, 6});
  inputs.add("up", {2, 3}, {1, 1, 1, 2, 2, 2});
  weights.add("w", {3, 4}, 3);
  const std::string names[] = {"dw", "dpart"};
  const auto got = run_on(test::open_cpu(), g, inputs, weights, names);
  CHECK(got[0] == std::vector<float>{0, 1, 8, 0, 0, 2, 10, 0, 0, 3, 12, 0});
  CHECK(got[1] == std::vector<float>{1, 2, 3, 8, 10, 12});
}

TEST_CASE("gradients: weights in a state, and no gradient through a write", "[train]") {
  Graph g;
  const Tensor w = g.state("w", {2}), x = g.input("x", {2});
  const Tensor before = g.mul(w, x), loss_before = g.mean(g.reshape(before, {2, 1}), 0);
  const Tensor of[] = {w, x};
  std::vector<Tensor> d = train::gradients(g, loss_before, of);
  g.output("dw", d[0]);
  g.output("dx", d[1]);
  const Tensor written = g.assign(w, g.scale(x, 3.0f));
  const Tensor after = g.mean(g.reshape(g.mul(written, x), {2, 1}), 0);
  const Tensor of_after[] = {written, x};
  d = train::gradients(g, after, of_after);
  REQUIRE(g.status() == Status::Ok);
  g.output("dwritten", d[0]);
  g.output("dx_after", d[1]);
  Device cpu = test::open_cpu();
  Plan plan = compiled(cpu, g);
  State state = test::state_of(plan);
  std::vector<float> given = {2, 4};
  std::map<std::string, std::vector<float>> got;
  for (const char* name : {"dw", "dx", "dwritten", "dx_after"}) got[name] = {NAN, NAN};
  std::vector<HostBuffer> buffers = {{"x", given}};
  for (auto& [name, values] : got) buffers.emplace_back(name, values);
  REQUIRE(plan.run(buffers, {}, {.state = state}) == Status::Ok);
  CHECK(got["dw"] == std::vector<float>{1, 2});
  CHECK(got["dx"] == std::vector<float>{0, 0});  // the state was zeros
  CHECK(got["dwritten"] == std::vector<float>{1, 2});
  CHECK(got["dx_after"] == std::vector<float>{3, 6});  // written / 2: not through 3 x
}

namespace {

void cube_on_cpu(void*, const CustomCall& call) {
  for (int64_t i = 0; i < call.inputs[0].shape[0]; ++i) {
    const float x = static_cast<const float*>(call.inputs[0].data)[i];
    static_cast<float*>(call.outputs[0].data)[i] = x * x * x;
  }
}

void cube_gradient(void* calls, Graph& g, const CustomGradientCall& call) {
  ++*static_cast<int*>(calls);
  REQUIRE(call.wanted[0]);
  const Tensor x = call.inputs[0];
  call.gradients[0] = g.scale(g.mul(call.upstream[0], g.mul(x, x)), 3.0f);
}

void wrong_gradient(void*, Graph& g, const CustomGradientCall& call) {
  call.gradients[0] = g.reshape(call.upstream[0], {1, 3});
}

}  // namespace

TEST_CASE("gradients: a custom pass has its own", "[train]") {
  const CustomOutput out[] = {{{3}}};
  int calls = 0;
  const auto cubed = [&](Graph& g, Tensor x, CustomGradient gradient) {
    return g.custom({.name = "cube", .outputs = out, .cpu = {cube_on_cpu}, .gradient = gradient}, {x}).outputs[0];
  };
  Graph g;
  const Tensor x = g.input("x", {3}), y = cubed(g, g.scale(x, 2.0f), {cube_gradient, &calls});
  const Tensor loss = g.mean(g.reshape(y, {3, 1}), 0);
  const Tensor d = train::gradients(g, loss, std::span(&x, 1))[0];
  CHECK(calls == 1);
  g.output("dx", d);
  test::Tensors inputs;
  inputs.add("x", {3}, {1, -2, 0.5f});
  const std::string names[] = {"dx"};
  const auto got = run_on(test::open_cpu(), g, inputs, {}, names)[0];
  const float want[] = {8, 32, 2};  // (8 x^3)' / 3
  for (size_t i = 0; i < 3; ++i) CHECK(got[i] == Approx(want[i]));

  Graph wrong;
  const Tensor z = wrong.input("x", {3});
  static_cast<void>(train::gradients(
      wrong, wrong.mean(wrong.reshape(cubed(wrong, z, {wrong_gradient, nullptr}), {3, 1}), 0), std::span(&z, 1)));
  CHECK(wrong.status() == Status::ShapeMismatch);
  CHECK(std::string(wrong.error()).find("of 'cube' is not like its input") != std::string::npos);
}

TEST_CASE("gradients: dropout's is the mask multiplied in, bit for bit", "[train]") {
  for (const ops::TestDevice& test : ops::test_devices()) {
    INFO(test.word);
    Graph g;
    const Tensor x = g.input("x", {3, 50}), up = g.input("up", {3, 50});
    const std::vector<float> ones(150, 1.0f);
    const Tensor mask = g.dropout(g.constant("ones", {3, 50}, ones), 0.3f, 4);
    const auto gradient = [&](Tensor y) {
      const train::Upstream output{y, up};
      return train::gradients(g, std::span(&output, 1), std::span(&x, 1))[0];
    };
    g.output("drawn", gradient(g.dropout(x, 0.3f, 4)));
    g.output("multiplied", gradient(g.mul(x, mask)));
    test::Tensors inputs;
    inputs.add("x", {3, 50}, 1);
    inputs.add("up", {3, 50}, 2);
    const std::string names[] = {"drawn", "multiplied"};
    const auto got = run_on(test.device, g, inputs, {}, names, true);
    CHECK(got[0] == got[1]);
    CHECK(std::count(got[0].begin(), got[0].end(), 0.0f) > 20);
  }
}

// Equal bits if the attention has lengths, so that its gradient consists of the same matmuls. The fused pass sums in another order.
TEST_CASE("gradients: those of dropped attention weights are the mask multiplied in", "[train]") {
  constexpr int64_t kQueries = 7, kKeys = 9, kHead = 4;
  for (const ops::TestDevice& test : ops::test_devices()) {
    INFO(test.word);
    // Both have the same matmuls: the attention's gradient, and the gradient of its spelled-out form.
    const auto gradients_of = [&](bool attends, bool has_lengths) {
      Graph g;
      const Tensor q = g.input("q", {2, 3, kQueries, kHead}), k = g.input("k", {2, 3, kKeys, kHead}),
                   v = g.input("v", {2, 3, kKeys, kHead}), up = g.input("up", {2, 3, kQueries, kHead}),
                   bias = g.input("bias", {kQueries, kKeys});
      Tensor y;
      if (attends) {
        AttentionOptions options{.scale = 0.5f, .causal = Causal::TopLeft, .bias = bias, .dropout = 0.3f};
        const std::vector<int32_t> all(2, kKeys);
        if (has_lengths) options.lengths = g.constant("lengths", {2}, all);
        y = g.attention(q, k, v, options).output;
      } else {
        const std::vector<float> ones(2 * 3 * kQueries * kKeys, 1.0f);
        const Tensor mask = g.dropout(g.constant("ones", {2, 3, kQueries, kKeys}, ones), 0.3f, 0);
        const Tensor p =
            g.softmax(g.matmul(q, k, {.transpose_b = true, .scale = 0.5f}), {.causal = Causal::TopLeft, .bias = bias});
        y = g.matmul(g.mul(p, mask), v);
      }
      const train::Upstream output{y, up};
      const std::vector<Tensor> of = {q, k, v, bias};
      const std::vector<std::string> names = {"dq", "dk", "dv", "dbias"};
      const std::vector<Tensor> d = train::gradients(g, std::span(&output, 1), of);
      for (size_t i = 0; i < of.size(); ++i) g.output(names[i], d[i]);
      test::Tensors inputs;
      inputs.add("bias", {kQueries, kKeys}, 5);
      inputs.add("q", {2, 3, kQueries, kHead}, 1);
      inputs.add("k", {2, 3, kKeys, kHead}, 2);
      inputs.add("v", {2, 3, kKeys, kHead}, 3);
      inputs.add("up", {2, 3, kQueries, kHead}, 4);
      return run_on(test.device, g, inputs, {}, names, true);
    };
    const auto drawn = gradients_of(true, true), multiplied = gradients_of(false, true),
               passed = gradients_of(true, false);
    for (size_t i = 0; i < 4; ++i) CHECK(drawn[i] == multiplied[i]);
    for (size_t i = 0; i < 4; ++i) CHECK(test::difference(passed[i].data(), multiplied[i]) == "");
  }
}

TEST_CASE("gradients: quantized weights pass them on", "[train]") {
  for (const ops::TestDevice& test : ops::test_devices()) {
    INFO(test.word);
    ops::Trial trial(DType::F32);
    ops::Array w;
    const Tensor x = trial.input("x", {5, 64}), up = trial.input("up", {5, 7});
    const train::Upstream output{trial.graph.linear(x, trial.blocks("w", {7, 64}, DType::Q8_0, 5, &w)), up};
    trial.graph.output("dx", train::gradients(trial.graph, std::span(&output, 1), std::span(&x, 1))[0]);
    ops::Run& run = trial.run();
    static_cast<void>(run.input("x", ops::uniform({5, 64}, 1)));
    const ops::Array given = run.input("up", ops::uniform({5, 7}, 2));
    run.expect("dx", ops::matmul(given, w));
    ops::Tally tally;
    CHECK(ops::check_trial(test.device, trial, &tally).difference == "");
  }
}

// A layer as in training, in 16 bits: all gradients are near those in f32.
TEST_CASE("gradients: a layer in f16 and bf16", "[train]") {
  constexpr int64_t kTokens = 9, kWidth = 16, kHeads = 2, kHidden = 24;
  const std::string names[] = {"dx", "dqkv", "dgamma", "dup", "ddown"};
  for (ops::TestDevice test : ops::test_devices()) {
    const auto gradients_in = [&](DType dtype) {
      Graph g;
      const Tensor sources[] = {g.input("x", {2, kTokens, kWidth}), g.weight("qkv", {3 * kWidth, kWidth}),
                                g.weight("gamma", {kWidth}), g.weight("up", {kHidden, kWidth}),
                                g.weight("down", {kWidth, kHidden})};
      std::array<Tensor, 5> t{};
      for (size_t i = 0; i < t.size(); ++i) t[i] = g.cast(sources[i], dtype);
      const auto heads = [&](Tensor rows, int64_t part) {
        const Tensor cut = g.slice(rows, 2, part * kWidth, kWidth);
        return g.transpose(g.reshape(cut, {2, kTokens, kHeads, kWidth / kHeads}), 1, 2);
      };
      const Tensor qkv = g.linear(t[0], t[1]);
      const Tensor mixed = g.attention(heads(qkv, 0), heads(qkv, 1), heads(qkv, 2), {.causal = Causal::TopLeft}).output;
      const Tensor sum = g.add(t[0], g.reshape(g.transpose(mixed, 1, 2), {2, kTokens, kWidth}));
      const Tensor rows = g.layernorm(sum, t[2], {}, 1e-3f);
      const Tensor y = g.add(rows, g.linear(g.activation(g.linear(rows, t[3]), Activation::GeluErf), t[4]));
      const train::Upstream output{y, g.cast(g.input("gradient", {2, kTokens, kWidth}), dtype)};
      const std::vector<Tensor> d = train::gradients(g, std::span(&output, 1), sources);
      for (size_t i = 0; i < d.size(); ++i) g.output(names[i], d[i]);
      test::Tensors inputs, weights;
      inputs.add("x", {2, kTokens, kWidth}, 1);
      inputs.add("gradient", {2, kTokens, kWidth}, 2);
      weights.add_weights_of(g);
      return run_on(test.device, g, inputs, weights, names);
    };
    const auto exact = gradients_in(DType::F32);
    for (const DType dtype : {DType::F16, DType::BF16}) {
      Graph asks;  // whether the device has 16-bit storage
      asks.output("y", asks.softmax(asks.input("x", {1, 4}, dtype)));
      Plan plan;
      if (test.device.compile(asks, {}, &plan) == Status::Unsupported) continue;
      const auto near = gradients_in(dtype);
      for (size_t i = 0; i < std::size(names); ++i) {
        INFO(test.word << " " << to_string(dtype) << " " << names[i]);
        double error = 0.0, size = 0.0;
        for (size_t e = 0; e < exact[i].size(); ++e) {
          error += std::pow(static_cast<double>(near[i][e]) - static_cast<double>(exact[i][e]), 2);
          size += std::pow(static_cast<double>(exact[i][e]), 2);
        }
        REQUIRE(size > 0.0);
        CHECK(std::sqrt(error / size) < (dtype == DType::F16 ? 4e-3 : 3e-2));
      }
    }
    static_cast<void>(ops::take_messages());
  }
}

}  // namespace heed::train_tests
