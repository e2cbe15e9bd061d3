#include "ops/random.hpp"

namespace heed::ops {
namespace {

enum Norm : uint8_t { kLayerNorm, kRmsNorm };

void build_norm(Trial& t, Random& random, Norm norm) {
  const bool scaled = random.coin(), shifted = norm == kLayerNorm && random.coin(), residual = random.coin();
  Drawn drawn(t, random);
  const Dim rows = drawn.size("rows", 40), n = drawn.size("n", random.pick({40, 300, 1200}), random.coin());
  Tensor x = t.input("x", {2, rows, n});
  const Tensor gamma = scaled ? t.input("gamma", {n}) : Tensor{}, beta = shifted ? t.input("beta", {n}) : Tensor{};
  if (residual) x = t.graph.add(x, t.input("residual", {2, rows, n}));
  t.graph.output("y", norm == kLayerNorm ? t.graph.layernorm(x, gamma, beta, 1e-5f) : t.graph.rmsnorm(x, gamma, 1e-5f));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const uint64_t seed = random.next();
    const Sizes shape = {2, s[0], s[1]};
    Array v = run.input("x", uniform(shape, seed, -2.0, 3.0)), scale, shift;
    if (scaled) scale = run.input("gamma", uniform({s[1]}, seed + 1, 0.5, 1.5));
    if (shifted) shift = run.input("beta", uniform({s[1]}, seed + 2));
    if (residual) v = add(v, run.input("residual", uniform(shape, seed + 3)));
    const Array *const g = scaled ? &scale : nullptr, *const b = shifted ? &shift : nullptr;
    constexpr auto kEps = static_cast<double>(1e-5f);
    const Array y = norm == kLayerNorm ? layernorm(v, g, b, kEps) : rmsnorm(v, g, kEps);
    run.expect("y", y, static_cast<double>(s[1]) + 64.0, 2);
  });
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
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const uint64_t seed = random.next();
    HiddenKeys hidden;
    SoftmaxReference& reference = hidden.reference;
    reference.scale = 0.5;
    reference.causal = causal;
    reference.key_padding_keeps = reference.mask_keeps = keeps;
    if (filled) reference.masked_fill = -1e4;
    if (padded) hidden.give_padding(run, random_mask({2, s[1]}, random));
    if (masked) hidden.give_mask(run, random_mask({s[0], s[1]}, random));
    if (biased) hidden.give_bias(run, uniform({2, 1, s[1]}, seed + 1));
    const Array v = run.input("x", uniform({2, s[0], s[1]}, seed, -2.0, 3.0));
    run.expect("y", softmax(v, reference), static_cast<double>(s[1]) + 64.0, 2);
  });
}

void build_rotary(Trial& t, Random& random) {
  RotaryOptions options;
  options.pairs = random.coin() ? RotaryPairs::Halves : RotaryPairs::Adjacent;
  const int64_t channels = 1 + random.size(140);
  if (channels % 2 != 0 || random.coin()) options.width = 2 * (1 + random.below(channels / 2));
  options.scaling.kind = static_cast<RotaryScaling::Kind>(random.below(3));
  options.scaling.factor = 8.0f;
  const int64_t given =
      random.below(4);  // 0: none, 1: for each token, 2: for each token of each batch, 3: the first position only
  Drawn drawn(t, random);
  const Dim batch = drawn.size("batch", 3), tokens = drawn.size("tokens", 40);
  if (given == 1) options.positions = t.graph.input("positions", {tokens}, DType::I32);
  if (given == 2) options.positions = t.graph.input("positions", {batch, 1, tokens}, DType::I32);
  if (given == 3) options.first = t.graph.position("first", 100000);
  // Heads in the layout of a matmul's result: [batch, tokens, heads, channels] viewed as [batch, heads, tokens, channels].
  const Tensor x = t.graph.transpose(t.input("x", {batch, tokens, 3, channels}), 1, 2);
  t.graph.output("y", t.graph.rotary(x, options));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const uint64_t seed = random.next();
    const Array v = permute(run.input("x", uniform({s[0], s[1], 3, channels}, seed)), {0, 2, 1, 3});
    Array positions;
    const Sizes shape = given == 2 ? Sizes{s[0], 1, s[1]} : Sizes{s[1]};
    if (given == 1 || given == 2)
      positions = run.input("positions", whole_numbers(shape, seed + 1, -50, 100000), DType::I32);
    if (given == 3) {
      run.extents.push_back({"first", random.below(100001)});
      positions = whole_numbers(shape, 0, run.extents.back().value, run.extents.back().value + 1);
      for (int64_t i = 0; i < s[1]; ++i) positions.at(i) += static_cast<double>(i);
    }
    run.expect("y", rotary(v, options, given != 0 ? &positions : nullptr));
  });
}

void build_layernorm(Trial& t, Random& random) { build_norm(t, random, kLayerNorm); }
void build_rmsnorm(Trial& t, Random& random) { build_norm(t, random, kRmsNorm); }

void build_row_operation(Trial& t, Random& random) {
  constexpr float kEps = 1e-12f;
  const RowOperation& one = any_row_operation(random);
  Drawn drawn(t, random);
  const Dim rows = drawn.size("rows", 40), n = drawn.size("n", random.pick({40, 300, 1200}), random.coin());
  t.graph.output("y", one.build(t.graph, t.input("x", {2, rows, n}), kEps));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const Array x = run.input("x", uniform({2, s[0], s[1]}, random.next(), -2.0, 3.0));
    run.expect("y", one.compute(x, static_cast<double>(kEps)), static_cast<double>(s[1]) + 64.0, 2);
  });
}

}  // namespace heed::ops
