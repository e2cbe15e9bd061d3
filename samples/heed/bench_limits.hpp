// What a device reaches in the simplest loops, as the measure for everything else.
#pragma once

#include <string>

#include <heed/heed.hpp>

namespace heed::program {

// Both 0 if they cannot be measured; `why` then says so.
struct Limits {
  double gflops = 0;           // multiply-adds of f32 in registers, two operations each
  double gigabytes = 0;        // per second, read plus written, of a copy far larger than any cache
  const char* gflops_how = "";
  const char* gigabytes_how = "";
  std::string why;
};

// On all hardware threads of the CPU.
Limits cpu_limits();

// Multiply-adds by a shader of this program on the Vulkan device named `name`, timed by the GPU; 0 with `why` if that is
// not possible.
double vulkan_multiply_add(const DeviceInfo& info, std::string* why);

}  // namespace heed::program
