// The Vulkan functions that heed calls, as one table per device.
//
// volk keeps its pointers in process-wide globals, which would collide with those of a host that also uses volk (perhaps another version),
// and would mix two devices of different drivers. A table per device takes two kilobytes and lets a host pass any vkGetInstanceProcAddr,
// such as that of a capture layer or a test.
#pragma once

#include <vulkan/vulkan_core.h>

#include "vulkan/calls/cooperative_matrix.hpp"

// Callable before an instance exists.
#define HEED_VULKAN_GLOBAL(X)             \
  X(EnumerateInstanceVersion)             \
  X(EnumerateInstanceLayerProperties)     \
  X(EnumerateInstanceExtensionProperties) \
  X(CreateInstance)

#define HEED_VULKAN_INSTANCE(X)             \
  X(DestroyInstance)                        \
  X(EnumeratePhysicalDevices)               \
  X(GetPhysicalDeviceProperties)            \
  X(GetPhysicalDeviceProperties2)           \
  X(GetPhysicalDeviceFeatures2)             \
  X(GetPhysicalDeviceMemoryProperties)      \
  X(GetPhysicalDeviceMemoryProperties2)     \
  X(GetPhysicalDeviceQueueFamilyProperties) \
  X(EnumerateDeviceExtensionProperties)     \
  X(CreateDevice)                           \
  X(GetDeviceProcAddr)

// Functions of extensions, which are null if the driver lacks the extension.
#define HEED_VULKAN_EXTENSION(X) X(GetPhysicalDeviceCooperativeMatrixPropertiesKHR)

// VK_EXT_debug_utils; null if the instance was created without it.
#define HEED_VULKAN_DEBUG(X)       \
  X(CreateDebugUtilsMessengerEXT)  \
  X(DestroyDebugUtilsMessengerEXT) \
  X(SetDebugUtilsObjectNameEXT)    \
  X(CmdBeginDebugUtilsLabelEXT)    \
  X(CmdEndDebugUtilsLabelEXT)

#define HEED_VULKAN_DEVICE(X)     \
  X(DestroyDevice)                \
  X(GetDeviceQueue)               \
  X(CreateBuffer)                 \
  X(DestroyBuffer)                \
  X(GetBufferMemoryRequirements)  \
  X(AllocateMemory)               \
  X(FreeMemory)                   \
  X(BindBufferMemory)             \
  X(MapMemory)                    \
  X(FlushMappedMemoryRanges)      \
  X(InvalidateMappedMemoryRanges) \
  X(CreateShaderModule)           \
  X(DestroyShaderModule)          \
  X(CreatePipelineCache)          \
  X(DestroyPipelineCache)         \
  X(GetPipelineCacheData)         \
  X(CreateComputePipelines)       \
  X(DestroyPipeline)              \
  X(CreatePipelineLayout)         \
  X(DestroyPipelineLayout)        \
  X(CreateDescriptorSetLayout)    \
  X(DestroyDescriptorSetLayout)   \
  X(CreateDescriptorPool)         \
  X(DestroyDescriptorPool)        \
  X(AllocateDescriptorSets)       \
  X(UpdateDescriptorSets)         \
  X(CreateQueryPool)              \
  X(DestroyQueryPool)             \
  X(GetQueryPoolResults)          \
  X(CreateCommandPool)            \
  X(DestroyCommandPool)           \
  X(ResetCommandPool)             \
  X(AllocateCommandBuffers)       \
  X(BeginCommandBuffer)           \
  X(EndCommandBuffer)             \
  X(CreateFence)                  \
  X(DestroyFence)                 \
  X(ResetFences)                  \
  X(WaitForFences)                \
  X(QueueSubmit)                  \
  X(CmdBindPipeline)              \
  X(CmdBindDescriptorSets)        \
  X(CmdPushConstants)             \
  X(CmdDispatch)                  \
  X(CmdDispatchBase)              \
  X(CmdPipelineBarrier)           \
  X(CmdFillBuffer)                \
  X(CmdCopyBuffer)                \
  X(CmdResetQueryPool)            \
  X(CmdWriteTimestamp)

namespace heed::vulkan {

struct Functions {
#define HEED_MEMBER(name) PFN_vk##name name = nullptr;
  HEED_VULKAN_GLOBAL(HEED_MEMBER)
  HEED_VULKAN_INSTANCE(HEED_MEMBER)
  HEED_VULKAN_EXTENSION(HEED_MEMBER)
  HEED_VULKAN_DEBUG(HEED_MEMBER)
  HEED_VULKAN_DEVICE(HEED_MEMBER)
#undef HEED_MEMBER
  PFN_vkGetInstanceProcAddr GetInstanceProcAddr = nullptr;
};

// A zeroed structure with its type and, where given, the next of its chain.
template <class T>
T structure(VkStructureType type, void* next = nullptr) {
  T result{};
  result.sType = type;
  result.pNext = next;
  return result;
}

// Each returns the name of the first missing function, or null if the group is complete.
const char* load_global_functions(PFN_vkGetInstanceProcAddr get, Functions* table);
const char* load_instance_functions(VkInstance instance, bool debug_utils, Functions* table);
const char* load_device_functions(VkDevice device, Functions* table);
// Loads the functions of extensions; missing ones stay null.
void load_extension_functions(VkInstance instance, Functions* table);

}  // namespace heed::vulkan
