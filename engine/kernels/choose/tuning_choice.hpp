// Converts measured times to choices, and choices to a blob that a host stores between starts.
#pragma once

#include <cstddef>
#include <heed/status.hpp>
#include <span>
#include <string>
#include <vector>

#include "kernels/choose/tuning.hpp"

namespace heed {

// The time of one variant at one size.
struct Measurement {
  std::string variant;
  double ms = 0;
};

// The index of the fastest measurement. The first one, which estimates choose, is kept unless another one takes at most kClearlyFaster of
// its time, since times vary from run to run.
inline constexpr double kClearlyFaster = 0.95;
size_t fastest_of(std::span<const Measurement> measurements);

// Adds `variant` (Tuning::Choice) as the fastest for this class of sizes.
void choose(Tuning* tuning, const std::string& variant, uint32_t size_class);

// `key` identifies device, driver and kernels.
std::vector<std::byte> write_tuning(uint64_t key, const Tuning& tuning);
// Returns Ok; or InvalidFile or Unsupported with the reason, and *tuning unchanged.
Status read_tuning(std::span<const std::byte> blob, uint64_t key, Tuning* tuning, std::string* why);

}  // namespace heed
