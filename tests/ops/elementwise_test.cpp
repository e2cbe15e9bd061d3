// add, mul, scale, activation, cast, and the copies for reshapes and for views as outputs.
#include <iterator>

#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

Case binary_case(bool product, const Sizes& sa, const Sizes& sb) {
  return {(product ? "mul " : "add ") + text_of(sa) + " and " + text_of(sb), [=](Trial& t) {
            const Tensor a = t.input("a", shape_of(sa)), b = t.input("b", shape_of(sb));
            t.graph.output("y", product ? t.graph.mul(a, b) : t.graph.add(a, b));
            Run& run = t.run();
            const Array va = run.input("a", uniform(sa, 101)), vb = run.input("b", uniform(sb, 102));
            run.expect("y", product ? mul(va, vb) : add(va, vb));
            t.passes = {"elementwise"};
          }};
}

Case same_operand_case() {
  return {"both operands the same", [](Trial& t) {
            const Tensor a = t.input("a", {7, 9});
            t.graph.output("square", t.graph.mul(a, a));
            t.graph.output("double", t.graph.add(a, a));
            Run& run = t.run();
            const Array v = run.input("a", uniform({7, 9}, 103));
            run.expect("square", mul(v, v));
            run.expect("double", add(v, v));
          }};
}

Case activation_case(Activation kind, const Sizes& shape, double low, double high) {
  return {"activation " + std::to_string(static_cast<int>(kind)) + " " + text_of(shape) + " to " + std::to_string(high),
          [=](Trial& t) {
            t.graph.output("y", t.graph.activation(t.input("x", shape_of(shape)), kind));
            Run& run = t.run();
            // 256 roundings allow for cancellation, as in 1 + erf, which also shows in the mean square.
            run.expect("y", activation(run.input("x", uniform(shape, 104, low, high)), kind), 256.0);
          }};
}

Case limits_case(Activation kind, const Sizes& shape) {
  return {"limits of activation " + std::to_string(static_cast<int>(kind)) + " " + text_of(shape),
          [=](Trial& t) {
            t.graph.output("y", t.graph.activation(t.input("x", shape_of(shape)), kind));
            Run& run = t.run();
            run.expect_exact("y", activation_limits(run.input("x", limit_values(shape)), kind), t.dtype);
          },
          true};
}

Case scale_case(double factor) {
  return {"scale " + std::to_string(factor), [factor](Trial& t) {
            const auto f = static_cast<float>(factor);
            t.graph.output("y", t.graph.scale(t.input("x", {5, 77}), f));
            Run& run = t.run();
            run.expect("y", scale(run.input("x", uniform({5, 77}, 105)), static_cast<double>(f)));
          }};
}

// A chain has the same values whether it is fused or not.
Case chain_case(bool apart) {
  return {apart ? "chain apart" : "chain", [apart](Trial& t) {
            const Tensor a = t.input("a", {9, 65}), b = t.input("b", {65});
            Run& run = t.run();
            const Array va = run.input("a", uniform({9, 65}, 106)), vb = run.input("b", uniform({65}, 107));
            Tensor y = t.graph.add(a, b);
            Array v = t.stored(add(va, vb));
            if (apart) t.graph.output("sum", y), run.expect("sum", v);
            y = t.graph.activation(t.graph.scale(y, -1.5f), Activation::Silu);
            v = t.stored(activation(t.stored(scale(v, -1.5)), Activation::Silu));
            t.graph.output("y", t.graph.mul(y, a));
            run.expect("y", mul(v, va), 256.0, 4);
          }};
}

Case view_case() {
  return {"views as operands", [](Trial& t) {
            const Tensor a = t.input("a", {6, 5, 8}), b = t.input("b", {5, 4, 6});
            const Tensor left = t.graph.slice(t.graph.permute(a, {1, 0, 2}), 2, 3, 4);  // [5, 6, 4]
            t.graph.output("y", t.graph.add(left, t.graph.transpose(b, 1, 2)));
            Run& run = t.run();
            const Array va = run.input("a", uniform({6, 5, 8}, 108)), vb = run.input("b", uniform({5, 4, 6}, 109));
            run.expect("y", add(slice(permute(va, {1, 0, 2}), 2, 3, 4), transposed(vb)));
          }};
}

// Reshapes that no strides can express, and views as outputs, are exact copies.
Case copy_case(DType type) {
  return {std::string("copies of ") + to_string(type),
          [type](Trial& t) {
            const bool narrow = type == DType::F16 || type == DType::BF16;
            if (t.dtype != (narrow ? type : DType::F32)) return;  // such a device may answer Unsupported
            const Tensor x = t.graph.input("x", {6, 7, 10}, type);
            t.graph.output("reshaped", t.graph.reshape(t.graph.permute(x, {2, 0, 1}), {20, 21}));
            t.graph.output("sliced", t.graph.slice(t.graph.transpose(x, 0, 2), 1, 3, 2));
            t.graph.output("same", x);
            t.graph.output("selected", t.graph.select(x, 2, 9));
            Run& run = t.run();
            const Array v = run.input("x", whole_numbers({6, 7, 10}, 110, 0, 200), type);
            run.expect_exact("reshaped", reshape(permute(v, {2, 0, 1}), {20, 21}), type);
            run.expect_exact("sliced", slice(permute(v, {2, 1, 0}), 1, 3, 2), type);
            run.expect_exact("same", v, type);
            run.expect_exact("selected", reshape(slice(v, 2, 9, 1), {6, 7}), type);
          },
          type == DType::BF16};
}

Case extents_case() {
  return {"extents", [](Trial& t) {
            const Dim m = t.graph.extent("m", 60), n = t.graph.extent("n", 70);
            const Tensor a = t.input("a", {m, n}), b = t.input("b", {n, m});
            t.graph.output("y", t.graph.add(a, t.graph.transpose(b, 0, 1)));
            for (const auto& e : {std::array<int64_t, 2>{60, 70}, {1, 1}, {60, 1}, {13, 37}}) {
              Run& run = t.run({{"m", e[0]}, {"n", e[1]}});
              const Array va = run.input("a", uniform({e[0], e[1]}, 111)),
                          vb = run.input("b", uniform({e[1], e[0]}, 112));
              run.expect("y", add(va, transposed(vb)));
            }
          }};
}

// Casts to a 16-bit type and back, in a graph that stores nothing else in 16 bits.
Case cast_case(const Sizes& shape, double magnitude) {
  return {"cast " + text_of(shape) + " to " + std::to_string(magnitude), [=](Trial& t) {
            t.graph.output("half", t.graph.cast(t.graph.input("x", shape_of(shape)), t.dtype));
            t.graph.output("float", t.graph.cast(t.graph.input("h", shape_of(shape), t.dtype), DType::F32));
            Run& run = t.run();
            const Array v = run.input("x", uniform(shape, 113, -magnitude, magnitude), DType::F32);
            const Array h = run.input("h", uniform(shape, 114, -magnitude, magnitude), t.dtype);
            run.expect("half", v);
            run.expect_exact("float", h, DType::F32);
          }};
}

// f32 and f16 to bf16, and bf16 to f16, bit for bit: infinities, NaN, ties, values that round to infinity.
Case special_cast_case(int64_t count) {
  return {"casts of special values, " + std::to_string(count), [=](Trial& t) {
            if (t.dtype != DType::BF16) return;
            const double inf = INFINITY;
            const double special[] = {0.0,    -0.0,       1.0 + 0x1p-8, 1.0 + 3 * 0x1p-8, 1.0 + 0x1p-8 + 0x1p-20,
                                      inf,    -inf,       0x1.fep127,   0x1.ffp127,       -0x1.fffffep127,
                                      0x1p-8, 0x1.01p-14, -3.0,         65504.0,          0x1.02p-126};
            Array x({count});
            for (int64_t i = 0; i < count; ++i) x.at(i) = special[static_cast<size_t>(i) % std::size(special)];
            Array h = x;  // values that f16 and bf16 can represent
            for (double& v : h.value)
              if (std::isfinite(v) && (std::abs(v) > 65504.0 || std::abs(v) < 0x1p-14)) v = 0.5;
            const auto cast = [&](const char* to, const char* from, DType from_type, DType to_type) {
              t.graph.output(to, t.graph.cast(t.graph.input(from, {count}, from_type), to_type));
            };
            cast("from_float", "x", DType::F32, DType::BF16);
            cast("from_half", "h", DType::F16, DType::BF16);
            cast("to_half", "b", DType::BF16, DType::F16);
            Run& run = t.run();
            run.expect_exact("from_float", run.input("x", x, DType::F32), DType::BF16);
            run.expect_exact("from_half", run.input("h", h, DType::F16), DType::BF16);
            run.expect_exact("to_half", run.input("b", h, DType::BF16), DType::F16);
          }};
}

}  // namespace

TEST_CASE("elementwise on every device", "[ops]") {
  Operation operation{"elementwise", {}};
  auto& cases = operation.cases;
  for (const bool product : {false, true}) {
    for (const int64_t n : {1, 2, 3, 31, 33, 127, 129, 9001, 70001}) cases.push_back(binary_case(product, {n}, {n}));
    cases.push_back(binary_case(product, {3, 5, 7}, {7}));
    cases.push_back(binary_case(product, {3, 5, 7}, {5, 1}));
    cases.push_back(binary_case(product, {3, 1, 7}, {5, 1}));
    cases.push_back(binary_case(product, {1}, {3, 5, 7}));
    cases.push_back(binary_case(product, {2, 3, 4, 5, 6}, {2, 1, 4, 1, 6}));
    cases.push_back(binary_case(product, {2, 1, 4, 1, 6}, {1, 3, 1, 5, 1}));
    cases.push_back(binary_case(product, {70001, 2}, {70001, 1}));
  }
  cases.push_back(same_operand_case());
  for (const Activation kind :
       {Activation::Relu, Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Tanh}) {
    cases.push_back(activation_case(kind, {3, 1000}, -6.0, 6.0));
    cases.push_back(activation_case(kind, {1001}, -1000.0, 1000.0));
    cases.push_back(activation_case(kind, {129}, -1e-4, 1e-4));
  }
  for (const double factor : {1.0, 0.0, -1.0, 0.37}) cases.push_back(scale_case(factor));
  cases.push_back(chain_case(false));
  cases.push_back(chain_case(true));
  cases.push_back(view_case());
  for (const DType type : {DType::F32, DType::F16, DType::BF16, DType::I32, DType::U8})
    cases.push_back(copy_case(type));
  cases.push_back(extents_case());
  check(operation);
}

TEST_CASE("activations at their limits on every device", "[ops]") {
  Operation operation{"activation", {}};
  for (const Activation kind :
       {Activation::Relu, Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Tanh})
    for (const Sizes& shape : {Sizes{129}, Sizes{4, 32}}) operation.cases.push_back(limits_case(kind, shape));
  check(operation);
}

TEST_CASE("cast on every device", "[ops]") {
  Operation operation{"cast", {}, {DType::F16, DType::BF16}};
  for (const double magnitude : {1e-6, 1.0, 60000.0}) operation.cases.push_back(cast_case({3, 333}, magnitude));
  operation.cases.push_back(cast_case({1}, 2.0));
  for (const int64_t count : {15, 28}) operation.cases.push_back(special_cast_case(count));
  check(operation);
}

// A NaN whose bits are all in the lower half of an f32 must not become an infinity, alone or in a group of four.
TEST_CASE("casts to bf16 keep NaN on every device", "[ops]") {
  for (const int64_t count : {7, 8}) {
    Graph g;
    g.output("y", g.cast(g.input("x", {count}), DType::BF16));
    for (const TestDevice& on : test_devices()) {
      INFO(on.word << ", " << count);
      Device device = on.device;
      Plan plan;
      const Status status = device.compile(g, {}, &plan);
      if (status == Status::Unsupported) CHECK(take_messages().size() == 1);  // no 16-bit storage
      if (status == Status::Unsupported) continue;
      REQUIRE(status == Status::Ok);
      std::vector<uint32_t> x(static_cast<size_t>(count), 0x7f800001u);
      x[1] = 0xff800001u, x[2] = 0x7fffffffu, x[3] = 0x7fc00000u, x[4] = 0x7f800000u;
      std::vector<uint16_t> y(x.size());
      REQUIRE(plan.run({{"x", std::as_bytes(std::span(x))}, {"y", std::as_writable_bytes(std::span(y))}}) ==
              Status::Ok);
      for (size_t i = 0; i < y.size(); ++i) CHECK(((y[i] & 0x7fff) > 0x7f80) == (i != 4));
      CHECK(y[4] == 0x7f80);
      CHECK(take_checked_messages().empty());
    }
  }
}

}  // namespace heed::ops
