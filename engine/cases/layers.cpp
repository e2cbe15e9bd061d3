// Cases of several operations.
#include "cases/op_case.hpp"

namespace heed {
namespace {

// A layer of attention, with masks, strided views and a norm. Sizes: tokens.
void layer(CaseGraph& c) {
  constexpr int64_t kWidth = 24, kHeads = 3;
  Graph& g = c.graph;
  const Dim m = c.size(0);
  const Tensor x = c.input("x", {2, m, kWidth}), padding = c.bytes("padding", {2, m});
  const Tensor joined = g.linear(x, c.input("weight", {3 * kWidth, kWidth}), c.input("bias", {3 * kWidth}));
  const Tensor qkv = g.reshape(joined, {2, m, 3, kHeads, kWidth / kHeads});
  const auto heads = [&](int64_t role) { return g.transpose(g.select(qkv, 2, role), 1, 2); };
  const Tensor mixed =
      g.attention(heads(0), heads(1), heads(2), {.causal = Causal::TopLeft, .key_padding = exclude(padding)}).output;
  c.output(g.layernorm(g.add(g.reshape(g.transpose(mixed, 1, 2), {2, m, kWidth}), x), {}, {}, 1e-5f));
}

constexpr OpCase kLayerCases[] = {{.op = "layer", .build = layer, .self_test = {{kM}}}};

}  // namespace

std::span<const OpCase> layer_cases() { return kLayerCases; }

}  // namespace heed
