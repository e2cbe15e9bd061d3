#include "ops/random.hpp"

namespace heed::ops {

void build_embedding(Trial& t, Random& random) {
  const int64_t rows = random.size(60), width = random.size(140);
  Array table = uniform({rows, width}, random.next());
  Drawn drawn(t, random);
  const Dim batch = drawn.size("batch", 3), tokens = drawn.size("tokens", 70);
  const Tensor weight = t.weight("table", &table);
  t.graph.output("y", t.graph.embedding(weight, t.graph.input("ids", {batch, tokens}, DType::I32), t.dtype));
  for (int i = 0; i < kRunsPerGraph; ++i) {
    Sizes s;
    Run& run = drawn.run(&s);
    const Array ids = run.input("ids", whole_numbers({s[0], s[1]}, random.next(), 0, rows), DType::I32);
    run.expect_exact("y", embedding(table, ids), t.dtype);
  }
}

void build_mean(Trial& t, Random& random) {
  const int axis = static_cast<int>(random.below(3));
  const bool masked = axis == 1 && random.coin(), keeps = random.coin();
  Drawn drawn(t, random);
  const Dim batch = drawn.size("batch", 4), tokens = drawn.size("tokens", 300), width = drawn.size("width", 70);
  Mask mask;
  if (masked) {
    const Tensor tensor = t.graph.input("mask", {batch, tokens}, DType::U8);
    mask = keeps ? keep(tensor) : exclude(tensor);
  }
  t.graph.output("y", t.graph.mean(t.input("x", {batch, tokens, width}), axis, mask));
  for (int i = 0; i < kRunsPerGraph; ++i) {
    Sizes s;
    Run& run = drawn.run(&s);
    const Array v = run.input("x", uniform(s, random.next(), -1.0, 3.0));
    Array bytes;
    if (masked) bytes = run.input("mask", random_mask({s[0], s[1]}, random), DType::U8);
    run.expect("y", mean(v, axis, masked ? &bytes : nullptr, keeps), static_cast<double>(s[static_cast<size_t>(axis)]));
  }
}

// Values from a small set, so that rows have ties: the first largest wins.
void build_argmax(Trial& t, Random& random) {
  const int64_t different = random.pick({2, 20, 1000});
  const bool transpose = random.coin();
  Drawn drawn(t, random);
  const Dim rows = drawn.size("rows", 40), n = drawn.size("n", 700, random.coin());
  const Tensor x = transpose ? t.graph.transpose(t.input("x", {n, rows}), 0, 1) : t.input("x", {rows, n});
  t.graph.output("y", t.graph.argmax(x));
  for (int i = 0; i < kRunsPerGraph; ++i) {
    Sizes s;
    Run& run = drawn.run(&s);
    const Sizes shape = transpose ? Sizes{s[1], s[0]} : Sizes{s[0], s[1]};
    const Array v = run.input("x", whole_numbers(shape, random.next(), -different / 2, different / 2 + 1));
    run.expect_exact("y", argmax(transpose ? transposed(v) : v), DType::I32);
  }
}

}  // namespace heed::ops
