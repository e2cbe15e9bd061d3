#include "vulkan/recording/gpu_clock.hpp"

#include <atomic>
#include <cstring>

#include "base/logging.hpp"
#include "vulkan/calls/barrier.hpp"

namespace heed::vulkan {

Status GpuClock::create(Context& context, size_t passes, uint32_t slots) {
  context_ = &context;
  pass_count_ = passes;
  if (context.timestamp_bits() == 0)
    return fail(context.log, Status::Unsupported,
                format("compile: timestamps were asked for; queue family %u of %s has none", context.queue_family,
                       context.info.word.c_str()));
  if (passes == 0) return Status::Ok;
  Status status = words_.create(context, "finished parts", slots * sizeof(uint32_t), VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                MemoryUse::Staging);
  if (status != Status::Ok) return status;
  std::memset(words_.mapped(), 0, words_.bytes());
  status = words_.flush();
  if (status != Status::Ok) return status;
  slots_.resize(slots);
  for (Slot& slot : slots_) {
    slot.passes.resize(passes);
    slot.results.resize(4 * passes);
  }
  auto info = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = slots * 2 * static_cast<uint32_t>(passes);
  return context.check("vkCreateQueryPool",
                       context.vk.CreateQueryPool(context.device, &info, context.allocator, &queries_));
}

GpuClock::~GpuClock() {
  if (on() && !context_->hung) context_->vk.DestroyQueryPool(context_->device, queries_, context_->allocator);
}

uint32_t GpuClock::begin_query(uint32_t slot, size_t pass) const {
  return static_cast<uint32_t>(2 * slot * pass_count_ + pass);
}
uint32_t GpuClock::end_query(uint32_t slot, size_t pass) const {
  return begin_query(slot, pass) + static_cast<uint32_t>(pass_count_);
}

void GpuClock::stamp(VkCommandBuffer commands, uint32_t query) const {
  context_->vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, query);
}

void GpuClock::begin_part(VkCommandBuffer commands, uint32_t slot, size_t pass, bool fresh) {
  if (!on() || pass >= pass_count_) return;
  const Functions& vk = context_->vk;
  Slot& state = slots_[slot];
  if (fresh) {
    for (Pass& each : state.passes) each = {};
    vk.CmdResetQueryPool(commands, queries_, begin_query(slot, 0), 2 * static_cast<uint32_t>(pass_count_));
  } else {
    // An earlier part may have written both queries of a pass that continues, and later passes may be part of recordings that were never
    // submitted.
    for (size_t i = pass + 1; i < pass_count_; ++i) state.passes[i] = {};
    vk.CmdResetQueryPool(commands, queries_, begin_query(slot, pass), 1);
    vk.CmdResetQueryPool(commands, queries_, end_query(slot, pass), 1);
  }
  ++state.part;
  state.first = pass;
  stamp(commands, begin_query(slot, pass));
}

void GpuClock::end_pass(VkCommandBuffer commands, uint32_t slot, size_t pass, double work, double before) {
  if (!on()) return;
  Slot& state = slots_[slot];
  Pass& at = state.passes[pass];
  at.part = state.part;
  at.first = pass == state.first;
  at.work = work;
  at.all_work = before + work;
  stamp(commands, end_query(slot, pass));
}

void GpuClock::end_part(VkCommandBuffer commands, uint32_t slot) {
  if (!on()) return;
  const Functions& vk = context_->vk;
  memory_barrier(vk, commands,
                 {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                  VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT},
                 {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT});
  vk.CmdFillBuffer(commands, words_.handle(), slot * sizeof(uint32_t), sizeof(uint32_t), slots_[slot].part);
  memory_barrier(vk, commands, {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT},
                 {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT});
}

Status GpuClock::finished_part(uint32_t slot, uint32_t* part) {
  const Status status = words_.invalidate();
  // The GPU may be writing this word; a 32-bit write is not torn.
  auto* word = reinterpret_cast<uint32_t*>(words_.mapped()) + slot;
  *part = std::atomic_ref<uint32_t>(*word).load(std::memory_order_acquire);
  return status;
}

Status GpuClock::read(uint32_t slot, PassTimes* times) {
  if (!on()) return Status::Ok;
  Slot& state = slots_[slot];
  uint32_t finished = 0;
  Status status = finished_part(slot, &finished);
  if (status != Status::Ok) return status;
  const auto readable = [&](const Pass& pass) { return pass.part != 0 && pass.part <= finished; };
  size_t waiting = 0;
  for (const Pass& pass : state.passes) waiting += readable(pass);
  if (waiting == 0) return status;
  const VkResult result = context_->vk.GetQueryPoolResults(
      context_->device, queries_, begin_query(slot, 0), 2 * static_cast<uint32_t>(pass_count_),
      state.results.size() * sizeof(uint64_t), state.results.data(), 2 * sizeof(uint64_t),
      VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
  status = context_->check("vkGetQueryPoolResults", result);
  for (size_t i = 0; i < pass_count_ && status == Status::Ok; ++i)
    if (readable(state.passes[i])) take(state, i, times);
  return status;
}

void GpuClock::take(Slot& slot, size_t index, PassTimes* times) const {
  Pass& pass = slot.passes[index];
  const uint64_t* begin = slot.results.data() + 2 * (pass.first ? index : pass_count_ + index - 1);
  const uint64_t* end = slot.results.data() + 2 * (pass_count_ + index);
  if (begin[1] == 0 || end[1] == 0) return;
  // Counters have this many bits and may wrap once between two passes.
  const uint32_t bits = context_->timestamp_bits();
  const uint64_t mask = bits >= 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
  const double period = static_cast<double>(context_->physical.properties.limits.timestampPeriod) * 1e-6;
  const double milliseconds = static_cast<double>((end[0] - begin[0]) & mask) * period;
  times->learn(index, pass.work, milliseconds);
  pass.milliseconds += milliseconds;
  pass.read_work += pass.work;
  pass.part = 0;
}

bool GpuClock::milliseconds(uint32_t slot, std::vector<PassTime>* times) const {
  times->assign(pass_count_, {});
  for (size_t i = 0; i < pass_count_; ++i) {
    const Pass& pass = slots_[slot].passes[i];
    if (pass.part != 0) return false;
    const double scale = pass.read_work > 0 ? pass.all_work / pass.read_work : 1.0;
    (*times)[i].milliseconds = pass.milliseconds * scale;
  }
  return true;
}

}  // namespace heed::vulkan
