#include "harness/functions.hpp"
#include "ops/random.hpp"

namespace heed::ops {
namespace {

// Operations on x [3, m, n] and a y of that shape or one that broadcasts to it.
enum class Op : uint8_t { Activate, Multiply, Transpose, Dropout, Concat };

Array expected(const Trial& t, Op op, const Array& x, const Array& y, Activation kind, int axis, uint32_t seed) {
  switch (op) {
    case Op::Activate: return activation(add(x, y), kind);
    case Op::Multiply: return mul(x, y);
    case Op::Dropout: return add(t.stored(dropout(x, static_cast<double>(0.3f), seed, 0)), y);
    case Op::Concat: return concat({x, y}, axis);
    case Op::Transpose: return add(scale(transposed(x), 0.5), transposed(y));
  }
  return x;
}

void build_pairs(Trial& t, Random& random, Op op) {
  const auto kind = static_cast<Activation>(1 + random.below(5));
  const int axis = static_cast<int>(random.below(3));
  const bool rows_only = op == Op::Multiply && random.coin();
  t.options.training = true;
  Drawn drawn(t, random);
  const Dim m = drawn.size("m", 50), n = drawn.size("n", 300, random.coin());
  const Tensor x = t.input("x", {3, m, n}), y = t.input("y", rows_only ? Shape{m, n} : Shape{3, m, n});
  Tensor z;
  if (op == Op::Activate) z = t.graph.activation(t.graph.add(x, y), kind);
  if (op == Op::Multiply) z = t.graph.mul(x, y);
  if (op == Op::Dropout) z = t.graph.add(t.graph.dropout(x, 0.3f), y);
  if (op == Op::Concat) z = t.graph.concat({x, y}, axis);
  if (op == Op::Transpose) z = t.graph.add(t.graph.scale(t.graph.transpose(x, 1, 2), 0.5f), t.graph.transpose(y, 1, 2));
  t.graph.output("z", z);
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const uint64_t seed = random.next();
    const Array vx = run.input("x", uniform({3, s[0], s[1]}, seed)),
                vy = run.input("y", uniform(rows_only ? Sizes{s[0], s[1]} : Sizes{3, s[0], s[1]}, seed + 1));
    run.expect("z", expected(t, op, vx, vy, kind, axis, run.options.seed), 16.0, 3);
  });
}

}  // namespace

void build_elementwise(Trial& t, Random& random) { build_pairs(t, random, static_cast<Op>(random.below(3))); }
// A function of a sum, times a factor: one pass.
void build_function(Trial& t, Random& random) {
  const std::span<const FunctionReference> all = function_references();
  const FunctionReference& f = all[static_cast<size_t>(random.below(std::ssize(all)))];
  const bool rows_only = random.coin();
  Drawn drawn(t, random);
  const Dim m = drawn.size("m", 50), n = drawn.size("n", 300, random.coin());
  const Tensor x = t.input("x", {3, m, n}), y = t.input("y", rows_only ? Shape{n} : Shape{3, m, n});
  t.graph.output("z", t.graph.mul(f.build(t.graph, x, y), t.graph.number(0.5)));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const uint64_t seed = random.next();
    const Array vx = run.input("x", uniform({3, s[0], s[1]}, seed, f.low, f.high)),
                vy = run.input("y", uniform(rows_only ? Sizes{s[1]} : Sizes{3, s[0], s[1]}, seed + 1, f.low, f.high));
    run.expect_within("z", t.stored(scale(apply(f, vx, vy), 0.5)), t.dtype);
  });
}
void build_dropout(Trial& t, Random& random) { build_pairs(t, random, Op::Dropout); }
void build_concat(Trial& t, Random& random) { build_pairs(t, random, Op::Concat); }

// Casts from the trial's storage type to another. A device without 16-bit storage supports few of these.
void build_cast(Trial& t, Random& random) {
  const DType from = t.dtype, first = from == DType::F32 ? DType::F16 : DType::F32,
              second = from == DType::BF16 ? DType::F16 : DType::BF16, to = random.coin() ? first : second;
  t.dtype = DType::F16;
  Drawn drawn(t, random);
  const Dim m = drawn.size("m", 50), n = drawn.size("n", 300, random.coin());
  t.graph.output("z", t.graph.cast(t.graph.transpose(t.graph.input("x", {m, n}, from), 0, 1), to));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const Array v = transposed(run.input("x", uniform({s[0], s[1]}, random.next(), -100.0, 100.0), from));
    run.dtype = to;
    run.expect("z", v);
  });
}

// Copies of types that only hold ids and masks.
void build_bytes(Trial& t, Random& random) {
  const DType type = random.coin() ? DType::U8 : DType::I32;
  Drawn drawn(t, random);
  const Dim m = drawn.size("m", 50), n = drawn.size("n", 300, random.coin());
  t.graph.output("z", t.graph.transpose(t.graph.input("x", {m, n, 3}, type), 0, 1));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const Array v = run.input("x", whole_numbers({s[0], s[1], 3}, random.next(), 0, 200), type);
    run.expect_exact("z", permute(v, {1, 0, 2}), type);
  });
}

void build_encoding(Trial& t, Random& random) {
  const int64_t channels = 2 * random.size(40);
  Drawn drawn(t, random);
  const Dim batch = drawn.size("batch", 3), tokens = drawn.size("tokens", 100);
  t.graph.output("z", t.graph.positional_encoding(t.input("x", {batch, tokens, channels})));
  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const Array v = run.input("x", uniform({s[0], s[1], channels}, random.next()));
    run.expect("z", add(v, t.stored(sinusoids(s[1], channels))), 16.0, 2);
  });
}

}  // namespace heed::ops
