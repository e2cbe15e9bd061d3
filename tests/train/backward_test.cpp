// Operations that only gradients use, at awkward shapes, against formulas in double.
#include <cmath>
#include <limits>

#include "harness/catch.hpp"
#include "train/gradient.hpp"

namespace heed::train_tests {
namespace {

using namespace heed::ops;

// Sums of n numbers, in any order, along the last axis, which becomes 1.
Array row_sums(const Array& x) {
  const int64_t n = x.dim(0);
  Sizes shape = x.shape;
  shape.back() = 1;
  Array y(shape);
  for (int64_t row = 0; row < y.size(); ++row) {
    double size = 0.0;
    for (int64_t i = row * n; i < (row + 1) * n; ++i) {
      y.at(row) += x.at(i);
      y.err(row) += x.err(i);
      size += std::abs(x.at(i)) + x.err(i);
    }
    y.err(row) += static_cast<double>(n + 2) * kUnit * size;
  }
  return y;
}

Array softmax_gradient(const Array& p, const Array& g, double factor) {
  return scale(mul(p, add(g, scale(row_sums(mul(p, g)), -1.0))), factor);
}

Case softmax_case(const Sizes& shape, double range = 3.0) {
  return {text_of(shape) + " within " + std::to_string(range), [=](Trial& t) {
            const Tensor x = t.input("x", shape_of(shape));
            t.graph.output("y", gradient(t, t.graph.softmax(x, {.scale = 0.5f}), x));
            Run& run = t.run();
            const Array logits = run.input("x", uniform(shape, 1, -range, range));
            const Array p = t.stored(softmax(logits, {.scale = 0.5}));
            const Array up = run.input("up", uniform(shape, 2));
            run.expect_within("y", t.stored(softmax_gradient(p, up, 0.5)), t.dtype);
            t.passes = {"softmax", "softmax_backward"};
          }};
}

// Hidden logits are constants. The others are logits whose softmax gives these weights.
Case filled_case() {
  return {"filled", [](Trial& t) {
            const Sizes shape = {2, 3, 33};
            const Tensor x = t.input("x", {2, 3, 33}), mask = t.graph.input("mask", {3, 33}, DType::U8);
            t.graph.output("y", gradient(t, t.graph.softmax(x, {.mask = keep(mask), .masked_fill = -0.5f}), x));
            Run& run = t.run();
            const Array logits = run.input("x", uniform(shape, 1, -2, 2));
            Array kept = whole_numbers({3, 33}, 3, 0, 2);
            for (int64_t i = 33; i < 66; ++i) kept.at(i) = 0.0;  // a row without visible keys
            const Array given = run.input("mask", kept, DType::U8);
            const Array p = t.stored(softmax(logits, {.mask = &given, .mask_keeps = true, .masked_fill = -0.5}));
            Array expected = t.stored(softmax_gradient(p, run.input("up", uniform(shape, 2)), 1.0));
            for (int64_t i = 0; i < expected.size(); ++i)
              if (given.at(i % 99) == 0.0) expected.at(i) = expected.err(i) = 0.0;
            run.expect_within("y", expected, t.dtype);
          }};
}

// The gradient of a weight that is 0 does not count, whatever its value.
Case unread_case() {
  return {"infinite gradients of hidden keys", [](Trial& t) {
            const Tensor x = t.input("x", {2, 5}), mask = t.graph.input("mask", {5}, DType::U8);
            t.graph.output("y", gradient(t, t.graph.softmax(x, {.mask = keep(mask)}), x));
            Run& run = t.run();
            const Array logits = run.input("x", uniform({2, 5}, 1));
            const Array kept = run.input("mask", values({5}, {1, 0, 1, 0, 1}), DType::U8);
            constexpr double kInfinity = std::numeric_limits<double>::infinity();
            Array up = run.input("up", values({2, 5}, {1, kInfinity, -1, NAN, 0.5, 0.25, -kInfinity, 1, NAN, 1}));
            for (double& v : up.value)
              if (!std::isfinite(v)) v = 0.0;
            const Array p = t.stored(softmax(logits, {.mask = &kept, .mask_keeps = true}));
            run.expect_within("y", t.stored(softmax_gradient(p, up, 1.0)), t.dtype);
          }};
}

enum class Norm { Layer, Rms, L2 };

// The factor of a row's deviations.
Array factors(const Array& x, Norm norm, double eps) {
  const int64_t n = x.dim(0);
  Sizes shape = x.shape;
  shape.back() = 1;
  Array f(shape);
  for (int64_t row = 0; row < f.size(); ++row) {
    double mean = 0.0, squares = 0.0, spread = 0.0;
    for (int64_t i = row * n; i < (row + 1) * n; ++i)
      mean += norm == Norm::Layer ? x.at(i) / static_cast<double>(n) : 0.0;
    for (int64_t i = row * n; i < (row + 1) * n; ++i) squares += std::pow(x.at(i) - mean, 2);
    const double deviation = std::sqrt(squares / static_cast<double>(n) + eps);
    f.at(row) = norm == Norm::L2 ? 1.0 / std::max(std::sqrt(squares), eps) : 1.0 / deviation;
    // The mean's last correction shifts the deviations.
    spread = norm == Norm::Layer ? 4.0 * std::abs(mean) / deviation : 0.0;
    f.err(row) = f.at(row) * kUnit * (static_cast<double>(n) + 24.0 + spread);
  }
  return f;
}

Array norm_gradient(const Array& x, const Array* gamma, const Array& g, Norm norm, double eps) {
  const double inverse = norm == Norm::L2 ? 1.0 : 1.0 / static_cast<double>(x.dim(0));
  const Array h = gamma != nullptr ? mul(g, *gamma) : g, f = factors(x, norm, eps);
  const Array y = norm == Norm::Layer ? layernorm(x, nullptr, nullptr, eps)
                  : norm == Norm::Rms ? rmsnorm(x, nullptr, eps)
                                      : l2_normalize(x, eps);
  Array inner = add(h, scale(mul(y, row_sums(mul(h, y))), -inverse));
  if (norm == Norm::Layer) inner = add(inner, scale(row_sums(h), -inverse));
  return mul(f, inner);
}

Case norm_case(const Sizes& shape, Norm norm, bool scaled, double middle = 0.0, double magnitude = 1.0) {
  const char* const names[] = {"layernorm ", "rmsnorm ", "l2_normalize "};
  return {names[static_cast<int>(norm)] + text_of(shape) + (scaled ? " gamma" : "") + " around " +
              std::to_string(middle) + " by " + std::to_string(magnitude),
          [=](Trial& t) {
            const bool wide = std::abs(middle) + magnitude > 6e4 || (magnitude > 0 && magnitude < 1e-4);
            if (t.dtype != DType::F32 && (wide || middle != 0.0)) return;
            constexpr float kEps = 1e-3f;
            const float eps = wide && magnitude < 1.0 ? 1e-30f : kEps;
            const Tensor x = t.input("x", shape_of(shape));
            Array gamma = uniform({shape.back()}, 5, 0.5, 1.5);
            const Tensor by = scaled ? t.weight("gamma", &gamma) : Tensor{};
            const Tensor y = norm == Norm::Layer ? t.graph.layernorm(x, by, {}, eps)
                             : norm == Norm::Rms ? t.graph.rmsnorm(x, by, eps)
                                                 : t.graph.l2_normalize(x, eps);
            t.graph.output("y", gradient(t, y, x));
            Run& run = t.run();
            const Array rows = run.input("x", uniform(shape, 3, middle - magnitude, middle + magnitude));
            const Array up = run.input("up", uniform(shape, 4));
            const Array expected = norm_gradient(rows, scaled ? &gamma : nullptr, up, norm, static_cast<double>(eps));
            run.expect_within("y", t.stored(expected), t.dtype);
            t.passes = {"norm_backward"};
          },
          magnitude != 1.0};
}

// Sums over all rows, in any order.
Array column_sums(const Array& x) {
  const int64_t n = x.dim(0), rows = x.size() / n;
  Array y({n});
  for (int64_t c = 0; c < n; ++c) {
    double size = 0.0;
    for (int64_t row = 0; row < rows; ++row) {
      y.at(c) += x.at(row * n + c);
      y.err(c) += x.err(row * n + c);
      size += std::abs(x.at(row * n + c)) + x.err(row * n + c);
    }
    y.err(c) += static_cast<double>(rows + 2) * kUnit * size;
  }
  return y;
}

// All gradients of z = norm(h) + h with h = x + b: of gamma and beta, of h including the residual's gradient, and the sum of its rows. One
// pass computes all of them.
Case norm_sums_case(const Sizes& shape, Norm norm) {
  return {(norm == Norm::Layer ? "all of layernorm "
           : norm == Norm::Rms ? "all of rmsnorm "
                               : "all of l2_normalize ") +
              text_of(shape),
          [=](Trial& t) {
            constexpr float kEps = 1e-2f;
            const Sizes row = {shape.back()};
            Array gamma = uniform(row, 5, 0.5, 1.5), beta = uniform(row, 6), b = uniform(row, 7);
            const Tensor x = t.input("x", shape_of(shape));
            const Tensor of[] = {t.weight("gamma", &gamma), t.weight("beta", &beta), t.weight("b", &b)};
            const Tensor h = t.graph.add(x, of[2]);
            const Tensor y = norm == Norm::Layer ? t.graph.layernorm(h, of[0], of[1], kEps)
                             : norm == Norm::Rms ? t.graph.rmsnorm(h, of[0], kEps)
                                                 : t.graph.l2_normalize(h, kEps);
            const Tensor z = t.graph.add(y, h);
            const train::Upstream output{z, t.graph.input("up", t.graph.shape(z), t.dtype)};
            const std::array<Tensor, 4> wanted = {x, of[2], of[0], of[1]};
            const size_t count = norm == Norm::Layer ? 4 : norm == Norm::Rms ? 3 : 2;
            const auto made = train::gradients(t.graph, std::span(&output, 1), std::span(wanted.data(), count));
            constexpr const char* kNames[] = {"dx", "db", "dgamma", "dbeta"};
            for (size_t i = 0; i < count; ++i) t.graph.output(kNames[i], made[i]);
            Run& run = t.run();
            const Array given = run.input("x", uniform(shape, 3)), up = run.input("up", uniform(shape, 4));
            const Array rows = t.stored(add(given, b));
            const double eps = static_cast<double>(kEps);
            const Array* const by = norm == Norm::L2 ? nullptr : &gamma;
            const Array of_h = t.stored(add(norm_gradient(rows, by, up, norm, eps), up));
            run.expect_within("dx", of_h, t.dtype);
            run.expect_within("db", t.stored(column_sums(of_h)), t.dtype);
            const Array normal =
                norm == Norm::Layer ? layernorm(rows, nullptr, nullptr, eps) : rmsnorm(rows, nullptr, eps);
            if (count > 2) run.expect_within("dgamma", t.stored(column_sums(mul(up, normal))), t.dtype);
            if (count > 3) run.expect_within("dbeta", t.stored(column_sums(up)), t.dtype);
            t.passes = {"elementwise", "norm_backward"};
          }};
}

Array entropy_gradient(const Array& x, const Array& labels, const Array& up, double smoothing) {
  const int64_t n = x.dim(0);
  Array y = softmax(x);
  for (int64_t i = 0; i < y.size(); ++i) {
    const auto label = static_cast<int64_t>(labels.at(i / n));
    const double own = i % n == label ? 1.0 - smoothing : 0.0;
    y.at(i) -= own + smoothing / static_cast<double>(n);
    y.err(i) += 4.0 * kUnit * (own + smoothing);
    const bool counts = label >= 0 && label < n;
    y.at(i) = counts ? y.at(i) * up.at(i / n) : 0.0;
    y.err(i) = counts ? y.err(i) * std::abs(up.at(i / n)) + 2.0 * kUnit * std::abs(y.at(i)) : 0.0;
  }
  return y;
}

Case entropy_case(const Sizes& shape, double range, float smoothing) {
  return {
      text_of(shape) + " within " + std::to_string(range) + ", smoothing " + std::to_string(smoothing), [=](Trial& t) {
        const Sizes rows(shape.begin(), shape.end() - 1);
        const Tensor x = t.input("x", shape_of(shape)), labels = t.graph.input("labels", shape_of(rows), DType::I32);
        t.graph.output("y", gradient(t, t.graph.cross_entropy(x, labels, smoothing), x, DType::F32));
        Run& run = t.run();
        const Array logits = run.input("x", uniform(shape, 171, -range, range));
        Array given = whole_numbers(rows, 172, 0, shape.back());
        for (int64_t i = 0; i < given.size(); ++i)
          if (i % 8 == 3) given.at(i) = i % 16 == 3 ? -100.0 : static_cast<double>(shape.back());
        given = run.input("labels", given, DType::I32);
        const Array up = run.input("up", uniform(rows, 173), DType::F32);
        run.expect_within("y", t.stored(entropy_gradient(logits, given, up, static_cast<double>(smoothing))), t.dtype);
        t.passes = {"cross_entropy_backward"};
      }};
}

// Forbidden labels have no gradient. Rows with no other labels, or with NaN, give NaN.
Case strange_entropy_case() {
  return {
      "infinities", [](Trial& t) {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const Tensor x = t.input("x", {4, 3}), labels = t.graph.input("labels", {4}, DType::I32);
        t.graph.output("y", gradient(t, t.graph.cross_entropy(x, labels), x, DType::F32));
        Run& run = t.run();
        const Array logits = run.input(
            "x", values({4, 3}, {1, -kInfinity, 2, -kInfinity, -kInfinity, -kInfinity, NAN, 0, 1, kInfinity, 0, 1}));
        run.input("labels", values({4}, {0, 1, 2, -1}), DType::I32);
        run.input("up", filled({4}, 2.0), DType::F32);
        const double p = 1.0 / (1.0 + std::exp(1.0));
        Array expected = values({4, 3}, {2.0 * (p - 1.0), 0, 2.0 * (1.0 - p), NAN, NAN, NAN, NAN, NAN, NAN, 0, 0, 0});
        for (int64_t i = 0; i < 3; ++i) expected.err(i) = 64.0 * kUnit;
        run.expect_within("y", t.stored(expected), t.dtype);
      }};
}

// Ids occur several times, or not at all; some are invalid.
Case embedding_case(int64_t vocabulary, int64_t columns, int64_t ids) {
  return {text_of({vocabulary, columns}) + " by " + std::to_string(ids), [=](Trial& t) {
            const Tensor table = t.input("table", {vocabulary, columns});
            const Tensor rows = t.graph.take(t.graph.reshape(table, {1, vocabulary, columns}), 1,
                                             t.graph.input("ids", {1, ids}, DType::I32));
            t.graph.output("y", gradient(t, rows, table));
            Run& run = t.run();
            run.input("table", uniform({vocabulary, columns}, 1));
            const Array named = run.input("ids", whole_numbers({1, ids}, 2, -1, vocabulary), DType::I32);
            const Array up = run.input("up", uniform({1, ids, columns}, 3));
            Array sums({vocabulary, columns});
            std::vector<double> sizes(sums.value.size());
            for (int64_t i = 0; i < ids * columns; ++i) {
              const auto row = static_cast<int64_t>(named.at(i / columns));
              if (row < 0) continue;
              const int64_t to = row * columns + i % columns;
              sums.at(to) += up.at(i);
              sizes[static_cast<size_t>(to)] += std::abs(up.at(i));
              sums.err(to) += kUnit * sizes[static_cast<size_t>(to)];
            }
            run.expect_within("y", t.stored(sums), t.dtype);
          }};
}

struct Cut {
  Sizes shape;
  int axis;
  int64_t begin, size;
  std::vector<int> turned = {};
};

Case slice_case(const Cut& cut) {
  return {text_of(cut.shape) + " axis " + std::to_string(cut.axis) + " from " + std::to_string(cut.begin),
          [=](Trial& t) {
            const Tensor x = t.input("x", shape_of(cut.shape));
            Tensor part = t.graph.slice(x, cut.axis, cut.begin, cut.size);
            if (!cut.turned.empty()) part = t.graph.permute(part, cut.turned);
            t.graph.output("y", gradient(t, t.graph.scale(part, 1.0f), x));
            Run& run = t.run();
            run.input("x", uniform(cut.shape, 1));
            Sizes shape = cut.shape;
            shape[static_cast<size_t>(cut.axis)] = cut.size;
            const Array given = uniform(shape, 2);
            Array up = given;
            for (double& v : up.value) v = round_to(t.dtype, v);
            run.input("up", cut.turned.empty() ? given : permute(given, cut.turned));
            Array whole(cut.shape);
            for (int64_t i = 0; i < up.size(); ++i) {
              int64_t rest = i, to = 0, stride = 1;
              for (size_t axis = shape.size(); axis-- > 0;) {
                const int64_t index = rest % shape[axis];
                rest /= shape[axis];
                to += (index + (static_cast<int>(axis) == cut.axis ? cut.begin : 0)) * stride;
                stride *= cut.shape[axis];
              }
              whole.at(to) = up.at(i);
            }
            run.expect_exact("y", whole, t.dtype);
          }};
}

// A slice whose begin a run sets, from an axis whose length a run sets.
Case moving_slice_case() {
  return {"extents", [](Trial& t) {
            const Dim n = t.graph.extent("n", 9), at = t.graph.position("at", 8);
            const Tensor x = t.input("x", {2, n, 3});
            t.graph.output("y", gradient(t, t.graph.scale(t.graph.slice(x, 1, at, 2), 1.0f), x));
            for (const auto& [length, begin] : {std::pair<int64_t, int64_t>{9, 7}, {9, 0}, {2, 0}, {5, 2}}) {
              Run& run = t.run({{"n", length}, {"at", begin}});
              run.input("x", uniform({2, length, 3}, 1));
              const Array up = run.input("up", uniform({2, 2, 3}, 2));
              Array whole({2, length, 3});
              for (int64_t i = 0; i < 12; ++i) whole.at((i / 6 * length + begin + i / 3 % 2) * 3 + i % 3) = up.at(i);
              run.expect_exact("y", whole, t.dtype);
            }
          }};
}

Case sum_case(const Sizes& shape, const Sizes& kept) {
  return {text_of(shape) + " to " + text_of(kept), [=](Trial& t) {
            const Tensor b = t.input("b", shape_of(kept));
            t.graph.output("y", gradient(t, t.graph.add(t.input("x", shape_of(shape)), b), b));
            Run& run = t.run();
            run.input("b", uniform(kept, 1));
            run.input("x", uniform(shape, 2));
            const Array up = run.input("up", uniform(shape, 3));
            Array sums(kept);
            std::vector<double> sizes(sums.value.size());
            for (int64_t i = 0; i < up.size(); ++i) {
              int64_t rest = i, to = 0, stride = 1;
              for (size_t axis = 0; axis < shape.size(); ++axis) {
                const size_t here = shape.size() - 1 - axis;
                const int64_t index = rest % shape[here], size = axis < kept.size() ? kept[kept.size() - 1 - axis] : 1;
                rest /= shape[here];
                to += (size == 1 ? 0 : index) * stride;
                stride *= size;
              }
              sums.at(to) += up.at(i);
              sizes[static_cast<size_t>(to)] += std::abs(up.at(i));
              sums.err(to) = static_cast<double>(up.size()) * kUnit * sizes[static_cast<size_t>(to)];
            }
            // Sums along axes that are not adjacent store an intermediate result.
            run.expect_within("y", t.stored(t.stored(t.stored(sums))), t.dtype);
          }};
}

constexpr int64_t kLengths[] = {1, 2, 7, 31, 33, 64, 129, 257, 1025, 9001};

}  // namespace

TEST_CASE("softmax_backward on every device", "[train][ops]") {
  Operation operation{"softmax_backward", {}};
  for (const int64_t n : kLengths) operation.cases.push_back(softmax_case({5, n}));
  operation.cases.push_back(softmax_case({2, 3, 4, 50}, 30.0));
  operation.cases.push_back(softmax_case({70001, 3}));
  operation.cases.back().many_groups = true;
  operation.cases.push_back(filled_case());
  operation.cases.push_back(unread_case());
  check(operation);
}

TEST_CASE("norm_backward on every device", "[train][ops]") {
  Operation operation{"norm_backward", {}};
  for (const Norm norm : {Norm::Layer, Norm::Rms, Norm::L2}) {
    for (const int64_t n : kLengths) operation.cases.push_back(norm_case({3, n}, norm, norm != Norm::L2 && n % 2 == 1));
    operation.cases.push_back(norm_case({2, 3, 4, 5}, norm, false));
    operation.cases.push_back(norm_case({3, 40}, norm, false, 0.0, 1e19));
    operation.cases.push_back(norm_case({3, 40}, norm, false, 0.0, 1e-10));
  }
  for (const Norm norm : {Norm::Layer, Norm::Rms, Norm::L2}) {
    for (const int64_t n : {1, 9, 130, 300})
      if (norm != Norm::L2 || n > 1) operation.cases.push_back(norm_sums_case({37, n}, norm));
    operation.cases.push_back(norm_sums_case({2, 3, 5, 20}, norm));
  }
  operation.cases.push_back(norm_sums_case({2100, 24}, Norm::Layer));
  operation.cases.push_back(norm_case({3, 256}, Norm::Layer, true, 100.0));
  operation.cases.push_back(norm_case({3, 40}, Norm::L2, false, 0.0, 0.0));
  check(operation);
}

TEST_CASE("cross_entropy_backward on every device", "[train][ops]") {
  Operation operation{"cross_entropy_backward", {}};
  for (const int64_t n : kLengths)
    for (const float smoothing : {0.0f, 0.1f}) operation.cases.push_back(entropy_case({9, n}, 12.0, smoothing));
  operation.cases.push_back(entropy_case({2, 3, 4, 50}, 8.0, 1.0f));
  operation.cases.push_back(entropy_case({70001, 3}, 5.0, 0.0f));
  operation.cases.back().many_groups = true;
  operation.cases.push_back(strange_entropy_case());
  check(operation);
}

TEST_CASE("embedding_backward on every device", "[train][ops]") {
  Operation operation{"embedding_backward", {}};
  operation.cases = {embedding_case(1, 1, 1),    embedding_case(7, 33, 20),    embedding_case(70, 257, 300),
                     embedding_case(129, 5, 64), embedding_case(3, 1025, 100), embedding_case(70001, 3, 40)};
  operation.cases.back().many_groups = true;
  check(operation);
}

TEST_CASE("slice_backward on every device", "[train][ops]") {
  Operation operation{"slice_backward", {}};
  operation.cases = {slice_case({{9}, 0, 2, 3}),
                     slice_case({{5, 7}, 1, 6, 1}),
                     slice_case({{5, 7}, 0, 0, 4, {1, 0}}),
                     slice_case({{3, 5, 7, 4}, 1, 1, 3, {2, 3, 1, 0}}),
                     slice_case({{2, 3, 4, 5, 6}, 3, 1, 2, {4, 0, 2, 1, 3}}),
                     slice_case({{300, 129}, 1, 64, 65}),
                     moving_slice_case()};
  check(operation);
}

TEST_CASE("sums of broadcast gradients on every device", "[train][ops]") {
  Operation operation{"sum", {}};
  operation.cases = {sum_case({5}, {1}),       sum_case({300, 33}, {33}),         sum_case({3, 129}, {3, 1}),
                     sum_case({2, 3, 4}, {1}), sum_case({2, 3, 4, 5}, {3, 1, 5}), sum_case({4, 3, 2, 5}, {4, 1, 2, 1})};
  check(operation);
}

}  // namespace heed::train_tests
