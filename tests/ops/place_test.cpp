// Rows at positions from tensors: append at a position for each row, and take.
#include "harness/setup.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

// Maps `rows` to places in `all`, for writing or reading: element i of `rows` corresponds to element `of(i)` of `all`, or to none (-1).
template <class Meet>
void for_places(const Sizes& all, const Sizes& rows, int axis, const Array& places, const Meet& meet) {
  Sizes lead(rows.begin(), rows.begin() + axis + 1);
  const Array place = broadcast(places, lead);
  const auto along = static_cast<size_t>(axis);
  int64_t inner = 1;
  for (size_t d = along + 1; d < rows.size(); ++d) inner *= rows[d];
  for (int64_t i = 0; i < count(rows); ++i) {
    const auto at = static_cast<int64_t>(place.at(i / inner));
    if (at < 0 || at >= all[along]) {
      meet(i, int64_t{-1});
      continue;
    }
    int64_t left = i, stride = 1, to = 0;
    for (size_t d = rows.size(); d-- > 0;) {
      to += (d == along ? at : left % rows[d]) * stride;
      left /= rows[d], stride *= all[d];
    }
    meet(i, to);
  }
}

Array put(Array all, const Array& rows, int axis, const Array& places) {
  for_places(all.shape, rows.shape, axis, places, [&](int64_t i, int64_t to) {
    if (to >= 0) all.at(to) = rows.at(i), all.err(to) = rows.err(i);
  });
  return all;
}

Array taken(const Array& all, int axis, const Array& places, int64_t size) {
  Sizes shape = all.shape;
  shape[static_cast<size_t>(axis)] = size;
  Array rows(shape);
  for_places(all.shape, shape, axis, places, [&](int64_t i, int64_t from) {
    if (from >= 0) rows.at(i) = all.at(from), rows.err(i) = all.err(from);
  });
  return rows;
}

// begin[b] + i, as [B, 1, .., n].
Array consecutive(const Array& begin, int axis, int64_t n) {
  Sizes shape(static_cast<size_t>(axis) + 1, 1);
  shape[0] = begin.size(), shape[static_cast<size_t>(axis)] = n;
  Array places(shape);
  for (int64_t i = 0; i < places.size(); ++i) places.at(i) = begin.at(i / n) + static_cast<double>(i % n);
  return places;
}

// Each row begins at a position from a tensor [B]. A pass computes the rows, or they are an input, or they are permuted.
Case begins_case(const Sizes& state, int64_t n, int axis, const std::vector<double>& begins) {
  return {"begins " + text_of(state) + ", " + std::to_string(n) + " along " + std::to_string(axis), [=](Trial& t) {
            Sizes shape = state;
            shape[static_cast<size_t>(axis)] = n;
            const Dim length = t.graph.extent("n", n);
            Shape given = shape_of(shape);
            given[axis] = length;
            const Tensor x = t.input("x", given), at = t.graph.input("at", {shape[0]}, DType::I32);
            t.graph.output("y", t.graph.append(t.graph.state("y", shape_of(state), t.dtype), x, axis, at));
            t.graph.output(
                "z", t.graph.append(t.graph.state("z", shape_of(state), t.dtype), t.graph.scale(x, 2.0f), axis, at));
            t.graph.output("w",
                           t.graph.append(t.graph.state("w", shape_of(state)), t.graph.cast(x, DType::F32), axis, at));
            for (const int64_t size : {n, int64_t{1}}) {
              Run& run = t.run({{"n", size}});
              shape[static_cast<size_t>(axis)] = size;
              const Array v = run.input("x", uniform(shape, 171)),
                          begin = run.input("at", values({shape[0]}, begins), DType::I32);
              const Array places = consecutive(begin, axis, size), y = put(filled(state, 0.0), v, axis, places);
              run.expect_exact("y", y, t.dtype);
              run.expect_exact("z", scale(y, 2.0), t.dtype);
              run.expect_exact("w", y, DType::F32);
              for (int64_t i = 0; i < places.size(); ++i)
                if (places.at(i) >= static_cast<double>(state[static_cast<size_t>(axis)]))
                  run.status = Status::IndexOutOfRange, run.message = "append";
            }
          }};
}

// A position for each row, some of them negative, for heads in the layout of a matmul's result.
Case places_case(const Sizes& places_shape, double first_behind) {
  return {"places " + text_of(places_shape), [=](Trial& t) {
            const Sizes state = {2, 3, 20, 12};
            const Tensor x = t.graph.permute(t.input("x", {2, 5, 3, 12}), {0, 2, 1, 3});
            const Tensor at = t.graph.input("at", shape_of(places_shape), DType::I32);
            t.graph.output("y", t.graph.append(t.graph.state("s", shape_of(state), t.dtype), x, 2, at));
            t.graph.output(
                "z", t.graph.append(t.graph.state("f", shape_of(state), t.dtype), t.input("f", {2, 3, 5, 12}), 2, at));
            Run& run = t.run();
            const Array v = permute(run.input("x", uniform({2, 5, 3, 12}, 172)), {0, 2, 1, 3});
            const Array f = run.input("f", uniform({2, 3, 5, 12}, 173));
            Array places(places_shape);
            for (int64_t i = 0; i < places.size(); ++i) {
              const int64_t s = i % 5;
              places.at(i) = s == 2 ? -1.0 - static_cast<double>(i) : static_cast<double>((7 * s + i / 5) % 20);
            }
            if (first_behind > 0) places.at(0) = first_behind;
            run.input("at", places, DType::I32);
            run.expect_exact("y", put(filled(state, 0.0), v, 2, places), t.dtype);
            run.expect_exact("z", put(filled(state, 0.0), f, 2, places), t.dtype);
            if (first_behind > 0) run.status = Status::IndexOutOfRange, run.message = "append";
          }};
}

// One pass rotates heads by their positions and writes them there.
Case turned_case(double first_behind) {
  return {first_behind > 0 ? "turned heads, one behind the end" : "turned heads", [=](Trial& t) {
            const Dim s = t.graph.extent("s", 6);
            const Tensor x = t.graph.transpose(t.input("x", {2, s, 3, 12}), 1, 2);
            const Tensor at = t.graph.input("at", {2, 1, s}, DType::I32);
            const Tensor turned = t.graph.rotary(x, {.width = 10, .positions = at});
            t.graph.output("y", t.graph.append(t.graph.state("s", {2, 3, 20, 12}, t.dtype), turned, 2, at));
            t.passes = {"rotary", "elementwise"};
            for (const int64_t n : {6, 1}) {
              Run& run = t.run({{"s", n}});
              const Array v = permute(run.input("x", uniform({2, n, 3, 12}, 184)), {0, 2, 1, 3});
              Array places({2, 1, n});
              for (int64_t i = 0; i < places.size(); ++i)
                places.at(i) = i % n == 3 ? -1.0 : static_cast<double>(3 + 7 * (i / n) + i % n);
              if (first_behind > 0) places.at(0) = first_behind;
              run.input("at", places, DType::I32);
              run.expect("y", put(filled({2, 3, 20, 12}, 0.0), rotary(v, {.width = 10}, &places), 2, places));
              if (first_behind > 0) run.status = Status::IndexOutOfRange, run.message = "append";
            }
          }};
}

// Words and bytes, also along the last axis.
Case whole_case(DType type) {
  return {std::string("of ") + to_string(type), [=](Trial& t) {
            const Tensor at = t.graph.input("at", {3}, DType::I32);
            const Tensor x = t.graph.input("x", {3, 4}, type), y = t.graph.input("y", {3, 2, 7}, type);
            t.graph.output("a", t.graph.append(t.graph.state("a", {3, 11}, type), x, 1, at));
            t.graph.output("b", t.graph.append(t.graph.state("b", {3, 9, 7}, type), y, 1, at));
            t.graph.output("c", t.graph.take(x, 1, t.graph.input("from", {3, 2}, DType::I32)));
            Run& run = t.run();
            const Array v = run.input("x", whole_numbers({3, 4}, 174, 0, 256), type);
            const Array w = run.input("y", whole_numbers({3, 2, 7}, 175, 0, 256), type);
            const Array begin = run.input("at", values({3}, {0, 7, 5}), DType::I32);
            const Array from = run.input("from", values({3, 2}, {0, 3, 1, 1, -5, 2}), DType::I32);
            run.expect_exact("a", put(filled({3, 11}, 0.0), v, 1, consecutive(begin, 1, 4)), type);
            run.expect_exact("b", put(filled({3, 9, 7}, 0.0), w, 1, consecutive(begin, 1, 2)), type);
            run.expect_exact("c", taken(v, 1, from, 2), type);
          }};
}

Case take_case(const Sizes& shape, int axis, const Sizes& places_shape, int64_t low, int64_t high) {
  return {"take of " + text_of(shape) + " along " + std::to_string(axis) + ", places " + text_of(places_shape),
          [=](Trial& t) {
            const Tensor x = t.graph.transpose(t.input("x", shape_of(shape)), -1, -2);
            const Tensor at = t.graph.input("at", shape_of(places_shape), DType::I32);
            t.graph.output("y", t.graph.take(x, axis, at));
            Run& run = t.run();
            const Array v = transposed(run.input("x", uniform(shape, 176)));
            const Array places = run.input("at", whole_numbers(places_shape, 177, low, high), DType::I32);
            run.expect_exact("y", taken(v, axis, places, places_shape.back()), t.dtype);
            for (const double place : places.value)
              if (place >= static_cast<double>(v.shape[static_cast<size_t>(axis)]))
                run.status = Status::IndexOutOfRange, run.message = "take";
          }};
}

// One table for all rows of a batch.
Case table_case() {
  return {"one table for all", [](Trial& t) {
            const Tensor at = t.graph.input("at", {3, 5}, DType::I32);
            t.graph.output("y", t.graph.take(t.input("x", {1, 9, 33}), 1, at));
            Run& run = t.run();
            const Array v = run.input("x", uniform({1, 9, 33}, 182));
            const Array places = run.input("at", whole_numbers({3, 5}, 183, -2, 9), DType::I32);
            run.expect_exact("y", taken(broadcast(v, {3, 9, 33}), 1, places, 5), t.dtype);
          }};
}

// The row before the last of each batch, with extents, and integers that are added.
Case extents_case() {
  return {"extents", [](Trial& t) {
            const Dim b = t.graph.extent("b", 3), s = t.graph.extent("s", 40);
            const Tensor x = t.input("x", {b, s, 17}), counts = t.graph.input("counts", {b, 1}, DType::I32);
            const int32_t minus_one[] = {-1};
            const Tensor last = t.graph.add(counts, t.graph.constant("minus one", {1}, minus_one));
            t.graph.output("last", last);
            t.graph.output("y", t.graph.take(x, 1, last));
            for (const auto& e : {std::array<int64_t, 2>{3, 40}, {1, 1}, {2, 13}}) {
              Run& run = t.run({{"b", e[0]}, {"s", e[1]}});
              const Array v = run.input("x", uniform({e[0], e[1], 17}, 178));
              Array places = run.input("counts", whole_numbers({e[0], 1}, 179, 1, e[1] + 1), DType::I32);
              for (double& place : places.value) place -= 1.0;
              run.expect_exact("last", places, DType::I32);
              run.expect_exact("y", taken(v, 1, places, 1), t.dtype);
            }
          }};
}

Case sums_case() {
  return {"sums of whole numbers", [](Trial& t) {
            t.graph.output("y", t.graph.add(t.graph.transpose(t.graph.input("a", {7, 5}, DType::I32), 0, 1),
                                            t.graph.input("b", {3, 1, 7}, DType::I32)));
            Run& run = t.run();
            const Array a = run.input("a", whole_numbers({7, 5}, 180, -2000000000, 2000000000), DType::I32);
            const Array b = run.input("b", whole_numbers({3, 1, 7}, 181, -2000000000, 2000000000), DType::I32);
            Array sums = add(broadcast(reshape(transposed(a), {1, 5, 7}), {3, 5, 7}), broadcast(b, {3, 5, 7}));
            for (double& sum : sums.value) sum -= std::floor((sum + 0x1p31) / 0x1p32) * 0x1p32;
            run.expect_exact("y", sums, DType::I32);
          }};
}

}  // namespace

TEST_CASE("places on every device", "[ops]") {
  Operation operation{"place", {}};
  operation.cases.push_back(begins_case({3, 20, 12}, 4, 1, {0, 16, 5}));
  operation.cases.push_back(begins_case({3, 20, 12}, 4, 1, {-2, 17, 20}));  // omitted before and behind
  operation.cases.push_back(begins_case({2, 9}, 3, 1, {6, 0}));
  operation.cases.push_back(begins_case({4, 3, 33, 65}, 33, 2, {0, 0, 0, 0}));
  operation.cases.push_back(begins_case({2, 3, 7, 130}, 2, 2, {5, 2147483647}));
  operation.cases.push_back(begins_case({2, 2, 5, 3, 300}, 3, 2, {1, 2}));
  for (const Sizes& shape : {Sizes{2, 1, 5}, {2, 3, 5}, {1, 5}}) {
    operation.cases.push_back(places_case(shape, 0));
    operation.cases.push_back(places_case(shape, 20));
  }
  operation.cases.push_back(whole_case(DType::I32));
  operation.cases.push_back(whole_case(DType::U8));
  operation.cases.push_back(take_case({2, 12, 9}, 1, {2, 1}, 0, 9));
  operation.cases.push_back(take_case({2, 12, 9}, 1, {20}, -3, 11));
  operation.cases.push_back(take_case({2, 3, 50, 4}, 2, {2, 3, 6}, 0, 4));
  operation.cases.push_back(take_case({40, 30}, 0, {7}, 0, 30));
  operation.cases.push_back(take_case({5, 30}, 1, {30, 3}, 0, 5));
  operation.cases.push_back(table_case());
  operation.cases.push_back(turned_case(0));
  operation.cases.push_back(turned_case(20));
  operation.cases.push_back(extents_case());
  operation.cases.push_back(sums_case());
  check(operation);
}

TEST_CASE("places: mistakes are named") {
  const auto error = [](const Shape& state, const Shape& rows, int axis, const Shape& at, DType type = DType::I32) {
    Graph g;
    (void)g.append(g.state("s", state), g.input("x", rows), axis, g.input("at", at, type));
    return std::string(g.error());
  };
  CHECK(error({2, 9, 3}, {2, 4, 3}, 1, {2}).empty());
  CHECK(error({2, 9, 3}, {2, 4, 3}, 1, {2, 4}).empty());
  CHECK(error({9, 3}, {4, 3}, 0, {4}).empty());
  CHECK_THAT(error({2, 9, 3}, {2, 4, 3}, 1, {2}, DType::F32), holds("i32 [B]"));
  CHECK_THAT(error({2, 9, 3}, {2, 4, 3}, 1, {4}), holds("i32 [B]"));
  CHECK_THAT(error({2, 9, 3}, {2, 4, 3}, 1, {2, 3}), holds("broadcasts to [2, 4]"));
  CHECK_THAT(error({2, 9, 3}, {2, 4, 3}, 1, {2, 4, 1}), holds("broadcasts to [2, 4]"));
  CHECK_THAT(error({2, 9, 3}, {2, 4, 3}, 1, {2, 4}, DType::F32), holds("i32 that broadcasts"));
  CHECK_THAT(error({2, 9, 3}, {2, 10, 3}, 1, {2}), holds("not within it"));
  CHECK_THAT(error({2, 9, 3}, {1, 4, 3}, 1, {1}), holds("cannot be written"));
  CHECK_THAT(error({2, 9, 3}, {2, 4}, 1, {2}), holds("cannot be written"));
  Graph g;
  (void)g.append(g.input("no state", {2, 9, 3}), g.input("x", {2, 4, 3}), 1, g.input("at", {2}, DType::I32));
  CHECK_THAT(std::string(g.error()), holds("neither a state"));
  Graph h;
  (void)h.take(h.input("x", {2, 4, 3}), 1, h.input("at", {3, 1}, DType::I32));
  CHECK_THAT(std::string(h.error()), holds("broadcasts to [2, 1]"));
}

}  // namespace heed::ops
