#include "harness/devices.hpp"
#include "harness/setup.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

// In f32 every device gives the same bits: each element is zero, or the product of two floats.
Case bits_case(const Sizes& shape, float p, uint32_t seed, uint32_t stream) {
  return {text_of(shape) + " p " + std::to_string(p) + " seed " + std::to_string(seed), [=](Trial& t) {
            t.options.training = true;
            const Tensor x = t.input("x", shape_of(shape));
            t.graph.output("y", t.graph.dropout(x, p, stream));
            Run& run = t.run();
            run.options.seed = seed;
            const Array v = run.input("x", uniform(shape, 31));
            const Array y = dropout(v, static_cast<double>(p), seed, stream);
            if (t.dtype == DType::F32)
              run.expect_exact("y", y, DType::F32);
            else
              run.expect("y", y);
            t.passes = {"dropout"};
          }};
}

// Dropout counts elements in the order of the shape, whatever their order in memory.
Case permuted_case() {
  return {"permuted view", [](Trial& t) {
            t.options.training = true;
            const Tensor x = t.input("x", {5, 7, 11});
            t.graph.output("y", t.graph.dropout(t.graph.permute(x, {2, 0, 1}), 0.4f));
            Run& run = t.run();
            run.options.seed = 77;
            const Array v = permute(run.input("x", uniform({5, 7, 11}, 32)), {2, 0, 1});
            run.expect("y", dropout(v, static_cast<double>(0.4f), 77, 0));
          }};
}

// Dropout counts elements over the sizes of the run, not over the maxima.
Case extents_case() {
  return {"extents", [](Trial& t) {
            t.options.training = true;
            const Dim m = t.graph.extent("m", 50), n = t.graph.extent("n", 90);
            t.graph.output("y", t.graph.dropout(t.input("x", {m, n}), 0.5f));
            for (const auto& s : {std::array<int64_t, 2>{50, 90}, {1, 1}, {7, 13}, {50, 3}}) {
              Run& run = t.run({{"m", s[0]}, {"n", s[1]}});
              run.options.seed = 5;
              run.expect("y", dropout(run.input("x", uniform({s[0], s[1]}, 33)), 0.5, 5, 0));
            }
          }};
}

Case idle_case(bool training, float p) {
  return {training ? "p = 0 leaves no pass" : "evaluation leaves no pass", [=](Trial& t) {
            t.options.training = training;
            const Tensor x = t.input("x", {9, 9});
            t.graph.output("y", t.graph.scale(t.graph.dropout(t.graph.scale(x, 2.0f), p), 3.0f));
            Run& run = t.run();
            run.options.seed = 9;
            run.expect("y", scale(t.stored(scale(run.input("x", uniform({9, 9}, 34)), 2.0)), 3.0), 16.0, 2);
            t.passes = {"elementwise"};
          }};
}

constexpr int64_t kSamples = 1 << 18;

// 1 for each of `kSamples` elements that was dropped.
std::vector<int> dropped(Device device, float p, uint32_t seed, uint32_t stream) {
  Graph graph;
  graph.output("y", graph.dropout(graph.input("x", {kSamples}), p, stream));
  Plan plan = test::compiled(device, graph, {}, {.training = true});
  const std::vector<float> x(kSamples, 1.0f);
  std::vector<float> y(kSamples);
  REQUIRE(plan.run({{"x", x}, {"y", y}}, {}, {.seed = seed}) == Status::Ok);
  std::vector<int> out;
  for (const float v : y) out.push_back(v == 0.0f);
  return out;
}

// Correlation of a[i] and b[i + lag] in units of its standard deviation under independence, 1 / sqrt(n).
double correlation(const std::vector<int>& a, const std::vector<int>& b, size_t lag, double p) {
  double sum = 0.0;
  const size_t n = a.size() - lag;
  for (size_t i = 0; i < n; ++i) sum += (a[i] - p) * (b[i + lag] - p);
  return sum / (p * (1.0 - p)) / std::sqrt(static_cast<double>(n));
}

}  // namespace

TEST_CASE("dropout on every device", "[ops]") {
  Operation operation{"dropout", {}};
  for (const Sizes& shape : {Sizes{1}, Sizes{3}, Sizes{4}, Sizes{5}, Sizes{127}, Sizes{129}, Sizes{9001},
                             Sizes{2, 3, 5, 7}, Sizes{33, 65}, Sizes{70001, 2}})
    operation.cases.push_back(bits_case(shape, 0.1f, 42, 3));
  operation.cases.push_back(bits_case({1000}, 0.5f, 0, 0));
  operation.cases.push_back(bits_case({1000}, 0.999f, 0xffffffffu, 0xffffffffu));
  operation.cases.push_back(bits_case({1000}, 1e-6f, 0x80000000u, 1));
  operation.cases.push_back(permuted_case());
  operation.cases.push_back(extents_case());
  operation.cases.push_back(idle_case(true, 0.0f));
  operation.cases.push_back(idle_case(false, 0.7f));
  check(operation);
}

TEST_CASE("dropout drops the stated share, independently", "[ops]") {
  for (const TestDevice& device : test_devices()) {
    INFO(device.word);
    for (const float p : {0.1f, 0.5f, 0.9f}) {
      const auto share = static_cast<double>(p), n = static_cast<double>(kSamples);
      const std::vector<int> base = dropped(device.device, p, 1, 0);
      double total = 0.0;
      for (const int d : base) total += d;
      INFO("p " << p << ", dropped " << total << " of " << kSamples);
      CHECK(std::abs(total - share * n) < 5.0 * std::sqrt(n * share * (1.0 - share)));
      for (const size_t lag : {1u, 2u, 3u, 4u, 5u, 64u, 4096u})
        CHECK(std::abs(correlation(base, base, lag, share)) < 5.0);
      CHECK(std::abs(correlation(base, dropped(device.device, p, 1, 1), 0, share)) < 5.0);
      CHECK(std::abs(correlation(base, dropped(device.device, p, 2, 0), 0, share)) < 5.0);
      CHECK(std::abs(correlation(base, dropped(device.device, p, 0, 1), 0, share)) < 5.0);
    }
    CHECK(take_checked_messages().empty());
  }
}

}  // namespace heed::ops
