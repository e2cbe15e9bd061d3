#include "spread.hpp"

#include "barrier.hpp"

namespace swarm {
namespace {

constexpr VkBufferUsageFlags kCopied = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
constexpr VkDeviceSize kRow = SWARM_ROW * sizeof(float), kLook = SWARM_LOOK4 * sizeof(vec4);

void copy(VkCommandBuffer commands, VkBuffer from, VkBuffer to, VkDeviceSize bytes) {
  const VkBufferCopy region = {0, 0, bytes};
  vkCmdCopyBuffer(commands, from, to, 1, &region);
}

}  // namespace

Spread::Spread(const Gpu& gpu, const Bindings& bindings, const Attention& attention, double budget_ms)
    : bindings_(bindings),
      attention_(attention),
      budget_ms_(budget_ms),
      agents_(make_buffer(gpu, kMaxAgents * kRow, kCopied)),
      targets_(make_buffer(gpu, kMaxTargets * kRow, kCopied)),
      look_(make_buffer(gpu, kMaxAgents * kLook,
                        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT)) {}

void Spread::begin(VkCommandBuffer commands, const Look& look) {
  barrier(commands, kComputeWrites, kCopies);
  // Before the first run has finished there is no result to steer by, so that agents get zeros.
  if (runs_ == 0) vkCmdFillBuffer(commands, bindings_.look.handle, 0, VK_WHOLE_SIZE, 0);
  copy(commands, bindings_.agents.handle, agents_.handle, look.agents * kRow);
  if (look.flavour == Flavour::Cross) copy(commands, bindings_.targets.handle, targets_.handle, look.targets * kRow);
  barrier(commands, kCopyWrites, kComputes);
  cursor_ = {};
  run_ = look;
  ++runs_;
}

void Spread::publish(VkCommandBuffer commands) {
  barrier(commands, kComputeWrites, kCopies);
  copy(commands, look_.handle, bindings_.look.handle, run_.agents * kLook);
  barrier(commands, kCopyWrites, kComputes);
  cursor_ = {};
  ++finished_;
}

void Spread::record(VkCommandBuffer commands, const Look& look) {
  if (!cursor_.begun() || look != run_) begin(commands, look);
  // Each run takes at least one frame, and at most kSlots frames are in flight, so that the GPU has finished this slot's last run.
  attention_.record_part(commands, run_, {agents_.handle, targets_.handle, look_.handle}, runs_ % kSlots, budget_ms_,
                         &cursor_);
  ++parts_;
  if (cursor_.done()) publish(commands);
}

}  // namespace swarm
