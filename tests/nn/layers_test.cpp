// heed::nn: names of weights, views instead of copies, mistakes, dropout.
#include "harness/setup.hpp"

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

std::vector<float> wave(int64_t n, float step) {
  std::vector<float> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(step * static_cast<float>(i + 1));
  return values;
}

}  // namespace

TEST_CASE("nn: mistakes name the layer and both values", "[nn]") {
  const auto refuses = [](const char* what, Status status, std::vector<const char*> words,
                          const std::function<void(Graph&)>& make) {
    Graph g;
    make(g);
    INFO(what << ": " << g.error());
    CHECK(g.status() == status);
    for (const char* word : words) CHECK_THAT(g.error(), holds(word));
  };
  refuses("heads do not divide", Status::ShapeMismatch, {"block.attn", "10", "3 heads"},
          [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 10}), "block.attn", {.heads = 3}); });
  refuses("no heads", Status::InvalidArgument, {"attn", "heads 0"},
          [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 8}), "attn", {.heads = 0}); });
  refuses("heads do not share evenly", Status::ShapeMismatch, {"attn", "6 heads", "4 kv_heads"},
          [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 12}), "attn", {.heads = 6, .kv_heads = 4}); });
  refuses("negative kv_heads", Status::InvalidArgument, {"attn", "kv_heads -1"},
          [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 8}), "attn", {.kv_heads = -1}); });
  refuses("negative width", Status::InvalidArgument, {"attn", "d_v -2"},
          [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 8}), "attn", {.d_v = -2}); });
  refuses("too wide", Status::InvalidArgument, {"attn", "too many"}, [](Graph& g) {
    (void)nn::self_attention(g, g.input("x", {1, 4, 8}), "attn", {.heads = INT32_MAX, .d_k = INT32_MAX});
  });
  refuses("width is an extent", Status::ShapeMismatch, {"attn", "extent", "64"},
          [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, g.extent("w", 64)}), "attn"); });
  refuses("fused weight for two widths", Status::ShapeMismatch, {"attn.in_proj_", "8", "6"}, [](Graph& g) {
    const Tensor x = g.input("x", {1, 4, 8}), y = g.input("y", {1, 5, 6});
    (void)nn::attention(g, x, y, y, "attn", {.heads = 2, .names = nn::kTorchMultihead});
  });
  refuses("ranks differ", Status::ShapeMismatch, {"attn", "rank 3", "rank 2"}, [](Graph& g) {
    const Tensor x = g.input("x", {1, 4, 8}), y = g.input("y", {5, 8});
    (void)nn::attention(g, x, y, y, "attn");
  });
  refuses("rank 4", Status::ShapeMismatch, {"attn", "rank 4"},
          [](Graph& g) { (void)nn::self_attention(g, g.input("x", {1, 4, 2, 8}), "attn"); });
  refuses("batches differ", Status::ShapeMismatch, {"[2, ", "[3, "}, [](Graph& g) {
    (void)nn::cross_attention(g, g.input("x", {2, 4, 8}), g.input("y", {3, 5, 8}), "attn", {.heads = 2});
  });
  refuses("no name for the values", Status::InvalidArgument, {"attn", "key or value"}, [](Graph& g) {
    const Tensor x = g.input("x", {1, 4, 8});
    (void)nn::attention(g, x, x, x, "attn", {.names = nn::AttentionNames{.q = "q", .k = "k"}});
  });
  refuses("residual of another width", Status::ShapeMismatch, {"8", "12"}, [](Graph& g) {
    const Tensor x = g.input("x", {1, 4, 8});
    (void)nn::attention_block(g, x, x, x, "", {}, {.heads = 2, .out_width = 12});
  });
  refuses("no output width", Status::InvalidArgument, {"head", "width 0"},
          [](Graph& g) { (void)nn::linear(g, g.input("x", {1, 4, 8}), "head", 0); });
  refuses("negative layers", Status::InvalidArgument, {"layers", "-1"},
          [](Graph& g) { (void)nn::encoder_stack(g, g.input("x", {1, 4, 8}), "layers", {}, {.layers = -1}); });
  refuses("no input", Status::InvalidGraph, {"norm", "no tensor"},
          [](Graph& g) { (void)nn::layernorm(g, {}, "norm"); });
  refuses("one name, two shapes", Status::ShapeMismatch, {"fc.weight", "[4, 8]", "[5, 8]"}, [](Graph& g) {
    const Tensor x = g.input("x", {1, 4, 8});
    (void)nn::linear(g, x, "fc", 4), (void)nn::linear(g, x, "fc", 5);
  });
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
  // One matmul for all projections, then scores, softmax, values and the output projection.
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
  const std::vector<float> x = wave(kTokens * kWidth, 0.7f), wq = wave(kHeads * kHead * kWidth, 1.3f),
                           wk = wave(kGroups * kHead * kWidth, 2.1f), wv = wave(kGroups * kValue * kWidth, 0.9f),
                           wo = wave(kWidth * kHeads * kValue, 1.7f);
  // Rows of the fused weight: queries, then keys, then values, with `repeats` copies of each key and value head.
  const auto fused = [&](int64_t repeats) {
    std::vector<float> rows = wq;
    for (const auto& [part, width] : {std::pair(&wk, kHead), std::pair(&wv, kValue)})
      for (int64_t head = 0; head < kGroups * repeats; ++head) {
        const auto begin = part->begin() + head / repeats * width * kWidth;
        rows.insert(rows.end(), begin, begin + width * kWidth);
      }
    return rows;
  };
  Device cpu = test::open_cpu({.log = stderr_log()});
  const auto run = [&](int64_t kv_heads) {
    const std::vector<float> wqkv = fused(kv_heads / kGroups);
    test::Tensors tensors;
    tensors.add("wqkv.weight", {static_cast<int64_t>(wqkv.size()) / kWidth, kWidth}, wqkv);
    tensors.add("wo.weight", {kWidth, kHeads * kValue}, wo);
    Weights weights = test::uploaded(cpu, tensors.list());
    Graph g;
    const nn::MultiHeadOptions options = {
        .heads = kHeads, .kv_heads = kv_heads, .d_k = kHead, .d_v = kValue, .bias = false, .out_bias = false};
    g.output("y", nn::self_attention(g, g.input("x", {1, kTokens, kWidth}), "", options));
    Plan plan = test::compiled(cpu, g, weights);
    CHECK(plan.passes().size() == 3);  // one projection, attention, the output projection
    std::vector<float> y(x.size());
    REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
    return y;
  };
  const std::vector<float> grouped = run(kGroups), full = run(kHeads);
  for (size_t i = 0; i < x.size(); ++i) CHECK(std::abs(grouped[i] - full[i]) < 1e-4f);
}

TEST_CASE("nn: windows, lengths and positions hide what an equal mask hides, also behind a cache", "[nn]") {
  constexpr int64_t kBatch = 2, kTokens = 6, kWidth = 8, kWindow = 3;
  const std::vector<int32_t> lengths = {6, 4}, positions = {0, 1};
  const std::vector<float> x = wave(kBatch * kTokens * kWidth, 0.7f);
  std::vector<uint8_t> visible(kBatch * kTokens * kTokens), padding(kBatch * kTokens);
  for (int64_t b = 0; b < kBatch; ++b)
    for (int64_t i = 0; i < kTokens; ++i)
      for (int64_t j = 0; j < kTokens; ++j) {
        const auto row = static_cast<size_t>(b);
        const int64_t place = positions[row] + i;
        visible[static_cast<size_t>((b * kTokens + i) * kTokens + j)] =
            j <= place && j + kWindow > place && j < lengths[row];
        padding[static_cast<size_t>(b * kTokens + j)] = j % 4 == 1;  // padded
      }
  test::Tensors tensors;
  tensors.add("wqkv.weight", {3 * kWidth, kWidth}, wave(3 * kWidth * kWidth, 1.3f));
  tensors.add("wo.weight", {kWidth, kWidth}, wave(kWidth * kWidth, 1.7f));
  Device cpu = test::open_cpu({.log = stderr_log()});
  const Weights weights = test::uploaded(cpu, tensors.list());
  nn::MultiHeadOptions options = {.heads = 2, .bias = false, .out_bias = false};

  SECTION("in a run of their own") {
    Graph g, with_mask;
    options.causal = Causal::TopLeft;
    options.window = kWindow;
    options.lengths = g.input("lengths", {kBatch}, DType::I32);
    options.positions = g.input("positions", {kBatch}, DType::I32);
    g.output("y", nn::self_attention(g, g.input("x", {kBatch, kTokens, kWidth}), "", options));
    options = {.heads = 2, .bias = false, .out_bias = false};
    options.mask = keep(with_mask.input("visible", {kBatch, 1, kTokens, kTokens}, DType::U8));
    with_mask.output("y", nn::self_attention(with_mask, with_mask.input("x", {kBatch, kTokens, kWidth}), "", options));
    std::vector<float> y(x.size()), want(x.size());
    REQUIRE(test::compiled(cpu, g, weights).run({{"x", x}, {"lengths", lengths}, {"positions", positions}, {"y", y}}) ==
            Status::Ok);
    REQUIRE(test::compiled(cpu, with_mask, weights).run({{"x", x}, {"visible", visible}, {"y", want}}) == Status::Ok);
    CHECK(test::difference(y.data(), want) == "");
  }
  SECTION("with padding of all keys of a cache, for batches up to the most") {
    options.softcap = GENERATE(0.0f, 0.5f);
    const auto graph = [&](int64_t capacity) {
      Graph g;
      const Dim batch = g.extent("batch", kBatch), tokens = g.extent("tokens", kTokens),
                past = g.position("past", kTokens);
      nn::MultiHeadOptions cached = options;
      cached.causal = Causal::BottomRight;
      if (capacity > 0) cached.cache = {.capacity = capacity, .past = past};
      const Dim keys = capacity > 0 ? g.sum(past, tokens, capacity) : tokens;
      cached.key_padding = exclude(g.input("padding", {batch, keys}, DType::U8));
      g.output("y", nn::self_attention(g, g.input("x", {batch, tokens, kWidth}), "", cached));
      return g;
    };
    Plan whole = test::compiled(cpu, graph(0), weights), steps = test::compiled(cpu, graph(kTokens), weights);
    for (const int64_t batch : {int64_t{1}, kBatch}) {
      std::vector<float> want(static_cast<size_t>(batch * kTokens * kWidth));
      REQUIRE(whole.run({{"x", x}, {"padding", padding}, {"y", want}}, {{"batch", batch}, {"tokens", kTokens}}) ==
              Status::Ok);
      State state = test::state_of(steps);
      for (const auto& [begin, end] : {std::pair(0, 4), std::pair(4, 5), std::pair(5, 6)}) {
        const auto rows_of = [&](const auto& all, int64_t from, int64_t to, int64_t width) {
          std::decay_t<decltype(all)> rows;
          for (int64_t b = 0; b < batch; ++b)
            rows.insert(rows.end(), all.begin() + (b * kTokens + from) * width,
                        all.begin() + (b * kTokens + to) * width);
          return rows;
        };
        const std::vector<float> rows = rows_of(x, begin, end, kWidth);
        std::vector<float> y(rows.size());
        REQUIRE(steps.run({{"x", rows}, {"padding", rows_of(padding, 0, end, 1)}, {"y", y}},
                          {{"batch", batch}, {"tokens", end - begin}, {"past", begin}},
                          {.state = state}) == Status::Ok);
        CHECK(test::difference(y.data(), rows_of(want, begin, end, kWidth)) == "");
      }
    }
  }
}

TEST_CASE("nn: dropout acts in training plans, unbiased, and only there", "[nn]") {
  Device cpu = test::open_cpu({.log = stderr_log()});
  constexpr int64_t kTokens = 6, kWidth = 4;
  const std::vector<float> x = wave(kTokens * kWidth, 0.7f);
  test::Tensors tensors;
  tensors.add("wqkv.weight", {3 * kWidth, kWidth}, wave(3 * kWidth * kWidth, 1.3f));
  tensors.add("wo.weight", {kWidth, kWidth}, wave(kWidth * kWidth, 2.1f));
  Weights weights = test::uploaded(cpu, tensors.list());

  const auto compile = [&](float attention_dropout, float output_dropout, bool training) {
    Graph g;
    g.output("y", nn::self_attention(g, g.input("x", {1, kTokens, kWidth}), "",
                                     {.heads = 2,
                                      .bias = false,
                                      .out_bias = false,
                                      .attention_dropout = attention_dropout,
                                      .output_dropout = output_dropout}));
    return test::compiled(cpu, g, weights, {.training = training});
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

  // All operations after softmax are linear, so that the mean over seeds equals the result without dropout.
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
    std::vector<float> v = wave(n, step);
    for (float& value : v) value *= 0.5f;
    return v;
  };
  test::Tensors tensors;
  float step = 0.37f;
  const auto add = [&](const char* name, std::vector<int64_t> shape) {
    const int64_t count = shape.size() == 1 ? shape[0] : shape[0] * shape[1];
    tensors.add(name, std::move(shape), values(count, step));
    step += 0.11f;
  };
  add("self_attn.in_proj_weight", {3 * kWidth, kWidth});
  add("self_attn.in_proj_bias", {3 * kWidth});
  add("self_attn.out_proj.weight", {kWidth, kWidth});
  add("self_attn.out_proj.bias", {kWidth});
  add("linear1.weight", {kHidden, kWidth});
  add("linear1.bias", {kHidden});
  add("linear2.weight", {kWidth, kHidden});
  add("linear2.bias", {kWidth});
  for (const char* name : {"norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"}) add(name, {kWidth});
  const std::vector<float> x = values(kTokens * kWidth, 0.9f);
  std::vector<uint16_t> x_half(x.size()), y_half(x.size());
  std::vector<float> y(x.size());
  convert_floats(x.data(), DType::F32, x_half.data(), DType::F16, x.size());

  Device cpu = test::open_cpu({.log = stderr_log()});
  for (const DType dtype : {DType::F32, DType::F16}) {
    Graph g;
    const Tensor input = g.input("x", {1, kTokens, kWidth}, dtype);
    g.output("y", nn::encoder_layer(g, input, "", {.attention = {.heads = 2}}));
    Weights weights = test::uploaded(cpu, tensors.list(), {.keep_dtype = false, .dtype = dtype});
    Plan plan = test::compiled(cpu, g, weights);
    if (dtype == DType::F32) {
      REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
    } else {
      REQUIRE(plan.run({{"x", x_half}, {"y", y_half}}) == Status::Ok);
    }
  }
  // Values of about 1 are rounded to 11 bits a dozen times; the last norm may enlarge the errors.
  for (size_t i = 0; i < y.size(); ++i) CHECK(std::abs(half_to_float(y_half[i]) - y[i]) < 0.02f);
}

TEST_CASE("nn: a transformer is its stacks between positions and a softmax", "[nn]") {
  constexpr int64_t kWidth = 8, kSource = 5, kTarget = 4, kWords = 11;
  nn::TransformerOptions options;
  options.encoder = {.attention = {.heads = 2}, .feed_forward = {.hidden = 12}};
  options.decoder = {.self_attention = {.heads = 2, .causal = Causal::TopLeft},
                     .cross_attention = {.heads = 4},
                     .feed_forward = {.hidden = 10}};
  options.encoder_stack = {.layers = 2, .final_norm = "last"};
  options.decoder_stack = {.layers = 3};
  options.vocabulary = kWords;
  const auto inputs = [](Graph& g) {
    return std::pair(g.input("source", {2, kSource, kWidth}), g.input("target", {2, kTarget, kWidth}));
  };
  Graph whole, parts;
  const auto [source, target] = inputs(whole);
  const nn::TransformerResult made = nn::transformer(whole, source, target, "t", options);
  whole.output("encoded", made.encoded);
  whole.output("decoded", made.decoded);
  whole.output("logits", made.logits);
  whole.output("probabilities", made.probabilities);

  const auto [from, to] = inputs(parts);
  const Tensor encoded = nn::encoder_stack(parts, parts.positional_encoding(from), "t.encoder.layers", options.encoder,
                                           {.layers = 2, .final_norm = "t.last"});
  const Tensor decoded = nn::decoder_stack(parts, parts.positional_encoding(to), encoded, "t.decoder.layers",
                                           options.decoder, {.layers = 3});
  const Tensor logits = nn::linear(parts, decoded, "t.out", kWords);
  parts.output("encoded", encoded);
  parts.output("decoded", decoded);
  parts.output("logits", logits);
  parts.output("probabilities", parts.softmax(logits));
  CHECK(weight_names(whole) == weight_names(parts));

  test::Tensors tensors;
  tensors.add_weights_of(whole);
  Device cpu = test::open_cpu({.log = stderr_log()});
  const std::vector<float> x = wave(2 * kSource * kWidth, 0.7f), y = wave(2 * kTarget * kWidth, 1.1f);
  const auto run = [&](const Graph& g) {
    std::vector<std::vector<float>> results = {std::vector<float>(x.size()), std::vector<float>(y.size()),
                                               std::vector<float>(2 * kTarget * kWords),
                                               std::vector<float>(2 * kTarget * kWords)};
    REQUIRE(test::compiled(cpu, g, test::uploaded(cpu, tensors.list()))
                .run({{"source", x},
                      {"target", y},
                      {"encoded", results[0]},
                      {"decoded", results[1]},
                      {"logits", results[2]},
                      {"probabilities", results[3]}}) == Status::Ok);
    return results;
  };
  const std::vector<std::vector<float>> got = run(whole);
  CHECK(got == run(parts));
  CHECK(got[2] != got[3]);
}

TEST_CASE("nn: a weight that the graph has already keeps its type, and its shape is compared", "[nn]") {
  constexpr int64_t kIn = 6, kOut = 5;
  Graph g;
  CHECK_FALSE(g.find_weight("half.weight").valid());
  const Tensor half = g.weight("half.weight", {kOut, kIn}, DType::F16);
  CHECK(g.find_weight("half.weight") == half);
  const Tensor x = g.input("x", {1, 2, kIn});
  g.output("half", nn::linear(g, x, "half", kOut, false));
  g.output("whole", nn::linear(g, x, "whole", kOut, false));
  CHECK(g.dtype(g.find_weight("half.weight")) == DType::F16);
  CHECK(g.dtype(g.find_weight("whole.weight")) == DType::F32);
  (void)nn::linear(g, x, "half", kOut + 1, false);
  CHECK(g.status() == Status::ShapeMismatch);
  CHECK_FALSE(g.find_weight("absent").valid());
}
