// Padding, and gather and scatter along any axis.
#include "harness/setup.hpp"
#include "harness/trial.hpp"
#include "train/gradient.hpp"

namespace heed::ops {
namespace {

// Calls meet(i, to): value i of `shape` corresponds to element `to` of `all`, or to none (-1) if its index is below 0.
template <class Meet>
void for_places(const Sizes& all, const Sizes& shape, int axis, const Array& places, const Meet& meet) {
  const Array place = broadcast(places, shape);
  for (int64_t i = 0; i < count(shape); ++i) {
    const auto at = static_cast<int64_t>(place.at(i));
    int64_t left = i, stride = 1, to = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      to += (static_cast<int>(d) == axis ? at : all[d] == 1 ? 0 : left % shape[d]) * stride;
      left /= shape[d], stride *= all[d];
    }
    meet(i, at < 0 ? -1 : to);
  }
}

struct Places {
  const char* name;
  Sizes all, places, shape;  // shapes of x, of the indices, and of the gathered values
  int axis;
};
const Places kPlaces[] = {
    {"of a vector", {9}, {33}, {33}, 0},
    {"of each element, last axis", {3, 5, 7}, {3, 5, 11}, {3, 5, 11}, 2},
    {"of each element, axis 1", {3, 5, 7}, {3, 4, 7}, {3, 4, 7}, 1},
    {"of each element, axis 0", {6, 2, 1, 9}, {70, 2, 1, 9}, {70, 2, 1, 9}, 0},
    {"of each element, five axes", {2, 3, 4, 2, 5}, {2, 3, 6, 2, 5}, {2, 3, 6, 2, 5}, 2},
    {"of rows", {3, 5, 130}, {3, 4, 1}, {3, 4, 130}, 1},
    {"of rows for all", {3, 5, 7}, {1, 9, 1}, {3, 9, 7}, 1},
    {"of elements for all", {3, 5, 7}, {1, 4, 7}, {3, 4, 7}, 1},
};

// Some indices are below 0, and several may be equal.
Array some_places(const Places& p, uint64_t seed) {
  return whole_numbers(p.places, seed, -1, p.all[static_cast<size_t>(p.axis)]);
}
// No two indices along the axis are equal.
Array different_places(const Places& p) {
  Array places(p.places);
  const int64_t size = p.all[static_cast<size_t>(p.axis)];
  int64_t inner = 1;
  for (size_t d = static_cast<size_t>(p.axis) + 1; d < p.places.size(); ++d) inner *= p.places[d];
  const int64_t length = p.places[static_cast<size_t>(p.axis)];
  for (int64_t i = 0; i < places.size(); ++i) {
    const int64_t along = i / inner % length;
    places.at(i) = along < size ? static_cast<double>((size - 1 - along + i % inner) % size) : -1.0;
  }
  return places;
}

Case gather_case(const Places& p) {
  return {std::string("gather ") + p.name, [&p](Trial& t) {
            Graph& g = t.graph;
            const Tensor x = t.input("x", shape_of(p.all)), places = g.input("at", shape_of(p.places), DType::I32);
            const Tensor y = g.gather(x, p.axis - static_cast<int>(p.all.size()), places);
            g.output("y", y);
            g.output("dx", train_tests::gradient(t, g.scale(y, 1.0f), x));
            Run& run = t.run();
            const Array v = run.input("x", uniform(p.all, 21)), at = run.input("at", some_places(p, 22), DType::I32);
            const Array up = run.input("up", uniform(p.shape, 23));
            Array taken(p.shape), sums(p.all);
            for_places(p.all, p.shape, p.axis, at, [&](int64_t i, int64_t to) {
              if (to < 0) return;
              taken.at(i) = v.at(to), taken.err(i) = v.err(to);
              sums.at(to) += up.at(i);
              sums.err(to) += 16.0 * kUnit * std::abs(up.at(i));
            });
            run.expect_exact("y", taken, t.dtype);
            run.expect_within("dx", t.stored(sums), t.dtype);
          }};
}

Case scatter_case(const Places& p, bool adds) {
  return {std::string(adds ? "scatter_add " : "scatter ") + p.name, [&p, adds](Trial& t) {
            Graph& g = t.graph;
            const Tensor x = t.input("x", shape_of(p.all)), v = t.input("v", shape_of(p.shape));
            const Tensor places = g.input("at", shape_of(p.places), DType::I32);
            const Tensor y = adds ? g.scatter_add(x, p.axis, places, v) : g.scatter(x, p.axis, places, v);
            g.output("y", y);
            const Tensor last = g.scale(y, 1.0f);
            const train::Upstream output{last, t.input("up", shape_of(p.all))};
            const Tensor of[] = {x, v};
            const std::vector<Tensor> gradients = train::gradients(g, std::span(&output, 1), of);
            g.output("dx", gradients[0]);
            g.output("dv", gradients[1]);
            Run& run = t.run();
            const Array before = run.input("x", uniform(p.all, 31)), values = run.input("v", uniform(p.shape, 32));
            const Array at = run.input("at", adds ? some_places(p, 33) : different_places(p), DType::I32);
            const Array up = run.input("up", uniform(p.all, 34));
            Array after = before, dx = up, dv(p.shape);
            Array sums(p.all);
            for_places(p.all, p.shape, p.axis, at, [&](int64_t i, int64_t to) {
              if (to < 0) return;
              dv.at(i) = up.at(to);
              sums.at(to) += values.at(i);
              sums.err(to) += 16.0 * kUnit * std::abs(values.at(i));
              if (!adds) after.at(to) = dx.at(to) = 0.0;
            });
            sums = t.stored(sums);
            for (int64_t i = 0; i < sums.size(); ++i) {
              after.at(i) += sums.at(i);
              after.err(i) += sums.err(i) + 2.0 * kUnit * std::abs(after.at(i));
            }
            run.expect_within("y", t.stored(after), t.dtype);
            run.expect_within("dx", t.stored(dx), t.dtype);
            run.expect_within("dv", t.stored(dv), t.dtype);
          }};
}

Case pad_case(const Sizes& shape, int axis, int64_t before, int64_t behind, double value) {
  return {"pad " + text_of(shape) + " by " + std::to_string(before) + " and " + std::to_string(behind), [=](Trial& t) {
            Graph& g = t.graph;
            const auto at = static_cast<size_t>(axis);
            Shape given = shape_of(shape);
            given[axis] = g.extent("n", shape[at]);
            const Tensor x = t.input("x", given);
            const Tensor y = g.pad(x, axis, before, behind, {.value = value});
            g.output("y", y);
            for (const int64_t size : {shape[at], int64_t{6}}) {
              Run& run = t.run({{"n", size}});
              Sizes sizes = shape;
              sizes[at] = size;
              const Array v = run.input("x", uniform(sizes, 41));
              const auto filling = [&](int64_t n) {
                sizes[at] = n;
                return t.stored(filled(sizes, value));
              };
              const int64_t cut = std::max<int64_t>(-before, 0), rest = std::max<int64_t>(-behind, 0);
              std::vector<Array> parts = {slice(v, axis, cut, size - cut - rest)};
              if (before > 0) parts.insert(parts.begin(), filling(before));
              if (behind > 0) parts.push_back(filling(behind));
              run.expect_exact("y", concat(parts, axis), t.dtype);
            }
          }};
}

Case pad_gradient_case() {
  return {"gradient of pad", [](Trial& t) {
            const Tensor x = t.input("x", {2, 5, 3});
            const Tensor y = t.graph.pad(t.graph.pad(x, 1, 2, 3), -1, 1, -1, {.value = 2.0});
            t.graph.output("dx", train_tests::gradient(t, t.graph.scale(y, 1.0f), x));
            Run& run = t.run();
            run.input("x", uniform({2, 5, 3}, 51));
            const Array up = run.input("up", uniform({2, 10, 3}, 52));
            run.expect_exact("dx", concat({slice(slice(up, 1, 2, 5), 2, 1, 2), filled({2, 5, 1}, 0.0)}, 2), t.dtype);
          }};
}

}  // namespace

TEST_CASE("gather, scatter and pad on every device", "[ops][train]") {
  Operation operation{"shape", {}};
  for (const Places& p : kPlaces) operation.cases.push_back(gather_case(p));
  for (const Places& p : kPlaces)
    for (const bool adds : {true, false}) operation.cases.push_back(scatter_case(p, adds));
  operation.cases.push_back(pad_case({9}, 0, 3, 0, 0.0));
  operation.cases.push_back(pad_case({2, 11, 3}, 1, 0, 70, -1.5));
  operation.cases.push_back(pad_case({2, 3, 2, 2, 13}, 4, 1, 2, 1e4));
  operation.cases.push_back(pad_case({3, 14}, 1, -2, 5, 7.0));
  operation.cases.push_back(pad_case({3, 14}, 1, -2, -3, 7.0));
  operation.cases.push_back(pad_gradient_case());
  check(operation);
}

}  // namespace heed::ops
