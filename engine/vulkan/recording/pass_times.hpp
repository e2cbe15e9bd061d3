// Tells how long the passes of a plan take on its device: as measured, or by a cost model before that. No Vulkan is called
// in here. All calls are thread-safe and take no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <heed/device.hpp>
#include <memory>

namespace heed::vulkan {

class PassTimes {
 public:
  void create(size_t passes, DeviceKind kind);

  // `work` is that of Dispatch::work. A new measurement weighs as much as all before it, so that a changed clock is
  // followed within a few frames and one slow frame is soon forgotten.
  void learn(size_t pass, double work, double milliseconds);
  bool measured(size_t pass) const { return load(pass).milliseconds > 0; }

  // Milliseconds of a dispatch of this pass. `correction` is correction(), asked for once per recording.
  double of(size_t pass, double work, double correction) const;
  // How many times as long as the model says measured passes took; 1 before any was measured.
  double correction() const;

 private:
  struct Sample {
    float milliseconds = 0;  // 0: not measured
    float work = 0;
  };
  Sample load(size_t pass) const;
  double model(double work) const;

  size_t count_ = 0;
  double model_ms_per_work_ = 0;
  std::unique_ptr<std::atomic<uint64_t>[]> samples_;  // each a Sample, so that its two halves stay together
};

}  // namespace heed::vulkan
