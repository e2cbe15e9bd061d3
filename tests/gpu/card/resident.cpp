#include "gpu/card/resident.hpp"

#include <algorithm>
#include <cmath>

#include "base/half.hpp"
#include "vulkan/context/submission.hpp"

namespace heed::gpu_tests {

using vulkan::structure;

namespace {

constexpr uint32_t kMostRuns = 4000;  // milliseconds of a batch

}  // namespace

vulkan::Context& context_of(Device& device) { return static_cast<vulkan::VulkanDevice&>(*device.impl()).context(); }

Status Operands::make() {
  work_.build(graph_);
  const detail::GraphData& data = graph_.data();
  const std::vector<int64_t> extents = values_of(data, work_);
  std::vector<Given> weights;
  for (const auto& named : data.weights) weights.push_back(make_given(data, named, {}, true));
  std::vector<HostTensor> tensors;
  for (const Given& weight : weights) tensors.push_back({weight.name, weight.type, weight.shape, weight.bytes});
  Status status = tensors.empty() ? Status::Ok : device_.upload(tensors, &weights_);
  const auto place = [&](const detail::NamedTensor& named, bool input, std::vector<Placed>* all) {
    Placed& one = all->emplace_back(Placed{make_given(data, named, extents, input), {}});
    one.buffer = std::make_unique<vulkan::DeviceBuffer>();
    constexpr VkBufferUsageFlags kUse =
        VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    one.given.bytes.resize((one.given.bytes.size() + 3) / 4 * 4);
    if (status == Status::Ok)
      status =
          one.buffer->create(context_of(device_), "operand", one.given.bytes.size(), kUse, vulkan::MemoryUse::Device);
    if (status == Status::Ok && input) status = copy(one, true);
  };
  for (const auto& named : data.inputs) place(named, true, &inputs_);
  for (const auto& named : data.outputs) place(named, false, &outputs_);
  return status;
}

Status Operands::copy(Placed& placed, bool to_device) {
  vulkan::Context& context = context_of(device_);
  std::vector<std::byte>& bytes = placed.given.bytes;
  vulkan::DeviceBuffer staging;
  vulkan::Submission submission;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  Status status =
      staging.create(context, "staging", bytes.size(),
                     VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT, vulkan::MemoryUse::Staging);
  if (status == Status::Ok && to_device) {
    std::copy(bytes.begin(), bytes.end(), staging.mapped());
    status = staging.flush();
  }
  if (status == Status::Ok) status = submission.create(context, "copy");
  if (status == Status::Ok) status = submission.begin(&commands);
  if (status != Status::Ok) return status;
  const VkBufferCopy range = {0, 0, bytes.size()};
  const VkBuffer on_device = placed.buffer->handle();
  auto barrier = structure<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT;
  const auto order = [&] {
    context.vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                                  VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0,
                                  nullptr, 0, nullptr);
  };
  order();
  context.vk.CmdCopyBuffer(commands, to_device ? staging.handle() : on_device, to_device ? on_device : staging.handle(),
                           1, &range);
  order();
  status = submission.submit_and_wait();
  if (status != Status::Ok || to_device) return status;
  status = staging.invalidate();
  std::copy_n(staging.mapped(), bytes.size(), bytes.begin());
  return status;
}

std::vector<vulkan::Buffer> Operands::bound() const {
  std::vector<vulkan::Buffer> all;
  for (const auto* list : {&inputs_, &outputs_})
    for (const Placed& one : *list) all.push_back({one.given.name, one.buffer->handle()});
  return all;
}

Status Operands::read_output(std::vector<float>* values) {
  values->clear();
  Placed& y = outputs_.front();
  if (y.given.type != DType::F32 && y.given.type != DType::F16 && y.given.type != DType::BF16) return Status::Ok;
  const Status status = copy(y, false);
  int64_t count = 1;
  for (const int64_t size : y.given.shape) count *= size;
  values->resize(static_cast<size_t>(count));
  convert_floats(y.given.bytes.data(), y.given.type, values->data(), DType::F32, values->size());
  return status;
}

Resident::~Resident() {
  const vulkan::Functions& vk = context_.vk;
  if (fence_ != VK_NULL_HANDLE) vk.DestroyFence(context_.device, fence_, nullptr);
  if (queries_ != VK_NULL_HANDLE) vk.DestroyQueryPool(context_.device, queries_, nullptr);
  if (pool_ != VK_NULL_HANDLE) vk.DestroyCommandPool(context_.device, pool_, nullptr);
}

Status Resident::prepare() {
  const Work& work = operands_.work();
  const CompileOptions options = {.record_slots = 1, .round_rows = work.round_rows, .emulate_f32 = work.emulate_f32};
  Status status = device_.compile(operands_.graph(), operands_.weights(), &plan_, options);
  if (status == Status::Ok && !operands_.graph().data().states.empty()) status = plan_.make_state(&state_);
  return status == Status::Ok ? record() : status;
}

std::string Resident::kernels() const {
  std::string all;
  for (const PassInfo& pass : plan_.passes())
    if (all.find(pass.kernel) == all.npos) all.append(all.empty() ? "" : "; ").append(pass.kernel);
  return all;
}

Status Resident::record() {
  const vulkan::Functions& vk = context_.vk;
  auto pools = structure<VkCommandPoolCreateInfo>(VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  pools.queueFamilyIndex = context_.queue_family;
  Status status = context_.check("vkCreateCommandPool", vk.CreateCommandPool(context_.device, &pools, nullptr, &pool_));
  if (status != Status::Ok) return status;
  auto allocate = structure<VkCommandBufferAllocateInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  allocate.commandPool = pool_;
  allocate.commandBufferCount = 3;
  status = context_.check("vkAllocateCommandBuffers", vk.AllocateCommandBuffers(context_.device, &allocate, commands_));
  auto queries = structure<VkQueryPoolCreateInfo>(VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
  queries.queryCount = 2;
  if (status == Status::Ok)
    status = context_.check("vkCreateQueryPool", vk.CreateQueryPool(context_.device, &queries, nullptr, &queries_));
  const auto fences = structure<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  if (status == Status::Ok)
    status = context_.check("vkCreateFence", vk.CreateFence(context_.device, &fences, nullptr, &fence_));
  const std::vector<vulkan::Buffer> buffers = operands_.bound();
  for (uint32_t i = 0; i < 3 && status == Status::Ok; ++i) {
    auto begin = structure<VkCommandBufferBeginInfo>(VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
    begin.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    status = context_.check("vkBeginCommandBuffer", vk.BeginCommandBuffer(commands_[i], &begin));
    if (status != Status::Ok) break;
    if (i == 0) vk.CmdResetQueryPool(commands_[i], queries_, 0, 2);
    if (i == 1)
      status = vulkan::record(plan_, commands_[i],
                              {.buffers = buffers, .extents = operands_.work().extents, .state = state_});
    else
      vk.CmdWriteTimestamp(commands_[i], VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries_, i / 2);
    if (status == Status::Ok) status = context_.check("vkEndCommandBuffer", vk.EndCommandBuffer(commands_[i]));
  }
  return status;
}

// `clock` is sampled while the GPU works.
Status Resident::batch(uint32_t runs, const CoreClock* clock, BatchTimes* times) {
  const vulkan::Functions& vk = context_.vk;
  std::vector<VkCommandBuffer> all(runs + 2, commands_[1]);
  all.front() = commands_[0];
  all.back() = commands_[2];
  auto info = structure<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = static_cast<uint32_t>(all.size());
  info.pCommandBuffers = all.data();
  Status status = context_.check("vkQueueSubmit", vk.QueueSubmit(context_.queue, 1, &info, fence_));
  if (status != Status::Ok) return status;
  if (clock != nullptr && clock->known()) times->clocks.push_back(clock->now());
  status = context_.check("vkWaitForFences", vk.WaitForFences(context_.device, 1, &fence_, VK_TRUE, UINT64_MAX));
  if (status == Status::Ok) status = context_.check("vkResetFences", vk.ResetFences(context_.device, 1, &fence_));
  uint64_t ticks[2] = {};
  if (status == Status::Ok)
    status = context_.check("vkGetQueryPoolResults",
                            vk.GetQueryPoolResults(context_.device, queries_, 0, 2, sizeof ticks, ticks,
                                                   sizeof ticks[0], VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
  const double to_us = static_cast<double>(context_.physical.properties.limits.timestampPeriod) * 1e-3;
  times->us.push_back(static_cast<double>(ticks[1] - ticks[0]) * to_us / runs);
  return status;
}

Status Resident::measure(double milliseconds, const CoreClock& clock, BatchTimes* times) {
  BatchTimes first;
  Status status = batch(1, nullptr, &first);  // warms up caches
  if (status == Status::Ok) status = batch(1, nullptr, &first);
  if (status != Status::Ok) return status;
  const double fitting = 1e3 * milliseconds / kBatches / std::max(first.us.back(), 0.5);
  const auto runs = static_cast<uint32_t>(std::clamp(std::floor(fitting), 1.0, double{kMostRuns}));
  *times = {};
  for (int i = 0; i < kBatches && status == Status::Ok; ++i) status = batch(runs, &clock, times);
  return status;
}

}  // namespace heed::gpu_tests
