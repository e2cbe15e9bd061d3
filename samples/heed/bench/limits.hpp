// The speed of a device in the simplest loops, with which the benchmark compares its rows.
#pragma once

#include <string>

#include <heed/heed.hpp>

namespace heed::program {

// A limit that cannot be measured is 0, and `why` has the reason.
struct Limits {
  double gflops = 0;     // multiply-adds of f32 in registers; each counts as two operations
  double gigabytes = 0;  // per second, reads plus writes, of a copy larger than most caches
  const char* gflops_how = "";
  const char* gigabytes_how = "";
  std::string why;
};

// Measures all hardware threads of the CPU.
Limits cpu_limits();

// Measures the Vulkan device of that name with Vulkan calls of this program, not heed's, timed by the GPU.
Limits vulkan_limits(const DeviceInfo& info);

}  // namespace heed::program
