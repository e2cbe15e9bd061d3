// A Vulkan device that the program opens without heed: it measures the limits of `heed bench`, and draws the frames of `heed report`.
#pragma once

#include <vulkan/vulkan_core.h>

#include <chrono>
#include <vector>

#include <heed/device.hpp>

namespace heed::program {

// clang-format off
#define HEED_BARE_CALLS(X) \
  X(DestroyInstance) X(EnumeratePhysicalDevices) X(GetPhysicalDeviceProperties) \
  X(GetPhysicalDeviceQueueFamilyProperties) X(GetPhysicalDeviceMemoryProperties) X(CreateDevice) \
  X(DestroyDevice) X(DeviceWaitIdle) X(GetDeviceQueue) X(CreateBuffer) X(DestroyBuffer) \
  X(GetBufferMemoryRequirements) X(AllocateMemory) X(FreeMemory) X(BindBufferMemory) X(CreateShaderModule) \
  X(DestroyShaderModule) X(CreateDescriptorSetLayout) X(DestroyDescriptorSetLayout) X(CreatePipelineLayout) \
  X(DestroyPipelineLayout) X(CreateComputePipelines) X(DestroyPipeline) X(CreateDescriptorPool) \
  X(DestroyDescriptorPool) X(AllocateDescriptorSets) X(UpdateDescriptorSets) X(CreateCommandPool) \
  X(DestroyCommandPool) X(AllocateCommandBuffers) X(BeginCommandBuffer) X(EndCommandBuffer) \
  X(CreateQueryPool) X(DestroyQueryPool) X(CmdResetQueryPool) X(CmdWriteTimestamp) X(GetQueryPoolResults) \
  X(CmdCopyBuffer) X(CmdBindPipeline) X(CmdBindDescriptorSets) X(CmdPushConstants) X(CmdDispatch) \
  X(QueueSubmit) X(QueueWaitIdle)
// clang-format on

struct BareCalls {
#define HEED_MEMBER(name) PFN_vk##name name = nullptr;
  HEED_BARE_CALLS(HEED_MEMBER)
#undef HEED_MEMBER
};

// A queue with one command buffer, and timestamps if the family supports them.
struct BareQueue {
  uint32_t family = 0;
  VkQueue queue = VK_NULL_HANDLE;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkQueryPool queries = VK_NULL_HANDLE;
  uint64_t tick_mask = 0;  // 0: there are no timestamps
};

class BareDevice {
 public:
  BareDevice() = default;
  ~BareDevice();
  BareDevice(const BareDevice&) = delete;
  BareDevice& operator=(const BareDevice&) = delete;

  // Opens the physical device of this name. Each step returns null, or the name of the call that failed.
  const char* open(const DeviceInfo& info);
  // A buffer in device memory for storage and copies, which the device destroys.
  const char* make_buffer(VkDeviceSize bytes, VkBuffer* buffer);

  // The first queue is of the first family with compute. The second, if there is one, is of a family with compute and without graphics, or
  // else of the same family.
  const std::vector<BareQueue>& queues() const { return queues_; }
  const BareCalls& vk() const { return vk_; }
  VkInstance instance() const { return instance_; }
  VkPhysicalDevice physical() const { return physical_; }
  VkDevice device() const { return device_; }
  PFN_vkGetInstanceProcAddr get_instance_proc_addr() const { return get_; }

  // Records a command buffer by `write(commands)`, between two timestamps. Returns false if a call failed, or `write` returned false.
  template <class Write>
  bool record(const BareQueue& queue, Write&& write) const {
    if (!begin(queue) || !write(queue.commands)) return false;
    return end(queue);
  }
  bool submit(const BareQueue& queue) const;
  // Waits until the queue is idle.
  bool wait(const BareQueue& queue) const { return vk_.QueueWaitIdle(queue.queue) == VK_SUCCESS; }
  // Seconds between the timestamps of the last recording, which must have ended. 0: there are none.
  double gpu_seconds(const BareQueue& queue) const;

  // Records, submits and waits. Returns seconds by the timestamps, or by the clock without them; 0 if a call failed.
  template <class Write>
  double time(Write&& write) const {
    const BareQueue& queue = queues_.front();
    if (!record(queue, write)) return 0;
    const auto start = std::chrono::steady_clock::now();
    if (!submit(queue) || !wait(queue)) return 0;
    if (queue.queries) return gpu_seconds(queue);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

 private:
  struct Memory {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
  };

  const char* make_instance();
  const char* make_device(const DeviceInfo& info);
  const char* make_commands(BareQueue& queue);
  bool begin(const BareQueue& queue) const;
  bool end(const BareQueue& queue) const;

  BareCalls vk_;
  PFN_vkGetInstanceProcAddr get_ = nullptr;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  std::vector<BareQueue> queues_;
  std::vector<Memory> memory_;
  double tick_nanoseconds_ = 1;
};

}  // namespace heed::program
