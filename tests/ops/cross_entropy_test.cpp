#include <limits>

#include "harness/catch.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// About one in eight of n labels is invalid: below 0, or past the last class.
Array labels_for(const Sizes& rows, int64_t n, uint64_t seed) {
  Array labels = whole_numbers(rows, seed, 0, n);
  for (int64_t i = 0; i < labels.size(); ++i)
    if (i % 8 == 3) labels.at(i) = i % 16 == 3 ? -100.0 : static_cast<double>(n);
  return labels;
}

Sizes rows_of(const Sizes& shape) { return {shape.begin(), shape.end() - 1}; }

void expect_loss(Run& run, const Array& x, const Array& labels, float smoothing) {
  run.expect_within("y", cross_entropy(x, labels, static_cast<double>(smoothing)));
}

// Logits between -range and range.
Case rows_case(const Sizes& shape, double range, float smoothing) {
  const std::string name =
      text_of(shape) + " within " + std::to_string(range) + ", smoothing " + std::to_string(smoothing);
  return {name, [=](Trial& t) {
            const Sizes rows = rows_of(shape);
            const Tensor labels = t.graph.input("labels", shape_of(rows), DType::I32);
            t.graph.output("y", t.graph.cross_entropy(t.input("x", shape_of(shape)), labels, smoothing));
            Run& run = t.run();
            const Array x = run.input("x", uniform(shape, 171, -range, range));
            expect_loss(run, x, run.input("labels", labels_for(rows, shape.back(), 172), DType::I32), smoothing);
            t.passes = {"cross_entropy"};
          }};
}

// Forbidden classes (logits of -inf), rows of nothing else, infinite and NaN logits.
Case strange_case(float smoothing) {
  return {"infinities, smoothing " + std::to_string(smoothing), [=](Trial& t) {
            const Tensor labels = t.graph.input("labels", {7}, DType::I32);
            t.graph.output("y", t.graph.cross_entropy(t.input("x", {7, 3}), labels, smoothing));
            Run& run = t.run();
            const Array x = run.input(
                "x", values({7, 3},
                            {1, -kInfinity, 2,    1, -kInfinity, 2,    -kInfinity, -kInfinity, -kInfinity, kInfinity, 0,
                             1, 0,          kNaN, 1, -kInfinity, kNaN, -kInfinity, kInfinity,  -kInfinity, kNaN}));
            expect_loss(run, x, run.input("labels", values({7}, {0, 1, 2, 1, 0, 0, 5}), DType::I32), smoothing);
          }};
}

Case extents_case() {
  return {"extents", [](Trial& t) {
            const Dim m = t.graph.extent("m", 9), n = t.graph.extent("n", 300);
            const Tensor labels = t.graph.input("labels", {m}, DType::I32);
            t.graph.output("y", t.graph.cross_entropy(t.graph.transpose(t.input("x", {n, m}), 0, 1), labels, 0.1f));
            for (const auto& e : {std::array<int64_t, 2>{9, 300}, {1, 1}, {4, 129}}) {
              Run& run = t.run({{"m", e[0]}, {"n", e[1]}});
              const Array x = transposed(run.input("x", uniform({e[1], e[0]}, 173, -8, 8)));
              expect_loss(run, x, run.input("labels", labels_for({e[0]}, e[1], 174), DType::I32), 0.1f);
            }
          }};
}

// The loss of heed::nn, which is several passes, and the log-probabilities.
Case weighted_case(const Sizes& shape, bool weighted, const nn::CrossEntropyOptions& given) {
  const std::string name = text_of(shape) + (weighted ? " weighted" : "") + ", reduction " +
                           std::to_string(static_cast<int>(given.reduction)) + ", smoothing " +
                           std::to_string(given.label_smoothing) + ", without " + std::to_string(given.ignored) +
                           (given.of_log_probabilities ? ", of log-probabilities" : "");
  return {name, [=](Trial& t) {
            const Sizes rows = rows_of(shape);
            const int64_t n = shape.back();
            nn::CrossEntropyOptions options = given;
            if (weighted) options.class_weights = t.input("weights", {n});
            const nn::CrossEntropyResult made = nn::cross_entropy(
                t.graph, t.input("x", shape_of(shape)), t.graph.input("labels", shape_of(rows), DType::I32), options);
            t.graph.output("loss", made.loss);
            t.graph.output("logs", made.log_probabilities);
            Run& run = t.run();
            const Array x = run.input("x", uniform(shape, 175, -6, 0)),
                        labels = run.input("labels", labels_for(rows, n, 176), DType::I32),
                        weights = weighted ? run.input("weights", uniform({n}, 177, 0.25, 2.0)) : Array();
            run.expect_within("loss", weighted_cross_entropy(x, labels, weighted ? &weights : nullptr, options));
            run.expect_within("logs", t.stored(options.of_log_probabilities ? x : log_softmax(x)), t.dtype);
          }};
}

}  // namespace

TEST_CASE("nn::cross_entropy on every device", "[ops][nn]") {
  Operation operation{"nn::cross_entropy", {}};
  for (const auto reduction : {nn::LossReduction::None, nn::LossReduction::Sum, nn::LossReduction::Mean})
    for (const bool weighted : {false, true})
      for (const bool logs : {false, true})
        for (const float smoothing : {0.0f, 0.25f})
          for (const Sizes& shape : {Sizes{19, 33}, Sizes{2, 3, 5, 7}})
            operation.cases.push_back(weighted_case(shape, weighted,
                                                    {.ignored = shape.size() > 2 ? 2 : -100,
                                                     .label_smoothing = smoothing,
                                                     .reduction = reduction,
                                                     .of_log_probabilities = logs}));
  // One class, which is also the ignored label: no label counts.
  operation.cases.push_back(weighted_case({3, 1}, true, {.ignored = 0}));
  check(operation);
}

TEST_CASE("nn::cross_entropy refuses what it cannot mean", "[graph][nn]") {
  const auto refused = [](nn::CrossEntropyOptions options, int64_t weights = 4) {
    Graph g;
    options.class_weights = g.input("weights", {weights});
    static_cast<void>(nn::cross_entropy(g, g.input("x", {2, 3, 4}), g.input("labels", {2, 3}, DType::I32), options));
    INFO(g.error());
    return g.status();
  };
  CHECK(refused({}) == Status::Ok);
  CHECK(refused({}, 3) == Status::ShapeMismatch);
  CHECK(refused({.ignored = int64_t{1} << 40}) == Status::InvalidArgument);
  CHECK(refused({.label_smoothing = 1.5f}) == Status::InvalidArgument);
  CHECK(refused({.reduction = static_cast<nn::LossReduction>(3)}) == Status::InvalidArgument);
}

TEST_CASE("cross_entropy on every device", "[ops]") {
  Operation operation{"cross_entropy", {}};
  for (const int64_t n : {1, 2, 7, 31, 33, 64, 129, 257, 1025, 9001})
    for (const float smoothing : {0.0f, 0.1f}) operation.cases.push_back(rows_case({5, n}, 12.0, smoothing));
  operation.cases.push_back(rows_case({9, 300}, 3e4, 0.0f));
  operation.cases.push_back(rows_case({9, 300}, 3e4, 1.0f));
  operation.cases.push_back(rows_case({2, 70000}, 20.0, 0.0f));
  operation.cases.push_back(rows_case({70001, 3}, 5.0, 0.0f));
  operation.cases.back().many_groups = true;
  operation.cases.push_back(rows_case({2, 3, 4, 50}, 8.0, 0.5f));
  for (const float smoothing : {0.0f, 0.1f, 1.0f}) operation.cases.push_back(strange_case(smoothing));
  operation.cases.push_back(extents_case());
  check(operation);
}

TEST_CASE("cross_entropy refuses what it cannot mean", "[graph]") {
  struct Row {
    Shape labels;
    DType type;
    float smoothing;
    Status status;
  };
  const Row rows[] = {{{2, 3}, DType::I32, 0.0f, Status::Ok},
                      {{2, 3}, DType::U8, 0.0f, Status::DTypeMismatch},
                      {{3, 2}, DType::I32, 0.0f, Status::ShapeMismatch},
                      {{2, 3, 4}, DType::I32, 0.0f, Status::ShapeMismatch},
                      {{2, 3}, DType::I32, -0.5f, Status::InvalidArgument},
                      {{2, 3}, DType::I32, 1.5f, Status::InvalidArgument},
                      {{2, 3}, DType::I32, std::numeric_limits<float>::quiet_NaN(), Status::InvalidArgument}};
  for (const Row& row : rows) {
    Graph g;
    static_cast<void>(g.cross_entropy(g.input("x", {2, 3, 4}), g.input("labels", row.labels, row.type), row.smoothing));
    INFO(g.error());
    CHECK(g.status() == row.status);
  }
}

}  // namespace heed::ops
