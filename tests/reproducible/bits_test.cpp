// Compares devices with each other, and with the bits that this version of heed must give.
#include <heed/custom.hpp>
#include <heed/reproducible.hpp>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "cpu/support.hpp"
#include "harness/catch.hpp"
#include "harness/environment.hpp"
#include "harness/setup.hpp"
#include "ops/composition.hpp"

namespace heed::reproducible {
namespace {

using ops::test_devices, ops::TestDevice;

// Whether a device that refuses reproducible plans names the missing property.
bool names_what_is_missing(const std::string& text) {
  for (const char* what : {"shaderRoundingModeRTEFloat32", "shaderSignedZeroInfNanPreserveFloat32", "Vulkan 1.2"})
    if (text.find(what) != std::string::npos) return true;
  return false;
}

void check_bits(const TestDevice& on) {
  INFO(on.word);
  std::vector<OperationBits> operations;
  Device device = on.device;
  const Status status = operation_bits(device, &operations);
  const std::string said = ops::take_checked_messages();
  if (status == Status::Unsupported && device.info().kind != DeviceKind::Cpu) {
    std::printf("%s: %s\n", on.word.c_str(), said.c_str());
    CHECK(names_what_is_missing(said));
    CHECK(on.word.find("llvmpipe") == std::string::npos);  // Mesa's driver supports all of it
    return;
  }
  INFO(said);
  REQUIRE(status == Status::Ok);
  CHECK(operations.size() >= 14);
  for (const OperationBits& one : operations) {
    INFO(one.operation);
    CHECK(one.bits == one.known);
  }
}

}  // namespace

TEST_CASE("reproducible: every operation has the bits of this version on every device", "[reproducible]") {
  // Reproducible plans have no subgroup operations, so that GPUs with and without them run the same kernels.
  for (const TestDevice& on : test_devices()) check_bits(on);
}

#if defined(__SSE__)
TEST_CASE("reproducible: what a host's threads do with subnormals changes nothing", "[reproducible]") {
  const uint32_t usual = _mm_getcsr();
  for (const uint32_t flags : {0x0040u, 0x8000u, 0x8040u}) {  // flush inputs, results, both
    _mm_setcsr(usual | flags);
    // The interpreter computes on this thread. Drivers compute on their own threads, so that they run only once.
    for (const TestDevice& on : test_devices())
      if (flags == 0x8040u || on.interpreted || on.device.info().kind == DeviceKind::Cpu) check_bits(on);
    _mm_setcsr(usual);
  }
}
#endif

TEST_CASE("reproducible: random graphs have the same bits on every device, within their bounds", "[reproducible]") {
  const uint64_t seed = ops::random_seed();
  const int64_t graphs = test::number_from("HEED_RANDOM_CASES", 60);
  std::map<std::string, int> compared;
  for (int64_t number = 0; number < graphs; ++number) {
    const ops::RandomGraph graph = ops::random_graph(seed, number);
    ops::Trial trial = ops::trial_of(graph);
    trial.options.reproducible = true;
    for (const TestDevice& on : test_devices()) {
      ops::Tally tally;
      const ops::Verdict verdict = ops::check_trial(on.device, trial, &tally);
      compared[on.word] += verdict.unsupported ? 0 : 1;
      if (!verdict.difference.empty())
        FAIL_CHECK(graph.operation << " / " << to_string(graph.dtype) << " / " << on.word << " / graph " << number
                                   << ": " << verdict.difference << "; HEED_RANDOM_SEED=" << seed);
    }
  }
  for (const auto& [word, count] : compared)
    std::printf("%s: %d of %lld graphs\n", word.c_str(), count, static_cast<long long>(graphs));
  for (const TestDevice& on : test_devices())
    if (on.device.info().kind == DeviceKind::Cpu && graphs >= ops::kGraphsOfAll) CHECK(compared[on.word] > 10);
}

TEST_CASE("reproducible: compositions have the same bits on every device, within their bounds", "[reproducible]") {
  int drawn = 0;
  std::map<std::string, int> compared;
  ops::for_compositions(10, [&](int64_t, const ops::Composition& composition) {
    composition.trial->options.reproducible = true;
    ++drawn;
    for (const TestDevice& on : test_devices()) {
      ops::Tally tally;
      const ops::Verdict verdict = ops::check_trial(on.device, *composition.trial, &tally);
      if (!verdict.difference.empty()) return on.word + ": " + verdict.difference;
      compared[on.word] += verdict.unsupported ? 0 : 1;
    }
    return std::string();
  });
  for (const TestDevice& on : test_devices())
    if (on.device.info().kind == DeviceKind::Cpu && drawn > 1) CHECK(compared[on.word] > 0);
}

TEST_CASE("reproducible: a network gives the same bits for any threads and any length beside others",
          "[reproducible]") {
  const Graph g = cpu_test::network();
  std::optional<cpu_test::Result> first;
  for (const uint32_t threads : {1u, 2u, 5u})
    cpu_test::on_every_set(
        [&](Device device, const char* set) {
          INFO(set << " with " << threads << " threads");
          Plan plan = test::compiled(device, g, {}, {.training = true, .reproducible = true});
          const cpu_test::Result result = cpu_test::run_network(plan, 131, 7);
          REQUIRE(result.status == Status::Ok);
          if (!first) first = result;
          CHECK(result == *first);
        },
        threads);
}

TEST_CASE("reproducible: what the rules do not cover is refused by its name", "[reproducible]") {
  test::Messages messages;
  Device cpu = test::open_cpu({.log = messages.log()});
  Graph g;
  const CustomOutput outputs[] = {{{4}}};
  const CustomFunction nothing = {[](void*, const CustomCall&) {}, nullptr};
  g.output("y", g.custom({.name = "nothing", .outputs = outputs, .cpu = nothing}, {g.input("x", {4})}).outputs[0]);
  REQUIRE(g.status() == Status::Ok);
  Plan plan;
  CHECK(cpu.compile(g, {}, &plan, {.reproducible = true}) == Status::Unsupported);
  CHECK(messages.mention("custom"));
}

}  // namespace heed::reproducible
