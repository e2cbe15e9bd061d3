#include "harness/catch.hpp"
#include "ops/attention_cases.hpp"

namespace heed::ops {
namespace {

struct Attention {
  int64_t batch = 2, heads = 3, queries = 17, keys = 17, d_k = 16, d_v = 16;
  Causal causal = Causal::None;
  bool key_padding = false;
  Sizes mask = {}, bias = {};
  bool keep = false;
  std::optional<double> fill = {}, scale = {};
  float dropout = 0.0f;
  bool infinite = false;  // some of the bias, and its whole first row, is -inf
  bool weights = false;
  bool log_sum_exp = false;
  int64_t group = 1;     // query heads that share one head of keys and values
  bool strange = false;  // values of some keys are infinite or NaN
  int64_t window = 0, window_ahead = 0;
  bool lengths = false, positions = false;  // lengths and positions differ by row of the batch
  std::optional<DType> narrow = {};         // type of keys and values, with queries of f32
  double softcap = 0.0;
  Scores scores = Scores::None;

  // If scores are an output, those behind the softcap are computed from the stored ones.
  bool stores_scores() const { return softcap == 0.0 || scores != Scores::None || log_sum_exp; }
  // Whether Vulkan devices run it fused, so that they do not read keys beyond the lengths.
  bool leaves_rest() const { return lengths && !weights && softcap == 0.0 && scores == Scores::None; }
};

std::string name_of(const Attention& a) {
  std::string text = text_of({a.batch, a.heads, a.queries, a.keys, a.d_k, a.d_v});
  if (a.causal == Causal::TopLeft) text += " causal top-left";
  if (a.causal == Causal::BottomRight) text += " causal bottom-right";
  if (a.key_padding) text += " key padding";
  if (!a.mask.empty()) text += " mask " + text_of(a.mask);
  if (!a.bias.empty()) text += " bias " + text_of(a.bias);
  if (a.keep) text += " keep";
  if (a.fill) text += " filled";
  if (a.scale) text += " scale";
  if (a.dropout > 0.0f) text += " dropout";
  if (a.infinite) text += " with -inf";
  if (a.weights) text += " weights";
  if (a.log_sum_exp) text += " log-sum-exp";
  if (a.strange) text += " strange values";
  if (a.window > 0) text += " window " + std::to_string(a.window);
  if (a.window_ahead > 0) text += " window ahead " + std::to_string(a.window_ahead);
  if (a.softcap > 0.0) text += " softcap";
  if (a.scores != Scores::None) text += " scores " + std::to_string(static_cast<int>(a.scores));
  if (a.lengths) text += " lengths";
  if (a.positions) text += " positions";
  if (a.narrow) text += std::string(" keys of ") + to_string(*a.narrow);
  if (a.group > 1) text += " groups of " + std::to_string(a.group);
  return text;
}

// Masks as bytes. They hide all keys in the first row of a mask, and in batch 1 of a padding mask.
Array mask_bytes(const Sizes& shape, uint64_t seed, bool keep, bool padding) {
  Array mask = uniform(shape, seed);
  for (int64_t i = 0; i < mask.size(); ++i) {
    const bool all = padding ? i / mask.dim(0) == 1 : i < mask.dim(0);
    mask.at(i) = (all || mask.at(i) < 0.0) == keep ? 0.0 : 1.0;
  }
  return mask;
}

// One number for each row of a batch, repeated if there are more rows.
Array row_numbers(int64_t batch, const std::vector<int64_t>& list) {
  Array x({batch});
  for (int64_t b = 0; b < batch; ++b) x.at(b) = static_cast<double>(list[static_cast<size_t>(b) % list.size()]);
  return x;
}

// Sets the rows of x [B, heads, keys, width] beyond the lengths to this value.
void fill_rest(Array* x, const Array& lengths, double value) {
  const int64_t keys = x->dim(1), per_batch = x->size() / x->shape[0];
  for (int64_t i = 0; i < x->size(); ++i)
    if (static_cast<double>(i / x->dim(0) % keys) >= lengths.at(i / per_batch)) x->at(i) = value;
}

// The inputs that attention passes on to softmax.
struct Inputs : HiddenKeys {
  AttentionOptions options;

  void make(const Attention& a, Trial& t, Run& run) {
    options.causal = reference.causal = a.causal;
    options.window = reference.window = a.window;
    options.window_ahead = reference.window_ahead = a.window_ahead;
    options.softcap = static_cast<float>(a.softcap);
    options.return_scores = a.scores;
    options.dropout = a.dropout;
    options.return_weights = a.weights;
    options.return_log_sum_exp = a.log_sum_exp;
    if (a.scale) options.scale = static_cast<float>(*a.scale);
    if (a.fill) options.masked_fill = static_cast<float>(*a.fill);
    reference.masked_fill = a.fill;
    reference.key_padding_keeps = reference.mask_keeps = a.keep;
    const auto sense = [&](Tensor tensor) { return a.keep ? heed::keep(tensor) : exclude(tensor); };
    if (a.key_padding) {
      give_padding(run, mask_bytes({a.batch, a.keys}, 61, a.keep, true));
      options.key_padding = sense(t.graph.input("padding", {a.batch, a.keys}, DType::U8));
    }
    if (!a.mask.empty()) {
      give_mask(run, mask_bytes(a.mask, 62, a.keep, false));
      options.mask = sense(t.graph.input("mask", shape_of(a.mask), DType::U8));
    }
    if (a.lengths) {
      give_lengths(run, row_numbers(a.batch, {(a.keys + 1) / 2, a.keys + 7, 0, a.keys - 1, 1}));
      options.lengths = t.graph.input("lengths", {a.batch}, DType::I32);
    }
    if (a.positions) {
      give_positions(run, row_numbers(a.batch, {a.keys / 3, a.keys - a.queries, INT32_MIN, -2, INT32_MAX}));
      options.positions = t.graph.input("positions", {a.batch}, DType::I32);
    }
    if (!a.bias.empty()) {
      Array bias_values = uniform(a.bias, 63, -2.0, 2.0);
      for (int64_t i = 0; a.infinite && i < bias_values.size(); ++i)
        if (i < bias_values.dim(0) || bias_values.at(i) < 0.0) bias_values.at(i) = -INFINITY;
      give_bias(run, bias_values);
      options.bias = t.input("bias", shape_of(a.bias));
    }
  }
};

// Sets every third column of the values of every fifth key to infinity or NaN.
void make_strange(Array* v) {
  const double kinds[] = {INFINITY, NAN, -INFINITY};
  for (int64_t i = 0; i < v->size(); ++i) {
    const int64_t row = i / v->dim(0), column = i % v->dim(0);
    if (row % 5 == 2 && (row / 5 + column) % 3 == 0) v->at(i) = kinds[(row / 15 + column / 3) % 3];
  }
}

// weights x v, where a weight of 0 contributes 0 for any value.
Array mix_values(const Array& weights, const Array& v) {
  const auto is_finite = [](double x) { return std::isfinite(x); };
  if (std::all_of(v.value.begin(), v.value.end(), is_finite)) return matmul(weights, v);
  Array finite = v;
  for (double& x : finite.value)
    if (!is_finite(x)) x = 0.0;
  Array y = matmul(weights, finite);
  const int64_t queries = weights.dim(1), keys = v.dim(1), width = v.dim(0);
  for (int64_t row = 0; row < y.size() / width; ++row)
    for (int64_t key = 0; key < keys; ++key)
      for (int64_t d = 0; d < width && weights.at(row * keys + key) > 0.0; ++d) {
        const double x = v.at((row / queries * keys + key) * width + d);
        if (!std::isfinite(x)) y.at(row * width + d) += x;
      }
  return y;
}

// softmax(scale q k^T) v, with the roundings of an implementation that stores every intermediate result.
void expect_attention(const Trial& t, Run& run, const Attention& a, const Inputs& inputs, const Array& q,
                      const Array& k, const Array& v) {
  const double scale =
      static_cast<double>(static_cast<float>(a.scale.value_or(1.0 / std::sqrt(static_cast<double>(a.d_k)))));
  const Array product = matmul(q, transposed(k), scale), scores = a.stores_scores() ? t.stored(product) : product;
  Array exponents = scores, capped = scores;
  SoftmaxReference reference = inputs.reference;
  if (a.softcap > 0.0) {
    exponents = t.stored(activation(ops::scale(scores, 1.0 / a.softcap), Activation::Tanh));
    capped = ops::scale(exponents, a.softcap);
    reference.scale = a.softcap;
  }
  const Array weights = t.stored(softmax(exponents, reference));
  Array used = weights;
  if (a.dropout > 0.0f && t.options.training)
    used = t.stored(dropout(weights, static_cast<double>(a.dropout), run.options.seed, 0));
  // Errors of the scores add to those of the exponent.
  const auto terms = static_cast<double>(a.d_k + a.keys) * 4.0;
  run.expect("y", mix_values(used, v), terms, 64);
  if (a.weights) run.expect("w", softmax(exponents, reference), terms, 64);
  if (a.log_sum_exp && a.softcap == 0.0) run.expect_within("lse", log_sum_exp(scores, inputs.reference));
  if (a.log_sum_exp && a.softcap > 0.0)
    run.expect_within("lse", log_sum_exp(t.stored(t.stored(logits(capped, inputs.reference)))));
  if (a.scores == Scores::Scaled) run.expect_within("s", scores, t.dtype);
  if (a.scores == Scores::Capped) run.expect_within("s", t.stored(capped), t.dtype);
  // Intermediate results are rounded between passes, too.
  if (a.scores == Scores::Masked) run.expect_within("s", t.stored(t.stored(logits(capped, inputs.reference))), t.dtype);
}

// [B, G, S, d] -> [B, count G, S, d], each head `count` times in a row.
Array repeat_heads(const Array& x, int64_t count) {
  Sizes apart = x.shape, target = x.shape, joined = x.shape;
  apart.insert(apart.begin() + 2, 1);
  target.insert(target.begin() + 2, count);
  joined[1] *= count;
  return reshape(broadcast(reshape(x, apart), target), joined);
}

// The same with queries, keys and values of `a` as inputs.
void give_and_expect(const Trial& t, Run& run, const Attention& a, const Inputs& inputs) {
  const int64_t heads = a.heads / a.group;
  const Array q = run.input("q", uniform({a.batch, a.heads, a.queries, a.d_k}, 69, -2, 2)),
              k = run.input("k", uniform({a.batch, heads, a.keys, a.d_k}, 70, -2, 2)),
              v = run.input("v", uniform({a.batch, heads, a.keys, a.d_v}, 71));
  expect_attention(t, run, a, inputs, q, repeat_heads(k, a.group), repeat_heads(v, a.group));
}

Case separate_case(const Attention& a) {
  return {name_of(a),
          [a](Trial& t) {
            if (a.narrow && t.dtype != DType::F32) return;
            t.options.training = a.dropout > 0.0f;
            const DType type = a.narrow.value_or(t.dtype);
            Run& run = t.run();
            run.options.seed = 99;
            const Sizes sq = {a.batch, a.heads, a.queries, a.d_k}, sk = {a.batch, a.heads / a.group, a.keys, a.d_k},
                        sv = {a.batch, a.heads / a.group, a.keys, a.d_v};
            Inputs inputs;
            inputs.make(a, t, run);
            const AttentionResult result =
                t.graph.attention(t.input("q", shape_of(sq)), t.graph.input("k", shape_of(sk), type),
                                  t.graph.input("v", shape_of(sv), type), inputs.options);
            t.graph.output("y", result.output);
            if (a.weights) t.graph.output("w", result.weights);
            if (a.log_sum_exp) t.graph.output("lse", result.log_sum_exp);
            if (a.scores != Scores::None) t.graph.output("s", result.scores);
            Array keys = uniform(sk, 65, -2, 2), values = uniform(sv, 66);
            if (a.strange) make_strange(&values);
            if (a.leaves_rest()) fill_rest(&keys, inputs.lengths, NAN), fill_rest(&values, inputs.lengths, NAN);
            const Array q = run.input("q", uniform(sq, 64, -2, 2));
            Array k = run.input("k", keys, type), v = run.input("v", values, type);
            if (a.leaves_rest()) fill_rest(&k, inputs.lengths, 0.0), fill_rest(&v, inputs.lengths, 0.0);
            expect_attention(t, run, a, inputs, q, repeat_heads(k, a.group), repeat_heads(v, a.group));
          },
          a.strange};
}

void add_changed(std::vector<Case>* cases, Attention a, const auto& change) {
  change(a);
  cases->push_back(separate_case(a));
}

// Views of one projection [B, S, 3, H, D], and heads joined to [B, S, H D] in the output, without copies.
Case fused_case(const Attention& a) {
  return {"fused qkv " + name_of(a), [a](Trial& t) {
            Run& run = t.run();
            const Sizes shape = {a.batch, a.queries, 3, a.heads, a.d_k};
            Inputs inputs;
            inputs.make(a, t, run);
            const Tensor x = t.input("x", shape_of(shape));
            const auto part = [&](int64_t i) { return t.graph.transpose(t.graph.select(x, 2, i), 1, 2); };
            const Tensor y = t.graph.attention(part(0), part(1), part(2), inputs.options).output;
            t.graph.output("y", t.graph.reshape(t.graph.transpose(y, 1, 2), {a.batch, a.queries, a.heads * a.d_k}));
            const Array v = run.input("x", uniform(shape, 67, -2, 2));
            const auto ref = [&](int64_t i) {
              return permute(reshape(slice(v, 2, i, 1), {a.batch, a.queries, a.heads, a.d_k}), {0, 2, 1, 3});
            };
            expect_attention(t, run, a, inputs, ref(0), ref(1), ref(2));
            Array& joined = run.expectations.front().reference;
            joined = reshape(permute(joined, {0, 2, 1, 3}), {a.batch, a.queries, a.heads * a.d_k});
            t.passes = {"matmul", "softmax", "matmul"};
          }};
}

// Queries [B, S, H, D] viewed head by head, fewer heads of keys and values, and weights as an output: every matmul needs a view.
Case grouped_view_case() {
  return {"grouped, strided, weights", [](Trial& t) {
            const Attention a = {.heads = 4, .queries = 9, .keys = 11, .d_k = 8, .d_v = 8, .weights = true};
            Run& run = t.run();
            const Dim queries = t.graph.extent("queries", 12);
            run.extents = {{"queries", a.queries}};
            const auto heads_first = [&](const char* name, Dim length, int64_t heads) {
              return t.graph.transpose(t.input(name, {a.batch, length, heads, 8}), 1, 2);
            };
            const AttentionResult result = t.graph.attention(heads_first("q", queries, 4), heads_first("k", 11, 2),
                                                             heads_first("v", 11, 2), {.return_weights = true});
            t.graph.output("y", result.output);
            t.graph.output("w", result.weights);
            const auto values = [&](const char* name, int64_t length, int64_t heads, uint64_t seed) {
              return permute(run.input(name, uniform({a.batch, length, heads, 8}, seed, -2, 2)), {0, 2, 1, 3});
            };
            const Array q = values("q", 9, 4, 72), k = values("k", 11, 2, 73), v = values("v", 11, 2, 74);
            expect_attention(t, run, a, {}, q, repeat_heads(k, 2), repeat_heads(v, 2));
          }};
}

Case extents_case() {
  return {"extents", [](Trial& t) {
            const Dim b = t.graph.extent("b", 3), q = t.graph.extent("q", 20), k = t.graph.extent("k", 33);
            const Tensor query = t.input("q", {b, 2, q, 8}), key = t.input("k", {b, 2, k, 8}),
                         value = t.input("v", {b, 2, k, 12});
            const Tensor padding = t.graph.input("padding", {b, k}, DType::U8);
            t.graph.output("y", t.graph
                                    .attention(query, key, value,
                                               {.causal = Causal::BottomRight, .key_padding = heed::keep(padding)})
                                    .output);
            for (const auto& s : {std::array<int64_t, 3>{3, 20, 33}, {1, 1, 1}, {2, 1, 32}, {2, 20, 5}}) {
              Run& run = t.run({{"b", s[0]}, {"q", s[1]}, {"k", s[2]}});
              Attention a = {.batch = s[0], .heads = 2, .queries = s[1], .keys = s[2], .d_k = 8, .d_v = 12};
              Inputs inputs;
              inputs.give_padding(run, mask_bytes({s[0], s[2]}, 68, true, true));
              inputs.reference.causal = Causal::BottomRight;
              inputs.reference.key_padding_keeps = true;
              give_and_expect(t, run, a, inputs);
            }
          }};
}

// Attention of f16 and bf16 against double, with inputs rounded to the type. In bf16 rounding the result alone costs 2^-8 of an element,
// and an NMSE of about 5e-6.
Case accuracy_case(int64_t tokens, int64_t d) {
  return {"accuracy " + text_of({tokens, d}),
          [=](Trial& t) {
            if (t.dtype == DType::F32) return;
            const bool half = t.dtype == DType::F16;
            const Sizes shape = {1, 2, tokens, d};
            const auto input = [&](const char* name) { return t.input(name, shape_of(shape)); };
            t.graph.output("y", t.graph.attention(input("q"), input("k"), input("v")).output);
            Run& run = t.run();
            const Array q = run.input("q", uniform(shape, 81, -2, 2)), k = run.input("k", uniform(shape, 82, -2, 2)),
                        v = run.input("v", uniform(shape, 83));
            const double scale = static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(d))));
            Array y = matmul(softmax(matmul(q, transposed(k), scale), {}), v);
            double largest = 0.0;
            for (const double x : y.value) largest = std::max(largest, std::abs(x));
            for (int64_t i = 0; i < y.size(); ++i) y.err(i) = (half ? 4e-3 : 1e-2) * largest;
            run.expectations.push_back({"y", t.dtype, y, half ? 1e-6 : 1e-5, false});
          },
          true};
}

void add_log_sum_exp(std::vector<Case>* cases) {
  const auto add = [&](Attention a) {
    a.log_sum_exp = true;
    cases->push_back(separate_case(a));
  };
  add({.queries = 33, .keys = 35, .key_padding = true});
  add({.queries = 2, .keys = 35, .causal = Causal::BottomRight, .key_padding = true, .dropout = 0.25f});
  add({.queries = 33, .keys = 5, .causal = Causal::BottomRight, .bias = {33, 5}, .infinite = true});
  add({.queries = 5, .keys = 33, .mask = {2, 1, 5, 33}, .keep = true, .fill = -1e4});
  add({.queries = 3, .keys = 901, .key_padding = true, .bias = {3, 1, 901}, .infinite = true});  // split along the keys
  add({.heads = 4, .queries = 9, .keys = 11, .weights = true, .group = 2});
}

// From one split of the keys to the most, and rows that see no key of a split.
void add_splits(std::vector<Case>* cases) {
  const auto add = [&](const Attention& a) { cases->push_back(separate_case(a)); };
  const Attention one = {.batch = 1, .heads = 1, .queries = 1, .keys = 2029, .d_k = 12, .d_v = 7};
  for (const int64_t keys : {511, 512, 513, 2029}) {
    Attention a = one;
    a.keys = keys;
    add(a);
  }
  add({.batch = 1, .heads = 1, .queries = 3, .keys = 16384, .d_k = 4, .d_v = 4});
  const auto with = [&](const auto& change) { add_changed(cases, one, change); };
  with([](Attention& a) { a.queries = 3, a.causal = Causal::TopLeft, a.log_sum_exp = true; });
  with([](Attention& a) {
    a.batch = 2, a.queries = 40, a.keys = 2100, a.key_padding = true, a.causal = Causal::BottomRight;
  });
  with([](Attention& a) { a.heads = 4, a.group = 4, a.d_k = 68, a.d_v = 68, a.dropout = 0.5f; });
  with([](Attention& a) {
    a.queries = 2, a.mask = {1, 1, 2, 2029}, a.log_sum_exp = true, a.infinite = true, a.bias = {2, 2029};
  });
  with([](Attention& a) {
    a.queries = 2, a.causal = Causal::TopLeft, a.fill = -1e4, a.keep = true, a.mask = {2, 2029};
  });
}

// Windows at the edges of fused kernels' blocks, combined with every other way to hide keys.
void add_windows(std::vector<Case>* cases) {
  for (const auto& s : {std::array<int64_t, 3>{1, 300, 33},
                        {4, 129, 1},
                        {33, 128, 32},
                        {70, 300, 100},
                        {150, 150, 7},
                        {129, 40, 64},
                        {40, 129, 500}}) {
    const Attention plain = {.queries = s[0], .keys = s[1], .d_k = 20, .d_v = 13, .window = s[2]};
    const auto add = [&](const auto& change) { add_changed(cases, plain, change); };
    add([](Attention& a) { a.causal = Causal::TopLeft, a.log_sum_exp = true; });
    add([](Attention& a) { a.causal = Causal::BottomRight, a.d_k = a.d_v = 64, a.strange = true; });
    add([](Attention& a) { a.causal = Causal::BottomRight, a.key_padding = true, a.group = 3; });
    add([](Attention& a) { a.causal = Causal::TopLeft, a.mask = {1, 3, a.queries, a.keys}, a.fill = -1e4; });
    add([](Attention& a) { a.causal = Causal::BottomRight, a.bias = {2, 1, a.queries, a.keys}, a.dropout = 0.3f; });
    add([](Attention& a) { a.causal = Causal::BottomRight, a.key_padding = true, a.weights = true; });
  }
  // Splits of the keys inside a window, which are fewer than all keys.
  for (const int64_t window : {600, 1500, 5000}) {
    const Attention one = {.batch = 1, .heads = 2, .keys = 2100, .d_k = 12, .d_v = 7, .causal = Causal::BottomRight};
    for (const int64_t queries : {1, 3, 40}) {
      Attention a = one;
      a.queries = queries, a.window = window, a.log_sum_exp = true, a.key_padding = queries == 3;
      cases->push_back(separate_case(a));
    }
  }
}

// Lengths and positions for each row of a batch, combined with every other way to hide keys.
void add_lengths(std::vector<Case>* cases) {
  for (const auto& s : {std::array<int64_t, 2>{1, 300}, {4, 129}, {33, 70}, {70, 33}, {129, 131}}) {
    const Attention plain = {
        .batch = 5, .heads = 2, .queries = s[0], .keys = s[1], .d_k = 20, .d_v = 13, .lengths = true};
    const auto add = [&](const auto& change) { add_changed(cases, plain, change); };
    add([](Attention&) {});
    add([](Attention& a) { a.causal = Causal::BottomRight, a.d_k = a.d_v = 64, a.log_sum_exp = true; });
    add([](Attention& a) { a.causal = Causal::TopLeft, a.positions = true, a.key_padding = true, a.group = 2; });
    add([](Attention& a) {
      a.causal = Causal::BottomRight, a.window = 40, a.mask = {a.queries, a.keys}, a.keep = true;
    });
    add([](Attention& a) { a.causal = Causal::TopLeft, a.positions = true, a.window = 9, a.bias = {2, 1, a.keys}; });
    add([](Attention& a) { a.causal = Causal::TopLeft, a.positions = true, a.lengths = false, a.dropout = 0.3f; });
    add([](Attention& a) { a.key_padding = true, a.mask = {5, 1, a.queries, a.keys}, a.fill = -1e4; });
    add([](Attention& a) { a.bias = {5, 1, 1, a.keys}, a.mask = {a.queries, a.keys}, a.strange = true; });
    add([](Attention& a) { a.causal = Causal::BottomRight, a.key_padding = true, a.window = 50, a.weights = true; });
    add([](Attention& a) { a.causal = Causal::TopLeft, a.positions = true, a.fill = -1e4, a.weights = true; });
    // More tensors than Vulkan's fused kernels have bindings for, unless lengths and positions are joined.
    add([](Attention& a) {
      a.causal = Causal::TopLeft, a.positions = a.key_padding = true;
      a.mask = {a.queries, a.keys}, a.bias = {2, 1, a.keys};
    });
    add([](Attention& a) {
      a.causal = Causal::TopLeft, a.positions = a.log_sum_exp = true, a.window = 60;
      a.mask = {a.queries, a.keys}, a.bias = {2, 1, a.keys};
    });
    add([](Attention& a) {
      a.key_padding = true, a.fill = -1e4, a.mask = {a.queries, a.keys}, a.bias = {2, 1, a.keys};
    });
  }
  // Splits of the keys, of which all or nearly all are beyond the length of some rows.
  for (const int64_t queries : {1, 3, 40}) {
    Attention a = {.batch = 3, .heads = 2, .queries = queries, .keys = 2100, .d_k = 12, .d_v = 7, .log_sum_exp = true};
    a.lengths = true, a.causal = Causal::BottomRight;
    cases->push_back(separate_case(a));
    a.positions = true, a.window = 700, a.key_padding = true;
    cases->push_back(separate_case(a));
    a.log_sum_exp = false, a.mask = {a.queries, a.keys}, a.bias = {2, 1, a.keys};
    cases->push_back(separate_case(a));
  }
}

// 16-bit keys and values with queries of f32: aligned and unaligned rows, few and many queries, splits, and stored scores.
void add_narrow(std::vector<Case>* cases) {
  for (const DType type : {DType::F16, DType::BF16})
    for (const auto& s :
         {std::array<int64_t, 3>{1, 300, 64}, {1, 2029, 12}, {7, 33, 13}, {70, 131, 20}, {33, 40, 128}}) {
      const Attention plain = {
          .heads = 4, .queries = s[0], .keys = s[1], .d_k = s[2], .d_v = s[2], .group = 2, .narrow = type};
      const auto add = [&](const auto& change) { add_changed(cases, plain, change); };
      add([](Attention&) {});
      add([](Attention& a) { a.causal = Causal::BottomRight, a.lengths = true, a.log_sum_exp = true; });
      add([](Attention& a) { a.causal = Causal::BottomRight, a.window = 40, a.bias = {4, 1, a.keys}, a.group = 4; });
      add([](Attention& a) { a.key_padding = true, a.d_v = a.d_k + 1, a.strange = true, a.group = 1; });
      add([](Attention& a) { a.causal = Causal::TopLeft, a.weights = true; });
    }
}

// Lengths and positions as columns of one tensor, with extents.
Case strided_lengths_case(bool weights) {
  return {weights ? "lengths at extents weights" : "lengths at extents", [weights](Trial& t) {
            const Dim b = t.graph.extent("b", 4), q = t.graph.extent("q", 20), k = t.graph.extent("k", 600);
            const Tensor rows = t.graph.input("rows", {b, 2}, DType::I32);
            const AttentionResult result =
                t.graph.attention(t.input("q", {b, 2, q, 8}), t.input("k", {b, 1, k, 8}), t.input("v", {b, 1, k, 12}),
                                  {.causal = Causal::TopLeft,
                                   .lengths = t.graph.select(rows, 1, 0),
                                   .positions = t.graph.select(rows, 1, 1),
                                   .return_weights = weights});
            t.graph.output("y", result.output);
            if (weights) t.graph.output("w", result.weights);
            for (const auto& s : {std::array<int64_t, 3>{4, 20, 33}, {1, 1, 600}, {3, 2, 577}, {2, 20, 5}}) {
              Run& run = t.run({{"b", s[0]}, {"q", s[1]}, {"k", s[2]}});
              Inputs inputs;
              inputs.lengths = row_numbers(s[0], {s[2], s[2] / 2, 1, 0});
              inputs.positions = row_numbers(s[0], {s[2] - s[1], 0, 3, 7});
              inputs.reference.lengths = &inputs.lengths, inputs.reference.positions = &inputs.positions;
              inputs.reference.causal = Causal::TopLeft;
              Array both({s[0], 2});
              for (int64_t i = 0; i < s[0]; ++i)
                both.at(2 * i) = inputs.lengths.at(i), both.at(2 * i + 1) = inputs.positions.at(i);
              run.input("rows", both, DType::I32);
              const Attention a = {.batch = s[0],
                                   .heads = 2,
                                   .queries = s[1],
                                   .keys = s[2],
                                   .d_k = 8,
                                   .d_v = 12,
                                   .weights = weights,
                                   .group = 2};
              give_and_expect(t, run, a, inputs);
            }
          }};
}

// Softcaps, which no fused kernel supports, with every way to hide keys and all results.
void add_softcaps(std::vector<Case>* cases) {
  for (const auto& s : {std::array<int64_t, 2>{1, 300}, {5, 33}, {33, 70}, {70, 40}}) {
    const Attention plain = {.heads = 4, .queries = s[0], .keys = s[1], .d_k = 20, .d_v = 13, .softcap = 0.75};
    const auto add = [&](const auto& change) { add_changed(cases, plain, change); };
    add([](Attention&) {});
    add([](Attention& a) { a.causal = Causal::TopLeft, a.log_sum_exp = true; });
    add([](Attention& a) { a.causal = Causal::BottomRight, a.key_padding = true, a.group = 2, a.window = 9; });
    add([](Attention& a) {
      a.mask = {1, 4, a.queries, a.keys}, a.fill = -1e4, a.weights = true, a.log_sum_exp = true;
    });
    add([](Attention& a) { a.bias = {4, 1, a.keys}, a.dropout = 0.3f, a.group = 4; });
    add([](Attention& a) { a.causal = Causal::TopLeft, a.lengths = a.positions = true, a.log_sum_exp = true; });
    add([](Attention& a) { a.narrow = DType::BF16, a.group = 2, a.key_padding = true; });
  }
}

// Windows that end after the query or never, which need no causality.
void add_free_windows(std::vector<Case>* cases) {
  for (const auto& s : {std::array<int64_t, 4>{1, 300, 33, 1},
                        {4, 129, 1, 1},
                        {33, 128, 0, 9},
                        {70, 300, 100, 0},
                        {150, 150, 7, 20},
                        {129, 40, 64, 2},
                        {40, 129, 500, 500}}) {
    const Attention plain = {.queries = s[0], .keys = s[1], .d_k = 20, .d_v = 13, .window = s[2], .window_ahead = s[3]};
    const auto add = [&](const auto& change) { add_changed(cases, plain, change); };
    add([](Attention& a) { a.log_sum_exp = a.strange = true; });
    add([](Attention& a) { a.key_padding = true, a.group = 3; });
    add([](Attention& a) { a.mask = {1, 3, a.queries, a.keys}, a.fill = -1e4; });
    add([](Attention& a) { a.mask = {a.queries, a.keys}, a.keep = a.weights = true, a.bias = {2, 1, 1, a.keys}; });
    add([](Attention& a) { a.lengths = true, a.dropout = 0.3f; });
    add([](Attention& a) { a.positions = true; });
    add([](Attention& a) { a.lengths = a.positions = true, a.fill = -1e4, a.softcap = 2.0; });
    add([](Attention& a) { a.causal = Causal::BottomRight; });
  }
}

// Scores of every step.
void add_scores(std::vector<Case>* cases) {
  for (const Scores step : {Scores::Scaled, Scores::Capped, Scores::Masked})
    for (const double softcap : {0.0, 0.75})
      for (const auto& s : {std::array<int64_t, 2>{1, 130}, {9, 33}, {33, 9}}) {
        const Attention plain = {
            .heads = 4, .queries = s[0], .keys = s[1], .d_k = 20, .d_v = 13, .softcap = softcap, .scores = step};
        const auto add = [&](const auto& change) { add_changed(cases, plain, change); };
        add([](Attention&) {});
        add([](Attention& a) { a.causal = Causal::TopLeft, a.window = 5, a.key_padding = true, a.group = 2; });
        add([](Attention& a) { a.causal = Causal::BottomRight, a.bias = {4, 1, a.keys}, a.weights = true; });
        add([](Attention& a) { a.mask = {2, 1, a.queries, a.keys}, a.keep = true, a.log_sum_exp = true; });
        add([](Attention& a) { a.mask = {a.queries, a.keys}, a.fill = -1e4, a.lengths = true, a.dropout = 0.3f; });
        add([](Attention& a) { a.causal = Causal::BottomRight, a.lengths = true, a.bias = {a.keys}; });
        add([](Attention& a) { a.causal = Causal::TopLeft, a.lengths = a.positions = true, a.window = 9; });
        add([](Attention& a) { a.window = 4, a.window_ahead = 6, a.lengths = true, a.group = 4; });
        add([](Attention& a) { a.narrow = DType::F16; });
      }
}

// The sizes that determine a window's place are known only at run time.
Case window_extents_case() {
  return {"windows at extents", [](Trial& t) {
            const Dim q = t.graph.extent("q", 40), k = t.graph.extent("k", 130);
            const Attention a = {.heads = 2, .d_k = 8, .d_v = 12, .softcap = 1.0, .scores = Scores::Masked};
            const AttentionResult result =
                t.graph.attention(t.input("q", {2, 2, q, 8}), t.input("k", {2, 2, k, 8}), t.input("v", {2, 2, k, 12}),
                                  {.softcap = 1.0f, .window = 20, .window_ahead = 3, .return_scores = a.scores});
            t.graph.output("y", result.output);
            t.graph.output("s", result.scores);
            for (const auto& s : {std::array<int64_t, 2>{1, 100}, {40, 129}, {33, 7}, {1, 1}}) {
              Run& run = t.run({{"q", s[0]}, {"k", s[1]}});
              Inputs inputs;
              inputs.reference.window = 20, inputs.reference.window_ahead = 3;
              Attention now = a;
              now.queries = s[0], now.keys = s[1];
              give_and_expect(t, run, now, inputs);
            }
          }};
}

// The numbers of keys and queries vary, and so does the number of splits.
Case split_extents_case() {
  return {"splits at extents", [](Trial& t) {
            const Dim q = t.graph.extent("q", 40), k = t.graph.extent("k", 2100);
            const AttentionResult result =
                t.graph.attention(t.input("q", {2, 2, q, 8}), t.input("k", {2, 2, k, 8}), t.input("v", {2, 2, k, 12}),
                                  {.causal = Causal::BottomRight, .return_log_sum_exp = true});
            t.graph.output("y", result.output);
            t.graph.output("lse", result.log_sum_exp);
            for (const auto& s : {std::array<int64_t, 2>{1, 1500}, {40, 2099}, {33, 7}, {2, 300}, {1, 1}}) {
              Run& run = t.run({{"q", s[0]}, {"k", s[1]}});
              Inputs inputs;
              inputs.reference.causal = Causal::BottomRight;
              give_and_expect(t, run,
                              {.heads = 2, .queries = s[0], .keys = s[1], .d_k = 8, .d_v = 12, .log_sum_exp = true},
                              inputs);
            }
          }};
}

// Views of heads with gaps between elements, for which no fused kernel runs.
Case log_sum_exp_view_case() {
  return {"log-sum-exp of columns", [](Trial& t) {
            const Attention a = {.queries = 9, .keys = 9, .d_k = 8, .d_v = 8, .log_sum_exp = true};
            Run& run = t.run();
            const Tensor x = t.graph.transpose(t.input("x", {2, 3, 8, 9}), 2, 3);
            const AttentionResult result = t.graph.attention(x, x, x, {.return_log_sum_exp = true});
            t.graph.output("y", result.output);
            t.graph.output("lse", result.log_sum_exp);
            const Array v = transposed(run.input("x", uniform({2, 3, 8, 9}, 78, -2, 2)));
            expect_attention(t, run, a, {}, v, v, v);
          }};
}

// Sizes around the blocks of queries and keys of fused kernels, with every way to hide keys.
void add_blocks(std::vector<Case>* cases) {
  for (const auto& s : {std::array<int64_t, 2>{1, 300}, {4, 129}, {5, 257}, {33, 128}, {70, 300}}) {
    const Attention plain = {.batch = 2, .heads = 2, .queries = s[0], .keys = s[1], .d_k = 20, .d_v = 13};
    const auto add = [&](const auto& change) { add_changed(cases, plain, change); };
    add([](Attention&) {});
    add([](Attention& a) { a.causal = Causal::TopLeft; });
    add([](Attention& a) { a.causal = Causal::BottomRight, a.key_padding = true; });
    add([](Attention& a) { a.mask = {2, 1, 1, a.keys}, a.keep = true; });
    add([](Attention& a) { a.mask = {1, 2, a.queries, a.keys}, a.causal = Causal::BottomRight; });
    add([](Attention& a) { a.mask = {2, 1, a.queries, a.keys}, a.fill = -1e4, a.causal = Causal::TopLeft; });
    add([](Attention& a) { a.bias = {1, 2, a.queries, a.keys}, a.dropout = 0.3f; });
    add([](Attention& a) { a.bias = {2, 1, a.keys}, a.key_padding = true, a.keep = true; });
  }
}

}  // namespace

std::vector<Case> attention_over_blocks() {
  std::vector<Case> cases;
  const auto add = [&](const auto& change) {
    add_changed(&cases, Attention{.batch = 2, .heads = 2, .queries = 150, .keys = 150, .d_k = 20, .d_v = 13}, change);
  };
  add([](Attention& a) { a.causal = Causal::TopLeft, a.log_sum_exp = true, a.strange = true; });
  add([](Attention& a) { a.causal = Causal::BottomRight, a.key_padding = true, a.keys = 133; });
  add([](Attention& a) { a.mask = {2, 1, 150, 150}, a.log_sum_exp = true, a.group = 2; });
  add([](Attention& a) { a.mask = {150, 150}, a.fill = -1e4; });
  add([](Attention& a) { a.bias = {2, 1, 150}, a.infinite = true, a.dropout = 0.3f; });
  add([](Attention& a) { a.causal = Causal::BottomRight, a.window = 37; });
  add([](Attention& a) { a.causal = Causal::TopLeft, a.lengths = a.positions = true; });
  return cases;
}

TEST_CASE("attention on every device", "[ops]") {
  Operation operation{"attention", {}};
  auto& cases = operation.cases;
  for (const int64_t s : {1, 2, 15, 16, 31, 33, 64, 65, 129}) cases.push_back(separate_case({.queries = s, .keys = s}));
  cases.push_back(separate_case({.queries = 5, .keys = 70}));
  cases.push_back(separate_case({.queries = 70, .keys = 5}));
  cases.push_back(separate_case({.queries = 1, .keys = 130, .d_k = 64, .d_v = 64}));
  cases.push_back(separate_case({.d_k = 7, .d_v = 33}));
  cases.push_back(separate_case({.d_k = 65, .d_v = 1}));
  cases.push_back(separate_case({.batch = 1, .heads = 1, .queries = 3, .keys = 9001, .d_k = 4, .d_v = 3}));
  cases.push_back(separate_case({.scale = 0.25}));
  // Scales at which a row's largest logit grows from tile to tile by more powers of 2 than f16 has.
  for (const double scale : {4.0, -4.0}) {
    cases.push_back(separate_case({.queries = 70, .keys = 150, .d_k = 64, .d_v = 64, .scale = scale}));
    cases.push_back(separate_case({.queries = 70,
                                   .keys = 150,
                                   .d_k = 20,
                                   .d_v = 12,
                                   .causal = Causal::BottomRight,
                                   .key_padding = true,
                                   .scale = scale,
                                   .log_sum_exp = true}));
  }
  cases.push_back(separate_case({.weights = true}));
  for (const Causal causal : {Causal::TopLeft, Causal::BottomRight})
    for (const auto& s : {std::array<int64_t, 2>{17, 17}, {5, 33}, {33, 5}})
      cases.push_back(separate_case({.queries = s[0], .keys = s[1], .causal = causal, .weights = true}));
  for (const bool keep : {false, true}) {
    cases.push_back(separate_case({.key_padding = true, .keep = keep}));
    cases.push_back(separate_case({.mask = {2, 1, 17, 17}, .keep = keep}));
    cases.push_back(separate_case({.mask = {2, 3, 17, 17}, .keep = keep, .weights = true}));
    cases.push_back(separate_case(
        {.causal = Causal::TopLeft, .key_padding = true, .mask = {17, 17}, .bias = {3, 17, 17}, .keep = keep}));
    cases.push_back(separate_case({.mask = {2, 1, 17, 17}, .keep = keep, .fill = -1e4}));
  }
  cases.push_back(separate_case({.bias = {1, 3, 17, 17}}));
  cases.push_back(separate_case({.dropout = 0.25f}));
  cases.push_back(separate_case({.causal = Causal::TopLeft, .dropout = 0.5f, .weights = true}));
  // Head sizes around every width that kernels are specialized for, at lengths around their tiles.
  for (const int64_t d : {1, 2, 3, 8, 31, 32, 63, 64, 72, 80, 96, 127, 128, 129, 192, 255, 256}) {
    cases.push_back(separate_case({.batch = 1, .heads = 2, .queries = 9, .keys = 35, .d_k = d, .d_v = d}));
    cases.push_back(separate_case(
        {.batch = 1, .heads = 1, .queries = 34, .keys = 34, .d_k = d, .d_v = 257 - d, .causal = Causal::TopLeft}));
  }
  for (const int64_t s : {127, 128, 130, 257})
    cases.push_back(separate_case({.batch = 1,
                                   .heads = 2,
                                   .queries = s,
                                   .keys = 259 - s,
                                   .d_k = 20,
                                   .d_v = 12,
                                   .causal = Causal::BottomRight,
                                   .key_padding = true}));
  // Decoding: few queries, many keys.
  for (const int64_t q : {1, 2, 3, 4, 7, 8, 17})
    cases.push_back(separate_case(
        {.batch = 2, .heads = 2, .queries = q, .keys = 1000 + q, .d_k = 64, .d_v = 64, .causal = Causal::BottomRight}));
  cases.push_back(separate_case({.queries = 1, .keys = 700, .key_padding = true, .bias = {3, 1, 700}}));
  cases.push_back(separate_case({.queries = 2, .keys = 801, .mask = {2, 1, 2, 801}, .keep = true, .fill = -1e9}));
  cases.push_back(separate_case({.queries = 1, .keys = 601, .dropout = 0.3f}));
  cases.push_back(separate_case({.bias = {17, 17}, .infinite = true}));
  cases.push_back(separate_case({.queries = 1, .keys = 515, .bias = {2, 1, 1, 515}, .infinite = true}));
  cases.push_back(separate_case({.queries = 40, .keys = 40, .causal = Causal::TopLeft, .fill = -1e9}));
  cases.push_back(separate_case({.queries = 40, .keys = 37, .key_padding = true, .fill = -1e9}));
  cases.push_back(separate_case({.queries = 41, .keys = 43, .key_padding = true, .dropout = 0.5f}));
  // Grouped queries, also with masks and biases of all heads, and with stored scores.
  for (const int64_t group : {2, 3, 6})
    for (const auto& s : {std::array<int64_t, 2>{1, 300}, {5, 33}, {70, 40}}) {
      const Attention grouped = {.heads = 6, .queries = s[0], .keys = s[1], .d_k = 24, .d_v = 17, .group = group};
      const auto add = [&](const auto& change) { add_changed(&cases, grouped, change); };
      add([](Attention&) {});
      add([](Attention& a) { a.causal = Causal::BottomRight, a.key_padding = true; });
      add([](Attention& a) { a.weights = true, a.dropout = 0.25f; });
      add([](Attention& a) { a.mask = {2, 6, a.queries, a.keys}, a.bias = {6, 1, a.keys}; });
    }
  // One query for each of several heads that share keys, which GPUs process together.
  for (const int64_t group : {2, 3, 6})
    for (const Causal causal : {Causal::None, Causal::TopLeft, Causal::BottomRight})
      cases.push_back(separate_case(
          {.batch = 1, .heads = 6, .queries = 1, .keys = 301, .d_k = 24, .d_v = 17, .causal = causal, .group = group}));
  // Rows without visible keys in several tiles, filled with the lowest f32.
  cases.push_back(separate_case({.queries = 20, .keys = 90, .mask = {20, 90}, .fill = -3.4028234663852886e38}));
  // More heads than the workgroup limit of one grid axis.
  cases.push_back(separate_case({.batch = 1, .heads = 65537, .queries = 2, .keys = 3, .d_k = 4, .d_v = 4}));
  cases.back().many_groups = true;
  cases.push_back(accuracy_case(130, 64));
  cases.push_back(accuracy_case(77, 24));
  cases.push_back(grouped_view_case());
  cases.push_back(fused_case({}));
  cases.push_back(
      fused_case({.queries = 33, .keys = 33, .d_k = 5, .d_v = 5, .causal = Causal::TopLeft, .key_padding = true}));
  cases.push_back(extents_case());
  cases.push_back(split_extents_case());
  cases.push_back(log_sum_exp_view_case());
  add_splits(&cases);
  add_log_sum_exp(&cases);
  add_blocks(&cases);
  add_windows(&cases);
  add_softcaps(&cases);
  add_free_windows(&cases);
  add_scores(&cases);
  cases.push_back(window_extents_case());
  add_lengths(&cases);
  add_narrow(&cases);
  for (const bool weights : {false, true}) cases.push_back(strided_lengths_case(weights));
  check(operation);
}

TEST_CASE("attention beside values that are infinite or NaN on every device", "[ops]") {
  Operation operation{"attention", {}};
  for (const auto& s : {std::array<int64_t, 2>{1, 300}, {3, 2029}, {17, 17}, {33, 70}, {70, 300}}) {
    const Attention plain = {
        .batch = 2, .heads = 2, .queries = s[0], .keys = s[1], .d_k = 24, .d_v = 20, .strange = true};
    const auto add = [&](const auto& change) { add_changed(&operation.cases, plain, change); };
    add([](Attention& a) { a.causal = Causal::TopLeft; });
    add([](Attention& a) { a.causal = Causal::BottomRight, a.d_k = 64, a.d_v = 64, a.log_sum_exp = true; });
    add([](Attention& a) { a.mask = {2, 1, a.queries, a.keys}, a.d_v = 13; });
    add([](Attention& a) { a.bias = {2, a.queries, a.keys}, a.infinite = true; });
    add([](Attention& a) { a.mask = {2, 2, a.queries, a.keys}, a.key_padding = true, a.keep = true, a.group = 2; });
    add([](Attention& a) { a.causal = Causal::TopLeft, a.key_padding = true, a.dropout = 0.3f; });
    add([](Attention& a) { a.key_padding = true, a.d_k = 32, a.d_v = 32; });
  }
  check(operation);
}

}  // namespace heed::ops
