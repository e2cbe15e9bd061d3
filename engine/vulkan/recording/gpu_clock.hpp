// GPU timestamps around the passes of a plan, per slot, and which of them the GPU has written.
//
// Every pass has two queries: its begin, written for the first pass of a part only, and its end. The end of a pass is also the begin of the
// next one in the same part. At its end a part writes its number to a host-visible word. Queries are read only after that number has
// arrived: they must not be read before the GPU has reset them, and a host may never submit a recording.
#pragma once

#include <heed/plan.hpp>
#include <vector>

#include "vulkan/memory/device_buffer.hpp"
#include "vulkan/recording/pass_times.hpp"

namespace heed::vulkan {

class GpuClock {
 public:
  GpuClock() = default;
  ~GpuClock();
  GpuClock(const GpuClock&) = delete;
  GpuClock& operator=(const GpuClock&) = delete;

  // Unsupported if the queue family has no timestamps.
  Status create(Context& context, size_t passes, uint32_t slots);
  bool on() const { return queries_ != VK_NULL_HANDLE; }

  // Call these before and after the passes of one part; they do nothing if the clock is off. `fresh`: the first part of a run.
  void begin_part(VkCommandBuffer commands, uint32_t slot, size_t pass, bool fresh);
  // `work` of this pass is in this part, `before` in earlier parts.
  void end_pass(VkCommandBuffer commands, uint32_t slot, size_t pass, double work, double before);
  void end_part(VkCommandBuffer commands, uint32_t slot);

  // Feeds finished timestamps to `times`. Allocates nothing.
  Status read(uint32_t slot, PassTimes* times);
  // Milliseconds of each pass of the slot's run. A pass that spans several parts is extrapolated from the parts that were read. False if
  // the GPU has not finished all passes.
  bool milliseconds(uint32_t slot, std::vector<PassTime>* times) const;

 private:
  struct Pass {
    uint32_t part = 0;  // the part whose queries are not read yet; 0: none
    bool first = false;
    double work = 0;  // work of the pass in that part
    double all_work = 0, read_work = 0, milliseconds = 0;
  };
  struct Slot {
    std::vector<Pass> passes;
    std::vector<uint64_t> results;  // value and availability of each query
    uint32_t part = 0;              // counts on from run to run
    size_t first = 0;
  };
  uint32_t begin_query(uint32_t slot, size_t pass) const;
  uint32_t end_query(uint32_t slot, size_t pass) const;
  void stamp(VkCommandBuffer commands, uint32_t query) const;
  Status finished_part(uint32_t slot, uint32_t* part);
  void take(Slot& slot, size_t pass, PassTimes* times) const;

  Context* context_ = nullptr;
  size_t pass_count_ = 0;
  VkQueryPool queries_ = VK_NULL_HANDLE;
  DeviceBuffer words_;  // per slot: the number of the last finished part
  std::vector<Slot> slots_;
};

}  // namespace heed::vulkan
