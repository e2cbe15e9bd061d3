// The few Vulkan functions that the extension calls itself.
#pragma once

#include <vulkan/vulkan_core.h>

#define HEED_GODOT_INSTANCE_CALLS(X) \
  X(GetDeviceProcAddr)               \
  X(GetPhysicalDeviceProperties)     \
  X(GetPhysicalDeviceMemoryProperties)

#define HEED_GODOT_DEVICE_CALLS(X) \
  X(QueueSubmit)                   \
  X(CreateCommandPool)             \
  X(DestroyCommandPool)            \
  X(ResetCommandPool)              \
  X(AllocateCommandBuffers)        \
  X(BeginCommandBuffer)            \
  X(EndCommandBuffer)              \
  X(CmdPipelineBarrier)            \
  X(CreateFence)                   \
  X(DestroyFence)                  \
  X(ResetFences)                   \
  X(WaitForFences)                 \
  X(CreateBuffer)                  \
  X(DestroyBuffer)                 \
  X(GetBufferMemoryRequirements)   \
  X(AllocateMemory)                \
  X(FreeMemory)                    \
  X(BindBufferMemory)              \
  X(MapMemory)

struct VulkanCalls {
#define HEED_GODOT_MEMBER(name) PFN_vk##name name = nullptr;
  HEED_GODOT_INSTANCE_CALLS(HEED_GODOT_MEMBER)
  HEED_GODOT_DEVICE_CALLS(HEED_GODOT_MEMBER)
#undef HEED_GODOT_MEMBER
};

// Loads them from the Vulkan loader that Godot opened. Returns false if there is none, or it lacks a function.
bool load_vulkan_calls(VkInstance instance, VkDevice device, VulkanCalls* calls);
