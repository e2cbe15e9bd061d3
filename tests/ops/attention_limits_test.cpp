// Attention at the limits: biases near the largest f32, and heads so wide that no kernel returns their log-sum-exp.
#include "harness/catch.hpp"
#include "harness/devices.hpp"
#include "harness/trial.hpp"

namespace heed::ops {
namespace {

// Biases so large that a scale factor would make them infinite. One key of each query is far above all others and has all of the weight.
Case far_bias_case(int64_t queries) {
  return {"biases of 1e38, " + std::to_string(queries) + " queries",
          [queries](Trial& t) {
            const int64_t keys = 150, width = 20;
            const Tensor q = t.input("q", {1, 1, queries, width}), k = t.input("k", {1, 1, keys, width}),
                         v = t.input("v", {1, 1, keys, width}), bias = t.input("bias", {queries, keys});
            const AttentionResult result = t.graph.attention(q, k, v, {.bias = bias, .return_log_sum_exp = true});
            t.graph.output("y", result.output);
            t.graph.output("lse", result.log_sum_exp);
            Run& run = t.run();
            run.input("q", uniform({queries, width}, 91));
            run.input("k", uniform({keys, width}, 92));
            const Array values = run.input("v", uniform({keys, width}, 93));
            Array biases({queries, keys}), y({1, 1, queries, width}), lse({1, 1, queries});
            const auto best_of = [keys](int64_t query) { return query * 7 % keys; };
            for (int64_t i = 0; i < queries; ++i)
              for (int64_t j = 0; j < keys; ++j)
                biases.at(i * keys + j) =
                    i % 2 == 0 ? (j == best_of(i) ? 3.2e38 : 2e38) : (j == best_of(i) ? -2.3e38 : -3e38);
            biases = run.input("bias", biases);
            for (int64_t i = 0; i < queries; ++i) {
              lse.at(i) = biases.at(i * keys + best_of(i));
              lse.err(i) = 1e32;
              for (int64_t d = 0; d < width; ++d) {
                y.at(i * width + d) = values.at(best_of(i) * width + d);
                y.err(i * width + d) = 1e-6;
              }
            }
            run.expect("y", y);
            run.expect_within("lse", lse);
          },
          true};
}

}  // namespace

TEST_CASE("attention with biases near the end of f32 on every device", "[ops]") {
  Operation operation{"attention", {}, {DType::F32, DType::BF16}};
  for (const int64_t queries : {1, 4, 5, 40}) operation.cases.push_back(far_bias_case(queries));
  check(operation);
}

TEST_CASE("attention: the log-sum-exp of wide heads is refused where no kernel gives it", "[ops]") {
  for (const TestDevice& on : test_devices())
    for (const int64_t width : {256, 257, 600, 0}) {
      INFO(on.word << ", heads of " << width << " (0: an extent)");
      Graph g;
      const Dim d = width > 0 ? Dim(width) : g.extent("d", 64);
      const AttentionResult result =
          g.attention(g.input("q", {1, 1, 3, d}), g.input("k", {1, 1, 5, d}), g.input("v", {1, 1, 5, 8}),
                      {.scale = 0.5f, .return_log_sum_exp = true});
      g.output("y", result.output);
      g.output("lse", result.log_sum_exp);
      Plan plan;
      const bool has_kernel = width == 256 || on.device.info().kind == DeviceKind::Cpu;
      CHECK(Device(on.device).compile(g, {}, &plan) == (has_kernel ? Status::Ok : Status::Unsupported));
      (void)take_messages();
    }
}

}  // namespace heed::ops
