#include "api/quick_test.hpp"

#include <cmath>
#include <vector>

#include "api/cpu_device.hpp"
#include "base/logging.hpp"
#include "graph/schedule/backend.hpp"

namespace heed {
namespace {

constexpr int64_t kTokens = 19, kWidth = 24, kHeads = 3;  // no multiple of any tile

// Touches matmul with epilogue, masked softmax, strided views and layernorm.
Graph probe() {
  Graph g;
  const Tensor x = g.input("x", {2, kTokens, kWidth});
  const Tensor padding = g.input("padding", {2, kTokens}, DType::U8);
  const Tensor weight = g.input("weight", {3 * kWidth, kWidth});
  const Tensor bias = g.input("bias", {3 * kWidth});
  const Tensor qkv = g.reshape(g.linear(x, weight, bias), {2, kTokens, 3, kHeads, kWidth / kHeads});
  const auto heads = [&](int64_t role) { return g.transpose(g.select(qkv, 2, role), 1, 2); };
  const Tensor mixed =
      g.attention(heads(0), heads(1), heads(2), {.causal = Causal::TopLeft, .key_padding = exclude(padding)}).output;
  const Tensor merged = g.reshape(g.transpose(mixed, 1, 2), {2, kTokens, kWidth});
  g.output("y", g.layernorm(g.add(merged, x), {}, {}, 1e-5f));
  return g;
}

// Values in [-1, 1) that no part of the engine could have produced by mistake.
std::vector<float> pattern(int64_t count, uint32_t state) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  }
  return values;
}

Status run_probe(Device& device, const Graph& graph, std::vector<float>* y) {
  Plan plan;
  const Status status = device.compile(graph, {}, &plan);
  if (status != Status::Ok) return status;
  const std::vector<float> x = pattern(2 * kTokens * kWidth, 1), weight = pattern(3 * kWidth * kWidth, 2),
                           bias = pattern(3 * kWidth, 3);
  std::vector<uint8_t> padding(2 * kTokens, 0);
  for (int64_t key = 11; key < kTokens; ++key) padding[static_cast<size_t>(kTokens + key)] = 1;
  plan.impl()->spoil_before_runs();
  y->assign(x.size(), std::nanf(""));
  return plan.run({{"x", x}, {"padding", padding}, {"weight", weight}, {"bias", bias}, {"y", *y}});
}

}  // namespace

Status quick_test(Device& device, const Log& log) {
  if (!has_cpu_device()) {
    heed::log(
        log, LogLevel::Warning,
        format(
            "%s is used without a self-test: heed was built without its CPU device, which would tell the right results",
            device.info().word.c_str()));
    return Status::Ok;
  }
  const Graph graph = probe();
  std::vector<float> got, want;
  Status status = run_probe(device, graph, &got);
  if (status != Status::Ok)
    return fail(log, status, format("self-test on %s failed: %s", device.info().word.c_str(), to_string(status)));
  Device reference;
  status = open_cpu_device({.threads = 1}, &reference);
  if (status == Status::Ok) status = run_probe(reference, graph, &want);
  if (status != Status::Ok) return status;
  float worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const float difference = std::fabs(got[i] - want[i]);
    if (!(difference <= worst)) worst = difference;  // NaN sticks
  }
  // Rows of layernorm have deviation 1; sums of 24 products in another order stay far below.
  if (worst <= 1e-4f) return Status::Ok;
  return fail(log, Status::DriverError,
              format("self-test on %s: results differ from the CPU by %g", device.info().word.c_str(),
                     static_cast<double>(worst)));
}

}  // namespace heed
