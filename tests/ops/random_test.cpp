// Random graphs on the CPU device with every instruction set. tests/vulkan/random_test.cpp tests every kernel variant of Vulkan devices on
// such graphs.
#include "ops/random.hpp"

#include "harness/catch.hpp"

namespace heed::ops {
namespace {

constexpr int64_t kGraphs = 40;

}  // namespace

TEST_CASE("random graphs on the CPU device", "[ops][cpu][random]") {
  const uint64_t seed = random_seed();
  std::printf("random graphs on the CPU device: HEED_RANDOM_SEED=%llu\n", static_cast<unsigned long long>(seed));
  Tally tally;
  for (int64_t number = 0; number < kGraphs; number += static_cast<int64_t>(case_steps().step)) {
    const RandomGraph graph = random_graph(seed, number);
    Trial trial = trial_of(graph);
    for (const TestDevice& device : test_devices()) {
      if (device.device.info().kind != DeviceKind::Cpu) continue;
      const Verdict verdict = check_trial(device.device, trial, &tally);
      if (!verdict.difference.empty())
        FAIL_CHECK(graph.operation << " / " << to_string(graph.dtype) << " / " << device.word << " / graph " << number
                                   << " run " << verdict.run << ": " << verdict.difference);
    }
  }
  std::printf("%d runs, worst error %.2f of its bound\n", tally.runs, tally.worst);
}

}  // namespace heed::ops
