#include "ops/random.hpp"

namespace heed::ops {
namespace {

// The layout of an operand in memory.
enum class Layout : uint8_t { Plain, Transposed, Interleaved };

struct Operand {
  Layout layout = Layout::Plain;
  Shape batch;  // leading dimensions
  Dim rows, columns;

  // The view of an input, as rows x columns. If transposed it is columns x rows, and matmul has the option for that.
  Tensor declare(Trial& t, const char* name) const {
    Shape shape = batch;
    shape.push_back(layout == Layout::Transposed ? columns : rows);
    if (layout == Layout::Interleaved) shape.push_back(2);
    shape.push_back(layout == Layout::Transposed ? rows : columns);
    const Tensor x = t.input(name, shape);
    return layout == Layout::Interleaved ? t.graph.select(x, shape.rank - 2, 1) : x;
  }
  // Values of a run as rows x columns.
  Array give(Run& run, const char* name, Sizes sizes, int64_t m, int64_t n, uint64_t seed) const {
    const auto with = [&](std::initializer_list<int64_t> more) {
      Sizes all = sizes;
      all.insert(all.end(), more);
      return all;
    };
    if (layout == Layout::Plain) return run.input(name, uniform(with({m, n}), seed));
    if (layout == Layout::Transposed) return transposed(run.input(name, uniform(with({n, m}), seed)));
    const Array both = run.input(name, uniform(with({m, 2, n}), seed));
    return reshape(slice(both, static_cast<int>(sizes.size()) + 1, 1, 1), with({m, n}));
  }
};

struct Epilogue {
  bool bias, residual, gated, dropout;
  Activation activation;
};

enum class Kind : uint8_t { Many, FewRows, LongSums };

void build_product(Trial& t, Random& random, Kind kind) {
  const bool few = kind == Kind::FewRows, deep = kind == Kind::LongSums;
  const int64_t rank = few ? 2 : deep ? random.pick({2, 2, 4}) : random.pick({2, 3, 3, 4});
  const bool constants = random.one_in(3), shared = rank == 2 || (!deep && !random.one_in(3));
  const auto layout = [&] { return static_cast<Layout>(random.pick({0, 0, 1, 1, 2})); };
  const Epilogue e = {random.coin(), random.coin(), random.one_in(3), random.one_in(4),
                      static_cast<Activation>(random.below(6))};
  const float scale = random.coin() ? 1.0f : 0.5f;
  t.options.training = true;
  t.options.emulate_f32 = random.one_in(3);

  Drawn drawn(t, random);
  const int64_t most_m = few ? random.pick({1, 4, 8}) : deep ? random.pick({1, 8, 30}) : 70;
  const int64_t most_k = few ? random.pick({400, 1500, 2100}) : deep ? 3000 : random.pick({90, 90, 90, 90, 200, 1100});
  const Dim batch = drawn.size("batch", 3), m = drawn.size("m", most_m),
            n = drawn.size("n", deep ? 30 : 140, constants), k = drawn.size("k", most_k, constants && !deep);
  Shape outer;
  if (rank == 4) outer.push_back(2);
  if (rank >= 3) outer.push_back(batch);
  const Operand a = {layout(), outer, m, k}, b = {layout(), shared ? Shape() : outer, k, n};
  Tensor y = t.graph.matmul(
      a.declare(t, "a"), b.declare(t, "b"),
      {.transpose_a = a.layout == Layout::Transposed, .transpose_b = b.layout == Layout::Transposed, .scale = scale});
  Shape whole = outer;
  whole.push_back(m);
  whole.push_back(n);
  if (e.bias) y = t.graph.add(y, t.input("bias", {n}));
  if (e.activation != Activation::None) y = t.graph.activation(y, e.activation);
  if (e.dropout) y = t.graph.dropout(y, 0.3f);
  if (e.residual) {
    const Tensor residual = t.input("residual", whole);
    y = e.gated ? t.graph.mul(y, residual) : t.graph.add(y, residual);
  }
  t.graph.output("y", y);

  drawn.fill_runs([&](Run& run, const Sizes& s) {
    const uint64_t seed = random.next();
    Sizes sizes;
    if (rank == 4) sizes.push_back(2);
    if (rank >= 3) sizes.push_back(s[0]);
    const Array va = a.give(run, "a", sizes, s[1], s[3], seed),
                vb = b.give(run, "b", shared ? Sizes() : sizes, s[3], s[2], seed + 1);
    Array v = t.product(va, vb, static_cast<double>(scale));
    if (e.bias) v = add(v, run.input("bias", uniform({s[2]}, seed + 2)));
    if (e.activation != Activation::None) v = activation(v, e.activation);
    if (e.dropout) v = dropout(t.stored(v), static_cast<double>(0.3f), run.options.seed, 0);
    if (e.residual) {
      const Array residual = run.input("residual", uniform(v.shape, seed + 3));
      v = e.gated ? mul(v, residual) : add(v, residual);
    }
    run.expect("y", v, static_cast<double>(s[3]) + 16.0, 3);
  });
}

}  // namespace

void build_matmul(Trial& t, Random& random) { build_product(t, random, Kind::Many); }
void build_few_rows(Trial& t, Random& random) { build_product(t, random, Kind::FewRows); }
void build_long_sums(Trial& t, Random& random) { build_product(t, random, Kind::LongSums); }

}  // namespace heed::ops
