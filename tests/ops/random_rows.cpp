#include "ops/random.hpp"

namespace heed::ops {
namespace {

enum Kind : uint8_t { kLayerNorm, kRmsNorm, kL2Normalize };

void build_norm(Trial& t, Random& random, Kind kind) {
  const bool scaled = kind != kL2Normalize && random.coin(), shifted = kind == kLayerNorm && random.coin(),
             residual = kind != kL2Normalize && random.coin();
  Drawn drawn(t, random);
  const Dim rows = drawn.size("rows", 40), n = drawn.size("n", random.pick({40, 300, 1200}), random.coin());
  Tensor x = t.input("x", {2, rows, n});
  const Tensor gamma = scaled ? t.input("gamma", {n}) : Tensor{}, beta = shifted ? t.input("beta", {n}) : Tensor{};
  if (residual) x = t.graph.add(x, t.input("residual", {2, rows, n}));
  t.graph.output("y", kind == kLayerNorm ? t.graph.layernorm(x, gamma, beta, 1e-5f)
                      : kind == kRmsNorm ? t.graph.rmsnorm(x, gamma, 1e-5f)
                                         : t.graph.l2_normalize(x));
  for (int i = 0; i < kRunsPerGraph; ++i) {
    Sizes s;
    Run& run = drawn.run(&s);
    const uint64_t seed = random.next();
    const Sizes shape = {2, s[0], s[1]};
    Array v = run.input("x", uniform(shape, seed, -2.0, 3.0)), scale, shift;
    if (scaled) scale = run.input("gamma", uniform({s[1]}, seed + 1, 0.5, 1.5));
    if (shifted) shift = run.input("beta", uniform({s[1]}, seed + 2));
    if (residual) v = add(v, run.input("residual", uniform(shape, seed + 3)));
    const Array *const g = scaled ? &scale : nullptr, *const b = shifted ? &shift : nullptr;
    constexpr auto kEps = static_cast<double>(1e-5f);
    const Array y = kind == kLayerNorm ? layernorm(v, g, b, kEps)
                    : kind == kRmsNorm ? rmsnorm(v, g, kEps)
                                       : l2_normalize(v, static_cast<double>(1e-12f));
    run.expect("y", y, static_cast<double>(s[1]) + 64.0, 2);
  }
}

}  // namespace

void build_softmax(Trial& t, Random& random) {
  const bool biased = random.coin(), padded = random.coin(), masked = random.coin(), keeps = random.coin(),
             filled = random.one_in(4);
  const auto causal = static_cast<Causal>(random.below(3));
  Drawn drawn(t, random);
  const Dim rows = drawn.size("rows", 40), n = drawn.size("n", random.pick({40, 300, 1200}), random.coin());
  const auto sense = [&](Tensor mask) { return keeps ? keep(mask) : exclude(mask); };
  SoftmaxOptions options;
  options.scale = 0.5f;
  options.causal = causal;
  if (padded) options.key_padding = sense(t.graph.input("padding", {2, n}, DType::U8));
  if (masked) options.mask = sense(t.graph.input("mask", {rows, n}, DType::U8));
  if (biased) options.bias = t.input("bias", {2, 1, n});
  if (filled) options.masked_fill = -1e4f;
  t.graph.output("y", t.graph.softmax(t.input("x", {2, rows, n}), options));
  for (int i = 0; i < kRunsPerGraph; ++i) {
    Sizes s;
    Run& run = drawn.run(&s);
    const uint64_t seed = random.next();
    SoftmaxReference reference;
    reference.scale = 0.5;
    reference.causal = causal;
    reference.key_padding_keeps = reference.mask_keeps = keeps;
    if (filled) reference.masked_fill = -1e4;
    Array padding, mask, bias;
    if (padded) {
      padding = run.input("padding", random_mask({2, s[1]}, random), DType::U8);
      reference.key_padding = &padding;
    }
    if (masked) {
      mask = run.input("mask", random_mask({s[0], s[1]}, random), DType::U8);
      reference.mask = &mask;
    }
    if (biased) {
      bias = run.input("bias", uniform({2, 1, s[1]}, seed + 1));
      reference.bias = &bias;
    }
    const Array v = run.input("x", uniform({2, s[0], s[1]}, seed, -2.0, 3.0));
    run.expect("y", softmax(v, reference), static_cast<double>(s[1]) + 64.0, 2);
  }
}

void build_layernorm(Trial& t, Random& random) { build_norm(t, random, kLayerNorm); }
void build_rmsnorm(Trial& t, Random& random) { build_norm(t, random, kRmsNorm); }
void build_l2_normalize(Trial& t, Random& random) { build_norm(t, random, kL2Normalize); }

}  // namespace heed::ops
