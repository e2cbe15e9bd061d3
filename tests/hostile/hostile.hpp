// Random wrong and absurd input, the same for the same seed on every machine. HEED_HOSTILE_CASES=N makes N cases of each area instead of
// the few that always run; HEED_HOSTILE_SEED changes them. A case depends only on its number.
#pragma once

#include "harness/environment.hpp"
#include "harness/setup.hpp"
#include "ops/random.hpp"

namespace heed::test {

// Calls each(random) for every case and returns how many there were. With HEED_HOSTILE_CASES it prints each number before the case, so that
// the last line names a case that ended the process. HEED_HOSTILE_CASE=N runs only that one.
template <class Each>
int64_t hostile_cases(const std::string& area, int64_t usual, Each&& each) {
  const int64_t only = number_from("HEED_HOSTILE_CASE", -1), cases = number_from("HEED_HOSTILE_CASES", usual);
  const int64_t seed = number_from("HEED_HOSTILE_SEED", 20250301);
  const int64_t first = only < 0 ? 0 : only, last = only < 0 ? cases : only + 1;
  std::printf("hostile %s: %lld cases, HEED_HOSTILE_SEED=%lld\n", area.c_str(), static_cast<long long>(last - first),
              static_cast<long long>(seed));
  for (int64_t number = first; number < last; ++number) {
    INFO(area << " case " << number << " of seed " << seed);
    if (std::getenv("HEED_HOSTILE_CASES") != nullptr)
      std::fprintf(stderr, "%s %lld\n", area.c_str(), static_cast<long long>(number));
    ops::Random random(static_cast<uint64_t>(seed) + static_cast<uint64_t>(number) * 0x9E3779B97F4A7C15u);
    each(random);
  }
  return last - first;
}

// Prints how many cases of an area were accepted. If none were, nothing after the first check was tested. If all were, nothing was wrong
// with them.
inline void tell_sound(int64_t sound, int64_t cases) {
  std::printf("%lld of %lld were taken\n", static_cast<long long>(sound), static_cast<long long>(cases));
  if (cases >= 50) CHECK((0 < sound && sound < cases));
}

}  // namespace heed::test
