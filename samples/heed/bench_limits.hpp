// What a device reaches in the simplest loops, as the measure for everything else.
#pragma once

#include <string>

#include <heed/heed.hpp>

namespace heed::program {

// A limit that could not be measured is 0; `why` then says so.
struct Limits {
  double gflops = 0;     // multiply-adds of f32 in registers, two operations each
  double gigabytes = 0;  // per second, read plus written, of a copy larger than most caches
  const char* gflops_how = "";
  const char* gigabytes_how = "";
  std::string why;
};

// On all hardware threads of the CPU.
Limits cpu_limits();

// By this program itself on the Vulkan device of that name, timed by the GPU.
Limits vulkan_limits(const DeviceInfo& info);

}  // namespace heed::program
