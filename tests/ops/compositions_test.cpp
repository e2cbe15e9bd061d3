// Graphs of several operations on every device, against references in double.
//
//   HEED_COMPOSITIONS=N   how many, on all devices; the default is a few, and a ninth of them on Vulkan devices, whose
//                         drivers compile kernels for each
//   HEED_RANDOM_SEED=N    draws other graphs
//   HEED_COMPOSITION=N    runs only this one; failures name it

#include "harness/catch.hpp"
#include "harness/environment.hpp"
#include "ops/composition.hpp"

namespace heed::ops {
namespace {

constexpr int64_t kUsual = 400, kVulkanStep = 9;
static_assert(kVulkanStep % kCompositionTypes != 0);  // else Vulkan devices would test only one storage type

using test::number_from;

}  // namespace

bool compositions_are_asked_for() {
  return std::getenv("HEED_COMPOSITIONS") != nullptr || std::getenv("HEED_COMPOSITION") != nullptr;
}

void for_compositions(int64_t usual, const TryComposition& try_it) {
  const uint64_t seed = random_seed();
  const int64_t one = number_from("HEED_COMPOSITION", -1), first = std::max<int64_t>(0, one);
  const int64_t last = one >= 0 ? one + 1 : number_from("HEED_COMPOSITIONS", usual);
  int64_t operations = 0, drawn = 0, outputs = 0, loose = 0;
  for (int64_t number = first; number < last; number += static_cast<int64_t>(case_steps().step)) {
    const Composition composition = compose(seed, number);
    operations += composition.operations, outputs += composition.outputs, loose += composition.loose;
    ++drawn;
    if (one >= 0) std::printf("%s", composition.text.c_str());
    if (const std::string wrong = try_it(number, composition); !wrong.empty())
      FAIL_CHECK(wrong << "\nrepeat it with HEED_RANDOM_SEED=" << seed << " HEED_COMPOSITION=" << number << "\n"
                       << composition.text);
  }
  REQUIRE(drawn > 0);
  std::printf(
      "compositions: %lld of %.1f operations each, %lld of %lld outputs with loose bounds, "
      "HEED_RANDOM_SEED=%llu\n",
      static_cast<long long>(drawn), static_cast<double>(operations) / static_cast<double>(drawn),
      static_cast<long long>(loose), static_cast<long long>(outputs), static_cast<unsigned long long>(seed));
  if (drawn >= 10) CHECK(10 * loose < outputs);
}

TEST_CASE("compositions of operations on every device", "[ops][random]") {
  std::map<std::string, Tally> tallies;
  for_compositions(kUsual, [&](int64_t number, const Composition& composition) {
    std::string wrong;
    for (const TestDevice& device : test_devices()) {
      const bool everywhere =
          compositions_are_asked_for() || number / static_cast<int64_t>(case_steps().step) % kVulkanStep == 0;
      if (device.device.info().kind != DeviceKind::Cpu && !everywhere) continue;
      Tally& tally = tallies[device.word];
      const Verdict verdict = check_trial(device.device, *composition.trial, &tally);
      ++(verdict.unsupported ? tally.unsupported : tally.ran);
      if (verdict.difference.empty()) continue;
      wrong.append(device.word).append(", run ").append(std::to_string(verdict.run)).append(": ");
      wrong.append(verdict.difference).append("\n");
    }
    return wrong;
  });
  for (const auto& [device, tally] : tallies)
    std::printf("  %s: %d compositions, %d runs, %d unsupported, worst error %.2f of its bound\n", device.c_str(),
                tally.ran, tally.runs, tally.unsupported, tally.worst);
  std::fflush(stdout);
}

}  // namespace heed::ops
