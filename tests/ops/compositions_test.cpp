// Graphs of several operations on every device, against the references in double.
//
//   HEED_COMPOSITIONS=N   how many, on all devices; otherwise a few, and a tenth of them on Vulkan devices, whose
//                         drivers compile kernels for each
//   HEED_RANDOM_SEED=N    draws others
//   HEED_COMPOSITION=N    only this one; failures name it
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "catch.hpp"
#include "ops/composition.hpp"

namespace heed::ops {
namespace {

constexpr int64_t kUsual = 400, kVulkanStep = 10;

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoll(text, nullptr, 10) : otherwise;
}

}  // namespace

TEST_CASE("compositions of operations on every device", "[ops][random]") {
  const uint64_t seed = random_seed();
  const int64_t one = number_from("HEED_COMPOSITION", -1), wanted = number_from("HEED_COMPOSITIONS", 0);
  const int64_t first = one < 0 ? 0 : one, last = one >= 0 ? one + 1 : wanted > 0 ? wanted : kUsual;
  const auto step = static_cast<int64_t>(case_step());
  std::map<std::string, Tally> tallies;
  int64_t operations = 0, drawn = 0;
  for (int64_t number = first; number < last; number += step) {
    const Composition composition = compose(seed, number);
    operations += composition.operations;
    ++drawn;
    if (one >= 0) std::printf("%s", composition.text.c_str());
    for (const TestDevice& device : test_devices(Kernels::Gpu)) {
      const bool everywhere = one >= 0 || wanted > 0 || number / step % kVulkanStep == 0;
      if (device.device.info().kind != DeviceKind::Cpu && !everywhere) continue;
      Tally& tally = tallies[device.word];
      const Verdict verdict = check_trial(device.device, *composition.trial, &tally);
      ++(verdict.unsupported ? tally.unsupported : tally.ran);
      if (verdict.difference.empty()) continue;
      FAIL_CHECK("composition " << number << " of HEED_RANDOM_SEED=" << seed << " on " << device.word
                                << ", run " << verdict.run << ": " << verdict.difference
                                << "; repeat it with HEED_COMPOSITION=" << number << "\n"
                                << composition.text);
    }
  }
  std::printf("compositions: %lld of %.1f operations each, HEED_RANDOM_SEED=%llu\n",
              static_cast<long long>(drawn),
              static_cast<double>(operations) / static_cast<double>(std::max<int64_t>(1, drawn)),
              static_cast<unsigned long long>(seed));
  for (const auto& [device, tally] : tallies)
    std::printf("  %s: %d compositions, %d runs, %d unsupported, worst error %.2f of its bound\n",
                device.c_str(), tally.ran, tally.runs, tally.unsupported, tally.worst);
  std::fflush(stdout);
}

}  // namespace heed::ops
