// A Vulkan layer that gives a device with one queue family a second one, to test async compute on drivers that have no such family. The
// application, and a validation layer between it and this layer, see two families with a queue each and must transfer ownership. The driver
// sees one queue, and barriers without families. The layer does not translate buffers of VK_SHARING_MODE_CONCURRENT and presentation.
#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "vulkan/layer_parts.hpp"

namespace {

using namespace heed::layers;

constexpr uint32_t kPretended = 1;  // the family that does not exist

// A queue as the application sees it. The loader writes its dispatch table into the first member.
struct Queue {
  void* loader = nullptr;
  VkQueue real = VK_NULL_HANDLE;
};

// The functions of the next layer. The layer must look them up while the instance is created: later, the loader returns those of the first
// layer.
struct Instance {
  VkInstance handle = VK_NULL_HANDLE;
  PFN_vkGetInstanceProcAddr next = nullptr;
  PFN_vkDestroyInstance destroy = nullptr;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties families = nullptr;
};

struct Device {
  VkDevice handle = VK_NULL_HANDLE;
  PFN_vkGetDeviceProcAddr next = nullptr;
  PFN_vkSetDeviceLoaderData set_loader_data = nullptr;
  Queue queues[2];
  template <class F>
  F get(const char* name) const {
    return reinterpret_cast<F>(next(handle, name));
  }
};

std::mutex g_mutex;  // guards the maps and the one real queue
std::map<void*, Instance> g_instances;
std::map<void*, Device> g_devices;

const Instance& instance_of(const void* dispatchable) {
  const std::scoped_lock lock(g_mutex);
  return g_instances[key_of(dispatchable)];
}
Device& device_of(const void* dispatchable) {
  const std::scoped_lock lock(g_mutex);
  return g_devices[key_of(dispatchable)];
}
VkQueue real(VkQueue queue) { return reinterpret_cast<Queue*>(queue)->real; }

// --- Instances and physical devices ---------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator,
                                               VkInstance* handle) {
  auto* link = find_link<VkLayerInstanceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO,
                                                    VK_LAYER_LINK_INFO);
  if (link == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  const auto create = reinterpret_cast<PFN_vkCreateInstance>(next(nullptr, "vkCreateInstance"));
  const VkResult result = create(info, allocator, handle);
  if (result != VK_SUCCESS) return result;
  const std::scoped_lock lock(g_mutex);
  g_instances[key_of(*handle)] = {*handle, next,
                                  reinterpret_cast<PFN_vkDestroyInstance>(next(*handle, "vkDestroyInstance")),
                                  reinterpret_cast<PFN_vkGetPhysicalDeviceQueueFamilyProperties>(
                                      next(*handle, "vkGetPhysicalDeviceQueueFamilyProperties"))};
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle, const VkAllocationCallbacks* allocator) {
  if (handle == VK_NULL_HANDLE) return;
  void* const key = key_of(handle);
  instance_of(handle).destroy(handle, allocator);
  const std::scoped_lock lock(g_mutex);
  g_instances.erase(key);
}

// Reports the first family twice, with one queue each, and the second time without graphics.
VKAPI_ATTR void VKAPI_CALL get_families(VkPhysicalDevice device, uint32_t* count, VkQueueFamilyProperties* properties) {
  VkQueueFamilyProperties first = {};
  uint32_t one = 1;
  instance_of(device).families(device, &one, &first);
  if (properties != nullptr) {
    first.queueCount = 1;
    std::fill_n(properties, std::min(*count, 2u), first);
    if (*count > kPretended) properties[kPretended].queueFlags &= ~static_cast<VkQueueFlags>(VK_QUEUE_GRAPHICS_BIT);
  }
  *count = properties == nullptr ? 2 : std::min(*count, 2u);
}

VKAPI_ATTR void VKAPI_CALL get_families2(VkPhysicalDevice device, uint32_t* count,
                                         VkQueueFamilyProperties2* properties) {
  VkQueueFamilyProperties plain[2] = {};
  get_families(device, count, properties == nullptr ? nullptr : plain);
  for (uint32_t i = 0; properties != nullptr && i < *count; ++i) properties[i].queueFamilyProperties = plain[i];
}

// --- Devices and queues -----------------------------------------------------------------------------------------

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                                             const VkAllocationCallbacks* allocator, VkDevice* handle) {
  auto* link =
      find_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO, VK_LAYER_LINK_INFO);
  const auto* callback = find_link<VkLayerDeviceCreateInfo>(info->pNext, VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO,
                                                            VK_LOADER_DATA_CALLBACK);
  if (link == nullptr || callback == nullptr) return VK_ERROR_INITIALIZATION_FAILED;
  const PFN_vkGetInstanceProcAddr get_instance = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  Device device;
  device.next = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  device.set_loader_data = callback->u.pfnSetDeviceLoaderData;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;

  const float priority = 1;
  VkDeviceQueueCreateInfo queue = {};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo one = *info;
  one.queueCreateInfoCount = 1;
  one.pQueueCreateInfos = &queue;
  const auto create =
      reinterpret_cast<PFN_vkCreateDevice>(get_instance(instance_of(physical).handle, "vkCreateDevice"));
  const VkResult result = create(physical, &one, allocator, handle);
  if (result != VK_SUCCESS) return result;
  device.handle = *handle;
  const std::scoped_lock lock(g_mutex);
  g_devices[key_of(*handle)] = device;
  return result;
}

VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle, const VkAllocationCallbacks* allocator) {
  if (handle == VK_NULL_HANDLE) return;
  void* const key = key_of(handle);
  device_of(handle).get<PFN_vkDestroyDevice>("vkDestroyDevice")(handle, allocator);
  const std::scoped_lock lock(g_mutex);
  g_devices.erase(key);
}

VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice handle, uint32_t family, uint32_t index, VkQueue* queue) {
  Device& device = device_of(handle);
  *queue = VK_NULL_HANDLE;
  if (family > kPretended || index != 0) return;
  Queue& shown = device.queues[family];
  device.get<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(handle, 0, 0, &shown.real);
  device.set_loader_data(handle, &shown);
  *queue = reinterpret_cast<VkQueue>(&shown);
}

VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
  const auto next = device_of(queue).get<PFN_vkQueueSubmit>("vkQueueSubmit");
  const std::scoped_lock lock(g_mutex);
  return next(real(queue), count, infos, fence);
}

template <class F>
VkResult submit2_as(const char* name, VkQueue queue, uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
  const auto next = device_of(queue).get<F>(name);
  const std::scoped_lock lock(g_mutex);
  return next(real(queue), count, infos, fence);
}
VKAPI_ATTR VkResult VKAPI_CALL submit2(VkQueue queue, uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
  return submit2_as<PFN_vkQueueSubmit2>("vkQueueSubmit2", queue, count, infos, fence);
}
VKAPI_ATTR VkResult VKAPI_CALL submit2_khr(VkQueue queue, uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
  return submit2_as<PFN_vkQueueSubmit2>("vkQueueSubmit2KHR", queue, count, infos, fence);
}

VKAPI_ATTR VkResult VKAPI_CALL wait_idle(VkQueue queue) {
  return device_of(queue).get<PFN_vkQueueWaitIdle>("vkQueueWaitIdle")(real(queue));
}

VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice handle, const VkCommandPoolCreateInfo* info,
                                           const VkAllocationCallbacks* allocator, VkCommandPool* pool) {
  VkCommandPoolCreateInfo one = *info;
  one.queueFamilyIndex = 0;
  return device_of(handle).get<PFN_vkCreateCommandPool>("vkCreateCommandPool")(handle, &one, allocator, pool);
}

// --- Barriers ---------------------------------------------------------------------------------------------------

template <class Barrier>
std::vector<Barrier> without_families(uint32_t count, const Barrier* barriers) {
  std::vector<Barrier> result(barriers, barriers + count);
  for (Barrier& barrier : result) barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  return result;
}

VKAPI_ATTR void VKAPI_CALL barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkPipelineStageFlags to,
                                   VkDependencyFlags flags, uint32_t count, const VkMemoryBarrier* plain,
                                   uint32_t buffer_count, const VkBufferMemoryBarrier* buffers, uint32_t image_count,
                                   const VkImageMemoryBarrier* images) {
  const auto of_buffers = without_families(buffer_count, buffers);
  const auto of_images = without_families(image_count, images);
  device_of(commands).get<PFN_vkCmdPipelineBarrier>("vkCmdPipelineBarrier")(
      commands, from, to, flags, count, plain, buffer_count, of_buffers.data(), image_count, of_images.data());
}

void barrier2_as(const char* name, VkCommandBuffer commands, const VkDependencyInfo* info) {
  const auto buffers = without_families(info->bufferMemoryBarrierCount, info->pBufferMemoryBarriers);
  const auto images = without_families(info->imageMemoryBarrierCount, info->pImageMemoryBarriers);
  VkDependencyInfo one = *info;
  one.pBufferMemoryBarriers = buffers.data();
  one.pImageMemoryBarriers = images.data();
  device_of(commands).get<PFN_vkCmdPipelineBarrier2>(name)(commands, &one);
}
VKAPI_ATTR void VKAPI_CALL barrier2(VkCommandBuffer commands, const VkDependencyInfo* info) {
  barrier2_as("vkCmdPipelineBarrier2", commands, info);
}
VKAPI_ATTR void VKAPI_CALL barrier2_khr(VkCommandBuffer commands, const VkDependencyInfo* info) {
  barrier2_as("vkCmdPipelineBarrier2KHR", commands, info);
}

// --- Function lookup ------------------------------------------------------------------------------------------

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc(VkInstance instance, const char* name);
VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char* name);

const Entry kInstanceEntries[] = {
    HEED_ENTRY("vkGetInstanceProcAddr", get_instance_proc),
    HEED_ENTRY("vkCreateInstance", create_instance),
    HEED_ENTRY("vkDestroyInstance", destroy_instance),
    HEED_ENTRY("vkCreateDevice", create_device),
    HEED_ENTRY("vkGetPhysicalDeviceQueueFamilyProperties", get_families),
    HEED_ENTRY("vkGetPhysicalDeviceQueueFamilyProperties2", get_families2),
    HEED_ENTRY("vkGetPhysicalDeviceQueueFamilyProperties2KHR", get_families2),
};
const Entry kDeviceEntries[] = {
    HEED_ENTRY("vkGetDeviceProcAddr", get_device_proc),
    HEED_ENTRY("vkDestroyDevice", destroy_device),
    HEED_ENTRY("vkGetDeviceQueue", get_queue),
    HEED_ENTRY("vkQueueSubmit", submit),
    HEED_ENTRY("vkQueueSubmit2", submit2),
    HEED_ENTRY("vkQueueSubmit2KHR", submit2_khr),
    HEED_ENTRY("vkQueueWaitIdle", wait_idle),
    HEED_ENTRY("vkCreateCommandPool", create_pool),
    HEED_ENTRY("vkCmdPipelineBarrier", barrier),
    HEED_ENTRY("vkCmdPipelineBarrier2", barrier2),
    HEED_ENTRY("vkCmdPipelineBarrier2KHR", barrier2_khr),
};

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice device, const char* name) {
  const PFN_vkVoidFunction next = device_of(device).next(device, name);
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
