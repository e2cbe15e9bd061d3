#include <cstring>

#include "base/arith.hpp"
#include "vulkan/calls/barrier.hpp"
#include "vulkan/plan/plan.hpp"

namespace heed::vulkan {

Status VulkanPlan::prepare_run() {
  if (host_io_ != nullptr) return Status::Ok;
  std::vector<uint64_t> largest(host_count());
  for (size_t i = 0; i < largest.size(); ++i) largest[i] = schedule_.buffer_bytes(i, schedule_.max_values);
  auto fresh = std::make_unique<HostIo>();
  const Status status = fresh->create(context_, largest, schedule_.inputs.size());
  if (status != Status::Ok) return status;
  host_io_ = std::move(fresh);
  // Sizes are given since for VK_WHOLE_SIZE each run would query the buffer.
  for (size_t i = 0; i < largest.size(); ++i)
    run_bound_.push_back(
        {schedule_.buffer(i).name, host_io_->buffer(), host_io_->offset(i), align_up<uint64_t>(largest[i], 4)});
  return status;
}

Status VulkanPlan::run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
                       const RunOptions& options) {
  const Status status = start(buffers, extents, options);
  return status == Status::Ok ? finish() : status;
}

Status VulkanPlan::start(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
                         const RunOptions& options) {
  Status status = context_.alive("run");
  if (status == Status::Ok) status = check_scratch("run");
  if (status == Status::Ok) status = prepare_all();
  if (status != Status::Ok) return status;
  const std::vector<int64_t>& sizes = slots_[0].sizes;
  status = resolve_extents(schedule_, extents, context_.log, slots_[0].extents, slots_[0].sizes);
  if (status != Status::Ok) return status;
  std::vector<const HostBuffer*>& found = run_buffers_;
  found.resize(host_count());
  status = detail::match_buffers(schedule_, buffers, {.sizes = sizes, .seed = options.seed}, context_.log, found);
  if (status == Status::Ok) status = prepare_run();
  if (status != Status::Ok) return status;

  HostIo& io = *host_io_;
  const size_t inputs = schedule_.inputs.size();
  std::vector<uint64_t>& bytes = run_bytes_;
  bytes.resize(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    bytes[i] = schedule_.buffer_bytes(i, sizes);
    if (i < inputs) std::memcpy(io.host(i), found[i]->data, bytes[i]);
  }
  VkCommandBuffer commands = VK_NULL_HANDLE;
  status = io.flush();
  if (status == Status::Ok) status = io.submission().begin(&commands);
  if (status != Status::Ok) return status;
  io.record_inputs(commands, bytes);
  if (spoils_) record_spoiling(commands);
  status = record(commands,
                  {.buffers = run_bound_, .extents = extents, .seed = options.seed, .slot = 0, .state = options.state});
  if (status != Status::Ok) return status;
  io.record_outputs(commands, bytes);
  return io.submission().submit(options.timeout_ms);
}

void VulkanPlan::record_spoiling(VkCommandBuffer commands) {
  const auto set_all_bits = [&](const BufferRange& range) {
    if (range.bytes != 0) context_.vk.CmdFillBuffer(commands, range.buffer, range.offset, range.bytes, ~0u);
  };
  for (size_t i = schedule_.inputs.size(); i < run_bound_.size(); ++i)
    set_all_bits({run_bound_[i].buffer, run_bound_[i].offset, run_bound_[i].bytes});
  if (scratch_.handle() != VK_NULL_HANDLE) set_all_bits({scratch_.handle(), 0, VK_WHOLE_SIZE});
  memory_barrier(context_.vk, commands, {VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT},
                 {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, kShaderAccess});
}

bool VulkanPlan::ended() { return host_io_->submission().ended(); }

Status VulkanPlan::finish() {
  HostIo& io = *host_io_;
  Status status = io.submission().wait();
  // Another run may have found the device lost, although this run's work ended.
  if (status == Status::Ok) status = context_.alive("run");
  if (status == Status::DeviceLost) log_last_completed();
  if (status == Status::Ok) status = io.invalidate();
  if (status != Status::Ok) return status;
  for (size_t i = schedule_.inputs.size(); i < run_buffers_.size(); ++i)
    std::memcpy(const_cast<void*>(run_buffers_[i]->data), io.host(i), run_bytes_[i]);
  return take_faults(0);
}

}  // namespace heed::vulkan
