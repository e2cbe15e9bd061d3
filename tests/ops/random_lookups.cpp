#include <limits>

#include "ops/random.hpp"
#include "ops/sample_reference.hpp"

namespace heed::ops {

void build_embedding(Trial& t, Random& random) {
  const int64_t rows = random.size(60), width = random.size(140);
  Array table = uniform({rows, width}, random.next());
  Drawn drawn(t, random);
  const Dim batch = drawn.size("batch", 3), tokens = drawn.size("tokens", 70);
  const Tensor weight = t.weight("table", &table);
  t.graph.output("y", t.graph.embedding(weight, t.graph.input("ids", {batch, tokens}, DType::I32), t.dtype));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const Array ids = run.input("ids", whole_numbers({s[0], s[1]}, random.next(), 0, rows), DType::I32);
    run.expect_exact("y", embedding(table, ids), t.dtype);
  });
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
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const Array v = run.input("x", uniform(s, random.next(), -1.0, 3.0));
    Array bytes;
    if (masked) bytes = run.input("mask", random_mask({s[0], s[1]}, random), DType::U8);
    run.expect("y", mean(v, axis, masked ? &bytes : nullptr, keeps), static_cast<double>(s[static_cast<size_t>(axis)]));
  });
}

void build_reduce(Trial& t, Random& random) {
  auto kind = static_cast<Reduction>(random.below(7));
  std::vector<int> axes;
  for (int axis = 0; axis < 4; ++axis)
    if (random.coin()) axes.push_back(axis);
  const bool keep = random.coin(), turns = random.coin();
  Drawn drawn(t, random);
  const Dim a = drawn.size("a", 4), b = drawn.size("b", 40), c = drawn.size("c", 5), d = drawn.size("d", 70);
  Tensor x = t.input("x", {a, b, c, d});
  if (turns) x = t.graph.transpose(x, 1, 3);
  t.graph.output("y", t.graph.reduce(x, kind, axes, keep));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const bool product = kind == Reduction::Product;
    Array v = run.input("x", uniform(s, random.next(), product ? 0.98 : -1.0, product ? 1.02 : 3.0));
    if (turns) v = permute(v, {0, 3, 2, 1});
    run.expect("y", reduce(v, kind, axes, keep), static_cast<double>(v.size()) + 64.0);
  });
}

void build_cumsum(Trial& t, Random& random) {
  const int axis = static_cast<int>(random.below(3));
  const bool exclusive = random.coin(), reverse = random.coin();
  Drawn drawn(t, random);
  const Dim a = drawn.size("a", 4), b = drawn.size("b", 300), c = drawn.size("c", 40);
  t.graph.output("y", t.graph.cumsum(t.graph.permute(t.input("x", {b, c, a}), {2, 0, 1}), axis, exclusive, reverse));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const Array v = permute(run.input("x", uniform({s[1], s[2], s[0]}, random.next(), -1.0, 2.0)), {2, 0, 1});
    run.expect("y", cumsum(v, axis, exclusive, reverse), static_cast<double>(s[static_cast<size_t>(axis)]) + 16.0);
  });
}

void build_cross_entropy(Trial& t, Random& random) {
  const float smoothings[] = {0.0f, 0.0f, 0.1f, 1.0f};
  const float smoothing = smoothings[random.below(4)];
  const bool transpose = random.coin();
  const double range = random.coin() ? 5.0 : 50.0;
  Drawn drawn(t, random);
  const Dim rows = drawn.size("rows", 40), n = drawn.size("n", 700, random.coin());
  const Tensor x = transpose ? t.graph.transpose(t.input("x", {n, rows}), 0, 1) : t.input("x", {rows, n});
  t.graph.output("y", t.graph.cross_entropy(x, t.graph.input("labels", {rows}, DType::I32), smoothing));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const Sizes shape = transpose ? Sizes{s[1], s[0]} : Sizes{s[0], s[1]};
    const Array v = run.input("x", uniform(shape, random.next(), -range, range));
    const Array labels = run.input("labels", whole_numbers({s[0]}, random.next(), -1, s[1] + 1), DType::I32);
    run.expect_within("y", cross_entropy(transpose ? transposed(v) : v, labels, static_cast<double>(smoothing)));
  });
}

// Values come from a small set, so that rows have ties.
void build_argmax(Trial& t, Random& random) {
  const int64_t different = random.pick({2, 20, 1000});
  const int axis = static_cast<int>(random.below(2));
  const bool transpose = random.coin(), smallest = random.coin(), last = random.coin();
  Drawn drawn(t, random);
  const Dim rows = drawn.size("rows", 40), n = drawn.size("n", 700, random.coin());
  const Tensor x = transpose ? t.graph.transpose(t.input("x", {n, rows}), 0, 1) : t.input("x", {rows, n});
  t.graph.output("y", smallest ? t.graph.argmin(x, axis, true, last) : t.graph.argmax(x, axis, true, last));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const Sizes shape = transpose ? Sizes{s[1], s[0]} : Sizes{s[0], s[1]};
    const Array v = run.input("x", whole_numbers(shape, random.next(), -different / 2, different / 2 + 1));
    run.expect_exact("y", first_indices(transpose ? transposed(v) : v, axis, 1, smallest, last), DType::I32);
  });
}

// Ties, or values far apart; previous tokens and biases for each row or for all.
void build_sample(Trial& t, Random& random) {
  const int64_t different = random.pick({0, 2, 30}), listed = random.pick({0, 1, 60});
  const bool biased = random.coin(), seeded = random.coin(), shared = random.coin(), counted = random.coin();
  const float temperatures[] = {0.0f, 0.4f, 1.0f, 5.0f}, shares[] = {1.0f, 0.9f, 0.3f}, leasts[] = {0.0f, 0.02f, 0.3f};
  SampleOptions options{.repetition_penalty = listed > 0 ? 1.4f : 1.0f,
                        .temperature = temperatures[random.below(4)],
                        .top_k = random.pick({0, 0, 1, 7, 100}),
                        .top_p = shares[random.below(3)],
                        .min_p = leasts[random.below(3)],
                        .step = t.graph.position("step", 1000)};
  Drawn drawn(t, random);
  const Dim rows = drawn.size("rows", 12), n = drawn.size("n", 700, random.coin());
  const auto operand = [&](const char* name, Dim length, DType type) {
    return t.graph.input(name, shared ? Shape{1, length} : Shape{rows, length}, type);
  };
  if (biased) options.bias = operand("bias", n, t.dtype);
  if (listed > 0) options.previous = operand("previous", listed, DType::I32);
  if (listed > 0 && counted) options.previous_counts = t.graph.input("counts", {rows}, DType::I32);
  if (seeded) options.seeds = t.graph.input("seeds", {rows}, DType::I32);
  t.graph.output("y", t.graph.sample(t.input("x", {rows, n}), options));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const uint64_t seed = random.next();
    const auto drawn_shape = [&](int64_t length) { return Sizes{shared ? 1 : s[0], length}; };
    const Array v = run.input("x", different == 0 ? uniform(s, seed, -8.0, 8.0) : whole_numbers(s, seed, 0, different));
    SampleReference reference{.options = options, .seed = run.options.seed, .step = random.below(1001)};
    Array bias, previous, counts, seeds;
    run.extents.push_back({"step", reference.step});
    if (biased) {
      bias = uniform(drawn_shape(s[1]), seed + 1);
      for (double& b : bias.value) b = b < 0.5 ? b : -std::numeric_limits<double>::infinity();
      bias = run.input("bias", bias);
      reference.bias = &bias;
    }
    if (listed > 0) {
      previous = run.input("previous", whole_numbers(drawn_shape(listed), seed + 2, -1, s[1] + 1), DType::I32);
      reference.previous = &previous;
    }
    if (options.previous_counts.valid()) {
      counts = run.input("counts", whole_numbers({s[0]}, seed + 3, -1, listed + 2), DType::I32);
      reference.counts = &counts;
    }
    if (seeded) {
      seeds = run.input("seeds", whole_numbers({s[0]}, seed + 4, -1000, 1000), DType::I32);
      reference.seeds = &seeds;
    }
    run.expect_within("y", sample(v, reference), DType::I32);
  });
}

}  // namespace heed::ops
