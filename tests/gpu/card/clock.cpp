#include "gpu/card/clock.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <type_traits>

namespace heed::gpu_tests {
namespace {

constexpr int kCores = 1;            // NVML_CLOCK_SM
constexpr double kFullClock = 0.95;  // the same share as in model.py

}  // namespace

CoreClock::CoreClock() {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (library_ == nullptr) return;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library_, name));
    return *function != nullptr;
  };
  int (*begin)() = nullptr;
  int (*device)(unsigned, Device*) = nullptr;
  int (*most)(Device, int, unsigned*) = nullptr;
  unsigned clock = 0;
  if (find("nvmlInit_v2", &begin) && find("nvmlDeviceGetHandleByIndex_v2", &device) &&
      find("nvmlDeviceGetMaxClockInfo", &most) && find("nvmlDeviceGetClockInfo", &clock_) && begin() == 0 &&
      device(0, &device_) == 0 && most(device_, kCores, &clock) == 0)
    most_ = clock;
}

CoreClock::~CoreClock() {
  if (library_ != nullptr) dlclose(library_);
}

uint32_t CoreClock::now() const {
  unsigned clock = 0;
  return known() && clock_(device_, kCores, &clock) == 0 ? clock : 0;
}

bool CoreClock::held(const std::vector<uint32_t>& samples) const {
  return std::all_of(samples.begin(), samples.end(), [&](uint32_t one) { return one >= kFullClock * most_; });
}

}  // namespace heed::gpu_tests
