#include "vulkan/memory/state.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "vulkan/calls/barrier.hpp"
#include "vulkan/context/submission.hpp"
#include "vulkan/memory/host_range.hpp"

namespace heed::vulkan {
namespace {

constexpr uint64_t kMostStaging = 16u << 20;  // as for weights
constexpr size_t kMostCopies = 1u << 12;      // most copies in one command

constexpr SyncSide kRuns = {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                            kShaderAccess | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};
constexpr SyncSide kTransfers = {VK_PIPELINE_STAGE_TRANSFER_BIT,
                                 VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT};

// Copies between ranges of a State and staging memory, in which they are consecutive.
class Transfers {
 public:
  Transfers(Context& context, const BufferRange& state, const char* call)
      : context_(context), state_(state), call_(call) {}

  Status create(uint64_t bytes) {
    const Status status =
        staging_.create(context_, "state staging", std::min(align_up<uint64_t>(bytes, 4), kMostStaging),
                        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, MemoryUse::Staging);
    return status == Status::Ok ? submission_.create(context_, call_) : status;
  }

  // Calls move(staging memory, bytes) for each piece: before it is copied to the device, or after it was copied from it.
  template <class Move>
  Status run(std::span<const detail::StateRange> ranges, bool to_device, const Move& move) {
    uint64_t done = 0;  // bytes of the first range that are done
    while (!ranges.empty()) {
      std::vector<VkBufferCopy> copies;
      uint64_t used = 0;
      while (!ranges.empty() && used < staging_.bytes() && copies.size() < kMostCopies) {
        const uint64_t bytes = std::min(ranges[0].bytes - done, staging_.bytes() - used);
        const uint64_t at = state_.offset + ranges[0].offset + done;
        copies.push_back(to_device ? VkBufferCopy{used, at, bytes} : VkBufferCopy{at, used, bytes});
        used += bytes;
        done += bytes;
        if (done < ranges[0].bytes) continue;
        ranges = ranges.subspan(1);
        done = 0;
      }
      if (to_device) move(staging_.mapped(), used);
      Status status = to_device ? staging_.flush() : Status::Ok;
      if (status == Status::Ok) status = copy(copies, to_device);
      if (status == Status::Ok && !to_device) status = staging_.invalidate();
      if (status != Status::Ok) return status;
      if (!to_device) move(staging_.mapped(), used);
    }
    return Status::Ok;
  }

 private:
  Status copy(const std::vector<VkBufferCopy>& copies, bool to_device) {
    VkCommandBuffer commands = VK_NULL_HANDLE;
    const Status status = submission_.begin(&commands);
    if (status != Status::Ok) return status;
    const VkBuffer from = to_device ? staging_.handle() : state_.buffer;
    const VkBuffer to = to_device ? state_.buffer : staging_.handle();
    memory_barrier(context_.vk, commands, kRuns, kTransfers);
    context_.vk.CmdCopyBuffer(commands, from, to, static_cast<uint32_t>(copies.size()), copies.data());
    SyncSide next = kRuns;
    if (!to_device) {
      next.stages |= VK_PIPELINE_STAGE_HOST_BIT;
      next.accesses |= VK_ACCESS_HOST_READ_BIT;
    }
    memory_barrier(context_.vk, commands, kTransfers, next);
    return submission_.submit_and_wait();
  }

  Context& context_;
  BufferRange state_;
  const char* call_;
  DeviceBuffer staging_;
  Submission submission_;
};

VulkanState* state_of(const State& state, const char* call) {
  detail::StateImpl* impl = state.impl().get();
  if (impl != nullptr && impl->backend() == detail::Backend::Vulkan) return static_cast<VulkanState*>(impl);
  if (impl == nullptr)
    (void)refuse((std::string(call) + ": the State is empty").c_str());
  else
    (void)fail(impl->log(), Status::InvalidArgument, std::string(call) + ": this State is no Vulkan device's");
  return nullptr;
}

}  // namespace

Status VulkanState::allocate() {
  if (layout->bytes == 0) return Status::Ok;
  const Status status = buffer_.create(context_, "state", layout->bytes, kStateUsage, MemoryUse::Device);
  range_ = {buffer_.handle(), 0, layout->bytes};
  return status == Status::Ok && context_.can_submit() ? clear() : status;
}

Status VulkanState::use(const BufferRange& range) {
  if (layout->bytes == 0) return Status::Ok;
  range_ = range;
  return check_range(context_, "make_state", range, layout->bytes, context_.buffer_alignment());
}

template <class Record>
Status VulkanState::submit(const char* call, const Record& record) {
  if (layout->bytes == 0) return Status::Ok;
  Submission submission;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  Status status = context_.alive(call);
  if (status == Status::Ok) status = submission.create(context_, call);
  if (status == Status::Ok) status = submission.begin(&commands);
  if (status != Status::Ok) return status;
  record(commands);
  return submission.submit_and_wait();
}

Status VulkanState::clear() {
  return submit("reset", [&](VkCommandBuffer commands) { record_clear(commands); });
}

Status VulkanState::copy(const detail::StateImpl& from) {
  const auto& source = static_cast<const VulkanState&>(from);  // States with the same home have the same type
  const Status status = check_apart(source, "copy");
  return status == Status::Ok ? submit("copy", [&](VkCommandBuffer commands) { record_copy(commands, source); })
                              : status;
}

Status VulkanState::copy(const detail::StateImpl& from, std::span<const detail::StateRange> from_ranges,
                         std::span<const detail::StateRange> to_ranges) {
  const auto& source = static_cast<const VulkanState&>(from);
  const Status status = check_apart(source, "copy_row");
  if (status != Status::Ok) return status;
  std::vector<VkBufferCopy> regions;
  for (size_t i = 0; i < to_ranges.size(); ++i)
    regions.push_back(
        {source.range_.offset + from_ranges[i].offset, range_.offset + to_ranges[i].offset, to_ranges[i].bytes});
  // The host may have given both States the same memory.
  const bool same = source.range_.buffer == range_.buffer && source.range_.offset == range_.offset;
  if (same) std::erase_if(regions, [](const VkBufferCopy& r) { return r.srcOffset == r.dstOffset; });
  if (regions.empty()) return Status::Ok;
  run.store(0, std::memory_order_relaxed);
  return submit("copy_row", [&](VkCommandBuffer commands) {
    memory_barrier(context_.vk, commands, kRuns, kTransfers);
    for (size_t i = 0; i < regions.size(); i += kMostCopies)
      context_.vk.CmdCopyBuffer(commands, source.range_.buffer, range_.buffer,
                                static_cast<uint32_t>(std::min(regions.size() - i, kMostCopies)), regions.data() + i);
    memory_barrier(context_.vk, commands, kTransfers, kRuns);
  });
}

Status VulkanState::check_apart(const VulkanState& from, const char* call) const {
  const uint64_t a = range_.offset, b = from.range_.offset, distance = a < b ? b - a : a - b;
  if (range_.buffer != from.range_.buffer || distance == 0 || distance >= layout->bytes) return Status::Ok;
  return fail(log(), Status::InvalidArgument, format("%s: the States overlap in the host's buffer", call));
}

void VulkanState::record_clear(VkCommandBuffer commands) {
  run.store(0, std::memory_order_relaxed);
  memory_barrier(context_.vk, commands, kRuns, kTransfers);
  context_.vk.CmdFillBuffer(commands, range_.buffer, range_.offset, layout->bytes, 0);
  memory_barrier(context_.vk, commands, kTransfers, kRuns);
}

void VulkanState::record_copy(VkCommandBuffer commands, const VulkanState& from) {
  run.store(0, std::memory_order_relaxed);
  if (from.range_.buffer == range_.buffer && from.range_.offset == range_.offset) return;
  const VkBufferCopy region = {from.range_.offset, range_.offset, layout->bytes};
  memory_barrier(context_.vk, commands, kRuns, kTransfers);
  context_.vk.CmdCopyBuffer(commands, from.range_.buffer, range_.buffer, 1, &region);
  memory_barrier(context_.vk, commands, kTransfers, kRuns);
}

Status VulkanState::read(std::span<const detail::StateRange> ranges, std::byte* to) {
  if (ranges.empty()) return Status::Ok;
  Transfers transfers(context_, range_, "read");
  Status status = context_.alive("read");
  if (status == Status::Ok) status = transfers.create(detail::bytes_of(ranges));
  if (status != Status::Ok) return status;
  return transfers.run(ranges, false, [&](std::byte* staging, uint64_t bytes) {
    std::memcpy(to, staging, bytes);
    to += bytes;
  });
}

Status VulkanState::write(std::span<const detail::StateRange> ranges, const std::byte* from) {
  if (ranges.empty()) return Status::Ok;
  Transfers transfers(context_, range_, "write");
  Status status = context_.alive("write");
  if (status == Status::Ok) status = transfers.create(detail::bytes_of(ranges));
  if (status != Status::Ok) return status;
  run.store(0, std::memory_order_relaxed);
  return transfers.run(ranges, true, [&](std::byte* staging, uint64_t bytes) {
    std::memcpy(staging, from, bytes);
    from += bytes;
  });
}

Status record_reset(const State& state, VkCommandBuffer commands) {
  VulkanState* impl = state_of(state, "record_reset");
  if (impl == nullptr) return Status::InvalidArgument;  // state_of has logged it
  if (commands == VK_NULL_HANDLE) return refuse("record_reset: the command buffer is null");
  const Status status = impl->alive("record_reset");
  if (status == Status::Ok && impl->layout->bytes != 0) impl->record_clear(commands);
  return status;
}

Status record_copy(const State& to, const State& from, VkCommandBuffer commands) {
  VulkanState *target = state_of(to, "record_copy"), *source = state_of(from, "record_copy");
  if (target == nullptr || source == nullptr) return Status::InvalidArgument;  // state_of has logged it
  if (commands == VK_NULL_HANDLE) return refuse("record_copy: the command buffer is null");
  if (target->home() != source->home())
    return fail(target->log(), Status::InvalidArgument, "record_copy: the States belong to different devices");
  Status status = target->alive("record_copy");
  if (status == Status::Ok)
    status = detail::match_layouts(*target->layout, *source->layout, "record_copy", target->log());
  if (status == Status::Ok) status = target->check_apart(*source, "record_copy");
  if (status == Status::Ok && target != source && target->layout->bytes != 0) target->record_copy(commands, *source);
  return status;
}

}  // namespace heed::vulkan
