// The fused gradient of attention, against sums in double.
#include "graph/build/attention_backward.hpp"
#include "graph/build/build.hpp"

#include "harness/setup.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

struct Shapes {
  int64_t queries = 9, keys = 13, heads = 2, key_heads = 2, batch = 2, d_k = 8, d_v = 8;
};

struct Sample {
  const char* name;
  Shapes of = {};
  Causal causal = Causal::None;
  int64_t window = 0;
  bool padding = false, padding_keeps = false, mask = false, mask_keeps = false, bias = false;
  std::optional<float> fill = {};
  float dropout = 0.0f;
  bool extents = false;  // sizes are the maxima of extents; some runs are smaller
  bool turned = false;   // the upstream gradient and the keys are permuted in memory
  bool narrow = false;   // also with 16-bit storage
  bool of_query = true, of_key = true, of_value = true, of_bias = false;
  Sizes bias_shape = {};  // the bias has no dims of heads, queries or keys
};

// The values of a sample.
struct Given {
  Array q, k, v, upstream;
  Array padding, mask, bias;
};

struct Gradients {
  Array query, key, value, bias;
};

// Adds summands. Their magnitudes bound the error of an f32 sum.
void add_term(Array* sums, int64_t at, double term, double magnitude) {
  sums->at(at) += term;
  sums->err(at) += 4 * kUnit * std::abs(magnitude) + 1e-12;
}

// `unit`: the relative rounding error of the stored output.
Gradients reference(const Sample& s, const Given& given, const SoftmaxReference& softmax_options, uint32_t seed,
                    double unit) {
  const int64_t group = s.of.heads / s.of.key_heads, batch = given.q.shape[0], n = given.q.shape[2],
                m = given.k.shape[2];
  const double scale = static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.of.d_k))));
  Array scores({batch, s.of.heads, n, m}), zeros({batch, s.of.heads, n, m});
  const auto at4 = [](const Array& x, int64_t b, int64_t h, int64_t i, int64_t d) {
    return ((b * x.shape[1] + h) * x.shape[2] + i) * x.shape[3] + d;
  };
  const auto for_all = [&](const auto& f) {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < s.of.heads; ++h)
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = 0; j < m; ++j) f(b, h, h / group, i, j, at4(scores, b, h, i, j));
  };
  for_all([&](int64_t b, int64_t h, int64_t g, int64_t i, int64_t j, int64_t at) {
    for (int64_t d = 0; d < s.of.d_k; ++d)
      scores.at(at) += given.q.at(at4(given.q, b, h, i, d)) * given.k.at(at4(given.k, b, g, j, d));
  });
  SoftmaxReference options = softmax_options;
  options.scale = scale;
  const Array weights = softmax(scores, options);
  options.bias = nullptr;
  options.masked_fill = {};
  const Array visible = softmax(zeros, options);  // above 0 if nothing hides the key
  const Array factors = s.dropout > 0.0f ? dropout(filled(scores.shape, 1.0), static_cast<double>(s.dropout), seed, 0)
                                         : filled(scores.shape, 1.0);
  Array steep(scores.shape);
  std::vector<double> delta(static_cast<size_t>(batch * s.of.heads * n)), spread(delta.size()), rounding(delta.size());
  for_all([&](int64_t b, int64_t h, int64_t g, int64_t i, int64_t j, int64_t at) {
    double size = 0.0;
    for (int64_t d = 0; d < s.of.d_v; ++d) {
      const double term = given.upstream.at(at4(given.upstream, b, h, i, d)) * given.v.at(at4(given.v, b, g, j, d));
      steep.at(at) += term;
      size += std::abs(term);
    }
    const auto row = static_cast<size_t>(at / m);
    rounding[row] += unit * weights.at(at) * factors.at(at) * size;
    delta[row] += weights.at(at) * factors.at(at) * steep.at(at);
    spread[row] += weights.at(at) * factors.at(at) * std::abs(steep.at(at)) + weights.at(at);
  });
  Gradients made{Array(given.q.shape), Array(given.k.shape), Array(given.v.shape), Array(scores.shape)};
  for_all([&](int64_t b, int64_t h, int64_t g, int64_t i, int64_t j, int64_t at) {
    const auto row = static_cast<size_t>(at / m);
    const double weight = weights.at(at), dropped = weight * factors.at(at);
    // Scores are off by some units, which makes the weights off by as many.
    const double logit = 1.0 + std::abs(scale) * static_cast<double>(s.of.d_k) * 4.0;
    for (int64_t d = 0; d < s.of.d_v; ++d) {
      const double term = dropped * given.upstream.at(at4(given.upstream, b, h, i, d));
      add_term(&made.value, at4(made.value, b, g, j, d), term, term * logit);
    }
    if (visible.at(at) == 0.0) return;
    const double bare = weight * (factors.at(at) * steep.at(at) - delta[row]);
    add_term(&made.bias, at, bare, weight * (std::abs(factors.at(at) * steep.at(at)) + spread[row]) * logit);
    made.bias.err(at) += weight * rounding[row];
    const double slope = scale * weight * (factors.at(at) * steep.at(at) - delta[row]);
    const double size = scale * weight * (std::abs(factors.at(at) * steep.at(at)) + spread[row]) * logit;
    const double off = scale * weight * rounding[row];
    for (int64_t d = 0; d < s.of.d_k; ++d) {
      const double key = given.k.at(at4(given.k, b, g, j, d)), query = given.q.at(at4(given.q, b, h, i, d));
      add_term(&made.query, at4(made.query, b, h, i, d), slope * key, size * key);
      add_term(&made.key, at4(made.key, b, g, j, d), slope * query, size * query);
      made.query.err(at4(made.query, b, h, i, d)) += off * std::abs(key);
      made.key.err(at4(made.key, b, g, j, d)) += off * std::abs(query);
    }
  });
  return made;
}

// The gradient of a bias of this shape: the gradient of all scores, summed over the broadcast dims.
Array summed_to_bias(const Array& all, const Sizes& shape) {
  Array sums(shape);
  for (int64_t i = 0; i < all.size(); ++i) {
    int64_t rest = i, to = 0, stride = 1;
    for (size_t axis = 0; axis < 4; ++axis) {
      const int64_t index = rest % all.shape[3 - axis], size = axis < shape.size() ? shape[shape.size() - 1 - axis] : 1;
      rest /= all.shape[3 - axis];
      to += (size == 1 ? 0 : index) * stride;
      stride *= size;
    }
    sums.at(to) += all.at(i);
    sums.err(to) += all.err(i) + static_cast<double>(all.size()) * kUnit * std::abs(all.at(i));
  }
  return sums;
}

// Hides some keys, and in the first row of the batch all.
Array mask_of(const Sizes& shape, uint64_t seed, bool keeps) {
  Array mask = uniform(shape, seed, 0.0, 1.0);
  const int64_t first = mask.size() / shape[0];
  for (int64_t i = 0; i < mask.size(); ++i)
    mask.at(i) = (mask.at(i) < 0.4 || (i < first && shape[0] > 1)) != keeps ? 1.0 : 0.0;
  return mask;
}

Case case_of(const Sample& s) {
  return {s.name, [=](Trial& t) {
            Graph& g = t.graph;
            const Dim n = s.extents ? g.extent("n", s.of.queries) : Dim(s.of.queries),
                      m = s.extents ? g.extent("m", s.of.keys) : Dim(s.of.keys);
            const Tensor q = t.input("q", {s.of.batch, s.of.heads, n, s.of.d_k});
            const Tensor k = s.turned ? g.permute(t.input("k", {m, s.of.d_k, s.of.batch, s.of.key_heads}), {2, 3, 0, 1})
                                      : t.input("k", {s.of.batch, s.of.key_heads, m, s.of.d_k});
            const Tensor v = t.input("v", {s.of.batch, s.of.key_heads, m, s.of.d_v});
            const Tensor upstream = s.turned ? g.transpose(t.input("dy", {s.of.batch, n, s.of.heads, s.of.d_v}), 1, 2)
                                             : t.input("dy", {s.of.batch, s.of.heads, n, s.of.d_v});
            AttentionOptions options;
            options.causal = s.causal;
            options.window = s.window;
            options.masked_fill = s.fill;
            options.dropout = s.dropout;
            const auto meaning = [&](Tensor x, bool keeps) { return keeps ? keep(x) : exclude(x); };
            if (s.padding)
              options.key_padding = meaning(g.input("padding", {s.of.batch, m}, DType::U8), s.padding_keeps);
            if (s.mask) options.mask = meaning(g.input("mask", {s.of.batch, 1, n, m}, DType::U8), s.mask_keeps);
            if (s.bias)
              options.bias = t.input("bias", s.bias_shape.empty() ? Shape{s.of.heads, n, m} : shape_of(s.bias_shape));
            const Tensor y = g.attention(q, k, v, options).output;
            detail::GraphData& data = detail::data_of(g);

            REQUIRE(detail::has_attention_backward(data, data.nodes.back()));
            const detail::AttentionBackward made =
                detail::attention_backward(data, y, upstream, {s.of_query, s.of_key, s.of_value, s.of_bias});
            if (s.of_bias) g.output("db", made.bias);
            if (s.of_query) g.output("dq", made.query);
            if (s.of_key) g.output("dk", made.key);
            if (s.of_value) g.output("dv", made.value);
            t.options.training = s.dropout > 0.0f;

            std::vector<std::array<int64_t, 2>> sizes = {{s.of.queries, s.of.keys}};
            if (s.extents)
              sizes.insert(sizes.end(), {{1, s.of.keys}, {s.of.queries, 1}, {s.of.queries / 2, s.of.keys / 3}});
            for (const auto& [queries, keys] : sizes) {
              Run& run = s.extents ? t.run({{"n", queries}, {"m", keys}}) : t.run();
              run.options.seed = 77;
              Given given;
              given.q = run.input("q", uniform({s.of.batch, s.of.heads, queries, s.of.d_k}, 901, -2, 2));
              given.k = s.turned
                            ? permute(run.input("k", uniform({keys, s.of.d_k, s.of.batch, s.of.key_heads}, 902, -2, 2)),
                                      {2, 3, 0, 1})
                            : run.input("k", uniform({s.of.batch, s.of.key_heads, keys, s.of.d_k}, 902, -2, 2));
              given.v = run.input("v", uniform({s.of.batch, s.of.key_heads, keys, s.of.d_v}, 903));
              given.upstream = s.turned
                                   ? permute(run.input("dy", uniform({s.of.batch, queries, s.of.heads, s.of.d_v}, 904)),
                                             {0, 2, 1, 3})
                                   : run.input("dy", uniform({s.of.batch, s.of.heads, queries, s.of.d_v}, 904));
              HiddenKeys hidden;
              hidden.reference.causal = s.causal;
              hidden.reference.window = s.window;
              if (s.fill) hidden.reference.masked_fill = static_cast<double>(*s.fill);
              hidden.reference.key_padding_keeps = s.padding_keeps;
              hidden.reference.mask_keeps = s.mask_keeps;
              if (s.padding) hidden.give_padding(run, mask_of({s.of.batch, keys}, 905, s.padding_keeps));
              if (s.mask) hidden.give_mask(run, mask_of({s.of.batch, 1, queries, keys}, 906, s.mask_keeps));
              const Sizes bias_shape = s.bias_shape.empty() ? Sizes{s.of.heads, queries, keys} : s.bias_shape;
              if (s.bias) hidden.give_bias(run, uniform(bias_shape, 907));
              const Gradients want = reference(s, given, hidden.reference, run.options.seed,
                                               t.dtype == DType::F32   ? 0.0
                                               : t.dtype == DType::F16 ? 0x1p-11
                                                                       : 0x1p-8);
              if (s.of_bias) run.expect_within("db", t.stored(summed_to_bias(want.bias, bias_shape)), t.dtype);
              if (s.of_query) run.expect_within("dq", t.stored(want.query), t.dtype);
              if (s.of_key) run.expect_within("dk", t.stored(want.key), t.dtype);
              if (s.of_value) run.expect_within("dv", t.stored(want.value), t.dtype);
            }
          }};
}

}  // namespace

TEST_CASE("attention_backward on every device", "[ops]") {
  const Sample samples[] = {
      {.name = "plain", .narrow = true},
      {.name = "one query and key", .of = {1, 1, 2, 2, 2, 1, 3}},
      {.name = "sizes that fit nothing", .of = {71, 67, 3, 3, 3, 13, 7}},
      {.name = "blocks of queries and keys", .of = {150, 150, 4, 4, 1, 20, 20}, .causal = Causal::TopLeft},
      {.name = "grouped heads", .of = {33, 18, 6, 2, 2, 16, 24}, .narrow = true},
      {.name = "causal, more keys", .of = {17, 40}, .causal = Causal::BottomRight},
      {.name = "causal, more queries", .of = {40, 17}, .causal = Causal::BottomRight},
      {.name = "top left, more queries", .of = {40, 17}, .causal = Causal::TopLeft},
      {.name = "a window", .of = {90, 90}, .causal = Causal::TopLeft, .window = 11},
      {.name = "a window, more keys", .of = {30, 90}, .causal = Causal::BottomRight, .window = 40},
      {.name = "padding", .padding = true},
      {.name = "padding that keeps, and a mask", .padding = true, .padding_keeps = true, .mask = true},
      {.name = "a mask that keeps, and a bias", .mask = true, .mask_keeps = true, .bias = true, .narrow = true},
      {.name = "padding and a bias", .of = {35, 34}, .causal = Causal::TopLeft, .padding = true, .bias = true},
      {.name = "filled", .causal = Causal::TopLeft, .padding = true, .mask = true, .fill = -2.0f},
      {.name = "filled, far below", .of = {33, 33}, .causal = Causal::TopLeft, .bias = true, .fill = -64.0f},
      {.name = "a window, filled", .of = {20, 20}, .causal = Causal::TopLeft, .window = 3, .fill = 0.5f},
      {.name = "dropout", .of = {39, 37, 4}, .causal = Causal::TopLeft, .dropout = 0.3f},
      {.name = "dropout and a fill", .mask = true, .fill = -1.0f, .dropout = 0.5f},
      {.name = "heads of 64", .of = {40, 44, 2, 2, 1, 64, 64}, .causal = Causal::BottomRight},
      {.name = "heads of 128 and 80", .of = {19, 21, 2, 1, 1, 128, 80}},
      {.name = "heads of 256", .of = {9, 11, 1, 1, 1, 256, 256}},
      {.name = "extents", .of = {45, 70}, .causal = Causal::BottomRight, .mask = true, .extents = true},
      {.name = "gradient of a bias", .of = {70, 40, 4}, .bias = true, .narrow = true, .of_bias = true},
      {.name = "gradient of a bias of keys",
       .of = {70, 150},
       .causal = Causal::TopLeft,
       .bias = true,
       .of_bias = true,
       .bias_shape = {2, 1, 1, 150}},
      {.name = "gradient of a bias of queries",
       .of = {75, 150, 2, 2, 3},
       .bias = true,
       .dropout = 0.25f,
       .of_bias = true,
       .bias_shape = {75, 1}},
      {.name = "gradient of a bias of all, with a fill",
       .of = {17, 150},
       .mask = true,
       .bias = true,
       .fill = -3.0f,
       .of_bias = true,
       .bias_shape = {17, 150}},
      {.name = "a bias of heads alone",
       .of = {9, 13, 3, 3},
       .padding = true,
       .bias = true,
       .of_query = false,
       .of_key = false,
       .of_value = false,
       .of_bias = true,
       .bias_shape = {3, 1, 1}},
      {.name = "a window and a bias of extents",
       .of = {45, 70},
       .causal = Causal::BottomRight,
       .window = 9,
       .bias = true,
       .extents = true,
       .of_bias = true},
      {.name = "queries alone", .of = {30, 40}, .of_key = false, .of_value = false},
      {.name = "keys alone", .of = {30, 40}, .of_query = false, .of_value = false},
      {.name = "values alone", .of = {70, 40, 2, 2, 2, 8, 12}, .of_query = false, .of_key = false},
      {.name = "queries and values", .of = {30, 40, 2, 2, 2, 8, 12}, .of_key = false},
      {.name = "other layouts", .of = {21, 22, 4}, .turned = true},
  };
  Operation operation{"attention_backward", {}, {DType::F32}},
      narrow{"attention_backward", {}, {DType::F16, DType::BF16}};
  for (const Sample& sample : samples) {
    operation.cases.push_back(case_of(sample));
    if (sample.narrow) narrow.cases.push_back(case_of(sample));
  }
  check(operation);
  check(narrow);
}

// With few threads each thread computes whole heads; with many, heads are split.
TEST_CASE("attention_backward gives the same bits on any number of threads", "[ops][cpu]") {
  Graph g;
  const Tensor q = g.input("q", {1, 4, 150, 24}), k = g.input("k", {1, 2, 170, 24}), v = g.input("v", {1, 2, 170, 40}),
               upstream = g.input("dy", {1, 4, 150, 40});
  const Tensor y = g.attention(q, k, v, {.causal = Causal::BottomRight}).output;
  detail::GraphData& data = detail::data_of(g);
  const detail::AttentionBackward made = detail::attention_backward(data, y, upstream);
  g.output("dq", made.query);
  g.output("dk", made.key);
  g.output("dv", made.value);
  std::vector<float> first;
  for (const uint32_t threads : {1u, 2u, 7u}) {
    INFO(threads);
    Plan plan = test::compiled(test::open_cpu({.threads = threads}), g);
    std::vector<std::vector<float>> in, out;
    for (const size_t n : {4 * 150 * 24, 2 * 170 * 24, 2 * 170 * 40, 4 * 150 * 40})
      in.push_back(test::pattern(n, static_cast<uint32_t>(n)));
    for (const size_t n : {4 * 150 * 24, 2 * 170 * 24, 2 * 170 * 40}) out.emplace_back(n);
    REQUIRE(plan.run({{"q", std::span(in[0])},
                      {"k", std::span(in[1])},
                      {"v", std::span(in[2])},
                      {"dy", std::span(in[3])},
                      {"dq", std::span(out[0])},
                      {"dk", std::span(out[1])},
                      {"dv", std::span(out[2])}}) == Status::Ok);
    std::vector<float> all;
    for (const auto& one : out) all.insert(all.end(), one.begin(), one.end());
    if (first.empty()) first = all;
    CHECK(all == first);
  }
}

TEST_CASE("attention_backward says which attentions it serves", "[graph]") {
  struct Row {
    bool served;
    std::function<void(Graph&, AttentionOptions*, Shape*, DType*)> change;
  };
  const Row rows[] = {
      {true, [](Graph&, AttentionOptions*, Shape*, DType*) {}},
      {true, [](Graph&, AttentionOptions*, Shape*, DType* type) { *type = DType::F16; }},
      {false, [](Graph&, AttentionOptions*, Shape* shape, DType*) { (*shape)[3] = 260; }},
      {false,
       [](Graph& g, AttentionOptions* o, Shape* shape, DType*) {
         (*shape)[3] = g.extent("width", 64);
         o->scale = 1.0f;
       }},
      {false, [](Graph& g, AttentionOptions* o, Shape*, DType*) { o->lengths = g.input("l", {2}, DType::I32); }},
      {false,
       [](Graph& g, AttentionOptions* o, Shape*, DType*) {
         o->key_padding = keep(g.input("p", {2, 5}, DType::U8));
         o->mask = keep(g.input("m", {2, 1, 5, 5}, DType::U8));
         o->bias = g.input("b", {5, 5});
       }},
  };
  for (const Row& row : rows) {
    Graph g;
    AttentionOptions options;
    Shape shape{2, 3, 5, 16};
    DType type = DType::F32;
    row.change(g, &options, &shape, &type);
    const Tensor x = g.input("x", shape, type);
    static_cast<void>(g.attention(x, x, x, options));
    REQUIRE(g.status() == Status::Ok);
    CHECK(detail::has_attention_backward(g.data(), g.data().nodes.back()) == row.served);
  }
}

}  // namespace heed::ops
