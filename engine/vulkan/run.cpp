#include <cstring>

#include "base/logging.hpp"
#include "vulkan/plan.hpp"

namespace heed::vulkan {

Status VulkanPlan::prepare_run() {
  if (host_io_ != nullptr) return Status::Ok;
  std::vector<uint64_t> largest(host_count());
  for (size_t i = 0; i < largest.size(); ++i) largest[i] = host_bytes(i, schedule_.max_values);
  auto fresh = std::make_unique<HostIo>();
  const Status status = fresh->create(context_, largest, schedule_.inputs.size());
  if (status == Status::Ok) host_io_ = std::move(fresh);
  return status;
}

Status VulkanPlan::run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
                       const RunOptions& options) {
  Status status = context_.alive("run");
  if (status == Status::Ok) status = check_scratch("run");
  if (status == Status::Ok) status = prepare_all();
  if (status != Status::Ok) return status;
  std::vector<int64_t> extent_values(schedule_.extents.size()), sizes(schedule_.sizes.count());
  status = resolve_extents(schedule_, extents, context_.log, extent_values, sizes);
  if (status != Status::Ok) return status;
  std::vector<const HostBuffer*> found(host_count());
  status = detail::match_buffers(schedule_, buffers, {.sizes = sizes, .seed = options.seed}, context_.log, found);
  if (status == Status::Ok) status = prepare_run();
  if (status != Status::Ok) return status;

  HostIo& io = *host_io_;
  const size_t inputs = schedule_.inputs.size();
  std::vector<uint64_t> bytes(found.size());
  std::vector<Buffer> bound(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    bytes[i] = host_bytes(i, sizes);
    bound[i] = {host_tensor(i).name, io.buffer(), io.offset(i), VK_WHOLE_SIZE};
    if (i < inputs) std::memcpy(io.host(i), found[i]->data, bytes[i]);
  }
  VkCommandBuffer commands = VK_NULL_HANDLE;
  status = io.flush();
  if (status == Status::Ok) status = io.submission().begin(&commands);
  if (status != Status::Ok) return status;
  io.record_inputs(commands, bytes);
  status = record(commands, {.buffers = bound, .extents = extents, .seed = options.seed, .slot = 0});
  if (status != Status::Ok) return status;
  io.record_outputs(commands, bytes);
  status = io.submission().submit_and_wait(options.timeout_ms);
  if (status == Status::DeviceLost) log_last_completed();
  if (status == Status::Ok) status = io.invalidate();
  if (status != Status::Ok) return status;
  for (size_t i = inputs; i < found.size(); ++i) std::memcpy(const_cast<void*>(found[i]->data), io.host(i), bytes[i]);
  return take_faults(0);
}

}  // namespace heed::vulkan
