// The clock of NVIDIA's cores, by the driver's management library (NVML) where there is one.
#pragma once

#include <cstdint>
#include <vector>

namespace heed::gpu_tests {

class CoreClock {
 public:
  // Of the first GPU.
  CoreClock();
  ~CoreClock();
  CoreClock(const CoreClock&) = delete;
  CoreClock& operator=(const CoreClock&) = delete;

  bool known() const { return most_ != 0; }
  uint32_t most() const { return most_; }  // MHz
  uint32_t now() const;                    // MHz; 0: not known
  // Whether all of these were near enough to the most; true where no clock is known.
  bool held(const std::vector<uint32_t>& samples) const;

 private:
  using Device = void*;
  void* library_ = nullptr;
  Device device_ = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  uint32_t most_ = 0;
};

}  // namespace heed::gpu_tests
