// A minimal program that owns the GPU: its own instance, device, queue, command buffers and memory, with the validation layer on. heed
// knows only what host_device() lists, through a vkGetInstanceProcAddr that counts every call.
#pragma once

#include <cstring>
#include <functional>
#include <heed/vulkan.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "vulkan/calls/functions.hpp"

namespace heed::test {

// How often heed called a device function since reset. `name` is without "vk".
uint64_t calls(const char* name);
uint64_t calls_of_all();
// How often heed called functions other than those that write into a command buffer or a descriptor set, or query a buffer's memory
// requirements.
uint64_t calls_that_record_must_not_make(std::string* names);
void reset_calls();

// Objects that heed created and has not destroyed, "2 Buffer 1 Memory ", or "" if there are none; and objects that heed destroyed but had
// not created.
std::string live_objects();
std::string foreign_destroys();
// Names of extension functions that heed looked up, and how often it read VK_EXT_memory_budget, since a HostVulkan was created.
std::string extension_functions_asked();
uint64_t budget_queries();
// Offset and size of the ranges that heed flushed and invalidated since the last call.
std::vector<std::pair<VkDeviceSize, VkDeviceSize>> take_mapped_ranges();
void forget_objects();

// False properties of the device that heed sees from the next adoption on. Creating a HostVulkan resets them.
struct Pretend {
  bool discrete = false;         // a discrete GPU, with copies for inputs and outputs
  bool non_coherent = false;     // memory is not host-coherent: every access is flushed or invalidated
  bool no_barriers = false;      // barriers have no effect
  bool transfer_family = false;  // adds a queue family that cannot compute
  uint64_t budget = 0;           // every heap's budget in VK_EXT_memory_budget; 0: the driver's
  uint64_t used = 0;             // how much of it is used
};
void pretend(const Pretend& what);

// Makes the `call`-th call from now on (1 is the next) that returns a VkResult return this error; 0: none. The driver is not called, except
// for waits that lose the device, since a lost device must be idle.
void inject_failure(uint64_t call, VkResult error);
// The function that failed, or an empty string.
std::string injected_into();

// Whether one of the layer's messages has this id. Ids are the same in all versions of the layer, unlike the texts of messages.
bool has_message(const std::string& validation, const char* id);

// Options for the host's device.
Device adopted(const vulkan::HostDevice& host);

class HostVulkan {
 public:
  struct Options {
    bool f16 = false;           // enable 16-bit storage, if available
    bool f16_in_1_1 = false;    // list it in VkPhysicalDeviceVulkan11Features instead
    bool queue = true;          // pass the queue to heed
    bool vulkan_1_1 = false;    // an instance of Vulkan 1.1, without device extensions
    bool async = false;         // timeline semaphores, and a second queue for heed if there is one
    bool two_families = false;  // below the validation layer, a layer shows the driver's queue family as two
    bool validation = true;
  };
  // Returns null, with a WARN, if this machine has no usable Vulkan device.
  static std::unique_ptr<HostVulkan> create(const Options& options);
  // Frees everything. Fails the test if heed left an object or a block of the host's allocator behind, destroyed an object that is not its
  // own, or if a message of the validation layer or of heed was not read. Declare the host before its devices and plans.
  ~HostVulkan();

  vulkan::HostDevice host_device() const;
  Device adopt() const { return adopted(host_device()); }
  const vulkan::Functions& vk() const { return vk_; }
  VkDevice device() const { return device_; }
  // The queue that the host draws with. heed's queue is of another family with compute if there is one, else another queue of the same
  // family, else the same queue.
  VkQueue queue() const { return queue_; }
  VkQueue heed_queue() const { return heed_queue_; }
  uint32_t family() const { return family_; }
  uint32_t heed_family() const { return heed_family_; }
  uint32_t last_family() const { return last_family_; }  // the device's last queue family
  bool has_f16() const { return has_f16_; }
  bool has_timestamps() const { return timestamps_; }

  // Messages of the validation layer, and messages of heed, since the last call. A message of the layer begins with its id and a colon:
  // "SYNC-HAZARD-READ-AFTER-WRITE: ...".
  std::string take_validation();
  std::string take_log();
  // Checks the status of a call, and that the log now has this message.
  void refused(Status got, Status want, std::string_view said);

  // Allocations minus frees through the VkAllocationCallbacks that the host gave to heed, and the number of allocations.
  int64_t host_blocks() const { return host_blocks_; }
  uint64_t host_allocations() const { return host_allocations_; }

  // Host-visible storage, which lives until it is freed or the host is destroyed.
  struct Memory {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    std::byte* mapped = nullptr;
  };
  Memory allocate(VkDeviceSize bytes, VkBufferUsageFlags usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
  void free(const Memory& memory);

  VkCommandBuffer begin(uint32_t index = 0);  // index below kCommandBuffers
  void end(VkCommandBuffer commands);
  void submit_and_wait(VkCommandBuffer commands) { submit_and_wait(std::span(&commands, 1)); }
  void submit_and_wait(std::span<const VkCommandBuffer> commands);  // submits all at once
  static constexpr uint32_t kCommandBuffers = 4;
  // Records a part of a model's step by record(commands) and a barrier for the host, which reads results, and waits. The barrier is that of
  // `plan`. After a failure nothing is submitted.
  Status frame(const Plan& plan, const std::function<Status(VkCommandBuffer)>& record);
  // Records the plan into a command buffer, and waits until it has run.
  void record_and_wait(const Plan& plan, const vulkan::RecordInfo& info, uint32_t index = 0);

 private:
  HostVulkan() = default;
  bool create_instance(const Options& options);
  void choose_queues(const std::vector<VkQueueFamilyProperties>& families, const Options& options);
  bool create_device(const Options& options);

  vulkan::Functions vk_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE, heed_queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0, heed_family_ = 0, heed_queue_index_ = 0, last_family_ = 0;
  uint32_t api_version_ = VK_API_VERSION_1_2;
  bool timestamps_ = false, has_f16_ = false, give_queue_ = true;
  VkPhysicalDeviceFeatures2 features_ = {};
  VkPhysicalDevice16BitStorageFeatures storage_ = {};
  VkPhysicalDeviceVulkan11Features vulkan11_ = {};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline_ = {};
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_[kCommandBuffers] = {};
  VkFence fence_ = VK_NULL_HANDLE;
  VkAllocationCallbacks callbacks_ = {};
  mutable std::string validation_, log_;
  int64_t host_blocks_ = 0;
  uint64_t host_allocations_ = 0;
  std::vector<Memory> memory_;
};

}  // namespace heed::test
