// Elementwise functions of floats and integers, comparisons, where, casts, and chains of them.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "harness/catch.hpp"
#include "harness/functions.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

Case function_case(const FunctionReference& function, const Sizes& sa, const Sizes& sb) {
  return {std::string(function.name) + " " + text_of(sa) + (function.operands > 1 ? " and " + text_of(sb) : ""),
          [&function, sa, sb](Trial& t) {
            const Tensor a = t.input("a", shape_of(sa));
            const Tensor b = function.operands > 1 ? t.input("b", shape_of(sb)) : Tensor{};
            t.graph.output("y", function.build(t.graph, a, b));
            Run& run = t.run();
            const Array va = run.input("a", uniform(sa, 201, function.low, function.high));
            const Array vb = function.operands > 1 ? run.input("b", uniform(sb, 202, function.low, function.high)) : va;
            run.expect_within("y", t.stored(apply(function, va, vb)), t.dtype);
            t.passes = {"elementwise"};
          }};
}

// Infinities, NaN, zeros, and numbers near the ends of the range; for two operands, all pairs.
Case special_case(const FunctionReference& function) {
  return {"special values of " + std::string(function.name), [&function](Trial& t) {
            const std::vector<double> special = {0.0,      0.25, 1.0,  -1.0,      2.0,        -2.0, 0.5,
                                                 -0.5,     3.0,  -3.0, kInfinity, -kInfinity, NAN,  60000.0,
                                                 -60000.0, 2.5,  -2.5, 1e-4,      -1e-4,      80.0, -80.0};
            const auto n = static_cast<int64_t>(special.size());
            const bool two = function.operands > 1;
            const Tensor a = t.input("a", {n, 1}), b = t.input("b", {n});
            t.graph.output("y", two ? function.build(t.graph, a, b) : function.build(t.graph, b, b));
            if (!two) t.graph.output("a2", t.graph.scale(a, 1.0f));
            Run& run = t.run();
            const Array va = run.input("a", values({n, 1}, special)), vb = run.input("b", values({n}, special));
            if (!two) run.expect_exact("a2", va, t.dtype);
            Array y = two ? apply(function, va, vb) : apply(function, vb, vb);
            // Outside of the usual range of operands, summands that cancel are larger, and exp rounds more often.
            for (int64_t i = 0; i < y.size(); ++i) {
              if (std::isfinite(y.at(i))) y.err(i) += 512 * kUnit * std::abs(y.at(i)) + 1e-6;
              if (std::isinf(round_to(t.dtype, y.at(i)))) y.at(i) = round_to(t.dtype, y.at(i)), y.err(i) = 0.0;
              // The remainder of so large a quotient may be any value below the divisor.
              const bool is_mod = std::string_view(function.name) == "mod";
              if (is_mod && std::abs(va.at(i / n)) > 0x1p22 * std::abs(vb.at(i % n))) y.err(i) = kInfinity;
            }
            run.expect_within("y", t.stored(y), t.dtype);
          }};
}

// Values that exist both as f32 and as integers.
Case comparison_case(DType type, const Sizes& sa, const Sizes& sb) {
  return {std::string("comparisons of ") + to_string(type) + " " + text_of(sa) + " and " + text_of(sb), [=](Trial& t) {
            const bool narrow = type == DType::F16 || type == DType::BF16;
            if (t.dtype != (narrow ? type : DType::F32)) return;
            const Tensor a = t.graph.input("a", shape_of(sa), type), b = t.graph.input("b", shape_of(sb), type);
            Run& run = t.run();
            Array va = whole_numbers(sa, 203, type == DType::U8 ? 0 : -3, 4),
                  vb = whole_numbers(sb, 204, type == DType::U8 ? 0 : -3, 4);
            if (type != DType::I32 && type != DType::U8)
              for (int64_t i = 0; i < va.size(); i += 5) va.at(i) = NAN;
            va = run.input("a", va, type), vb = run.input("b", vb, type);
            struct {
              const char* name;
              Tensor result;
              bool (*holds)(double, double);
            } const all[] = {{"eq", t.graph.eq(a, b), [](double x, double y) { return x == y; }},
                             {"ne", t.graph.ne(a, b), [](double x, double y) { return x != y; }},
                             {"lt", t.graph.lt(a, b), [](double x, double y) { return x < y; }},
                             {"le", t.graph.le(a, b), [](double x, double y) { return x <= y; }},
                             {"gt", t.graph.gt(a, b), [](double x, double y) { return x > y; }},
                             {"ge", t.graph.ge(a, b), [](double x, double y) { return x >= y; }}};
            Array shape = add(va, vb);
            const Array x = broadcast(va, shape.shape), y = broadcast(vb, shape.shape);
            for (const auto& one : all) {
              t.graph.output(one.name, one.result);
              Array expected(shape.shape);
              for (int64_t i = 0; i < expected.size(); ++i) expected.at(i) = one.holds(x.at(i), y.at(i)) ? 1.0 : 0.0;
              run.expect_exact(one.name, expected, DType::U8);
            }
            t.graph.output("chosen", t.graph.where(t.graph.gt(a, b), a, b));
            Array chosen(shape.shape);
            for (int64_t i = 0; i < chosen.size(); ++i) chosen.at(i) = x.at(i) > y.at(i) ? x.at(i) : y.at(i);
            run.expect_exact("chosen", chosen, type);
          }};
}

Case logic_case(const Sizes& shape) {
  return {"logic " + text_of(shape), [=](Trial& t) {
            if (t.dtype != DType::F32) return;
            Graph& g = t.graph;
            const Tensor a = g.input("a", shape_of(shape), DType::U8), b = g.input("b", shape_of(shape), DType::U8);
            g.output("and", g.logical_and(a, b));
            g.output("or", g.logical_or(a, b));
            g.output("not", g.logical_not(a));
            Run& run = t.run();
            const Array va = run.input("a", whole_numbers(shape, 205, 0, 3), DType::U8),
                        vb = run.input("b", whole_numbers(shape, 206, 0, 3), DType::U8);
            Array both(shape), either(shape), neither(shape);
            for (int64_t i = 0; i < both.size(); ++i) {
              both.at(i) = va.at(i) != 0 && vb.at(i) != 0 ? 1.0 : 0.0;
              either.at(i) = va.at(i) != 0 || vb.at(i) != 0 ? 1.0 : 0.0;
              neither.at(i) = va.at(i) == 0 ? 1.0 : 0.0;
            }
            run.expect_exact("and", both, DType::U8);
            run.expect_exact("or", either, DType::U8);
            run.expect_exact("not", neither, DType::U8);
          }};
}

// Integer arithmetic wraps around; division by 0 does not trap.
Case whole_case(const Sizes& shape) {
  return {"whole numbers " + text_of(shape), [=](Trial& t) {
            if (t.dtype != DType::F32) return;
            Graph& g = t.graph;
            const Tensor a = g.input("a", shape_of(shape), DType::I32), b = g.input("b", {shape.back()}, DType::I32);
            Run& run = t.run();
            constexpr double kLeast = -2147483648.0, kMost = 2147483647.0;
            Array va = whole_numbers(shape, 207, -1000000, 1000000), vb = whole_numbers({shape.back()}, 208, -50, 50);
            va.at(0) = kLeast, vb.at(0) = -1, vb.at(vb.size() - 1) = 0;
            va = run.input("a", va, DType::I32), vb = run.input("b", vb, DType::I32);
            const Array y = broadcast(vb, shape);
            const auto wrapped = [](double v) {
              return static_cast<double>(static_cast<int32_t>(static_cast<uint32_t>(static_cast<int64_t>(v))));
            };
            const auto expect = [&](const char* name, Tensor result, const auto& value) {
              g.output(name, result);
              Array expected(shape);
              for (int64_t i = 0; i < expected.size(); ++i) expected.at(i) = wrapped(value(va.at(i), y.at(i)));
              run.expect_exact(name, expected, DType::I32);
            };
            expect("add", g.add(a, b), [](double x, double z) { return x + z; });
            expect("sub", g.sub(a, b), [](double x, double z) { return x - z; });
            expect("mul", g.mul(a, b), [](double x, double z) { return x * z; });
            expect("div", g.div(a, b), [](double x, double z) { return z == 0 ? 0 : std::trunc(x / z); });
            expect("mod", g.mod(a, b), [](double x, double z) { return z == 0 ? 0 : x - z * std::floor(x / z); });
            expect("minimum", g.minimum(a, b), [](double x, double z) { return std::min(x, z); });
            expect("maximum", g.maximum(a, b), [](double x, double z) { return std::max(x, z); });
            expect("neg", g.neg(a), [](double x, double) { return -x; });
            expect("abs", g.abs(a), [](double x, double) { return std::abs(x); });
            expect("sign", g.sign(a), [](double x, double) { return (x > 0) - (x < 0) + 0.0; });
            expect("number", g.sub(g.number(kMost, DType::I32), a), [](double x, double) { return kMost - x; });
          }};
}

Case kinds_case(const Sizes& shape) {
  return {"casts between kinds " + text_of(shape), [=](Trial& t) {
            Graph& g = t.graph;
            Run& run = t.run();
            const Tensor x = t.input("x", shape_of(shape));
            Array v = uniform(shape, 209, -300.0, 300.0);
            const double special[] = {NAN, kInfinity, -kInfinity, 2.5, -2.5, 255.5, 256.0, -0.5};
            for (int64_t i = 0; i < std::min<int64_t>(v.size(), 8); ++i) v.at(i) = special[i];
            v = run.input("x", v);
            const auto limited = [](double f, double low, double high) {
              return std::isnan(f) ? 0.0 : std::trunc(std::clamp(f, low, high));
            };
            Array whole(shape), bytes(shape);
            for (int64_t i = 0; i < v.size(); ++i) {
              whole.at(i) = limited(v.at(i), -2147483648.0, 2147483647.0);
              bytes.at(i) = limited(v.at(i), 0.0, 255.0);
            }
            g.output("whole", g.cast(x, DType::I32));
            g.output("bytes", g.cast(x, DType::U8));
            run.expect_exact("whole", whole, DType::I32);
            run.expect_exact("bytes", bytes, DType::U8);
            const Tensor i = g.input("i", shape_of(shape), DType::I32), u = g.input("u", shape_of(shape), DType::U8);
            const Array vi = run.input("i", whole_numbers(shape, 210, -50, 3000), DType::I32),
                        vu = run.input("u", whole_numbers(shape, 211, 0, 256), DType::U8);
            Array low(shape);
            for (int64_t k = 0; k < low.size(); ++k)
              low.at(k) = static_cast<double>(static_cast<uint8_t>(static_cast<int32_t>(vi.at(k))));
            g.output("low", g.cast(i, DType::U8));
            run.expect_exact("low", low, DType::U8);
            g.output("wide", g.cast(u, DType::I32));
            run.expect_exact("wide", vu, DType::I32);
            g.output("float", g.cast(i, t.dtype));
            g.output("float of byte", g.cast(u, t.dtype));
            run.expect_exact("float", vi, t.dtype);
            run.expect_exact("float of byte", vu, t.dtype);
          }};
}

// Large 32-bit integer sums convert to f32 by rounding to nearest even.
Case large_cast_case() {
  return {"large whole numbers as f32", [](Trial& t) {
            if (t.dtype != DType::F32) return;
            t.graph.output("y", t.graph.cast(t.graph.input("x", {9}, DType::I32), DType::F32));
            Run& run = t.run();
            run.expect_exact("y",
                             run.input("x",
                                       values({9}, {16777217, 16777219, -16777217, 2147483647, -2147483648.0, 33554435,
                                                    -33554437, 123456789, 0}),
                                       DType::I32),
                             DType::F32);
          }};
}

// Chains that become one pass: gates of half rows, GELU spelled out, a residual with scale and clamp.
Case chain_case(const Sizes& shape, bool halves) {
  return {std::string("chain ") + (halves ? "of halves " : "") + text_of(shape), [=](Trial& t) {
            Graph& g = t.graph;
            Run& run = t.run();
            Sizes whole = shape;
            whole.back() *= 2;
            const Tensor x = t.input("x", shape_of(halves ? whole : shape)), r = t.input("r", {shape.back()});
            const Array vx = run.input("x", uniform(halves ? whole : shape, 212, -3, 3)),
                        vr = run.input("r", uniform({shape.back()}, 213, -3, 3));
            const int axis = static_cast<int>(shape.size()) - 1;
            const Tensor a = halves ? g.slice(x, axis, 0, shape.back()) : x,
                         b = halves ? g.slice(x, axis, shape.back(), shape.back()) : x;
            const Array va = halves ? slice(vx, axis, 0, shape.back()) : vx,
                        vb = halves ? slice(vx, axis, shape.back(), shape.back()) : vx;
            Tensor y = g.mul(g.sigmoid(a), g.activation(b, Activation::Tanh));
            y = g.add(y, g.mul(g.mul(a, g.number(0.5)), g.add(g.erf(g.mul(b, g.number(0.70710678))), g.number(1))));
            y = g.clamp(g.sub(g.mul(y, r), g.scale(b, 0.25f)), -2.0f, 2.0f);
            g.output("y", y);
            const Array row = broadcast(vr, va.shape);
            Array expected(va.shape);
            for (int64_t i = 0; i < expected.size(); ++i) {
              double v = std::tanh(vb.at(i)) / (1.0 + std::exp(-va.at(i)));
              v += va.at(i) * 0.5 * (1.0 + std::erf(vb.at(i) * 0.70710678));
              expected.at(i) = std::clamp(v * row.at(i) - 0.25 * vb.at(i), -2.0, 2.0);
              expected.err(i) = 256 * kUnit * 4;
            }
            run.expect_within("y", t.stored(expected), t.dtype);
            if (!t.options.reproducible || t.dtype == DType::F32) t.passes = {"elementwise"};
          }};
}

// Six tensors with different broadcasts, and more steps than a short program has.
Case six_case(const Sizes& shape) {
  return {"six tensors " + text_of(shape), [=](Trial& t) {
            Graph& g = t.graph;
            Run& run = t.run();
            const Sizes row = {shape.back()}, column = {shape[shape.size() - 2], 1}, one = {1};
            const Sizes sizes[] = {shape, shape, row, column, shape, one};
            Tensor y;
            Array v;
            for (size_t i = 0; i < std::size(sizes); ++i) {
              const std::string name = "x" + std::to_string(i);
              const Tensor x = t.input(name.c_str(), shape_of(sizes[i]));
              const Array vx = run.input(name, uniform(sizes[i], 214 + i));
              y = i == 0 ? x : i % 2 == 0 ? g.add(y, x) : g.mul(y, x);
              v = i == 0 ? vx : i % 2 == 0 ? add(v, vx) : mul(v, vx);
            }
            g.output("y", y);
            run.expect("y", v, 256.0, 8);
          }};
}

}  // namespace

TEST_CASE("functions on every device", "[ops]") {
  Operation operation{"functions", {}};
  for (const FunctionReference& function : function_references()) {
    for (const int64_t n : {1, 5, 129, 1024, 9001}) operation.cases.push_back(function_case(function, {n}, {n}));
    operation.cases.push_back(function_case(function, {3, 5, 7}, {7}));
    operation.cases.push_back(function_case(function, {3, 1, 8}, {5, 1}));
    operation.cases.push_back(function_case(function, {2, 3, 4, 5, 6}, {2, 1, 4, 1, 6}));
  }
  check(operation);
}

TEST_CASE("special values of functions on every device", "[ops]") {
  Operation operation{"special values", {}};
  for (const FunctionReference& function : function_references()) operation.cases.push_back(special_case(function));
  check(operation);
}

TEST_CASE("comparisons and choices on every device", "[ops]") {
  Operation operation{"comparisons", {}};
  for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::I32, DType::U8})
    for (const auto& [a, b] :
         {std::pair{Sizes{1001}, Sizes{1001}}, {Sizes{4, 64}, Sizes{64}}, {Sizes{3, 5, 7}, Sizes{5, 1}}})
      operation.cases.push_back(comparison_case(type, a, b));
  for (const Sizes& shape : {Sizes{1}, Sizes{7, 5}, Sizes{4, 32}}) operation.cases.push_back(logic_case(shape));
  check(operation);
}

TEST_CASE("whole numbers on every device", "[ops]") {
  Operation operation{"whole numbers", {}};
  for (const Sizes& shape : {Sizes{9, 13}, Sizes{64, 128}, Sizes{1, 3}}) operation.cases.push_back(whole_case(shape));
  for (const Sizes& shape : {Sizes{8}, Sizes{33, 17}, Sizes{4, 256}}) operation.cases.push_back(kinds_case(shape));
  operation.cases.push_back(large_cast_case());
  check(operation);
}

TEST_CASE("chains of functions on every device", "[ops]") {
  Operation operation{"chains", {}};
  for (const Sizes& shape : {Sizes{3, 7}, Sizes{5, 64}, Sizes{2, 3, 40}})
    for (const bool halves : {false, true}) operation.cases.push_back(chain_case(shape, halves));
  for (const Sizes& shape : {Sizes{9, 12}, Sizes{5, 6, 33}}) operation.cases.push_back(six_case(shape));
  check(operation);
}

}  // namespace heed::ops
