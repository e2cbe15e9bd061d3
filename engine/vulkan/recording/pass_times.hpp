// Estimates how long the passes of a plan take on its device, from measurements, or from a cost model before there are any. Calls no
// Vulkan. All calls are thread-safe and take no lock.
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

  // Adds a measurement; `work` as in Dispatch::work. It is averaged with the previous estimate, so that a changed clock is followed within
  // a few frames, and one slow frame is soon forgotten.
  void learn(size_t pass, double work, double milliseconds);
  bool measured(size_t pass) const { return load(pass).milliseconds > 0; }

  // Estimated milliseconds of a dispatch of this pass. `correction` is the result of correction(), called once per recording.
  double of(size_t pass, double work, double correction) const;
  // The ratio of measured times to the model's; 1 before anything was measured.
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
  std::unique_ptr<std::atomic<uint64_t>[]> samples_;  // each is a Sample in one word, so that both halves are read
                                                      // together
};

}  // namespace heed::vulkan
