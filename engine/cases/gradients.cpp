// Gradients. Sizes: rows, columns.
#include "cases/op_case.hpp"

namespace heed {
namespace {

Tensor up(CaseGraph& c, Tensor y) { return c.input("up", c.graph.shape(y), c.graph.dtype(y)); }

void of_activations(CaseGraph& c) {
  const Tensor x = c.x();
  Tensor sum = c.graph.activation(x, Activation::Relu);
  for (const Activation kind : {Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Tanh})
    sum = c.graph.add(sum, c.graph.activation(x, kind));
  c.differentiate(sum, up(c, sum), {{"y", x}});
}

void of_gelu(CaseGraph& c) {
  const Tensor x = c.x(), y = c.graph.activation(x, Activation::GeluErf);
  c.differentiate(y, up(c, y), {{"y", x}});
}

// The gradient of a row that was added to all rows.
void of_row(CaseGraph& c) {
  const Tensor x = c.x(), row = c.row("b", x), y = c.graph.add(x, row);
  c.differentiate(y, up(c, y), {{"y", row}});
}

void of_broadcasts(CaseGraph& c) {
  const Tensor column = c.input("c", {2, c.size(0), 1}), row = c.input("r", {2, 1, c.size(1)});
  const Tensor y = c.graph.add(column, row);
  c.differentiate(y, up(c, y), {{"y", column}, {"z", row}});
}

// The matmul stores the input of its activation; another matmul is multiplied by the derivative there.
void of_linear(CaseGraph& c) {
  const Tensor x = c.input("x", {2, c.size(0), 24}), w = c.input("w", {20, 24}), v = c.input("v", {16, 20});
  const Tensor h = c.graph.activation(c.graph.linear(x, w, c.input("b", {20})), Activation::GeluErf);
  const Tensor y = c.graph.linear(h, v);
  c.differentiate(y, up(c, y), {{"dx", x}, {"dw", w}, {"dv", v}});
}

// The same with the activation before a matmul. Sizes: rows, columns and depth.
void of_slopes(CaseGraph& c) {
  const Tensor x = c.x(), w = c.weight("w", {c.size(1), c.size(1)});
  const Tensor y = c.graph.linear(c.graph.activation(x, Activation::GeluErf), w);
  c.differentiate(y, up(c, y), {{"y", x}});
}

// A matmul that stores its result before the activation, for the gradient.
void kept(CaseGraph& c) {
  const Tensor x = c.x(), y = c.graph.linear(x, c.weight("w", {c.size(1), c.size(1)}), c.row("b", x));
  c.output("before", y);
  c.output("y", c.graph.activation(y, Activation::GeluErf));
}

void of_softmax(CaseGraph& c) {
  const Tensor x = c.x(), y = c.graph.softmax(x);
  c.differentiate(y, up(c, y), {{"y", x}});
}

// Some keys are hidden by masked_fill, so their logits count in the sums.
void of_masked_softmax(CaseGraph& c) {
  const Tensor x = c.x(), mask = c.bytes("mask", c.shape());
  const Tensor y = c.graph.softmax(x, {.scale = 3.0f, .mask = keep(mask), .masked_fill = -1.0f});
  c.differentiate(y, up(c, y), {{"y", x}});
}

void of_reductions(CaseGraph& c) {
  Graph& g = c.graph;
  const Tensor x = c.x();
  // Separate statements: gradients are added up in the order of nodes, and C++ does not order the arguments of a call.
  const Tensor length = g.reduce(x, Reduction::L2, {1}), powers = g.reduce(x, Reduction::LogSumExp, {1});
  const Tensor largest = g.reduce(x, Reduction::Max, {1}), product = g.reduce(x, Reduction::Product, {1});
  const Tensor y = g.add(g.add(powers, length), g.add(product, largest));
  c.differentiate(y, up(c, y), {{"y", x}});
}

void of_cumsum(CaseGraph& c) {
  const Tensor x = c.x(), y = c.graph.cumsum(x, 1);
  c.differentiate(y, up(c, y), {{"y", x}});
}

void of_norms(CaseGraph& c) {
  Graph& g = c.graph;
  const Tensor x = c.x(), gamma = c.row("gamma", x), beta = c.row("beta", x);
  const Tensor layer = g.layernorm(x, gamma, beta, 1e-2f), rms = g.rmsnorm(x, gamma, 1e-2f);
  const Tensor y = g.add(g.add(layer, rms), g.l2_normalize(x));
  // Separate, since computing gradients of norms and of their weights together uses other kernels.
  const Tensor upstream = up(c, y);
  for (const auto& [name, of] : {std::pair{"y", x}, {"dgamma", gamma}, {"dbeta", beta}})
    c.differentiate(y, upstream, {{name, of}});
}

void of_layernorm(CaseGraph& c) {
  const Tensor x = c.x(), y = c.graph.layernorm(x, c.row("gamma", x), c.row("beta", x), 1e-5f);
  c.differentiate(y, up(c, y), {{"y", x}});
}

void of_layernorm_and_weights(CaseGraph& c) {
  const Tensor x = c.x(), gamma = c.row("gamma", x), beta = c.row("beta", x);
  const Tensor y = c.graph.layernorm(x, gamma, beta, 1e-5f);
  c.differentiate(y, up(c, y), {{"y", x}, {"dgamma", gamma}, {"dbeta", beta}});
}

void of_cross_entropy(CaseGraph& c) {
  const Tensor x = c.x(), y = c.graph.cross_entropy(x, c.ids("labels", {c.size(0)}, c.size(1)), 0.25f);
  c.differentiate(y, up(c, y), {{"y", x}});
}

// Sizes: ids, columns, rows of the table.
void of_embedding(CaseGraph& c) {
  const Tensor table = c.input("table", {c.size(2), c.size(1)});
  const Tensor y = c.graph.embedding(table, c.ids("ids", {c.size(0)}, c.size(2)), c.type);
  c.differentiate(y, up(c, y), {{"y", table}});
}

void of_slices(CaseGraph& c) {
  const Tensor x = c.input("x", {5, c.size(0), 3, c.size(1)});
  const Tensor y = c.graph.transpose(c.graph.slice(c.graph.slice(x, 0, 1, 2), 2, 1, 1), 1, 3);
  c.differentiate(y, up(c, y), {{"y", x}});
}

// Sizes: rows, columns, columns of the slice, which begins at the third column.
void of_slice(CaseGraph& c) {
  const Tensor x = c.input("x", {c.size(0), c.size(1)}), y = c.graph.slice(x, 1, 3, c.size(2));
  c.differentiate(y, up(c, y), {{"y", x}});
}

// clang-format off: it would put each field on a line of its own.
constexpr OpCase kGradientCases[] = {
    {.op = "elementwise", .build = of_activations, .label = "gradient", .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "elementwise", .build = of_gelu, .label = "gradient of gelu", .compilers = {{512, 768}}},
    {.op = "reduce", .build = of_broadcasts, .label = "gradient of add", .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "reduce", .build = of_row, .label = "gradient of a row", .compilers = {{512, 768}}, .floor = {{90, 10000}}},
    {.op = "reduce", .build = of_reductions, .label = "gradient", .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "cumsum", .build = of_cumsum, .label = "gradient", .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "matmul", .build = of_linear, .label = "gradient", .plans = CasePlans::Reproducible, .self_test = {{kM}}},
    {.op = "matmul", .build = of_slopes, .label = "slopes", .compilers = {{512, 768}}},
    {.op = "matmul", .build = kept, .label = "kept", .compilers = {{512, 768}}},
    {.op = "softmax_backward", .build = of_softmax, .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 24}, {512, 200}, {512, 768}, {512, 4096}}},
    {.op = "softmax_backward", .build = of_masked_softmax, .label = "masked", .plans = kBoth, .self_test = {{kM, kN}},
     .floor = {{200000, 5}}},
    {.op = "norm_backward", .build = of_norms, .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "norm_backward", .build = of_layernorm, .label = "layernorm",
     .compilers = {{512, 24}, {512, 200}, {512, 768}, {512, 4096}}, .floor = {{70001, 300}}},
    {.op = "norm_backward", .build = of_layernorm_and_weights, .label = "weights", .compilers = {{512, 768}},
     .floor = {{70001, 300}}},
    {.op = "cross_entropy_backward", .build = of_cross_entropy, .plans = kBoth, .self_test = {{kM, kN}},
     .compilers = {{512, 4096}}, .floor = {{6, 50000}}},
    {.op = "embedding_backward", .build = of_embedding, .plans = kBoth, .self_test = {{kM, kN, 7}},
     .compilers = {{512, 768, 30522}}, .floor = {{80, 100, 50000}}},
    {.op = "slice_backward", .build = of_slices, .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "slice_backward", .build = of_slice, .label = "columns", .compilers = {{512, 768, 256}},
     .floor = {{2000, 10000, 900}}},
};
// clang-format on

}  // namespace

std::span<const OpCase> gradient_cases() { return kGradientCases; }

}  // namespace heed
