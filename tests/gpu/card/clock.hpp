// The clock of an NVIDIA GPU's cores, read from the driver's management library (NVML) if it is installed.
#pragma once

#include <cstdint>
#include <vector>

namespace heed::gpu_tests {

class CoreClock {
 public:
  // Reads the clock of the first GPU.
  CoreClock();
  ~CoreClock();
  CoreClock(const CoreClock&) = delete;
  CoreClock& operator=(const CoreClock&) = delete;

  bool known() const { return most_ != 0; }
  uint32_t most() const { return most_; }  // MHz
  uint32_t now() const;                    // MHz; 0: not known
  // Whether all samples were near enough to the highest clock. True if no clock is known.
  bool held(const std::vector<uint32_t>& samples) const;

 private:
  using Device = void*;
  void* library_ = nullptr;
  Device device_ = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  uint32_t most_ = 0;
};

}  // namespace heed::gpu_tests
