// heed::nn: names of weights, views instead of copies, mistakes, dropout.
#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <heed/heed.hpp>

#include "base/half.hpp"
#include "graph/graph_data.hpp"
#include "graph/support.hpp"

using namespace heed;

namespace {

std::vector<std::string> weight_names(const Graph& g) {
  std::vector<std::string> names;
  for (const detail::NamedTensor& weight : g.data().weights) names.push_back(weight.name);
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

struct Mistake {
  const char* what;
  Status status;
  std::vector<const char*> words;  // all of them are in the message
  std::function<void(Graph&)> make;
};

const Mistake kMistakes[] = {
    {"heads do not divide",
     Status::ShapeMismatch,
     {"block.attn", "10", "3 heads"},
     [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 10}), "block.attn", {.heads = 3}); }},
    {"no heads",
     Status::InvalidArgument,
     {"attn", "heads 0"},
     [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 8}), "attn", {.heads = 0}); }},
    {"heads do not share evenly",
     Status::ShapeMismatch,
     {"attn", "6 heads", "4 kv_heads"},
     [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 12}), "attn", {.heads = 6, .kv_heads = 4}); }},
    {"negative kv_heads",
     Status::InvalidArgument,
     {"attn", "kv_heads -1"},
     [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 8}), "attn", {.kv_heads = -1}); }},
    {"separate heads share none",
     Status::InvalidArgument,
     {"heads", "kv_heads 2", "4"},
     [](Graph& g) {
       const Tensor x = g.input("x", {1, 4, 8});
       (void)nn::attention_heads(g, x, x, "heads", {.heads = 4, .kv_heads = 2});
     }},
    {"negative width",
     Status::InvalidArgument,
     {"attn", "d_v -2"},
     [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 8}), "attn", {.d_v = -2}); }},
    {"too wide",
     Status::InvalidArgument,
     {"attn", "too many"},
     [](Graph& g) {
       (void)nn::self_attention(g, g.input("x", {1, 4, 8}), "attn", {.heads = INT32_MAX, .d_k = INT32_MAX});
     }},
    {"width is an extent",
     Status::ShapeMismatch,
     {"attn", "extent", "64"},
     [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, g.extent("w", 64)}), "attn"); }},
    {"fused weight for two widths",
     Status::ShapeMismatch,
     {"attn.in_proj_", "8", "6"},
     [](Graph& g) {
       const Tensor x = g.input("x", {1, 4, 8}), y = g.input("y", {1, 5, 6});
       (void)nn::attention(g, x, y, y, "attn", {.heads = 2, .names = nn::kTorchMultihead});
     }},
    {"ranks differ",
     Status::ShapeMismatch,
     {"attn", "rank 3", "rank 2"},
     [](Graph& g) {
       const Tensor x = g.input("x", {1, 4, 8}), y = g.input("y", {5, 8});
       (void)nn::attention(g, x, y, y, "attn");
     }},
    {"rank 4",
     Status::ShapeMismatch,
     {"attn", "rank 4"},
     [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 2, 8}), "attn"); }},
    {"batches differ",
     Status::ShapeMismatch,
     {"[2, ", "[3, "},
     [](Graph& g) {
       (void)nn::cross_attention(g, g.input("x", {2, 4, 8}), g.input("y", {3, 5, 8}), "attn", {.heads = 2});
     }},
    {"no name for the values",
     Status::InvalidArgument,
     {"attn", "key or value"},
     [](Graph& g) {
       const Tensor x = g.input("x", {1, 4, 8});
       (void)nn::attention(g, x, x, x, "attn", {.names = nn::AttentionNames{.q = "q", .k = "k"}});
     }},
    {"residual of another width",
     Status::ShapeMismatch,
     {"8", "12"},
     [](Graph& g) {
       const Tensor x = g.input("x", {1, 4, 8});
       (void)nn::attention_block(g, x, x, x, "", {}, {.heads = 2, .out_width = 12});
     }},
    {"no output width",
     Status::InvalidArgument,
     {"head", "width 0"},
     [](Graph& g) { (void)nn::linear(g, g.input("x", {1, 4, 8}), "head", 0); }},
    {"negative layers",
     Status::InvalidArgument,
     {"layers", "-1"},
     [](Graph& g) { (void)nn::encoder_stack(g, g.input("x", {1, 4, 8}), "layers", {}, {.layers = -1}); }},
    {"no input", Status::InvalidGraph, {"norm", "no tensor"}, [](Graph& g) { (void)nn::layernorm(g, {}, "norm"); }},
    {"one name, two shapes",
     Status::ShapeMismatch,
     {"fc.weight", "[4, 8]", "[5, 8]"},
     [](Graph& g) {
       const Tensor x = g.input("x", {1, 4, 8});
       (void)nn::linear(g, x, "fc", 4), (void)nn::linear(g, x, "fc", 5);
     }},
};

}  // namespace

TEST_CASE("nn: mistakes name the layer and both values", "[nn]") {
  for (const Mistake& mistake : kMistakes) {
    Graph g;
    mistake.make(g);
    INFO(mistake.what << ": " << g.error());
    CHECK(g.status() == mistake.status);
    for (const char* word : mistake.words) CHECK(test::mentions(g.error(), word));
  }
}

TEST_CASE("nn: weights have PyTorch's names", "[nn]") {
  Graph fused, torch, bare, unbiased;
  const auto input = [](Graph& g) { return g.input("x", {1, 4, 8}); };
  (void)nn::self_attention(fused, input(fused), "h.0", {.heads = 2});
  CHECK(weight_names(fused) == Names{"h.0.wo.bias", "h.0.wo.weight", "h.0.wqkv.bias", "h.0.wqkv.weight"});

  (void)nn::encoder_layer(torch, input(torch), "layers.1", {.attention = {.heads = 2}});
  CHECK(weight_names(torch) == Names{"layers.1.linear1.bias", "layers.1.linear1.weight", "layers.1.linear2.bias",
                                     "layers.1.linear2.weight", "layers.1.norm1.bias", "layers.1.norm1.weight",
                                     "layers.1.norm2.bias", "layers.1.norm2.weight", "layers.1.self_attn.in_proj_bias",
                                     "layers.1.self_attn.in_proj_weight", "layers.1.self_attn.out_proj.bias",
                                     "layers.1.self_attn.out_proj.weight"});

  const Tensor x = bare.input("x", {4, 8});
  (void)nn::attention(bare, x, x, x, "",
                      {.names = nn::AttentionNames{.q = "w_query", .k = "w_key", .v = "w_value", .in_out = true}});
  CHECK(weight_names(bare) == Names{"w_key", "w_query", "w_value"});

  const Tensor u = input(unbiased);
  (void)nn::cross_attention(unbiased, u, u, "a", {.heads = 2, .bias = false, .out_bias = false});
  CHECK(weight_names(unbiased) == Names{"a.wkv.weight", "a.wo.weight", "a.wq.weight"});
}

TEST_CASE("nn: heads of fused projections are views", "[nn]") {
  const auto ops = [](const std::function<void(Graph&, Tensor, Tensor)>& make) {
    Graph g;
    const Dim queries = g.extent("queries", 9), keys = g.extent("keys", 7);
    make(g, g.input("x", {2, queries, 8}), g.input("y", {2, keys, 8}));
    const test::Scheduled scheduled = test::schedule_of(g);
    INFO(scheduled.messages);
    REQUIRE(scheduled.status == Status::Ok);
    return test::ops_of(scheduled.schedule);
  };
  // One product for all projections, then scores, softmax, values and the output projection.
  const std::vector<Op> own = {Op::Matmul, Op::Matmul, Op::Softmax, Op::Matmul, Op::Matmul};
  CHECK(ops([](Graph& g, Tensor x, Tensor) { g.output("z", nn::self_attention(g, x, "", {.heads = 2})); }) == own);
  const std::vector<Op> other = {Op::Matmul, Op::Matmul, Op::Matmul, Op::Softmax, Op::Matmul, Op::Matmul};
  CHECK(ops([](Graph& g, Tensor x, Tensor y) { g.output("z", nn::cross_attention(g, x, y, "", {.heads = 2})); }) ==
        other);
  CHECK(ops([](Graph& g, Tensor x, Tensor y) {
          g.output("z", nn::attention(g, x, y, y, "", {.heads = 2, .names = nn::kTorchMultihead}));
        }) == other);
}

TEST_CASE("nn: grouped queries are full heads whose keys and values repeat", "[nn]") {
  constexpr int64_t kTokens = 5, kWidth = 12, kHeads = 6, kGroups = 2, kHead = 3, kValue = 4;
  const auto wave = [](int64_t n, float step) {
    std::vector<float> values(static_cast<size_t>(n));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(step * static_cast<float>(i + 1));
    return values;
  };
  const std::vector<float> x = wave(kTokens * kWidth, 0.7f), wq = wave(kHeads * kHead * kWidth, 1.3f),
                           wk = wave(kGroups * kHead * kWidth, 2.1f), wv = wave(kGroups * kValue * kWidth, 0.9f),
                           wo = wave(kWidth * kHeads * kValue, 1.7f);
  // Rows of the fused weight: queries, then keys, then values; `repeats` copies of each key and value head.
  const auto fused = [&](int64_t repeats) {
    std::vector<float> rows = wq;
    for (const auto& [part, width] : {std::pair(&wk, kHead), std::pair(&wv, kValue)})
      for (int64_t head = 0; head < kGroups * repeats; ++head) {
        const auto begin = part->begin() + head / repeats * width * kWidth;
        rows.insert(rows.end(), begin, begin + width * kWidth);
      }
    return rows;
  };
  Device cpu;
  REQUIRE(Device::open({.select = "cpu", .log = stderr_log()}, &cpu) == Status::Ok);
  const auto run = [&](int64_t kv_heads) {
    const std::vector<float> wqkv = fused(kv_heads / kGroups);
    const int64_t shape[] = {static_cast<int64_t>(wqkv.size()) / kWidth, kWidth},
                  wo_shape[] = {kWidth, kHeads * kValue};
    const HostTensor tensors[] = {{"wqkv.weight", DType::F32, shape, std::as_bytes(std::span(wqkv))},
                                  {"wo.weight", DType::F32, wo_shape, std::as_bytes(std::span(wo))}};
    Weights weights;
    REQUIRE(cpu.upload(tensors, &weights) == Status::Ok);
    Graph g;
    const nn::MultiHeadOptions options = {
        .heads = kHeads, .kv_heads = kv_heads, .d_k = kHead, .d_v = kValue, .bias = false, .out_bias = false};
    g.output("y", nn::self_attention(g, g.input("x", {1, kTokens, kWidth}), "", options));
    Plan plan;
    REQUIRE(cpu.compile(g, weights, &plan) == Status::Ok);
    CHECK(plan.passes().size() == 3);  // one projection, attention, the output projection
    std::vector<float> y(x.size());
    REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
    return y;
  };
  const std::vector<float> grouped = run(kGroups), full = run(kHeads);
  for (size_t i = 0; i < x.size(); ++i) CHECK(std::abs(grouped[i] - full[i]) < 1e-4f);
}

TEST_CASE("nn: dropout acts in training plans, unbiased, and only there", "[nn]") {
  Device cpu;
  REQUIRE(Device::open({.select = "cpu", .log = stderr_log()}, &cpu) == Status::Ok);
  constexpr int64_t kTokens = 6, kWidth = 4;
  const auto wave = [](int64_t n, float step) {
    std::vector<float> values(static_cast<size_t>(n));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(step * static_cast<float>(i + 1));
    return values;
  };
  const std::vector<float> x = wave(kTokens * kWidth, 0.7f), wqkv = wave(3 * kWidth * kWidth, 1.3f),
                           wo = wave(kWidth * kWidth, 2.1f);
  const int64_t wqkv_shape[] = {3 * kWidth, kWidth}, wo_shape[] = {kWidth, kWidth};
  const HostTensor tensors[] = {{"wqkv.weight", DType::F32, wqkv_shape, std::as_bytes(std::span(wqkv))},
                                {"wo.weight", DType::F32, wo_shape, std::as_bytes(std::span(wo))}};
  Weights weights;
  REQUIRE(cpu.upload(tensors, &weights) == Status::Ok);

  const auto compile = [&](float attention_dropout, float output_dropout, bool training) {
    Graph g;
    g.output("y", nn::self_attention(g, g.input("x", {1, kTokens, kWidth}), "",
                                     {.heads = 2,
                                      .bias = false,
                                      .out_bias = false,
                                      .attention_dropout = attention_dropout,
                                      .output_dropout = output_dropout}));
    Plan plan;
    REQUIRE(cpu.compile(g, weights, &plan, {.training = training}) == Status::Ok);
    return plan;
  };
  const auto run = [&](Plan& plan, uint32_t seed) {
    std::vector<float> y(x.size());
    REQUIRE(plan.run({{"x", x}, {"y", y}}, {}, {.seed = seed}) == Status::Ok);
    return y;
  };

  Plan plain = compile(0, 0, false), evaluated = compile(0.5f, 0.5f, false);
  const std::vector<float> expected = run(plain, 0);
  CHECK(run(evaluated, 1) == expected);
  CHECK(evaluated.passes().size() == plain.passes().size());

  // Everything behind the softmax is linear, so the mean over seeds is the result without dropout.
  for (const auto& [attention_dropout, output_dropout] : {std::pair(0.4f, 0.0f), std::pair(0.0f, 0.4f)}) {
    Plan trained = compile(attention_dropout, output_dropout, true);
    constexpr int kSeeds = 4000;
    std::vector<double> sum(x.size()), squares(x.size());
    int zeros = 0;
    for (uint32_t seed = 0; seed < kSeeds; ++seed) {
      const std::vector<float> y = run(trained, seed);
      for (size_t i = 0; i < y.size(); ++i) {
        sum[i] += y[i], squares[i] += static_cast<double>(y[i]) * y[i];
        zeros += y[i] == 0.0f;
      }
    }
    for (size_t i = 0; i < x.size(); ++i) {
      const double mean = sum[i] / kSeeds, deviation = std::sqrt(squares[i] / kSeeds - mean * mean);
      CHECK(deviation > 0.0);
      CHECK(std::abs(mean - expected[i]) < 5.0 * deviation / std::sqrt(double{kSeeds}) + 1e-5);
    }
    const double share = zeros / static_cast<double>(kSeeds * x.size());
    if (output_dropout > 0) CHECK(std::abs(share - output_dropout) < 0.01);
  }
  Plan trained = compile(0.4f, 0.4f, true);
  CHECK(run(trained, 7) == run(trained, 7));
  CHECK(run(trained, 7) != run(trained, 8));
}

TEST_CASE("nn: layers store what their input stores", "[nn]") {
  constexpr int64_t kTokens = 5, kWidth = 8, kHidden = 32;
  const auto values = [](int64_t n, float step) {
    std::vector<float> v(static_cast<size_t>(n));
    for (size_t i = 0; i < v.size(); ++i) v[i] = 0.5f * std::sin(step * static_cast<float>(i + 1));
    return v;
  };
  struct Weight {
    const char* name;
    std::vector<int64_t> shape;
    std::vector<float> data;
  };
  std::vector<Weight> all = {{"self_attn.in_proj_weight", {3 * kWidth, kWidth}, {}},
                             {"self_attn.in_proj_bias", {3 * kWidth}, {}},
                             {"self_attn.out_proj.weight", {kWidth, kWidth}, {}},
                             {"self_attn.out_proj.bias", {kWidth}, {}},
                             {"linear1.weight", {kHidden, kWidth}, {}},
                             {"linear1.bias", {kHidden}, {}},
                             {"linear2.weight", {kWidth, kHidden}, {}},
                             {"linear2.bias", {kWidth}, {}},
                             {"norm1.weight", {kWidth}, {}},
                             {"norm1.bias", {kWidth}, {}},
                             {"norm2.weight", {kWidth}, {}},
                             {"norm2.bias", {kWidth}, {}}};
  std::vector<HostTensor> tensors;
  for (size_t i = 0; i < all.size(); ++i) {
    int64_t n = 1;
    for (int64_t size : all[i].shape) n *= size;
    all[i].data = values(n, 0.37f + 0.11f * static_cast<float>(i));
    tensors.push_back({all[i].name, DType::F32, all[i].shape, std::as_bytes(std::span(all[i].data))});
  }
  const std::vector<float> x = values(kTokens * kWidth, 0.9f);
  std::vector<uint16_t> x_half(x.size()), y_half(x.size());
  std::vector<float> y(x.size());
  convert_floats(x.data(), DType::F32, x_half.data(), DType::F16, x.size());

  Device cpu;
  REQUIRE(Device::open({.select = "cpu", .log = stderr_log()}, &cpu) == Status::Ok);
  for (const DType dtype : {DType::F32, DType::F16}) {
    Graph g;
    const Tensor input = g.input("x", {1, kTokens, kWidth}, dtype);
    g.output("y", nn::encoder_layer(g, input, "", {.attention = {.heads = 2}}));
    Weights weights;
    Plan plan;
    REQUIRE(cpu.upload(tensors, &weights, {.keep_dtype = false, .dtype = dtype}) == Status::Ok);
    REQUIRE(cpu.compile(g, weights, &plan) == Status::Ok);
    if (dtype == DType::F32) {
      REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
    } else {
      REQUIRE(plan.run({{"x", x_half}, {"y", y_half}}) == Status::Ok);
    }
  }
  // Values of about 1 pass a dozen roundings to 11 bits; the last norm may enlarge what is left of them.
  for (size_t i = 0; i < y.size(); ++i) CHECK(std::abs(half_to_float(y_half[i]) - y[i]) < 0.02f);
}
