// Few rows whose matmuls, with the norm before them and the rotary, gate or cache after them, are one pass on GPUs.
#include "cases/op_case.hpp"

namespace heed {
namespace {

Tensor heads_of(Graph& g, Tensor rows, Dim batch, Dim tokens, int64_t heads, int64_t channels) {
  return g.transpose(g.reshape(rows, {batch, tokens, heads, channels}), 1, 2);
}

// Queries and keys with rotary, and values. F32: weights have the type of the case.
template <DType kWeights>
void few(CaseGraph& c) {
  Graph& g = c.graph;
  const DType weights = kWeights == DType::F32 ? c.type : kWeights,
              rows_of = kWeights == DType::F32 ? c.type : DType::F32;
  const Tensor x = g.scale(c.input("x", {2, 3, 72}, rows_of), 0.5f);
  const Tensor rows = g.rmsnorm(x, c.weight("gamma", {72}, rows_of), 1e-2f);
  const auto product = [&](const char* name, int64_t columns) {
    return g.linear(rows, c.weight(name, {columns, 72}, weights));
  };
  const auto turned = [&](const char* name, int64_t heads) {
    return g.rotary(heads_of(g, product(name, 8 * heads), 2, 3, heads, 8));
  };
  c.output("q", turned("q", 3));
  c.output("k", turned("k", 1));
  c.output("v", g.add(product("v", 8), c.weight("bias", {8}, rows_of)));
}

void few_by_quantized_weights(CaseGraph& c) {
  Graph& g = c.graph;
  const Tensor x = g.scale(c.input("x", {5, 256}), 0.1f);
  const Tensor rows = g.rmsnorm(x, c.weight("gamma", {256}), 1e-2f);
  for (const DType type : {DType::Q8_0, DType::Q4_1, DType::Q6_K})
    c.output(to_string(type), g.linear(rows, c.weight(to_string(type), {8, 256}, type)));
}

// Keys and values of two bytes with rows of f32, each row at its own position.
template <DType kWeights>
void few_into_caches(CaseGraph& c) {
  Graph& g = c.graph;
  const Tensor x = g.scale(c.input("x", {2, 1, 256}, DType::F32), 0.1f), at = c.ids("at", {2, 1, 1}, 7);
  const auto keep = [&](const char* name, bool turns) {
    const std::string text = name;
    Tensor heads = heads_of(g, g.linear(x, c.weight(name, {16, 256}, kWeights)), 2, 1, 2, 8);
    if (turns) heads = g.rotary(heads, {.positions = at});
    const Tensor state = c.state((text + ".state").c_str(), {2, 2, 7, 8}, DType::F16);
    c.output((text + ".out").c_str(), g.append(state, heads, 2, at));
  };
  keep("k", true);
  keep("v", false);
}

void few_gated(CaseGraph& c) {
  Graph& g = c.graph;
  const Tensor rows = g.scale(c.input("x", {5, 136}), 0.1f);
  const Tensor gate = g.activation(g.linear(rows, c.weight("gate", {20, 136})), Activation::Silu);
  c.output(g.mul(gate, g.linear(rows, c.weight("up", {20, 136}))));
}

void few_behind_layernorm(CaseGraph& c) {
  Graph& g = c.graph;
  const Tensor x = g.scale(c.input("x", {3, 136}), 0.1f);
  const Tensor rows = g.layernorm(x, c.weight("gamma", {136}), c.weight("beta", {136}), 1e-2f);
  const Tensor y = g.add(g.linear(rows, c.weight("w", {20, 136})), c.weight("bias", {20}));
  c.output(g.activation(y, Activation::GeluErf));
}

// Sizes of a layer of a small language model. Case sizes: rows.
constexpr int64_t kDepth = 576, kKeys = 192, kHidden = 1536, kHead = 64;

template <DType kWeights>  // F32: as the case
struct Layer {
  Graph& g;
  CaseGraph& c;
  Tensor rows;

  explicit Layer(CaseGraph& of, const Shape& shape) : g(of.graph), c(of) {
    const Tensor x = g.scale(c.input("x", shape), 0.5f);
    rows = g.rmsnorm(x, c.row("gamma", x), 1e-5f);
  }
  Tensor product(const char* name, int64_t columns) {
    return g.linear(rows, c.weight(name, {columns, kDepth}, kWeights == DType::F32 ? c.type : kWeights));
  }
};

template <DType kWeights>
void queries_keys_values(CaseGraph& c) {
  Layer<kWeights> layer(c, {c.size(0), kDepth});
  const auto turned = [&](const char* name, int64_t columns) {
    const Tensor heads = c.graph.reshape(layer.product(name, columns), {c.size(0), columns / kHead, kHead});
    return c.graph.rotary(c.graph.transpose(heads, 0, 1), {.first = c.graph.position("first", 1023)});
  };
  c.output("q", turned("q", kDepth));
  c.output("k", turned("k", kKeys));
  c.output("v", layer.product("v", kKeys));
}

template <DType kWeights>
void gated(CaseGraph& c) {
  Layer<kWeights> layer(c, {c.size(0), kDepth});
  const Tensor gate = c.graph.activation(layer.product("gate", kHidden), Activation::Silu);
  c.output(c.graph.mul(gate, layer.product("up", kHidden)));
}

// One token for each of several texts, whose keys and values of f16 are scattered to their own positions.
template <DType kWeights>
void into_caches(CaseGraph& c) {
  Graph& g = c.graph;
  const Dim batch = c.size(0);
  Layer<kWeights> layer(c, {batch, 1, kDepth});
  const Tensor at = c.ids("at", {batch, 1, 1}, 1024);
  const auto heads = [&](const char* name, int64_t count) {
    return heads_of(g, layer.product(name, count * kHead), batch, 1, count, kHead);
  };
  const auto keep = [&](const char* name, Tensor x) {
    static_cast<void>(g.append(c.state(name, {batch, 3, 1024, kHead}, DType::F16), x, 2, at));
  };
  c.output("q", g.rotary(heads("q", 9), {.positions = at}));
  keep("keys", g.rotary(heads("k", 3), {.positions = at}));
  keep("values", heads("v", 3));
}

// clang-format off: it would put each field on a line of its own.
constexpr OpCase kProjectionCases[] = {
    {.op = "projection", .build = few<DType::F32>, .self_test = {{}}},
    // The CPU may round rows to bf16 if weights are bf16, but never to f16.
    {.op = "projection", .build = few<DType::F16>, .one_type = true, .self_test = {{}}},
    {.op = "projection", .build = few_by_quantized_weights, .self_test = {{}}},
    {.op = "projection", .build = few_into_caches<DType::F32>, .one_type = true, .self_test = {{}}},
    {.op = "projection", .build = few_into_caches<DType::F16>, .one_type = true, .self_test = {{}}},
    {.op = "projection", .build = few_into_caches<DType::Q4_1>, .one_type = true, .self_test = {{}}},
    {.op = "projection", .build = few_gated, .self_test = {{}}},
    {.op = "projection", .build = few_behind_layernorm, .self_test = {{}}},
    {.op = "projection", .build = queries_keys_values<DType::F32>, .label = "qkv", .compilers = {{1}, {8}}},
    {.op = "projection", .build = queries_keys_values<DType::BF16>, .label = "qkv bf16", .one_type = true,
     .compilers = {{1}}},
    {.op = "projection", .build = queries_keys_values<DType::Q4_1>, .label = "qkv q4_1", .one_type = true,
     .compilers = {{1}, {8}}},
    {.op = "projection", .build = gated<DType::F32>, .label = "gated", .compilers = {{1}, {8}}},
    {.op = "projection", .build = gated<DType::BF16>, .label = "gated bf16", .one_type = true, .compilers = {{1}}},
    {.op = "projection", .build = gated<DType::Q4_1>, .label = "gated q4_1", .one_type = true,
     .compilers = {{1}, {8}}},
    {.op = "projection", .build = into_caches<DType::F16>, .label = "caches f16", .one_type = true,
     .compilers = {{1}, {8}}},
    {.op = "projection", .build = into_caches<DType::Q4_1>, .label = "caches q4_1", .one_type = true,
     .compilers = {{1}, {8}}},
};
// clang-format on

}  // namespace

std::span<const OpCase> projection_cases() { return kProjectionCases; }

}  // namespace heed
