#include <cmath>
#include <functional>

#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

Sizes swapped(Sizes shape, bool swap) {
  if (swap) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

// --- Shapes: a [.., M, K] x b [.., K, N], either side given transposed

struct Product {
  Sizes a, b;
  bool transpose_a = false, transpose_b = false;
  double factor = 1.0;
  double magnitude = 1.0;
};

Case product_case(const Product& p) {
  const std::string name = text_of(p.a) + (p.transpose_a ? "^T" : "") + " * " + text_of(p.b) +
                           (p.transpose_b ? "^T" : "") + (p.factor != 1.0 ? " scaled" : "") +
                           (p.magnitude != 1.0 ? " large" : "");
  return {name, [p](Trial& t) {
            const Sizes sa = swapped(p.a, p.transpose_a), sb = swapped(p.b, p.transpose_b);
            const Tensor a = t.input("a", shape_of(sa)), b = t.input("b", shape_of(sb));
            const auto factor = static_cast<float>(p.factor);
            t.graph.output("y", t.graph.matmul(a, b, {p.transpose_a, p.transpose_b, factor}));
            Run& run = t.run();
            // f16 ends at 65,504.
            const double size = t.dtype == DType::F16 ? 1.0 : p.magnitude;
            Array va = run.input("a", uniform(sa, 1, -size, size)), vb = run.input("b", uniform(sb, 2));
            if (p.transpose_a) va = transposed(va);
            if (p.transpose_b) vb = transposed(vb);
            run.expect("y", t.product(va, vb, static_cast<double>(factor)), static_cast<double>(va.dim(0)));
          }};
}

void add_products(std::vector<Case>* cases) {
  // Around register and workgroup tiles of 8 to 128, primes, single rows and columns, long and short sums.
  const int64_t mnk[][3] = {
      {1, 1, 1},      {1, 7, 64},      {2, 3, 5},       {7, 8, 9},      {8, 8, 8},     {9, 7, 15},   {15, 16, 17},
      {17, 15, 16},   {31, 33, 32},    {32, 32, 32},    {33, 31, 1},    {63, 65, 64},  {64, 64, 64}, {65, 63, 127},
      {127, 129, 31}, {128, 128, 128}, {129, 127, 33},  {13, 257, 101}, {1, 300, 511}, {300, 1, 77}, {37, 41, 1},
      {5, 3, 3072},   {2, 2, 20011},   {1, 2, 1000003}, {257, 5, 2},    {1, 2053, 3},  {2053, 1, 3}, {97, 89, 83}};
  for (const auto& s : mnk) cases->push_back(product_case({{s[0], s[2]}, {s[2], s[1]}}));
  for (const auto& s : {std::array<int64_t, 3>{33, 31, 65}, {64, 64, 64}, {1, 129, 17}, {67, 1, 300}, {3, 5, 259}}) {
    for (const int transposes : {1, 2, 3})
      cases->push_back(product_case({{s[0], s[2]}, {s[2], s[1]}, (transposes & 1) != 0, (transposes & 2) != 0, 0.125}));
  }
  cases->push_back(product_case({{40, 70}, {70, 50}, false, false, 1.0, 1e18}));
  cases->push_back(product_case({{40, 70}, {70, 50}, false, false, -3.7}));
  // Batches, broadcast on either side, and more than 65,535 of them.
  cases->push_back(product_case({{3, 17, 33}, {33, 19}}));
  cases->push_back(product_case({{17, 33}, {3, 33, 19}}));
  cases->push_back(product_case({{2, 3, 9, 10}, {2, 3, 10, 11}}));
  cases->push_back(product_case({{2, 3, 9, 10}, {2, 1, 10, 11}}));
  cases->push_back(product_case({{2, 1, 9, 10}, {1, 3, 10, 11}}));
  cases->push_back(product_case({{2, 3, 9, 10}, {3, 10, 11}, false, true}));
  cases->push_back(product_case({{2, 3, 1, 300}, {2, 3, 300, 20}, true}));
  // Splits along k, with batches, and with a shorter last split.
  cases->push_back(product_case({{3, 5, 1100}, {3, 1100, 7}}));
  cases->push_back(product_case({{3, 40, 1100}, {1100, 36}, false, true, -0.5}));
  cases->push_back(product_case({{2, 3, 2, 1664}, {2, 3, 1664, 5}}));
  cases->push_back(product_case({{2, 1, 3, 1100}, {3, 1100, 6}, true, true}));
  cases->push_back(product_case({{5, 1, 13}, {13, 70}}));
  cases->push_back(product_case({{300, 3, 5}, {300, 5, 7}}));
  cases->push_back(product_case({{70001, 1, 2}, {70001, 2, 3}}));
  cases->back().many_groups = true;
  cases->push_back(product_case({{70001, 2}, {2, 3}}));
  cases->push_back(product_case({{2, 3}, {3, 70001}}));
}

// --- Views: operands that are slices and permutations

// Queries times keys of a fused projection [B, S, 3, H, D], as in attention.
Case fused_projection_case(int64_t batch, int64_t tokens, int64_t heads, int64_t width) {
  return {"fused qkv " + text_of({batch, tokens, heads, width}), [=](Trial& t) {
            const Sizes shape = {batch, tokens, 3, heads, width};
            const Tensor x = t.input("x", shape_of(shape));
            const auto part = [&](int64_t i) { return t.graph.transpose(t.graph.select(x, 2, i), 1, 2); };
            t.graph.output("y", t.graph.matmul(part(0), part(1), {.transpose_b = true}));
            Run& run = t.run();
            const Array v = run.input("x", uniform(shape, 3));
            const auto ref = [&](int64_t i) {
              return permute(reshape(slice(v, 2, i, 1), {batch, tokens, heads, width}), {0, 2, 1, 3});
            };
            run.expect("y", t.product(ref(0), transposed(ref(1))), static_cast<double>(width));
          }};
}

// Slices that begin at odd elements, for which vector loads would be misaligned.
Case odd_slice_case(int64_t m, int64_t n, int64_t k) {
  return {"odd slices " + text_of({m, n, k}), [=](Trial& t) {
            const Tensor a = t.input("a", {m + 2, k + 3}), b = t.input("b", {k + 1, n + 5});
            const Tensor a_part = t.graph.slice(t.graph.slice(a, 0, 1, m), 1, 3, k);
            const Tensor b_part = t.graph.slice(t.graph.slice(b, 0, 1, k), 1, 1, n);
            t.graph.output("y", t.graph.matmul(a_part, b_part));
            Run& run = t.run();
            const Array va = run.input("a", uniform({m + 2, k + 3}, 4)),
                        vb = run.input("b", uniform({k + 1, n + 5}, 5));
            run.expect("y", t.product(slice(slice(va, 0, 1, m), 1, 3, k), slice(slice(vb, 0, 1, k), 1, 1, n)),
                       static_cast<double>(k));
          }};
}

// --- Extents: one plan, several sizes

Case extents_case() {
  return {
      "extents", [](Trial& t) {
        const Dim batch = t.graph.extent("batch", 3), m = t.graph.extent("m", 70), n = t.graph.extent("n", 67),
                  k = t.graph.extent("k", 131);
        const Tensor a = t.input("a", {batch, m, k}), b = t.input("b", {batch, k, n}), r = t.input("r", {batch, m, n});
        t.graph.output("y", t.graph.add(t.graph.matmul(a, b), r));
        for (const auto& s : {std::array<int64_t, 4>{3, 70, 67, 131}, {1, 1, 1, 1}, {2, 33, 65, 17}, {3, 8, 1, 130}}) {
          Run& run = t.run({{"batch", s[0]}, {"m", s[1]}, {"n", s[2]}, {"k", s[3]}});
          const Array va = run.input("a", uniform({s[0], s[1], s[3]}, 6));
          const Array vb = run.input("b", uniform({s[0], s[3], s[2]}, 7));
          const Array vr = run.input("r", uniform({s[0], s[1], s[2]}, 8));
          run.expect("y", add(t.stored(t.product(va, vb)), vr), static_cast<double>(s[3]), 2);
        }
      }};
}

// --- Epilogue: bias, activation, dropout, residual or gate, each alone and all together

struct Epilogue {
  bool bias = false;
  Activation activation = Activation::None;
  bool dropout = false;
  bool residual = false;
  bool gate = false;
};

const char* name_of(Activation kind) {
  static constexpr const char* kNames[] = {"", " relu", " gelu_erf", " gelu_tanh", " silu", " tanh"};
  return kNames[static_cast<int>(kind)];
}

// `apart` makes every intermediate result an output, which prevents fusion and must not change the values.
Case epilogue_case(const Epilogue& e, int64_t batch, int64_t m, int64_t n, int64_t k, bool apart) {
  const std::string name = std::string("epilogue") + (e.bias ? " bias" : "") + name_of(e.activation) +
                           (e.dropout ? " dropout" : "") + (e.residual ? " residual" : "") + (e.gate ? " gate" : "") +
                           " " + text_of({batch, m, n, k}) + (apart ? " apart" : "");
  return {name, [=](Trial& t) {
            constexpr float kP = 0.3f;
            t.options.training = true;
            Run& run = t.run();
            run.options.seed = 1234567;
            const Tensor x = t.input("x", {batch, m, k});
            Array w = uniform({n, k}, 9, -2.0, 2.0), b = uniform({n}, 10);
            const Array vx = run.input("x", uniform({batch, m, k}, 11));
            Tensor y = t.graph.linear(x, t.weight("w", &w));
            Array v = t.stored(t.product(vx, transposed(w)));
            int parts = 0;
            const auto next = [&](Tensor tensor, const Array& reference) {
              if (apart) {
                const std::string output = "part" + std::to_string(parts);
                t.graph.output(output, y);
                run.expect(output, v, static_cast<double>(k), parts + 1);
              }
              y = tensor;
              v = t.stored(reference);
              ++parts;
            };
            if (e.bias) {
              const Tensor bias = t.weight("b", &b);
              next(t.graph.add(y, bias), add(v, b));
            }
            if (e.activation != Activation::None)
              next(t.graph.activation(y, e.activation), activation(v, e.activation));
            if (e.dropout) next(t.graph.dropout(y, kP, 5), dropout(v, static_cast<double>(kP), run.options.seed, 5));
            if (e.residual) {
              const Tensor r = t.input("r", {batch, m, n});
              next(t.graph.add(y, r), add(v, run.input("r", uniform({batch, m, n}, 12))));
            }
            if (e.gate) {
              const Tensor r = t.input("gate", {batch, m, n});
              next(t.graph.mul(r, y), mul(run.input("gate", uniform({batch, m, n}, 13)), v));
            }
            t.graph.output("y", y);
            run.expect("y", v, 4.0 * static_cast<double>(k), parts + 1);
            if (!apart) t.passes = {"matmul"};
          }};
}

void add_epilogues(std::vector<Case>* cases) {
  // All of these are fused; random_matmul.cpp draws other combinations.
  std::vector<Epilogue> parts = {{.bias = true},
                                 {.dropout = true, .residual = true},
                                 {.gate = true},
                                 {.bias = true, .activation = Activation::Silu, .gate = true}};
  for (const Activation kind :
       {Activation::Relu, Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Tanh})
    parts.push_back({true, kind, true, true});
  for (const Epilogue& e : parts) {
    cases->push_back(epilogue_case(e, 2, 33, 65, 40, false));
    if (!e.dropout || e.activation == Activation::GeluErf) {
      cases->push_back(epilogue_case(e, 2, 33, 65, 40, true));
      cases->push_back(epilogue_case(e, 1, 1, 130, 19, false));
    }
  }
  cases->push_back(epilogue_case({true, Activation::GeluErf, true, true}, 3, 1, 70, 320, false));
  cases->push_back(epilogue_case({true, Activation::Tanh, true, true}, 2, 9, 20, 2111, false));
  cases->push_back(epilogue_case({.gate = true}, 1, 2, 40, 2111, false));
}

// Sums at which an activation saturates, and infinities and NaN.
Case epilogue_limits_case(Activation kind, int64_t m, int64_t n, int64_t k) {
  return {std::string("limits of") + name_of(kind) + " " + text_of({m, n, k}),
          [=](Trial& t) {
            Array w = filled({n, k}, 0.0), b = limit_values({n});
            const Tensor x = t.input("x", {m, k}), weight = t.weight("w", &w), bias = t.weight("b", &b);
            t.graph.output("y", t.graph.activation(t.graph.linear(x, weight, bias), kind));
            Run& run = t.run();
            run.input("x", uniform({m, k}, 17));
            run.expect_exact("y", broadcast(activation_limits(b, kind), {m, n}), t.dtype);
            t.passes = {"matmul"};
          },
          true};
}

// A strided residual, and a bias that is no plain vector: the result must be right whether or not it is fused.
Case odd_epilogue_case() {
  return {"residual as a transposed view, bias per row", [](Trial& t) {
            const Tensor a = t.input("a", {20, 30}), b = t.input("b", {30, 40}), r = t.input("r", {40, 20}),
                         c = t.input("c", {20, 1});
            const Tensor y = t.graph.add(t.graph.matmul(a, b), c);
            t.graph.output("y", t.graph.add(y, t.graph.transpose(r, 0, 1)));
            Run& run = t.run();
            const Array va = run.input("a", uniform({20, 30}, 13)), vb = run.input("b", uniform({30, 40}, 14));
            const Array vr = run.input("r", uniform({40, 20}, 15)), vc = run.input("c", uniform({20, 1}, 16));
            const Array sum = t.stored(add(t.stored(t.product(va, vb)), vc));
            run.expect("y", add(sum, transposed(vr)), 64.0, 3);
          }};
}

// Weights: b is the same in every run, so that a device may store it in its own layout.
Case weight_case(int64_t m, int64_t n, int64_t k, bool transpose) {
  return {"weight " + text_of({m, n, k}) + (transpose ? " b^T" : ""), [=](Trial& t) {
            Array w = uniform(transpose ? Sizes{n, k} : Sizes{k, n}, 17);
            const Tensor b = t.weight("w", &w);
            t.graph.output("y", t.graph.matmul(t.input("a", {m, k}), b, {.transpose_b = transpose}));
            Run& run = t.run();
            run.expect("y", t.product(run.input("a", uniform({m, k}, 18)), transpose ? transposed(w) : w),
                       static_cast<double>(k));
            t.passes = {"matmul"};
          }};
}

// Several matmuls that use slices of one weight, and rows of a that are no plain matrix.
Case weight_parts_case() {
  return {"parts of a weight", [](Trial& t) {
            Array w = uniform({3, 40, 50}, 19);
            const Tensor b = t.weight("w", &w);
            const Tensor a = t.input("a", {2, 9, 120});
            const Tensor part = t.graph.slice(t.graph.slice(a, 2, 40, 40), 1, 2, 5);
            t.graph.output("x", t.graph.matmul(part, t.graph.select(b, 0, 1)));
            t.graph.output("y", t.graph.matmul(part, t.graph.slice(t.graph.select(b, 0, 2), 1, 7, 33)));
            t.graph.output("z", t.graph.matmul(t.graph.slice(t.graph.slice(a, 2, 0, 50), 1, 3, 1),
                                               t.graph.select(b, 0, 1), {.transpose_b = true}));
            const Tensor heads = t.input("h", {2, 3, 4, 40});
            t.graph.output("batched", t.graph.matmul(heads, b));
            Run& run = t.run();
            const Array va = run.input("a", uniform({2, 9, 120}, 20)), vh = run.input("h", uniform({2, 3, 4, 40}, 21));
            const auto ref = [&](int64_t i) { return reshape(slice(w, 0, i, 1), {40, 50}); };
            const Array vp = slice(slice(va, 2, 40, 40), 1, 2, 5);
            run.expect("x", t.product(vp, ref(1)), 40.0);
            run.expect("y", t.product(vp, slice(ref(2), 1, 7, 33)), 40.0);
            run.expect("z", t.product(slice(slice(va, 2, 0, 50), 1, 3, 1), transposed(ref(1))), 50.0);
            run.expect("batched", t.product(vh, w), 40.0);
          }};
}

void add_weights(std::vector<Case>* cases) {
  for (const int64_t m : {1, 2, 5, 6, 7, 11, 12, 13, 25, 193})
    for (const bool transpose : {false, true}) cases->push_back(weight_case(m, 33, 70, transpose));
  for (const int64_t n : {1, 15, 16, 17, 32, 129, 300}) {
    cases->push_back(weight_case(1, n, 61, true));
    cases->push_back(weight_case(14, n, 61, true));
  }
  for (const int64_t k : {1, 2, 767, 769, 1600})
    for (const int64_t m : {1, 3, 26}) cases->push_back(weight_case(m, 150, k, true));
  // Few rows with long sums, with b that can be read 16 bytes at a time and b that cannot.
  for (const int64_t m : {2, 8})
    for (const int64_t k : {264, 301})
      for (const bool transpose : {false, true}) cases->push_back(weight_case(m, 72, k, transpose));
  cases->push_back(weight_parts_case());
}

std::vector<Case> all_products() {
  std::vector<Case> cases;
  add_products(&cases);
  cases.push_back(fused_projection_case(2, 19, 3, 8));
  cases.push_back(fused_projection_case(1, 65, 2, 33));
  cases.push_back(fused_projection_case(3, 1, 4, 5));
  cases.push_back(odd_slice_case(33, 31, 65));
  cases.push_back(odd_slice_case(64, 64, 64));
  cases.push_back(odd_slice_case(1, 130, 7));
  cases.push_back(odd_slice_case(3, 66, 300));
  cases.push_back(extents_case());
  add_epilogues(&cases);
  cases.push_back(odd_epilogue_case());
  add_weights(&cases);
  return cases;
}

// --- f32 matmul by two f16 summands (CompileOptions::emulate_f32)

// Elements of f32 of any magnitude: element (i, k) of a is near 2^exponent(i, k).
Case magnitudes_case(const char* name, int64_t m, int64_t n, int64_t k, double b_size,
                     const std::function<int64_t(int64_t, int64_t)>& exponent) {
  return {name, [=](Trial& t) {
            t.options.emulate_f32 = true;
            t.graph.output("y", t.graph.matmul(t.input("a", {m, k}), t.input("b", {k, n})));
            Run& run = t.run();
            Array a = uniform({m, k}, 22, 0.5, 1.0), b = uniform({k, n}, 23, -b_size, b_size);
            for (int64_t i = 0; i < a.size(); ++i)
              a.at(i) = std::ldexp(i % 3 == 0 ? -a.at(i) : a.at(i), static_cast<int>(exponent(i / k, i % k)));
            const Array va = run.input("a", a), vb = run.input("b", b);
            run.expect_within("y", t.product(va, vb));
          }};
}

// Infinities and NaN propagate as in IEEE 754, and rows and columns without them keep their bound.
Case strange_case(int64_t m, int64_t n, int64_t k) {
  return {"infinities and NaN " + text_of({m, n, k}), [=](Trial& t) {
            t.options.emulate_f32 = true;
            t.graph.output("y", t.graph.matmul(t.input("a", {m, k}), t.input("b", {k, n})));
            Run& run = t.run();
            Array a = uniform({m, k}, 24), b = uniform({k, n}, 25);
            a.at(2 * k + k - 1) = INFINITY;
            a.at(5 * k) = NAN;
            b.at(7) = -INFINITY;
            b.at((k - 1) * n + 9) = 0.0;  // times infinity: NaN
            const Array va = run.input("a", a), vb = run.input("b", b);
            run.expect_within("y", t.product(va, vb));
          }};
}

std::vector<Case> emulated_products() {
  std::vector<Case> cases = {
      magnitudes_case("all tiny", 70, 66, 100, 1e-13, [](int64_t, int64_t) { return -60; }),
      magnitudes_case("all huge", 70, 66, 100, 1e10, [](int64_t, int64_t) { return 80; }),
      magnitudes_case("subnormal products", 40, 40, 40, 1e-30, [](int64_t, int64_t) { return -100; }),
      magnitudes_case("largest", 40, 40, 40, 0.01, [](int64_t, int64_t) { return 127; }),
      magnitudes_case("beside f16's range", 70, 66, 100, 1.0, [](int64_t i, int64_t k) { return i * 7 % 40 - k % 20; }),
      magnitudes_case("growing along k", 40, 70, 300, 1.0, [](int64_t, int64_t k) { return k / 3 - 60; }),
      magnitudes_case("shrinking along k", 40, 70, 300, 1.0, [](int64_t, int64_t k) { return 60 - k / 3; }),
      magnitudes_case("leaping along k", 40, 70, 300, 1.0, [](int64_t, int64_t k) { return k < 100 ? -140 : 100; }),
      strange_case(70, 66, 100),
      strange_case(140, 300, 33),
  };
  for (Case& one : all_products()) {
    const auto build = one.build;
    one.build = [build](Trial& t) {
      t.options.emulate_f32 = true;
      build(t);
    };
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace

TEST_CASE("matmul with activations at their limits on every device", "[ops]") {
  Operation operation{"matmul", {}};
  for (const Activation kind :
       {Activation::Relu, Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Tanh})
    operation.cases.push_back(epilogue_limits_case(kind, 17, 70, 24));
  for (const auto& s : {std::array<int64_t, 3>{1, 130, 19}, {40, 64, 32}, {9, 20, 2111}})
    operation.cases.push_back(epilogue_limits_case(Activation::Silu, s[0], s[1], s[2]));
  check(operation);
}

TEST_CASE("matmul on every device", "[ops]") { check({"matmul", all_products()}); }

TEST_CASE("matmul that may emulate f32 on every device", "[ops]") {
  check({"matmul, emulated", emulated_products(), {DType::F32}});
}

}  // namespace heed::ops
