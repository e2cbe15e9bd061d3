#include "vulkan/recording/progress.hpp"

#include <cstring>

#include "vulkan/calls/barrier.hpp"

namespace heed::vulkan {
namespace {

constexpr SyncSide kFill = {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT};

}  // namespace

Status Progress::create(Context& context, size_t passes, uint32_t slots) {
  context_ = &context;
  passes_ = passes;
  if (passes == 0) return Status::Ok;
  const Status status =
      words_.create(context, "progress", slots * slot_bytes(), VK_BUFFER_USAGE_TRANSFER_DST_BIT, MemoryUse::Staging);
  if (status != Status::Ok) return status;
  std::memset(words_.mapped(), 0, words_.bytes());
  return words_.flush();
}

void Progress::begin_run(VkCommandBuffer commands, uint32_t slot) const {
  if (!on()) return;
  context_->vk.CmdFillBuffer(commands, words_.handle(), slot * slot_bytes(), slot_bytes(), 0);
  memory_barrier(context_->vk, commands, kFill, kFill);
}

void Progress::end_pass(VkCommandBuffer commands, uint32_t slot, size_t pass) const {
  if (!on()) return;
  const Functions& vk = context_->vk;
  vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, nullptr,
                        0, nullptr, 0, nullptr);
  vk.CmdFillBuffer(commands, words_.handle(), slot * slot_bytes() + pass * sizeof(uint32_t), sizeof(uint32_t), 1);
}

void Progress::end_part(VkCommandBuffer commands) const {
  if (on()) memory_barrier(context_->vk, commands, kFill, {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT});
}

int32_t Progress::last(uint32_t slot) {
  if (!on()) return -1;
  // This may fail on a lost device with non-coherent memory; then the old contents are used.
  (void)words_.invalidate();
  int32_t last = -1;
  for (size_t pass = 0; pass < passes_; ++pass) {
    uint32_t done = 0;
    std::memcpy(&done, words_.mapped() + slot * slot_bytes() + pass * sizeof done, sizeof done);
    if (done != 0) last = static_cast<int32_t>(pass);
  }
  return last;
}

}  // namespace heed::vulkan
