#include "vulkan/memory/device_memory.hpp"

#include <algorithm>

#include "base/arith.hpp"
#include "base/logging.hpp"

namespace heed::vulkan {
namespace {

using ull = unsigned long long;

VkDeviceSize atom_of(const Context& context) {
  return std::max<VkDeviceSize>(context.physical.properties.limits.nonCoherentAtomSize, 1);
}

// Bytes of a heap that the process may still use; UINT64_MAX if unknown.
uint64_t left_of(const VkPhysicalDeviceMemoryBudgetPropertiesEXT& budget, uint32_t heap) {
  if (budget.heapBudget[heap] == 0) return UINT64_MAX;
  return budget.heapBudget[heap] - std::min(budget.heapBudget[heap], budget.heapUsage[heap]);
}

}  // namespace

VkPhysicalDeviceMemoryBudgetPropertiesEXT read_memory_budget(const Context& context) {
  auto budget = structure<VkPhysicalDeviceMemoryBudgetPropertiesEXT>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT);
  auto memory =
      structure<VkPhysicalDeviceMemoryProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, &budget);
  context.vk.GetPhysicalDeviceMemoryProperties2(context.physical.handle, &memory);
  return budget;
}

Status DeviceMemory::allocate(Context& context, const char* what, VkBuffer buffer, MemoryUse use) {
  free();
  context_ = &context;
  MemoryRequest request;
  context.vk.GetBufferMemoryRequirements(context.device, buffer, &request.requirements);
  const MemoryTypeOrder order =
      order_memory_types(context.physical.memory, request.requirements.memoryTypeBits, use, request.requirements.size);
  request.requirements.memoryTypeBits = order.bits();
  const MemoryProperties wanted = properties_for(use);
  request.required = wanted.required;
  request.preferred = wanted.preferred;
  request.use = use;
  request.buffer = buffer;
  request.name = what;
  if (order.count == 0) {
    uint64_t largest = 0;
    const VkPhysicalDeviceMemoryProperties& memory = context.physical.memory;
    for (uint32_t i = 0; i < memory.memoryHeapCount; ++i)
      largest = std::max<uint64_t>(largest, memory.memoryHeaps[i].size);
    return fail(context.log, Status::OutOfDeviceMemory,
                format("%s needs %llu bytes; no memory heap that could serve is so large, the largest has %llu", what,
                       static_cast<ull>(request.requirements.size), static_cast<ull>(largest)));
  }
  of_host_ = context.memory.allocate != nullptr;
  Status status = of_host_ ? from_host(request) : from_driver(request, order);
  if (status != Status::Ok) return status;
  const VkMemoryType& type = context.physical.memory.memoryTypes[block_.memory_type];
  coherent_ = (type.propertyFlags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
  if (use == MemoryUse::Device) return status;
  mapped_ = static_cast<std::byte*>(block_.mapped);
  return of_host_ ? status : map();
}

Status DeviceMemory::from_host(MemoryRequest request) {
  if ((request.required & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0) {
    const VkDeviceSize atom = atom_of(*context_);
    request.requirements.alignment = std::max(request.requirements.alignment, atom);
    request.requirements.size = align_up(request.requirements.size, atom);
    bytes_ = request.requirements.size;
  }
  const VkResult result = context_->memory.allocate(context_->memory.user, request, &block_);
  if (result != VK_SUCCESS) {
    block_ = {};
    return context_->check(format("the host's allocator, asked for %llu bytes for %s",
                                  static_cast<ull>(request.requirements.size), request.name)
                               .c_str(),
                           result < 0 ? result : VK_ERROR_UNKNOWN);
  }
  const Status status = check_block(request);
  if (status != Status::Ok) free();
  return status;
}

Status DeviceMemory::check_block(const MemoryRequest& request) const {
  std::string wrong;
  const ull alignment = request.requirements.alignment;
  if (block_.memory == VK_NULL_HANDLE)
    wrong = "no VkDeviceMemory";
  else if (block_.offset % alignment != 0)
    wrong = format("offset %llu, no multiple of %llu", static_cast<ull>(block_.offset), alignment);
  else if (block_.memory_type >= VK_MAX_MEMORY_TYPES ||
           (request.requirements.memoryTypeBits >> block_.memory_type & 1u) == 0)
    wrong = format("memory type %u, not one of the mask %#x", block_.memory_type, request.requirements.memoryTypeBits);
  else if ((request.required & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0 && block_.mapped == nullptr)
    wrong = "memory that is not mapped";
  if (wrong.empty()) return Status::Ok;
  return fail(context_->log, Status::InvalidArgument,
              format("the host's allocator gave %s for %s", wrong.c_str(), request.name));
}

Status DeviceMemory::from_driver(const MemoryRequest& request, const MemoryTypeOrder& order) {
  const VkPhysicalDeviceMemoryProperties& memory = context_->physical.memory;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {};
  if (context_->memory_budget) budget = read_memory_budget(*context_);
  const uint64_t bytes = request.requirements.size;
  uint64_t most_left = 0;
  VkResult result = VK_SUCCESS;
  for (uint32_t i = 0; i < order.count; ++i) {
    const uint64_t left = left_of(budget, memory.memoryTypes[order.types[i]].heapIndex);
    most_left = std::max(most_left, left);
    if (left < bytes) continue;
    auto info = structure<VkMemoryAllocateInfo>(VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO);
    info.allocationSize = bytes;
    info.memoryTypeIndex = block_.memory_type = order.types[i];
    result = context_->vk.AllocateMemory(context_->device, &info, context_->allocator, &block_.memory);
    if (result == VK_SUCCESS) return Status::Ok;
    block_ = {};
    if (result == VK_ERROR_DEVICE_LOST) break;  // after other failures, such as a full heap, other types are tried
  }
  if (result == VK_SUCCESS)
    return fail(context_->log, Status::OutOfDeviceMemory,
                format("%s needs %llu bytes; the driver's memory budget leaves %llu", request.name,
                       static_cast<ull>(bytes), static_cast<ull>(most_left)));
  return context_->check(format("vkAllocateMemory of %llu bytes for %s", static_cast<ull>(bytes), request.name).c_str(),
                         result);
}

Status DeviceMemory::map() {
  void* address = nullptr;
  const Status status = context_->check(
      "vkMapMemory", context_->vk.MapMemory(context_->device, block_.memory, 0, VK_WHOLE_SIZE, 0, &address));
  mapped_ = static_cast<std::byte*>(address);
  if (status != Status::Ok) free();
  return status;
}

void DeviceMemory::free() {
  if (context_ != nullptr && context_->hung) return;  // see Context::hung
  if (block_.memory != VK_NULL_HANDLE || block_.token != nullptr) {
    if (of_host_)
      context_->memory.free(context_->memory.user, block_);
    else
      context_->vk.FreeMemory(context_->device, block_.memory, context_->allocator);  // unmaps
  }
  block_ = {};
  mapped_ = nullptr;
  bytes_ = VK_WHOLE_SIZE;
}

// VK_WHOLE_SIZE is the whole allocation if the memory is heed's own, which one buffer fills, but only the block within the host's memory.
VkMappedMemoryRange DeviceMemory::range(VkDeviceSize offset, VkDeviceSize bytes) const {
  auto range = structure<VkMappedMemoryRange>(VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE);
  range.memory = block_.memory;
  range.offset = block_.offset + offset;
  range.size = bytes == VK_WHOLE_SIZE ? bytes_ : bytes;
  return range;
}

Status DeviceMemory::flush(VkDeviceSize offset, VkDeviceSize bytes) {
  if (coherent_) return Status::Ok;
  const VkMappedMemoryRange part = range(offset, bytes);
  return context_->check("vkFlushMappedMemoryRanges", context_->vk.FlushMappedMemoryRanges(context_->device, 1, &part));
}

Status DeviceMemory::invalidate(VkDeviceSize offset, VkDeviceSize bytes) {
  if (coherent_) return Status::Ok;
  const VkMappedMemoryRange part = range(offset, bytes);
  return context_->check("vkInvalidateMappedMemoryRanges",
                         context_->vk.InvalidateMappedMemoryRanges(context_->device, 1, &part));
}

}  // namespace heed::vulkan
