#include "api/self_test_probes.hpp"

#include <algorithm>
#include <bit>
#include <heed/train.hpp>
#include <iterator>

#include "graph/build/attention_backward.hpp"
#include "graph/build/build.hpp"
#include "graph/build/update.hpp"

namespace heed {
namespace {

void add(Graph& g, DType t, Dim m, Dim n) { g.output("y", g.add(g.input("x", {m, n}, t), g.input("b", {n}, t))); }

void mul(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.transpose(g.input("x", {n, m}, t), 0, 1);
  g.output("y", g.activation(g.mul(x, g.input("b", {m, 1}, t)), Activation::GeluErf));
}

void copy(Graph& g, DType t, Dim m, Dim n) { g.output("y", g.transpose(g.input("x", {m, n}, t), 0, 1)); }

void cast(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.input("x", {m, n}, t);
  for (const DType to : {DType::F32, DType::F16, DType::BF16})
    if (to != t) g.output(to_string(to), g.cast(x, to));
}

template <DType kType>
void copy_of(Graph& g, DType, Dim m, Dim n) {
  g.output("y", g.transpose(g.input("x", {m, n}, kType), 0, 1));
}

void matmul(Graph& g, DType t, Dim m, Dim n) {
  g.output("y", g.matmul(g.input("a", {m, 37}, t), g.input("b", {37, n}, t)));
}

void matmul_batches(Graph& g, DType t, Dim m, Dim n) {
  const Tensor a = g.input("a", {2, 3, m, 24}, t), b = g.input("b", {2, 3, n, 24}, t);
  g.output("y", g.matmul(a, b, {.transpose_b = true, .scale = 0.2f}));
}

void linear(Graph& g, DType t, Dim m, Dim) {
  const Tensor x = g.input("x", {2, m, 64}, t);
  const Tensor y = g.linear(x, g.input("w", {48, 64}, t), g.input("b", {48}, t));
  g.output("y", g.add(g.activation(y, Activation::GeluTanh), g.input("r", {2, m, 48}, t)));
}

// Multiplies few rows, by weights that lie along k, then by weights that lie along n.
void few_rows(Graph& g, DType t, Dim m, Dim) {
  const Tensor x = g.input("x", {m, 264}, t);
  const Tensor h = g.matmul(x, g.input("w", {260, 264}, t), {.transpose_b = true, .scale = 0.1f});
  g.output("y", g.matmul(h, g.input("v", {260, 40}, t), {.scale = 0.1f}));
}

// The sums are so long that kernels split them.
void deep(Graph& g, DType t, Dim m, Dim) {
  const Tensor x = g.input("x", {m, 1100}, t);
  g.output("y", g.matmul(x, g.input("w", {24, 1100}, t), {.transpose_b = true, .scale = 0.1f}));
}

// The weights have two bytes, beside activations of f32.
void narrow_weights(Graph& g, DType, Dim m, Dim n) {
  g.output("y", g.matmul(g.input("a", {m, 37}), g.input("b", {37, n}, DType::BF16)));
}

void few_rows_by_narrow_weights(Graph& g, DType, Dim m, Dim) {
  const Tensor h =
      g.matmul(g.input("x", {m, 264}), g.input("w", {260, 264}, DType::BF16), {.transpose_b = true, .scale = 0.1f});
  g.output("y", g.matmul(h, g.input("v", {260, 40}, DType::BF16), {.scale = 0.1f}));
}

void narrow_table(Graph& g, DType, Dim m, Dim n) {
  g.output("y", g.embedding(g.input("table", {7, n}, DType::BF16), g.input("ids", {m}, DType::I32)));
}

// Types that together take every way in shaders/shared/blocks.glsl.
constexpr DType kQuantized[] = {DType::Q8_0, DType::Q5_1, DType::Q4_K, DType::Q6_K};

void quantized_weights(Graph& g, DType t, Dim m, Dim) {
  const Tensor x = g.input("x", {m, 256}, t);
  for (const DType type : kQuantized) {
    const char* const name = to_string(type);
    g.output(name, g.matmul(x, g.weight(name, {37, 256}, type), {.transpose_b = true, .scale = 0.1f}));
  }
}

// One type alone: kernels on matrix units take long to compile, and read blocks as all others do.
template <int kPercent>
void weights_in_fives(Graph& g, DType t, Dim m, Dim) {
  g.output("y", g.matmul(g.input("x", {m, 256}, t), g.weight("w", {37, 256}, DType::Q5_1),
                         {.transpose_b = true, .scale = 0.01f * kPercent}));
}

// Reads of 16 bytes, and sums that are split.
void deep_quantized_weights(Graph& g, DType t, Dim m, Dim) {
  const Tensor x = g.input("x", {m, 4352}, t);
  for (const DType type : {DType::Q5_0, DType::Q5_K}) {
    const char* const name = to_string(type);
    g.output(name, g.matmul(x, g.weight(name, {3, 4352}, type), {.transpose_b = true, .scale = 0.01f}));
  }
}

void quantized_tables(Graph& g, DType t, Dim m, Dim) {
  const Tensor ids = g.input("ids", {m}, DType::I32);
  for (const DType type : kQuantized)
    g.output(to_string(type), g.embedding(g.weight(to_string(type), {7, 256}, type), ids, t));
}

void narrow_cast(Graph& g, DType, Dim m, Dim n) {
  g.output("y", g.cast(g.input("x", {m, n}, DType::BF16), DType::F32));
}

// Rounds to each type, and reads, moves and writes tensors of it.
void casts(Graph& g, DType, Dim m, Dim n) {
  for (const DType to : {DType::F16, DType::BF16}) {
    const std::string name = to_string(to);
    const Tensor x = g.cast(g.input("x of " + name, {m, n}), to);
    g.output("y of " + name, x);
    g.output("norm of " + name, g.rmsnorm(x, g.input("gamma of " + name, {n}, to), 1e-5f));
    g.output("turned " + name, g.transpose(x, 0, 1));
    g.output("taken " + name,
             g.take(g.input("rows of " + name, {7, n}, to), 0, g.input("at of " + name, {m}, DType::I32)));
  }
}

void softmax(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.input("x", {2, 3, m, n}, t);
  SoftmaxOptions options;
  options.scale = 3.0f;
  options.causal = Causal::BottomRight;
  options.key_padding = exclude(g.input("padding", {2, n}, DType::U8));
  options.mask = keep(g.input("mask", {2, 1, m, n}, DType::U8));
  options.bias = g.input("bias", {3, m, n}, t);
  g.output("y", g.softmax(x, options));
}

void plain_softmax(Graph& g, DType t, Dim m, Dim n) { g.output("y", g.softmax(g.input("x", {m, n}, t))); }

// One lane holds the elements of a query whose head has 24; lanes share a query whose head has 96.
template <int64_t kHead>
void attention(Graph& g, DType t, Dim m, Dim n) {
  const Tensor q = g.input("q", {2, 2, m, kHead}, t), k = g.input("k", {2, 2, n, kHead}, t);
  const Tensor v = g.input("v", {2, 2, n, kHead}, t);
  g.output("y", g.attention(q, k, v, {.key_padding = exclude(g.input("padding", {2, n}, DType::U8))}).output);
}

void masked_attention(Graph& g, DType t, Dim m, Dim) {
  const Tensor q = g.input("q", {1, 3, m, 20}, t), k = g.input("k", {1, 3, m, 20}, t),
               v = g.input("v", {1, 3, m, 12}, t);
  AttentionOptions options;
  options.causal = Causal::TopLeft;
  options.mask = keep(g.input("mask", {1, 1, m, m}, DType::U8));
  options.bias = g.input("bias", {3, m, m}, t);
  g.output("y", g.attention(q, k, v, options).output);
}

void log_sum_exp(Graph& g, DType t, Dim m, Dim n) {
  const Tensor q = g.input("q", {2, 3, m, 20}, t), k = g.input("k", {2, 1, n, 20}, t),
               v = g.input("v", {2, 1, n, 4}, t);
  AttentionOptions options;
  options.key_padding = exclude(g.input("padding", {2, n}, DType::U8));
  options.return_log_sum_exp = true;
  g.output("y", g.attention(q, k, v, options).log_sum_exp);
}

void narrow_attention(Graph& g, DType, Dim m, Dim n) {
  const Tensor q = g.input("q", {2, 4, m, 24}), k = g.input("k", {2, 2, n, 24}, DType::BF16),
               v = g.input("v", {2, 2, n, 20}, DType::BF16);
  g.output("y", g.attention(q, k, v).output);
}

// GPUs split this many keys. Earlier probes have fewer, so that a wrong second dispatch is told apart.
void split_attention(Graph& g, DType t, Dim, Dim) {
  const Tensor q = g.input("q", {1, 2, 3, 8}, t), k = g.input("k", {1, 2, 600, 8}, t),
               v = g.input("v", {1, 2, 600, 8}, t);
  g.output("y", g.attention(q, k, v).output);
}

void dropout(Graph& g, DType t, Dim m, Dim n) { g.output("y", g.dropout(g.input("x", {m, n}, t), 0.3f)); }

void layernorm(Graph& g, DType t, Dim m, Dim n) {
  const Tensor sum = g.add(g.input("x", {m, n}, t), g.input("r", {m, n}, t));
  g.output("y", g.layernorm(sum, g.input("gamma", {n}, t), g.input("beta", {n}, t), 1e-2f));
}

void rmsnorm(Graph& g, DType t, Dim m, Dim n) {
  g.output("y", g.rmsnorm(g.input("x", {m, n}, t), g.input("gamma", {n}, t), 1e-2f));
}

void embedding(Graph& g, DType t, Dim m, Dim n) {
  g.output("y", g.embedding(g.input("table", {7, n}, t), g.input("ids", {m}, DType::I32), t));
}

void mean(Graph& g, DType t, Dim m, Dim n) {
  g.output("y", g.mean(g.input("x", {2, m, n}, t), 1, keep(g.input("kept", {2, m}, DType::U8))));
}

void mean_inner(Graph& g, DType t, Dim m, Dim n) { g.output("y", g.mean(g.input("x", {m, n}, t), 1)); }

void l2_normalize(Graph& g, DType t, Dim m, Dim n) { g.output("y", g.l2_normalize(g.input("x", {m, n}, t))); }

void concat(Graph& g, DType t, Dim m, Dim n) {
  g.output("y", g.concat({g.input("x", {m, n}, t), g.input("z", {m, 5}, t)}, 1));
}

void rotary(Graph& g, DType t, Dim m, Dim n) {
  static_cast<void>(n);
  const Tensor x = g.input("x", {2, m, 66}, t), positions = g.input("positions", {2, 1}, DType::I32);
  g.output("y", g.rotary(x));
  g.output("z", g.rotary(x, {.pairs = RotaryPairs::Adjacent, .width = 40, .positions = positions}));
}

// Rows that a tensor names.
template <DType kType>
void take(Graph& g, DType t, Dim m, Dim n) {
  g.output("y", g.take(g.input("x", {2, 7, n}, kType == DType::F32 ? t : kType), 1, g.input("at", {m}, DType::I32)));
}

// Few rows whose products, with the norm before them and the rotation or gate behind them, are one pass on GPUs.
void project(Graph& g, DType t, DType weights) {
  const Tensor x = g.scale(g.input("x", {2, 3, 72}, t), 0.5f);
  const Tensor rows = g.rmsnorm(x, g.weight("gamma", {72}, t), 1e-2f);
  const auto product = [&](const char* name, int64_t columns) {
    return g.linear(rows, g.weight(name, {columns, 72}, weights));
  };
  const auto turned = [&](const char* name, int64_t heads) {
    return g.rotary(g.transpose(g.reshape(product(name, 8 * heads), {2, 3, heads, 8}), 1, 2));
  };
  g.output("q", turned("q", 3));
  g.output("k", turned("k", 1));
  g.output("v", g.add(product("v", 8), g.weight("bias", {8}, t)));
}
void projection(Graph& g, DType t, Dim, Dim) { project(g, t, t); }
// The CPU may round rows to bf16 where weights are of bf16, but never to f16.
void projection_by_narrow_weights(Graph& g, DType, Dim, Dim) { project(g, DType::F32, DType::F16); }

void projection_by_quantized_weights(Graph& g, DType t, Dim, Dim) {
  const Tensor x = g.scale(g.input("x", {5, 256}, t), 0.1f);
  const Tensor rows = g.rmsnorm(x, g.weight("gamma", {256}, t), 1e-2f);
  for (const DType type : {DType::Q8_0, DType::Q4_1, DType::Q6_K}) {
    const char* const name = to_string(type);
    g.output(name, g.linear(rows, g.weight(name, {8, 256}, type)));
  }
}

// Keys and values of two bytes beside rows of f32, each row at a place of its own.
template <DType kWeights>
void projection_into_caches(Graph& g, DType, Dim, Dim) {
  const Tensor x = g.scale(g.input("x", {2, 1, 256}), 0.1f), at = g.input("at", {2, 1, 1}, DType::I32);
  const auto keep = [&](const char* name, DType cache, bool turns) {
    Tensor heads = g.linear(x, g.weight(name, {16, 256}, kWeights));
    heads = g.transpose(g.reshape(heads, {2, 1, 2, 8}), 1, 2);
    if (turns) heads = g.rotary(heads, {.positions = at});
    const Tensor state = g.state(std::string(name) + ".state", {2, 2, 7, 8}, cache);
    g.output(std::string(name) + ".out", g.append(state, heads, 2, at));
  };
  keep("k", DType::F16, true);
  keep("v", DType::F16, false);
}

void gate(Graph& g, DType t, Dim, Dim) {
  const Tensor rows = g.scale(g.input("x", {5, 136}, t), 0.1f);
  const Tensor gate = g.activation(g.linear(rows, g.weight("gate", {20, 136}, t)), Activation::Silu);
  g.output("y", g.mul(gate, g.linear(rows, g.weight("up", {20, 136}, t))));
}

void cross_entropy(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.input("x", {m, n}, t), labels = g.input("labels", {m}, DType::I32);
  g.output("y", g.cross_entropy(x, labels));
  g.output("z", g.cross_entropy(x, labels, 0.25f));
}

void argmax(Graph& g, DType t, Dim m, Dim n) { g.output("y", g.argmax(g.input("x", {m, n}, t))); }

void sample(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.input("x", {m, n}, t);
  g.output("y", g.sample(x));
  g.output("z", g.sample(x, {.previous = g.input("previous", {9}, DType::I32),
                             .repetition_penalty = 1.3f,
                             .bias = g.input("bias", {n}, t),
                             .temperature = 0.5f,
                             .top_k = 50,
                             .top_p = 0.9f,
                             .min_p = 0.01f}));
}

void attention_backward(Graph& g, DType t, Dim m, Dim n) {
  const Tensor q = g.input("q", {2, 4, m, 20}, t), k = g.input("k", {2, 2, n, 20}, t),
               v = g.input("v", {2, 2, n, 12}, t);
  AttentionOptions options;
  options.causal = Causal::BottomRight;
  options.key_padding = exclude(g.input("padding", {2, n}, DType::U8));
  options.bias = g.input("bias", {4, m, n}, t);
  options.dropout = 0.25f;
  const Tensor y = g.attention(q, k, v, options).output;
  detail::GraphData& data = detail::data_of(g);
  const auto made = detail::attention_backward(data, y, g.input("dy", {2, 4, m, 12}, t), {.bias = true});
  g.output("dbias", made.bias);
  g.output("dq", made.query);
  g.output("dk", made.key);
  g.output("dv", made.value);
}

// Without masks the kernel of the queries makes the rows, too.
void attention_backward_without_masks(Graph& g, DType t, Dim m, Dim n) {
  const Tensor q = g.input("q", {2, 4, m, 20}, t), k = g.input("k", {2, 2, n, 20}, t),
               v = g.input("v", {2, 2, n, 12}, t);
  AttentionOptions options;
  options.causal = Causal::BottomRight;
  const Tensor y = g.attention(q, k, v, options).output;
  const auto made = detail::attention_backward(detail::data_of(g), y, g.input("dy", {2, 4, m, 12}, t), {});
  g.output("dq", made.query);
  g.output("dk", made.key);
  g.output("dv", made.value);
}

// Steps of optimizers from states of zeros, with gradients that are clipped.
constexpr UpdateSettings kStep = {.rate = 0.1f,
                                  .decay = 0.01f,
                                  .first = 0.9f,
                                  .first_rest = 0.1f,
                                  .second = 0.99f,
                                  .second_rest = 0.01f,
                                  .eps = 1e-3f,
                                  .log_first = -0.105360516f,
                                  .log_second = -0.010050336f,
                                  .gradient = 0.5f,
                                  .most_norm = 7.0f,
                                  .applies = 1.0f,
                                  .loss_scale = 1.0f,
                                  .unused = {}};

detail::GradientNorm norm_of(Graph& g, std::initializer_list<Tensor> gradients, Tensor* settings) {
  const auto words = std::bit_cast<std::array<float, detail::kUpdateWords>>(kStep);
  *settings = g.constant("settings", {1, detail::kUpdateWords}, std::span<const float>(words));
  return detail::gradient_norm(detail::data_of(g), std::span(gradients.begin(), gradients.size()), *settings,
                               g.state("step", {1}));
}

void gradient_norm(Graph& g, DType, Dim, Dim) {
  Tensor settings;
  const detail::GradientNorm norm = norm_of(g, {g.input("x", {9001}), g.input("z", {33})}, &settings);
  g.output("y", norm.factors);
  g.output("step", norm.step);
}

void update(Graph& g, DType, Dim, Dim) {
  constexpr int64_t kElements = 1301;
  const Tensor x = g.input("x", {kElements});
  Tensor settings;
  const Tensor factors = norm_of(g, {x}, &settings).factors;
  const auto state = [&](const char* name) { return g.state(name, {kElements}); };
  static_cast<void>(g.assign(state("g"), x));
  detail::GraphData& data = detail::data_of(g);
  detail::update(data, {state("w"), state("m"), state("v"), state("g")}, factors, settings, 0, {.clears = true});
  detail::update(data, {state("u"), state("n"), {}, x}, factors, settings, 0,
                 {.rule = UpdateAttrs::Rule::Sgd, .nesterov = true});
  for (const char* name : {"w", "m", "v", "g", "u", "n"}) g.output(std::string(name) + ".out", state(name));
}

// Gives the gradients of y with respect to some tensors.
void differentiate(Graph& g, Tensor y, std::initializer_list<std::pair<const char*, Tensor>> of) {
  const train::Upstream output{y, g.input("up", g.shape(y), g.dtype(y))};
  for (const auto& [name, tensor] : of)
    g.output(name, train::gradients(g, std::span(&output, 1), std::span(&tensor, 1))[0]);
}

void activation_backward(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.input("x", {m, n}, t);
  Tensor sum = g.activation(x, Activation::Relu);
  for (const Activation kind : {Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Tanh})
    sum = g.add(sum, g.activation(x, kind));
  differentiate(g, sum, {{"y", x}});
}

void sum(Graph& g, DType t, Dim m, Dim n) {
  const Tensor column = g.input("c", {2, m, 1}, t), row = g.input("r", {2, 1, n}, t);
  differentiate(g, g.add(column, row), {{"y", column}, {"z", row}});
}

// The product stores what its activation is given, and another is multiplied by the derivative there.
void linear_backward(Graph& g, DType t, Dim m, Dim) {
  const Tensor x = g.input("x", {2, m, 24}, t), w = g.input("w", {20, 24}, t), v = g.input("v", {16, 20}, t);
  const Tensor h = g.activation(g.linear(x, w, g.input("b", {20}, t)), Activation::GeluErf);
  differentiate(g, g.linear(h, v), {{"dx", x}, {"dw", w}, {"dv", v}});
}

// Some keys are hidden, and their logits count in the sums.
void softmax_backward(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.input("x", {m, n}, t), mask = g.input("mask", {m, n}, DType::U8);
  differentiate(g, g.softmax(x, {.scale = 3.0f, .mask = keep(mask), .masked_fill = -1.0f}), {{"y", x}});
}

void plain_softmax_backward(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.input("x", {m, n}, t);
  differentiate(g, g.softmax(x), {{"y", x}});
}

void norm_backward(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.input("x", {m, n}, t), gamma = g.input("gamma", {n}, t), beta = g.input("beta", {n}, t);
  const Tensor layer = g.layernorm(x, gamma, beta, 1e-2f), rms = g.rmsnorm(x, gamma, 1e-2f);
  differentiate(g, g.add(g.add(layer, rms), g.l2_normalize(x)), {{"y", x}, {"dgamma", gamma}, {"dbeta", beta}});
}

void cross_entropy_backward(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.input("x", {m, n}, t);
  differentiate(g, g.cross_entropy(x, g.input("labels", {m}, DType::I32), 0.25f), {{"y", x}});
}

void embedding_backward(Graph& g, DType t, Dim m, Dim n) {
  const Tensor table = g.input("table", {7, n}, t);
  differentiate(g, g.embedding(table, g.input("ids", {m}, DType::I32), t), {{"y", table}});
}

void slice_backward(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.input("x", {5, m, 3, n}, t);
  differentiate(g, g.transpose(g.slice(g.slice(x, 0, 1, 2), 2, 1, 1), 1, 3), {{"y", x}});
}

void activations(Graph& g, DType t, Dim m, Dim n) {
  const Tensor x = g.scale(g.input("x", {m, n}, t), 7.0f);
  for (const auto& [kind, name] : {std::pair{Activation::Relu, "relu"},
                                   {Activation::GeluErf, "gelu_erf"},
                                   {Activation::GeluTanh, "gelu_tanh"},
                                   {Activation::Silu, "silu"},
                                   {Activation::Tanh, "tanh"}})
    g.output(name, g.activation(x, kind));
}

void layer(Graph& g, DType storage, Dim m, Dim) {
  constexpr int64_t kWidth = 24, kHeads = 3;
  const Tensor x = g.input("x", {2, m, kWidth}, storage), padding = g.input("padding", {2, m}, DType::U8);
  const Tensor joined =
      g.linear(x, g.input("weight", {3 * kWidth, kWidth}, storage), g.input("bias", {3 * kWidth}, storage));
  const Tensor qkv = g.reshape(joined, {2, m, 3, kHeads, kWidth / kHeads});
  const auto heads = [&](int64_t role) { return g.transpose(g.select(qkv, 2, role), 1, 2); };
  const Tensor mixed =
      g.attention(heads(0), heads(1), heads(2), {.causal = Causal::TopLeft, .key_padding = exclude(padding)}).output;
  g.output("y", g.layernorm(g.add(g.reshape(g.transpose(mixed, 1, 2), {2, m, kWidth}), x), {}, {}, 1e-5f));
}

constexpr Probe reproducible(const char* name, decltype(Probe::build) build, bool training = false) {
  return {name, build, training, true, true};
}

constexpr Probe kLayer = {"layer", layer};

constexpr Probe kProbes[] = {
    {"elementwise", add},
    {"elementwise", mul},
    {"elementwise", copy},
    {"elementwise", cast},
    {"elementwise", copy_of<DType::I32>, false, true},
    {"elementwise", copy_of<DType::U8>, false, true},
    {"elementwise", narrow_cast, false, true},
    {"concat", concat},
    {"matmul", matmul},
    {"matmul", matmul_batches},
    {"matmul", linear},
    {.name = "matmul", .build = matmul, .once = true, .emulate_f32 = true},
    {.name = "matmul", .build = weights_in_fives<10>, .once = true, .emulate_f32 = true},
    {.name = "matmul", .build = weights_in_fives<1>, .once = true, .round_rows = true},
    {"matmul", few_rows},
    {"matmul", deep},
    {"matmul", narrow_weights, false, true},
    {"matmul", few_rows_by_narrow_weights, false, true},
    {"matmul", quantized_weights},
    {"matmul", deep_quantized_weights},
    {"softmax", plain_softmax},
    {"softmax", softmax},
    {"attention", attention<24>},
    {"attention", attention<96>},
    {"attention", masked_attention},
    {"attention", narrow_attention, false, true},
    {"attention", split_attention},
    {"dropout", dropout, true},
    {"layernorm", layernorm},
    {"rmsnorm", rmsnorm},
    {"embedding", embedding},
    {"embedding", narrow_table, false, true},
    {"embedding", quantized_tables},
    {"mean", mean},
    {"mean", mean_inner},
    {"l2_normalize", l2_normalize},
    {"rotary", rotary},
    {"place", take<DType::F32>},
    {"place", take<DType::I32>, false, true},
    {"place", take<DType::U8>, false, true},
    {"projection", projection},
    {"projection", projection_by_narrow_weights, false, true},
    {"projection", projection_by_quantized_weights},
    {"projection", projection_into_caches<DType::F32>, false, true},
    {"projection", projection_into_caches<DType::F16>, false, true},
    {"projection", projection_into_caches<DType::Q4_1>, false, true},
    {"projection", gate},
    {"cross_entropy", cross_entropy},
    {"argmax", argmax},
    {"sample", sample},
    {"elementwise", activation_backward},
    {"mean", sum},
    {"softmax_backward", plain_softmax_backward},
    {"softmax_backward", softmax_backward},
    {"norm_backward", norm_backward},
    {"cross_entropy_backward", cross_entropy_backward},
    {"embedding_backward", embedding_backward},
    {"slice_backward", slice_backward},
    {"attention_backward", attention_backward, true},
    {"attention_backward", attention_backward_without_masks},
    {"gradient_norm", gradient_norm, false, true},
    {"update", update, false, true},
    kLayer,
    // reproducible_probes() gives those from here on.
    reproducible("elementwise", add),
    reproducible("elementwise", mul),
    reproducible("elementwise", copy),
    reproducible("elementwise", activations),
    reproducible("elementwise", narrow_cast),
    reproducible("elementwise", activation_backward),
    reproducible("cast", casts),
    reproducible("concat", concat),
    reproducible("matmul", matmul),
    reproducible("matmul", matmul_batches),
    reproducible("matmul", linear),
    reproducible("matmul", few_rows),
    reproducible("matmul", deep),
    reproducible("matmul", narrow_weights),
    reproducible("matmul", few_rows_by_narrow_weights),
    reproducible("matmul", quantized_weights),
    reproducible("matmul", linear_backward),
    reproducible("softmax", plain_softmax),
    reproducible("softmax", softmax),
    reproducible("attention", attention<24>),
    reproducible("attention", masked_attention),
    reproducible("log_sum_exp", log_sum_exp),
    reproducible("dropout", dropout, true),
    reproducible("layernorm", layernorm),
    reproducible("rmsnorm", rmsnorm),
    reproducible("embedding", embedding),
    reproducible("embedding", narrow_table),
    reproducible("embedding", quantized_tables),
    reproducible("mean", mean),
    reproducible("mean", mean_inner),
    reproducible("mean", sum),
    reproducible("l2_normalize", l2_normalize),
    reproducible("rotary", rotary),
    reproducible("place", take<DType::F32>),
    reproducible("argmax", argmax),
    reproducible("sample", sample),
    reproducible("cross_entropy", cross_entropy),
    reproducible("softmax_backward", plain_softmax_backward),
    reproducible("softmax_backward", softmax_backward),
    reproducible("norm_backward", norm_backward),
    reproducible("cross_entropy_backward", cross_entropy_backward),
    reproducible("embedding_backward", embedding_backward),
    reproducible("slice_backward", slice_backward),
    reproducible("attention_backward", attention_backward, true),
    reproducible("attention_backward", attention_backward_without_masks),
    reproducible("gradient_norm", gradient_norm),
    reproducible("update", update),
};

constexpr ProbeSize kSizes[] = {{1, 7}, {3, 33}, {18, 130}, {kProbeRows, kProbeColumns}};

}  // namespace

std::span<const Probe> self_test_probes() { return kProbes; }
const Probe& layer_probe() { return kLayer; }
std::span<const Probe> reproducible_probes() {
  const auto* first =
      std::find_if(std::begin(kProbes), std::end(kProbes), [](const Probe& probe) { return probe.reproducible; });
  return {first, std::end(kProbes)};
}
std::span<const ProbeSize> self_test_sizes() { return kSizes; }

}  // namespace heed
