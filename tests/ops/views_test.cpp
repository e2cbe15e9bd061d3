// Views that skip elements, repeat them or are reversed, as operands of every kind of kernel.
#include "harness/setup.hpp"
#include "harness/trial.hpp"
#include "train/gradient.hpp"

namespace heed::ops {
namespace {

Array strided(const Array& x, int axis, int64_t step) {
  const int64_t size = x.shape[static_cast<size_t>(axis)];
  std::vector<Array> parts;
  for (int64_t i = 0; i < size; i += step) parts.push_back(slice(x, axis, i, 1));
  return concat(parts, axis);
}

Array flipped(const Array& x, int axis) {
  std::vector<Array> parts;
  for (int64_t i = x.shape[static_cast<size_t>(axis)]; i-- > 0;) parts.push_back(slice(x, axis, i, 1));
  return concat(parts, axis);
}

Array picked(const Array& x, int axis, const std::vector<int64_t>& places) {
  std::vector<Array> parts;
  for (const int64_t at : places) parts.push_back(slice(x, axis, at, 1));
  return concat(parts, axis);
}

// One view of x [4, 6, 10].
struct Seen {
  const char* name;
  Tensor (*of)(Graph& g, Tensor x);
  Array (*as)(const Array& x);
};
const Seen kSeen[] = {
    {"every second row", [](Graph& g, Tensor x) { return g.stride(x, 1, 2); },
     [](const Array& x) { return strided(x, 1, 2); }},
    {"every third element", [](Graph& g, Tensor x) { return g.stride(x, -1, 3); },
     [](const Array& x) { return strided(x, 2, 3); }},
    {"every second of a part", [](Graph& g, Tensor x) { return g.stride(g.stride(g.slice(x, 2, 1, -2), 2, 2), 0, 3); },
     [](const Array& x) { return strided(strided(slice(x, 2, 1, 8), 2, 2), 0, 3); }},
    {"one element of each row", [](Graph& g, Tensor x) { return g.stride(x, 2, 10); },
     [](const Array& x) { return slice(x, 2, 0, 1); }},
    {"the last rows", [](Graph& g, Tensor x) { return g.slice(x, 1, -2, 2); },
     [](const Array& x) { return slice(x, 1, 4, 2); }},
    {"a row for all", [](Graph& g, Tensor x) { return g.expand(g.slice(x, 1, 3, 1), {4, 7, 10}); },
     [](const Array& x) { return broadcast(slice(x, 1, 3, 1), {4, 7, 10}); }},
    {"an element for all", [](Graph& g, Tensor x) { return g.expand(g.slice(x, 2, 4, 1), {4, 6, 9}); },
     [](const Array& x) { return broadcast(slice(x, 2, 4, 1), {4, 6, 9}); }},
    {"one matrix for all", [](Graph& g, Tensor x) { return g.expand(g.select(x, 0, -1), {5, 6, 10}); },
     [](const Array& x) { return broadcast(slice(x, 0, 3, 1), {5, 6, 10}); }},
    {"rows in reverse", [](Graph& g, Tensor x) { return g.flip(x, 1); }, [](const Array& x) { return flipped(x, 1); }},
    {"elements in reverse", [](Graph& g, Tensor x) { return g.flip(x, -1); },
     [](const Array& x) { return flipped(x, 2); }},
    {"rows between reflections", [](Graph& g, Tensor x) { return g.pad(x, 1, 5, 2, {.mode = Padding::Reflect}); },
     [](const Array& x) { return picked(x, 1, {5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5, 4, 3}); }},
    {"elements between edges", [](Graph& g, Tensor x) { return g.pad(x, -1, 1, 12, {.mode = Padding::Edge}); },
     [](const Array& x) {
       return picked(x, 2, {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9});
     }},
    {"a part that goes round", [](Graph& g, Tensor x) { return g.pad(x, 1, -2, 5, {.mode = Padding::Wrap}); },
     [](const Array& x) { return picked(x, 1, {2, 3, 4, 5, 2, 3, 4, 5, 2}); }},
    {"rows again and again", [](Graph& g, Tensor x) { return g.tile(x, 1, 3); },
     [](const Array& x) { return concat({x, x, x}, 1); }},
    {"every second element twice", [](Graph& g, Tensor x) { return g.tile(g.stride(x, 2, 2), -1, 2); },
     [](const Array& x) { return concat({strided(x, 2, 2), strided(x, 2, 2)}, 2); }},
};

Case operand_case(const Seen& seen) {
  return {seen.name, [&seen](Trial& t) {
            Graph& g = t.graph;
            Run& run = t.run();
            const Array all = run.input("x", uniform({4, 6, 10}, 1)), v = seen.as(all);
            const Tensor x = seen.of(g, t.input("x", {4, 6, 10}));
            const Sizes rows = v.shape;
            const Array w = run.input("w", uniform({1, rows[2], 5}, 2));
            const Tensor other = t.input("w", {1, rows[2], 5});
            g.output("copy", x);
            run.expect_exact("copy", v, t.dtype);
            g.output("flat", g.reshape(x, {-1}));
            run.expect_exact("flat", reshape(v, {v.size()}), t.dtype);
            g.output("doubled", g.add(x, x));
            run.expect("doubled", add(v, v));
            g.output("softmax", g.softmax(x));
            run.expect("softmax", softmax(v));
            g.output("norm", g.layernorm(x, {}, {}, 1e-3f));
            run.expect_within("norm", t.stored(layernorm(v, nullptr, nullptr, 1e-3)), t.dtype);  // may be zeros
            g.output("as_a", g.matmul(x, other));
            run.expect("as_a", matmul(v, w));
            g.output("as_b", g.matmul(other, x, {.transpose_a = true, .transpose_b = true}));
            run.expect("as_b", matmul(transposed(w), transposed(v)));
            g.output("mean", g.mean(x, 1));
            run.expect("mean", mean(v, 1, nullptr, false));
            g.output("joined", g.concat({x, x}, 1));
            run.expect_exact("joined", concat({v, v}, 1), t.dtype);
          }};
}

// Each element of x gets the sum of the gradients of all places where the view shows it.
Case backward_case(const Seen& seen) {
  return {std::string("gradient of ") + seen.name, [&seen](Trial& t) {
            const Tensor x = t.input("x", {4, 6, 10});
            t.graph.output("y", train_tests::gradient(t, t.graph.scale(seen.of(t.graph, x), 1.0f), x));
            Run& run = t.run();
            Array sums({4, 6, 10}), numbers({4, 6, 10});
            run.input("x", sums);
            for (int64_t i = 0; i < numbers.size(); ++i) numbers.at(i) = static_cast<double>(i);
            const Array places = seen.as(numbers);
            const Array up = run.input("up", uniform(places.shape, 11));
            for (int64_t i = 0; i < up.size(); ++i) {
              const auto to = static_cast<int64_t>(places.at(i));
              sums.at(to) += up.at(i);
              sums.err(to) += 16.0 * kUnit * std::abs(up.at(i));
            }
            run.expect_within("y", t.stored(sums), t.dtype);
          }};
}

// Queries, keys and values with repeated rows, and with skipped rows.
Case attention_case(bool is_expanded) {
  return {is_expanded ? "attention of one row for all" : "attention of every second row", [=](Trial& t) {
            Graph& g = t.graph;
            Run& run = t.run();
            const Array q = run.input("q", uniform({2, 3, 5, 8}, 3)), kv = run.input("kv", uniform({2, 3, 12, 8}, 4));
            const Tensor query = t.input("q", {2, 3, 5, 8}), all = t.input("kv", {2, 3, 12, 8});
            const Tensor key = is_expanded ? g.expand(g.slice(all, 1, 0, 1), {2, 3, 12, 8}) : g.stride(all, 2, 2);
            const Array k = is_expanded ? broadcast(slice(kv, 1, 0, 1), {2, 3, 12, 8}) : strided(kv, 2, 2);
            g.output("y", g.attention(query, key, key).output);
            run.expect("y", matmul(softmax(scale(matmul(q, transposed(k)), 1.0 / std::sqrt(8.0))), k), 64.0);
          }};
}

// Begins and sizes counted from the end of an axis whose length differs from run to run.
Case extents_case() {
  return {"from the end of an extent", [](Trial& t) {
            Graph& g = t.graph;
            const Dim n = g.extent("n", 40);
            const Tensor x = t.input("x", {2, n, 3});
            const Tensor next = g.slice(x, 1, 1, -1), now = g.slice(x, 1, 0, -2);  // [2, n - 1, 3]
            g.output("sum", g.add(next, now));
            g.output("tail", g.slice(x, 1, -2, 1));
            g.output("flat", g.reshape(now, {-1, 3}));
            for (const int64_t size : {40, 2, 3, 17}) {
              Run& run = t.run({{"n", size}});
              const Array v = run.input("x", uniform({2, size, 3}, 5));
              run.expect("sum", add(slice(v, 1, 1, size - 1), slice(v, 1, 0, size - 1)));
              run.expect_exact("tail", slice(v, 1, size - 2, 1), t.dtype);
              run.expect_exact("flat", reshape(slice(v, 1, 0, size - 1), {2 * size - 2, 3}), t.dtype);
            }
            Run& run = t.run({{"n", 1}});
            run.input("x", uniform({2, 1, 3}, 6));
            run.status = Status::ExtentOutOfRange;
            run.message = "end at 2; there are 1";
          }};
}

// Patches of three tokens, of which an incomplete last one is dropped, and a reshape whose -1 each run computes.
Case arithmetic_case() {
  return {"sizes by arithmetic", [](Trial& t) {
            Graph& g = t.graph;
            const Dim b = g.extent("b", 3), n = g.extent("n", 40);
            const Dim steps = g.sum(g.dim_floor_quotient(g.dim_difference(n, 1), 3), 1);
            const Tensor x = t.input("x", {b, n, 4}), w = t.input("w", {g.dim_product(b, steps), 4});
            g.output("flat", g.reshape(x, {g.dim_product(n, b), 4}));
            g.output("pairs", g.scale(g.reshape(x, {-1, 8}), 2.0f));
            g.output("joined", g.concat({g.reshape(x, {-1, 4}), w}, 0));
            g.output("rest", g.concat({g.slice(x, 1, 1, g.dim_difference(n, 1)), g.slice(x, 1, 0, 1)}, 1));
            for (const auto& [batch, size] : {std::pair<int64_t, int64_t>{3, 40}, {2, 3}, {1, 2}, {2, 17}}) {
              Run& run = t.run({{"b", batch}, {"n", size}});
              const Array v = run.input("x", uniform({batch, size, 4}, 12));
              const int64_t most = (size - 1) / 3 + 1;
              const Array weights = run.input("w", uniform({batch * most, 4}, 13));
              run.expect_exact("flat", reshape(v, {batch * size, 4}), t.dtype);
              run.expect("pairs", scale(reshape(v, {batch * size / 2, 8}), 2.0));
              run.expect_exact("joined", concat({reshape(v, {batch * size, 4}), weights}, 0), t.dtype);
              run.expect_exact("rest", concat({slice(v, 1, 1, size - 1), slice(v, 1, 0, 1)}, 1), t.dtype);
            }
            Run& odd = t.run({{"b", 1}, {"n", 3}});
            odd.input("x", uniform({1, 3, 4}, 14));
            odd.input("w", uniform({1, 4}, 15));
            odd.status = Status::ExtentOutOfRange;
            odd.message = "no whole number: 12 / 8";
            Run& none = t.run({{"b", 2}, {"n", 1}});
            none.input("x", uniform({2, 1, 4}, 16));
            none.input("w", uniform({2, 4}, 17));
            none.status = Status::ExtentOutOfRange;
            none.message = "(n<=40 - 1) is 0; this plan takes 1 to 39";
          }};
}

Case split_case() {
  return {"split", [](Trial& t) {
            Graph& g = t.graph;
            const Dim n = g.extent("n", 9);
            const Tensor x = g.concat({t.input("a", {2, n}), t.input("b", {2, 4})}, 1);
            const std::vector<Tensor> parts = g.split(x, -1, {n, 1, 3});
            for (size_t i = 0; i < parts.size(); ++i) g.output("part" + std::to_string(i), parts[i]);
            Run& run = t.run({{"n", 7}});
            const Array a = run.input("a", uniform({2, 7}, 7)), b = run.input("b", uniform({2, 4}, 8));
            run.expect_exact("part0", a, t.dtype);
            run.expect_exact("part1", slice(b, 1, 0, 1), t.dtype);
            run.expect_exact("part2", slice(b, 1, 1, 3), t.dtype);
          }};
}

Case sum_case() {
  return {"sum", [](Trial& t) {
            const Tensor x = t.input("x", {3, 50, 7});
            t.graph.output("y", t.graph.sum(x, -2));
            Run& run = t.run();
            run.expect("y", scale(mean(run.input("x", uniform({3, 50, 7}, 9)), 1, nullptr, false), 50.0), 64.0);
          }};
}

// Six axes of which no two can be merged, as operands with one and two tensors and of a reduction; and the windows of an image for
// attention, whose gradient takes the same path back.
Case six_axes_case(DType of) {
  return {std::string("six axes of ") + to_string(of), [of](Trial& t) {
            if (of != DType::F32 && t.dtype != DType::F32) return;
            Graph& g = t.graph;
            const DType dtype = of == DType::F32 ? t.dtype : of;
            const Sizes shape = {2, 3, 2, 5, 2, 3};
            const std::vector<int> turned = {5, 3, 1, 4, 2, 0};
            const Tensor x = g.input("x", shape_of(shape), dtype);
            const Tensor y = g.permute(x, turned), z = g.expand(g.input("z", {3, 1, 3, 1, 2, 1}, dtype), g.shape(y));
            g.output("y", y);
            g.output("sum", g.where(g.ge(y, z), y, z));
            Run& run = t.run();
            const Array v = run.input("x", whole_numbers(shape, 41, 0, 200), dtype);
            const Array w = run.input("z", whole_numbers({3, 1, 3, 1, 2, 1}, 42, 0, 200), dtype);
            const Array seen = permute(v, turned), other = broadcast(w, seen.shape);
            Array larger = seen;
            for (int64_t i = 0; i < larger.size(); ++i) larger.at(i) = std::max(seen.at(i), other.at(i));
            run.expect_exact("y", seen, dtype);
            run.expect_exact("sum", larger, dtype);
          }};
}

Case image_windows_case() {
  return {"windows of an image, by six axes", [](Trial& t) {
            Graph& g = t.graph;
            const Dim batch = g.extent("batch", 2);
            const Tensor x = t.input("x", {batch, 4, 6, 8});
            const Tensor cut = g.permute(g.reshape(x, {batch, 2, 2, 3, 2, 8}), {0, 1, 3, 2, 4, 5});
            const Tensor sums = g.reduce(cut, Reduction::Max, {3, 4});
            const Tensor y = g.reshape(cut, {-1, 4, 8});
            g.output("y", y);
            g.output("largest", sums);
            g.output("dx", train_tests::gradient(t, g.scale(y, 1.0f), x));
            Run& run = t.run({{"batch", 2}});
            const Array v = run.input("x", uniform({2, 4, 6, 8}, 43)), up = run.input("up", uniform({12, 4, 8}, 44));
            const Array seen = permute(reshape(v, {2, 2, 2, 3, 2, 8}), {0, 1, 3, 2, 4, 5});
            run.expect_exact("y", reshape(seen, {12, 4, 8}), t.dtype);
            run.expect_exact("largest", reduce(seen, Reduction::Max, {3, 4}), t.dtype);
            const Array back = permute(reshape(up, {2, 2, 3, 2, 2, 8}), {0, 1, 3, 2, 4, 5});
            run.expect_exact("dx", reshape(back, {2, 4, 6, 8}), t.dtype);
          }};
}

}  // namespace

TEST_CASE("views as operands on every device", "[ops][train]") {
  Operation operation{"views", {}};
  for (const Seen& seen : kSeen) operation.cases.push_back(operand_case(seen));
  for (const Seen& seen : kSeen) operation.cases.push_back(backward_case(seen));
  operation.cases.push_back(attention_case(false));
  operation.cases.push_back(attention_case(true));
  operation.cases.push_back(extents_case());
  operation.cases.push_back(arithmetic_case());
  operation.cases.push_back(split_case());
  operation.cases.push_back(sum_case());
  for (const DType of : {DType::F32, DType::I32, DType::U8}) operation.cases.push_back(six_axes_case(of));
  operation.cases.push_back(image_windows_case());
  check(operation);
}

}  // namespace heed::ops
