#include "ops/random.hpp"

namespace heed::ops {

// Rows times a quantized weight, or times a range of its rows. A table also reads rows of the same weight.
void build_quantized(Trial& t, Random& random) {
  const auto type = static_cast<DType>(static_cast<int64_t>(DType::Q8_0) + random.below(8));
  const int64_t block = block_of(type).elements, k = block * (1 + random.below(block == 32 ? 60 : 8));
  const int64_t n = random.size(140), first = random.coin() ? 0 : random.pick({32, 64, 1 + random.below(70)});
  const bool bias = random.coin(), gathers = random.one_in(3);
  const float scale = random.coin() ? 1.0f : 0.5f;
  const auto activated = static_cast<Activation>(random.below(6));
  Drawn drawn(t, random);
  const Dim m = drawn.size("m", random.pick({1, 4, 8, 20, 70}), random.one_in(3)), tokens = drawn.size("tokens", 5);
  Array w;
  const Tensor whole = t.blocks("w", {first + n, k}, type, random.next(), &w);
  const Tensor weight = first == 0 ? whole : t.graph.slice(whole, 0, first, n);
  Tensor y = t.graph.matmul(t.input("x", {m, k}), weight, {.transpose_b = true, .scale = scale});
  if (bias) y = t.graph.add(y, t.input("bias", {n}));
  t.graph.output("y", t.graph.activation(y, activated));
  if (gathers) t.graph.output("rows", t.graph.embedding(weight, t.graph.input("ids", {tokens}, DType::I32), t.dtype));
  const Array part = slice(w, 0, first, n);
  const int64_t option = random.below(3);
  t.options.round_rows = option == 1;
  t.options.emulate_f32 = option == 2;
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const uint64_t seed = random.next();
    Array v = t.product(run.input("x", uniform({s[0], k}, seed)), transposed(part), static_cast<double>(scale));
    if (bias) v = add(v, run.input("bias", uniform({n}, seed + 1)));
    run.expect("y", activation(v, activated), static_cast<double>(k) + 16.0, 2);
    if (gathers)
      run.expect_exact("rows", embedding(part, run.input("ids", whole_numbers({s[1]}, seed + 2, 0, n), DType::I32)),
                       t.dtype);
  });
}

}  // namespace heed::ops
