// A Vulkan layer that writes down a program's dispatches (trace.hpp) and executes nothing: submitted work counts as done at once. So a
// program can be recorded on a driver whose GPU is not there. HEED_PEER_TRACE names the folder to write to.
#include <map>
#include <mutex>

#include "trace.hpp"
#include "vulkan/layer_parts.hpp"

namespace {

using namespace heed::layers;

heed::peer::Trace& trace() {
  static heed::peer::Trace* const only = new heed::peer::Trace;
  return *only;
}

struct Instance {
  VkInstance handle = VK_NULL_HANDLE;
  PFN_vkGetInstanceProcAddr next = nullptr;
};
struct Device {
  VkDevice handle = VK_NULL_HANDLE;
  PFN_vkGetDeviceProcAddr next = nullptr;
};

std::mutex g_mutex;  // guards the maps
std::map<void*, Instance> g_instances;
std::map<void*, Device> g_devices;

Instance instance_of(const void* dispatchable) {
  const std::scoped_lock lock(g_mutex);
  return g_instances[key_of(dispatchable)];
}
template <class F>
F next_of(const void* dispatchable, const char* name) {
  const std::scoped_lock lock(g_mutex);
  const Device& device = g_devices[key_of(dispatchable)];
  return reinterpret_cast<F>(device.next(device.handle, name));
}
#define NEXT(object, name) next_of<PFN_##name>(object, #name)

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                                               VkInstance* handle) {
  auto* link = find_link<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const VkResult result =
      reinterpret_cast<PFN_vkCreateInstance>(next(nullptr, "vkCreateInstance"))(info, allocator, handle);
  const std::scoped_lock lock(g_mutex);
  if (result == VK_SUCCESS) g_instances[key_of(*handle)] = {*handle, next};
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkDevice* handle) {
  auto* link = find_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  const PFN_vkGetDeviceProcAddr next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create =
      reinterpret_cast<PFN_vkCreateDevice>(get_instance(instance_of(physical).handle, "vkCreateDevice"));
  const VkResult result = create(physical, info, allocator, handle);
  const std::scoped_lock lock(g_mutex);
  if (result == VK_SUCCESS) g_devices[key_of(*handle)] = {*handle, next};
  return result;
}

// --- Objects -----------------------------------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL create_module(VkDevice device, const VkShaderModuleCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkShaderModule* module) {
  const VkResult result = NEXT(device, vkCreateShaderModule)(device, info, allocator, module);
  if (result == VK_SUCCESS) trace().add_module(*module, *info);
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL create_pipelines(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                const VkComputePipelineCreateInfo* infos,
                                                const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
  const VkResult result = NEXT(device, vkCreateComputePipelines)(device, cache, count, infos, allocator, pipelines);
  for (uint32_t i = 0; i < count && result == VK_SUCCESS; ++i) trace().add_pipeline(pipelines[i], infos[i]);
  return result;
}

VKAPI_ATTR VkResult VKAPI_CALL map_memory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                          VkDeviceSize size, VkMemoryMapFlags flags, void** data) {
  const VkResult result = NEXT(device, vkMapMemory)(device, memory, offset, size, flags, data);
  if (result == VK_SUCCESS) trace().add_memory(memory, static_cast<std::byte*>(*data) - offset);
  return result;
}
VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory memory, const VkAllocationCallbacks* allocator) {
  trace().add_memory(memory, nullptr);
  NEXT(device, vkFreeMemory)(device, memory, allocator);
}
VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkBuffer* buffer) {
  const VkResult result = NEXT(device, vkCreateBuffer)(device, info, allocator, buffer);
  if (result == VK_SUCCESS) trace().add_buffer(*buffer, info->size);
  return result;
}
VKAPI_ATTR VkResult VKAPI_CALL bind_buffer(VkDevice device, VkBuffer buffer, VkDeviceMemory memory,
                                           VkDeviceSize offset) {
  trace().place_buffer(buffer, memory, offset);
  return NEXT(device, vkBindBufferMemory)(device, buffer, memory, offset);
}
VKAPI_ATTR void VKAPI_CALL update_sets(VkDevice device, uint32_t count, const VkWriteDescriptorSet* writes,
                                       uint32_t copies, const VkCopyDescriptorSet* copied) {
  for (uint32_t i = 0; i < count; ++i) trace().write_set(writes[i]);
  NEXT(device, vkUpdateDescriptorSets)(device, count, writes, copies, copied);
}

// --- Commands ---------------------------------------------------------------------------------------------------

VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer commands, VkPipelineBindPoint, VkPipeline pipeline) {
  trace().bind_pipeline(commands, pipeline);
}
VKAPI_ATTR void VKAPI_CALL bind_sets(VkCommandBuffer commands, VkPipelineBindPoint, VkPipelineLayout, uint32_t,
                                     uint32_t count, const VkDescriptorSet* sets, uint32_t, const uint32_t*) {
  if (count > 0) trace().bind_set(commands, sets[0]);
}
VKAPI_ATTR void VKAPI_CALL push_constants(VkCommandBuffer commands, VkPipelineLayout, VkShaderStageFlags,
                                          uint32_t offset, uint32_t size, const void* values) {
  trace().push(commands, offset, size, values);
}
VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer commands, uint32_t x, uint32_t y, uint32_t z) {
  trace().dispatch(commands, x, y, z);
}
VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer, VkPipelineStageFlags, VkPipelineStageFlags, VkDependencyFlags,
                                   uint32_t, const VkMemoryBarrier*, uint32_t, const VkBufferMemoryBarrier*, uint32_t,
                                   const VkImageMemoryBarrier*) {
  trace().barrier();
}

// --- Submission --------------------------------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue, uint32_t, const VkSubmitInfo*, VkFence) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL submit2(VkQueue, uint32_t, const VkSubmitInfo2*, VkFence) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL wait_queue(VkQueue) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL wait_device(VkDevice) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL wait_fences(VkDevice, uint32_t, const VkFence*, VkBool32, uint64_t) {
  return VK_SUCCESS;
}
VKAPI_ATTR VkResult VKAPI_CALL fence_status(VkDevice, VkFence) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL wait_semaphores(VkDevice, const VkSemaphoreWaitInfo*, uint64_t) { return VK_SUCCESS; }
VKAPI_ATTR VkResult VKAPI_CALL event_status(VkDevice, VkEvent) { return VK_EVENT_SET; }

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char* name);

const Entry kInstanceEntries[] = {HEED_ENTRY("vkGetInstanceProcAddr", get_instance_proc),
                                  HEED_ENTRY("vkCreateInstance", create_instance),
                                  HEED_ENTRY("vkCreateDevice", create_device)};
const Entry kDeviceEntries[] = {
    HEED_ENTRY("vkGetDeviceProcAddr", get_device_proc),
    HEED_ENTRY("vkCreateShaderModule", create_module),
    HEED_ENTRY("vkCreateComputePipelines", create_pipelines),
    HEED_ENTRY("vkMapMemory", map_memory),
    HEED_ENTRY("vkFreeMemory", free_memory),
    HEED_ENTRY("vkCreateBuffer", create_buffer),
    HEED_ENTRY("vkBindBufferMemory", bind_buffer),
    HEED_ENTRY("vkUpdateDescriptorSets", update_sets),
    HEED_ENTRY("vkCmdBindPipeline", bind_pipeline),
    HEED_ENTRY("vkCmdBindDescriptorSets", bind_sets),
    HEED_ENTRY("vkCmdPushConstants", push_constants),
    HEED_ENTRY("vkCmdDispatch", dispatch),
    HEED_ENTRY("vkCmdPipelineBarrier", barrier),
    HEED_ENTRY("vkQueueSubmit", submit),
    HEED_ENTRY("vkQueueSubmit2", submit2),
    HEED_ENTRY("vkQueueSubmit2KHR", submit2),
    HEED_ENTRY("vkQueueWaitIdle", wait_queue),
    HEED_ENTRY("vkDeviceWaitIdle", wait_device),
    HEED_ENTRY("vkWaitForFences", wait_fences),
    HEED_ENTRY("vkGetFenceStatus", fence_status),
    HEED_ENTRY("vkWaitSemaphores", wait_semaphores),
    HEED_ENTRY("vkWaitSemaphoresKHR", wait_semaphores),
    HEED_ENTRY("vkGetEventStatus", event_status),
};
#undef NEXT

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char* name) {
  const auto next = [&] {
    const std::scoped_lock lock(g_mutex);
    return g_devices[key_of(device)].next(device, name);
  }();
  const PFN_vkVoidFunction own = find(kDeviceEntries, name);
  return next != nullptr && own != nullptr ? own : next;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char* name) {
  if (const PFN_vkVoidFunction own = find(kInstanceEntries, name)) return own;
  if (const PFN_vkVoidFunction own = find(kDeviceEntries, name)) return own;
  return instance == VK_NULL_HANDLE ? nullptr : instance_of(instance).next(instance, name);
}

}  // namespace

extern "C" HEED_LAYER_EXPORT VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface* interface) {
  return negotiate(interface, get_instance_proc, get_device_proc);
}
