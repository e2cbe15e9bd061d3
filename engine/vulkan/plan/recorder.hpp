// Writes one part of a run into one command buffer: passes, barriers, labels and timestamps, until the budget
// of GPU time is spent. Allocates nothing and cannot fail.
#pragma once

#include <heed/vulkan_frames.hpp>

#include "vulkan/plan/plan.hpp"
#include "vulkan/recording/split.hpp"

namespace heed::vulkan {

class Recorder {
 public:
  // `values` must outlive this object.
  Recorder(const VulkanPlan& plan, VkCommandBuffer commands, uint32_t slot_index, Slot& slot, const RunValues& values,
           double budget_ms);

  // Continues at the cursor, and moves it to the next dispatch or the end. Records at least one dispatch.
  void run(Cursor* cursor);

 private:
  struct Piece {
    const Dispatch& dispatch;
    Split split;
    uint32_t index = 0;
  };
  // Returns false if the budget was spent before the pass ended.
  bool record_pass(Cursor* cursor);
  double work_before(const Cursor& cursor) const;
  bool record_dispatch(Cursor* cursor, const Dispatch& dispatch);
  bool fits(size_t pass, double work);
  void enter(size_t pass);
  void leave(size_t pass, bool whole);
  void bind(const Dispatch& dispatch, const CompiledKernel& kernel, VkDescriptorSet set);
  void order(const CompiledKernel& kernel);
  void dispatch_piece(const Piece& piece) const;

  const VulkanPlan& plan_;
  const Functions& vk_;
  VkCommandBuffer commands_;
  uint32_t slot_index_;
  Slot& slot_;
  const RunValues& values_;
  double budget_ms_, work_limit_, correction_ = 1;

  bool any_ = false;      // a dispatch was recorded
  bool entered_ = false;  // a dispatch of the current pass was recorded
  double spent_ms_ = 0;
  double work_ = 0, work_before_ = 0;     // work of the current pass in this part, and in earlier parts
  VkPipeline pipeline_ = VK_NULL_HANDLE;  // as bound
  VkDescriptorSet set_ = VK_NULL_HANDLE;
};

}  // namespace heed::vulkan
