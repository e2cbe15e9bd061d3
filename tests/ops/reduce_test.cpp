#include <limits>

#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr Reduction kKinds[] = {Reduction::Sum, Reduction::Mean,      Reduction::Product, Reduction::Max,
                                Reduction::Min, Reduction::LogSumExp, Reduction::L2};
const char* name_of(Reduction kind) {
  constexpr const char* kNames[] = {"sum", "mean", "product", "max", "min", "log-sum-exp", "L2"};
  return kNames[static_cast<size_t>(kind)];
}

std::string name_of(Reduction kind, const Sizes& shape, const std::vector<int>& axes) {
  std::string name = std::string(name_of(kind)) + " of " + text_of(shape) + " over";
  for (const int axis : axes) name += " " + std::to_string(axis);
  return name;
}

int64_t length_of(const Sizes& shape, const std::vector<int>& axes) {
  int64_t n = 1;
  for (size_t i = 0; i < shape.size(); ++i)
    if (axes.empty() || std::count(axes.begin(), axes.end(), static_cast<int>(i)) != 0) n *= shape[i];
  return n;
}

Case reduce_case(Reduction kind, const Sizes& shape, const std::vector<int>& axes, bool keep) {
  return {name_of(kind, shape, axes), [=](Trial& t) {
            t.graph.output("y", t.graph.reduce(t.input("x", shape_of(shape)), kind, axes, keep));
            Run& run = t.run();
            // Long products of other factors would leave the range of floats.
            const int64_t n = length_of(shape, axes);
            const bool near_1 = kind == Reduction::Product && n > 16;
            const Array v = run.input("x", near_1 ? uniform(shape, 131, 0.98, 1.02) : uniform(shape, 131, -1.5, 3.0));
            const Array y = reduce(v, kind, axes, keep);
            if (kind == Reduction::Max || kind == Reduction::Min) return run.expect_exact("y", y, t.dtype);
            run.expect("y", y, static_cast<double>(n) + 64.0);
          }};
}

Case whole_case(Reduction kind, const Sizes& shape, const std::vector<int>& axes) {
  return {std::string("i32 ") + name_of(kind, shape, axes), [=](Trial& t) {
            if (t.dtype != DType::F32) return;
            t.graph.output("y", t.graph.reduce(t.graph.input("x", shape_of(shape), DType::I32), kind, axes));
            Run& run = t.run();
            const Array v = run.input("x", whole_numbers(shape, 132, -1000000, 1000000), DType::I32);
            run.expect_exact("y", reduce(v, kind, axes), DType::I32);
          }};
}

// A row of NaN beside others, infinities of one sign and of both, all zeros, numbers whose squares overflow.
Case strange_case(Reduction kind, std::vector<double> expected) {
  return {std::string("strange values of ") + name_of(kind), [=](Trial& t) {
            if (t.dtype != DType::F32) return;
            for (const int axis : {0, 1}) {
              const Tensor x = t.graph.input("x" + std::to_string(axis), axis == 1 ? Shape{7, 3} : Shape{3, 7});
              t.graph.output("y" + std::to_string(axis), t.graph.reduce(x, kind, {axis}));
            }
            Run& run = t.run();
            const Array v = values(
                {7, 3}, {1, kNaN, 2, -kInfinity, -kInfinity, -kInfinity, kInfinity,  0, 1, -1, kInfinity, -kInfinity,
                         0, 0,    0, 3e30,       -4e30,      0,          -kInfinity, 2, 2});
            run.input("x1", v);
            run.input("x0", transposed(v));
            Array y = values({7}, expected);
            for (int64_t i = 0; i < 7; ++i)
              y.err(i) = std::isfinite(y.at(i)) ? 8.0 * kUnit * (std::abs(y.at(i)) + 1.0) : 0.0;
            run.expect_within("y0", y);
            run.expect_within("y1", y);
          }};
}

Case extents_case(Reduction kind) {
  return {std::string("extents, ") + name_of(kind), [=](Trial& t) {
            const Dim b = t.graph.extent("b", 40), s = t.graph.extent("s", 600);
            const Tensor x = t.graph.transpose(t.input("x", {b, s, 3}), 1, 2);
            t.graph.output("all", t.graph.reduce(x, kind, std::span<const int>(), true));
            t.graph.output("y", t.graph.reduce(x, kind, {0, 2}));
            for (const auto& e : {std::array<int64_t, 2>{40, 600}, {1, 1}, {2, 39}}) {
              Run& run = t.run({{"b", e[0]}, {"s", e[1]}});
              const bool product = kind == Reduction::Product;
              const Array v =
                  run.input("x", uniform({e[0], e[1], 3}, 133, product ? 0.99 : -1.0, product ? 1.01 : 1.0));
              const Array turned = permute(v, {0, 2, 1});
              const auto terms = static_cast<double>(e[0] * e[1] * 3) + 64.0;
              run.expect("all", reduce(turned, kind, {}, true), terms);
              run.expect("y", reduce(turned, kind, {0, 2}), terms);
            }
          }};
}

Case cumsum_case(const Sizes& shape, int axis, bool exclusive = false, bool reverse = false) {
  return {
      text_of(shape) + " axis " + std::to_string(axis) + (exclusive ? " exclusive" : "") + (reverse ? " reverse" : ""),
      [=](Trial& t) {
        t.graph.output("y", t.graph.cumsum(t.input("x", shape_of(shape)), axis, exclusive, reverse));
        Run& run = t.run();
        const Array v = run.input("x", uniform(shape, 134, -1.0, 2.0));
        run.expect("y", cumsum(v, axis, exclusive, reverse),
                   static_cast<double>(shape[static_cast<size_t>(axis)]) + 16.0);
        t.passes = {"cumsum"};
      }};
}

struct IndexQuery {
  int axis = 0;
  int64_t count = 1;
  bool smallest = false, last = false, keep = false;
};

// Few distinct values give ties.
Case index_case(const Sizes& shape, const IndexQuery& a, int64_t different, DType type = DType::F32) {
  return {text_of(shape) + " axis " + std::to_string(a.axis) + (a.smallest ? " smallest" : "") +
              (a.last ? " last" : "") + " of " + std::to_string(different) + " values" +
              (type == DType::I32 ? ", i32" : ""),
          [=](Trial& t) {
            if (type == DType::I32 && t.dtype != DType::F32) return;
            const DType dtype = type == DType::I32 ? type : t.dtype;
            const Tensor x = t.graph.input("x", shape_of(shape), dtype);
            t.graph.output("y", a.smallest ? t.graph.argmin(x, a.axis, a.keep, a.last)
                                           : t.graph.argmax(x, a.axis, a.keep, a.last));
            Run& run = t.run();
            const Array v = run.input("x", whole_numbers(shape, 135, -different / 2, different / 2 + 1), dtype);
            Array y = first_indices(v, a.axis, 1, a.smallest, a.last);
            if (!a.keep && shape.size() > 1) y.shape.erase(y.shape.begin() + a.axis);
            run.expect_exact("y", y, DType::I32);
            t.passes = {"argmax"};
          }};
}

Case top_case(const Sizes& shape, const IndexQuery& a, int64_t different, DType type = DType::F32) {
  return {"top " + std::to_string(a.count) + " of " + text_of(shape) + " axis " + std::to_string(a.axis) +
              (a.smallest ? " smallest" : "") + " of " + std::to_string(different) + " values" +
              (type == DType::I32 ? ", i32" : ""),
          [=](Trial& t) {
            if (type == DType::I32 && t.dtype != DType::F32) return;
            const DType dtype = type == DType::I32 ? type : t.dtype;
            const TopKResult top =
                t.graph.top_k(t.graph.input("x", shape_of(shape), dtype), a.count, a.axis, a.smallest);
            t.graph.output("values", top.values);
            t.graph.output("indices", top.indices);
            Run& run = t.run();
            const Array v = run.input("x", whole_numbers(shape, 136, -different / 2, different / 2 + 1), dtype);
            const Array indices = first_indices(v, a.axis, a.count, a.smallest, false);
            run.expect_exact("indices", indices, DType::I32);
            run.expect_exact("values", take_along(v, a.axis, indices), dtype);
          }};
}

// NaN sort last.
Case strange_order_case() {
  return {"order of strange values", [=](Trial& t) {
            const Tensor x = t.input("x", {3, 4});
            const Array v = values({3, 4}, {kNaN, -kInfinity, 1, kInfinity, kNaN, kNaN, kNaN, kNaN, 0, kNaN, -3, 2});
            t.graph.output("down", t.graph.top_k(x, 4).indices);
            t.graph.output("up", t.graph.top_k(x, 4, -1, true).indices);
            Run& run = t.run();
            run.input("x", v);
            run.expect_exact("down", first_indices(v, 1, 4, false, false), DType::I32);
            run.expect_exact("up", first_indices(v, 1, 4, true, false), DType::I32);
          }};
}

}  // namespace

TEST_CASE("reductions on every device", "[ops]") {
  Operation operation{"reduce", {}};
  struct Given {
    Sizes shape;
    std::vector<int> axes;
    bool keep = false;
  };
  const Given given[] = {{{5, 7}, {0}},
                         {{5, 7}, {1}, true},
                         {{1, 1, 1}, {}},
                         {{41}, {0}},
                         {{300}, {}, true},
                         {{3, 129, 33}, {1}},
                         {{2, 3, 4, 5, 6}, {0, 2, 4}, true},
                         {{2, 3, 4, 5, 6}, {1, 3}},
                         {{3, 4, 35, 6}, {1, 2}},
                         {{3, 257}, {1}},
                         {{2, 9001}, {1}},
                         {{130, 131}, {}},
                         {{2, 1031, 3}, {1, 2}},
                         {{9001, 2, 1}, {1}}};
  for (const Given& g : given)
    for (const Reduction kind : kKinds) operation.cases.push_back(reduce_case(kind, g.shape, g.axes, g.keep));
  for (const Reduction kind : {Reduction::Sum, Reduction::Max, Reduction::Min})
    for (const Given& g : {Given{{5, 7}, {0}}, {{3, 300}, {1}}, {{3, 5, 7}, {0, 2}}})
      operation.cases.push_back(whole_case(kind, g.shape, g.axes));
  for (const Reduction kind : kKinds) operation.cases.push_back(extents_case(kind));
  operation.cases.push_back(strange_case(Reduction::Max, {kNaN, -kInfinity, kInfinity, kInfinity, 0, 3e30, 2}));
  operation.cases.push_back(strange_case(Reduction::Min, {kNaN, -kInfinity, 0, -kInfinity, 0, -4e30, -kInfinity}));
  operation.cases.push_back(strange_case(
      Reduction::LogSumExp, {kNaN, -kInfinity, kInfinity, kInfinity, 1.0986122886681098, 3e30, 2.6931471805599454}));
  operation.cases.push_back(strange_case(Reduction::L2, {kNaN, kInfinity, kInfinity, kInfinity, 0, 5e30, kInfinity}));
  check(operation);
}

TEST_CASE("cumsum on every device", "[ops]") {
  Operation operation{"cumsum", {}};
  for (const int64_t n : {1, 2, 7, 33, 127, 128, 129, 257, 1025, 3001})
    operation.cases.push_back(cumsum_case({3, n}, 1));
  for (const int axis : {0, 1, 2, 3})
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        operation.cases.push_back(cumsum_case({3, 4, 35, 6}, axis, exclusive, reverse));
  for (const bool reverse : {false, true}) operation.cases.push_back(cumsum_case({300}, 0, true, reverse));
  operation.cases.push_back(cumsum_case({131, 70}, 0));
  check(operation);
}

TEST_CASE("argmin, argmax of any axis and top_k on every device", "[ops]") {
  Operation operation{"argmax", {}};
  for (const bool smallest : {false, true})
    for (const bool last : {false, true})
      for (const DType type : {DType::F32, DType::I32}) {
        for (const int axis : {0, 1, 2})
          operation.cases.push_back(index_case({3, 70, 5}, {axis, 1, smallest, last}, 6, type));
        operation.cases.push_back(index_case({40, 3}, {0, 1, smallest, last, true}, 2000, type));
        operation.cases.push_back(index_case({300}, {0, 1, smallest, last}, 9, type));
      }
  for (const bool smallest : {false, true})
    for (const DType type : {DType::F32, DType::I32}) {
      for (const int axis : {0, 1, 2}) operation.cases.push_back(top_case({6, 37, 5}, {axis, 4, smallest}, 10, type));
      operation.cases.push_back(top_case({2, 300}, {1, 17, smallest}, 2000, type));
      operation.cases.push_back(top_case({33}, {0, 33, smallest}, 8, type));
      operation.cases.push_back(top_case({3, 1}, {1, 1, smallest}, 8, type));
    }
  operation.cases.push_back(strange_order_case());
  check(operation);
}

}  // namespace heed::ops
