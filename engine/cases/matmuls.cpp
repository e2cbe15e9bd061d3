// Matmuls. Sizes: rows, columns, depth, batches; linear has a weight [columns, depth].
#include "cases/op_case.hpp"

namespace heed {
namespace {

template <bool kTurnsA>
void matmul(CaseGraph& c) {
  const Dim m = c.size(0), n = c.size(1), k = c.size(2), batch = c.size(3);
  const Tensor a = c.input("a", c.shape({batch, kTurnsA ? k : m, kTurnsA ? m : k}));
  c.output(c.graph.matmul(a, c.input("b", c.shape({batch, k, n})), {.transpose_a = kTurnsA}));
}

void matmul_batches(CaseGraph& c) {
  const Tensor a = c.input("a", {2, 3, c.size(0), 24}), b = c.input("b", {2, 3, c.size(1), 24});
  c.output(c.graph.matmul(a, b, {.transpose_b = true, .scale = 0.2f}));
}

// The steps of an epilogue, which runs before a matmul's result is stored.
enum Epilogue { kAddsBias = 1, kGelu = 2, kDropsOut = 4, kResidual = 8 };
template <int kParts>
void linear(CaseGraph& c) {
  Graph& g = c.graph;
  const Dim m = c.size(0), n = c.size(1), k = c.size(2);
  const Tensor x = c.input("x", {m, k}), w = c.weight("w", {n, k});
  Tensor y = g.linear(x, w, (kParts & kAddsBias) != 0 ? c.weight("b", {n}) : Tensor{});
  if ((kParts & kGelu) != 0) y = g.activation(y, Activation::GeluErf);
  if ((kParts & kDropsOut) != 0) y = g.dropout(y, 0.1f);
  if ((kParts & kResidual) != 0) y = g.add(y, c.input("residual", {m, n}));
  c.output(y);
}

// x of f32 times a weight with fewer bits.
template <DType kWeight>
void linear_by(CaseGraph& c) {
  const Tensor x = c.input("x", {c.size(0), c.size(2)}, DType::F32);
  c.output(c.graph.linear(x, c.weight("w", {c.size(1), c.size(2)}, kWeight)));
}

void linear_batches(CaseGraph& c) {
  Graph& g = c.graph;
  const Dim m = c.size(0);
  const Tensor x = c.input("x", {2, m, 64});
  const Tensor y = g.linear(x, c.input("w", {48, 64}), c.input("b", {48}));
  c.output(g.add(g.activation(y, Activation::GeluTanh), c.input("r", {2, m, 48})));
}

// Few rows times weights that are contiguous along k, then along n.
template <DType kWeight>  // F32: as the case
void few_rows(CaseGraph& c) {
  const DType type = kWeight == DType::F32 ? c.type : kWeight;
  const Tensor x = c.input("x", {c.size(0), 264}, kWeight == DType::F32 ? c.type : DType::F32);
  const Tensor h = c.graph.matmul(x, c.input("w", {260, 264}, type), {.transpose_b = true, .scale = 0.1f});
  c.output(c.graph.matmul(h, c.input("v", {260, 40}, type), {.scale = 0.1f}));
}

// The sums are so long that kernels split them.
void deep(CaseGraph& c) {
  const Tensor x = c.input("x", {c.size(0), 1100});
  c.output(c.graph.matmul(x, c.input("w", {24, 1100}), {.transpose_b = true, .scale = 0.1f}));
}

// Weights of two bytes with activations of f32.
void narrow_weights(CaseGraph& c) {
  c.output(c.graph.matmul(c.input("a", {c.size(0), 37}, DType::F32), c.input("b", {37, c.size(1)}, DType::BF16)));
}

// Types that together cover every branch in shaders/shared/blocks.glsl.
void quantized_weights(CaseGraph& c) {
  const Tensor x = c.input("x", {c.size(0), 256});
  for (const DType type : {DType::Q8_0, DType::Q5_1, DType::Q4_K, DType::Q6_K}) {
    const Tensor w = c.weight(to_string(type), {37, 256}, type);
    c.output(to_string(type), c.graph.matmul(x, w, {.transpose_b = true, .scale = 0.1f}));
  }
}

// One type only: kernels on matrix units take long to compile, and read blocks like all others.
template <int kPercent>
void weights_in_fives(CaseGraph& c) {
  const Tensor x = c.input("x", {c.size(0), 256}), w = c.weight("w", {37, 256}, DType::Q5_1);
  c.output(c.graph.matmul(x, w, {.transpose_b = true, .scale = 0.01f * kPercent}));
}

// With reads of 16 bytes, and split sums.
void deep_quantized_weights(CaseGraph& c) {
  const Tensor x = c.input("x", {c.size(0), 4352});
  for (const DType type : {DType::Q5_0, DType::Q5_K}) {
    const Tensor w = c.weight(to_string(type), {3, 4352}, type);
    c.output(to_string(type), c.graph.matmul(x, w, {.transpose_b = true, .scale = 0.01f}));
  }
}

// clang-format off: it would put each field on a line of its own.
constexpr OpCase kMatmulCases[] = {
    {.op = "matmul", .build = matmul<false>, .plans = kBoth, .self_test = {{kM, kN, 37}},
     .compilers = {{1, 512, 4096, 4}, {512, 512, 64, 4}},
     .floor = {{65, 70, 33, 3}, {1, 3072, 768}, {2, 2, 4, 100000}, {5000000, 3, 2}}},
    {.op = "matmul", .build = matmul<true>, .label = "a^T", .compilers = {{512, 512, 64, 4}}},
    {.op = "matmul", .build = matmul_batches, .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "matmul", .build = linear_batches, .plans = kBoth, .self_test = {{kM}}},
    {.op = "matmul", .build = matmul<false>, .one_type = true, .plans = CasePlans::Emulated,
     .self_test = {{kM, kN, 37}}},
    {.op = "matmul", .build = weights_in_fives<10>, .one_type = true, .plans = CasePlans::Emulated,
     .self_test = {{kM}}},
    {.op = "matmul", .build = weights_in_fives<1>, .one_type = true, .plans = CasePlans::Rounded,
     .self_test = {{kM}}},
    {.op = "matmul", .build = few_rows<DType::F32>, .plans = kBoth, .self_test = {{kM}}},
    {.op = "matmul", .build = deep, .plans = kBoth, .self_test = {{kM}}},
    {.op = "matmul", .build = narrow_weights, .one_type = true, .plans = kBoth, .self_test = {{kM, kN}}},
    {.op = "matmul", .build = few_rows<DType::BF16>, .one_type = true, .plans = kBoth, .self_test = {{kM}}},
    {.op = "matmul", .build = quantized_weights, .plans = kBoth, .self_test = {{kM}}},
    {.op = "matmul", .build = deep_quantized_weights, .self_test = {{kM}}},
    {.op = "matmul", .build = linear<0>, .label = "linear",
     .compilers = {{1, 4096, 4096}, {8, 4096, 4096}, {64, 768, 768}, {4096, 4096, 4096}},
     .bench = {{1, 3072, 768}, {128, 768, 768}, {512, 3072, 768}, {512, 768, 3072}}},
    {.op = "matmul", .build = linear<kAddsBias | kResidual>, .label = "bias residual", .compilers = {{512, 768, 3072}}},
    {.op = "matmul", .build = linear<kAddsBias | kDropsOut | kResidual>, .label = "dropout", .training = true,
     .compilers = {{512, 768, 3072}}},
    {.op = "matmul", .build = linear<kAddsBias | kGelu>, .label = "gelu", .compilers = {{512, 3072, 768}}},
    {.op = "matmul", .build = linear_by<DType::BF16>, .label = "bf16", .one_type = true,
     .compilers = {{1, 4096, 4096}, {8, 4096, 4096}, {512, 4096, 4096}}},
    {.op = "matmul", .build = linear_by<DType::Q8_0>, .label = "q8_0", .one_type = true,
     .compilers = {{1, 4096, 4096}, {8, 4096, 4096}, {512, 4096, 4096}}, .bench = {{1, 11008, 4096}}},
    {.op = "matmul", .build = linear_by<DType::Q4_1>, .label = "q4_1", .one_type = true,
     .compilers = {{1, 4096, 4096}, {8, 4096, 4096}, {512, 4096, 4096}},
     .bench = {{1, 11008, 4096}, {8, 11008, 4096}, {128, 4096, 4096}}},
    {.op = "matmul", .build = linear_by<DType::Q5_1>, .label = "q5_1", .one_type = true,
     .compilers = {{1, 4096, 4096}, {8, 4096, 4096}, {512, 4096, 4096}}},
    {.op = "matmul", .build = linear_by<DType::Q4_K>, .label = "q4_k", .one_type = true,
     .compilers = {{1, 4096, 4096}, {8, 4096, 4096}, {512, 4096, 4096}}, .bench = {{1, 11008, 4096}}},
    {.op = "matmul", .build = linear_by<DType::Q6_K>, .label = "q6_k", .one_type = true,
     .compilers = {{1, 4096, 4096}, {8, 4096, 4096}, {512, 4096, 4096}}, .bench = {{1, 11008, 4096}}},
};
// clang-format on

}  // namespace

std::span<const OpCase> matmul_cases() { return kMatmulCases; }

}  // namespace heed
