// heed inside a program that owns the GPU.
//
//   heed::Device device;
//   heed::Status s = heed::vulkan::adopt({.instance = instance, .physical_device = gpu, .device = vk_device,
//                                         .get_instance_proc_addr = vkGetInstanceProcAddr, ...}, &device);
//   ... device.upload, device.compile as usual ...
//   heed::vulkan::Buffer buffers[] = {{"x", x_buffer, 0, x_bytes}, {"y", y_buffer, 0, y_bytes}};
//   s = heed::vulkan::record(plan, cmd, {.buffers = buffers});
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/plan.hpp>
#include <heed/vulkan_memory.hpp>
#include <span>
#include <string_view>

namespace heed::vulkan {

// Everything heed may use of the host's device. The host keeps ownership and must outlive the Device made
// from it. heed uses only what is listed here, whatever the physical device could do: functions of
// Vulkan 1.1, and of an extension only if it is listed. Vulkan cannot tell whether `device`, `queue` and
// `pipeline_cache` belong together or which family `queue` is of; the host answers for that.
struct HostDevice {
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  uint32_t api_version = VK_API_VERSION_1_1;  // of the instance and device as created; at least 1.1
  uint32_t queue_family = 0;                  // with VK_QUEUE_COMPUTE_BIT; command buffers come from it
  // Only for Device::upload and Plan::run, which submit and wait. The host must not use the queue meanwhile.
  // VK_NULL_HANDLE: those two return Unsupported unless the weights are empty.
  VkQueue queue = VK_NULL_HANDLE;
  // Device extensions. Of all there are, heed uses VK_EXT_memory_budget and, where the features they need are enabled
  // (DeviceInfo::reason names them), VK_KHR_cooperative_matrix, and beside it VK_NV_cooperative_matrix2 if asked to.
  std::span<const char* const> enabled_extensions = {};
  // The features the host enabled: a VkPhysicalDeviceFeatures2 with its pNext chain, or null for none. Where
  // vulkanMemoryModel is among them, vulkanMemoryModelDeviceScope must be, too.
  const VkPhysicalDeviceFeatures2* enabled_features = nullptr;
  bool debug_utils = false;                          // VK_EXT_debug_utils was enabled on the instance
  const VkAllocationCallbacks* allocator = nullptr;  // host memory
  MemoryAllocator memory = {};                       // device memory; without it, heed calls vkAllocateMemory
  // Used, never destroyed; by several threads without a lock, so it must not be made as externally synchronized, and
  // nothing may be merged into it while plans are compiled or prepared.
  VkPipelineCache pipeline_cache = VK_NULL_HANDLE;
  // SelfTestReport::blob of an earlier start, as DeviceOptions::self_test_results.
  std::span<const std::byte> self_test_results = {};
  Log log = {};
};

// Makes a Device on the host's VkDevice. Creates no queue, submits nothing. InvalidArgument: a handle is
// null, a function is missing, the queue family has no compute, a list is malformed. Unsupported: below
// heed's floor, or a memory model without device scope.
HEED_API Status adopt(const HostDevice& host, Device* device);

// A named input or output of the plan in a host buffer created with VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, which
// must live until the GPU has finished. Every input and output is given once. Inputs may share memory; an
// output overlaps nothing else of the recording. Vulkan cannot tell a buffer's usage or size: the validation
// layer can.
//
// Ranges are those of the tensors at this call's extents. So a cache of keys grows in place, without a copy of what is there:
// the first `past` rows of a buffer are an input with an extent, and an output of the same recording begins behind them.
struct Buffer {
  std::string_view name;
  VkBuffer buffer = VK_NULL_HANDLE;
  // A multiple of the tensor's element size (of 4 for U8); it need not be one of
  // minStorageBufferOffsetAlignment.
  VkDeviceSize offset = 0;
  // At least up to the end of the tensor at this call's extents, and of the 4 bytes of the VkBuffer that it ends in;
  // VK_WHOLE_SIZE leaves that unchecked.
  VkDeviceSize bytes = VK_WHOLE_SIZE;
};

struct RecordInfo {
  std::span<const Buffer> buffers = {};
  std::span<const ExtentValue> extents = {};  // those not given take their maximum
  uint32_t seed = 0;                          // dropout key in training plans
  // 0 .. CompileOptions::record_slots - 1. The GPU must have finished the last recording made with this slot
  // before it is recorded again, and that earlier command buffer cannot be submitted any more; recordings in
  // flight together use different slots. Different slots may be recorded by different threads at once.
  uint32_t slot = 0;
};

// Writes the plan's dispatches and barriers into `cmd`, which must be recording, outside a render pass, on a
// queue family with compute. Allocates nothing, submits nothing, waits for nothing, takes no lock. On failure
// nothing was written: MissingBuffer, BufferTooSmall, ExtentOutOfRange, NotFound (a name that the plan does not have),
// InvalidArgument (an output overlaps another range of its VkBuffer; a plan of the CPU, which has Plan::run only),
// Unsupported (a range above the device's limit), NotReady (pipelines are missing, see CompileOptions), DeviceLost.
//
// Synchronization. Before: the host makes its writes to the inputs available and visible to
// VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT with VK_ACCESS_SHADER_READ_BIT, and orders earlier uses of the outputs
// before that stage. After: outputs were written at COMPUTE_SHADER with SHADER_WRITE; the host's barrier
// starts from there. sync_needs gives these masks. heed records one barrier at its start (compute to compute)
// that orders it after the previous recording of any heed plan on the same queue, whose scratch it may share.
//
// A handle of the plan must be kept until the GPU has finished what was recorded of it: scratch, constants, weights and
// descriptor sets go with the last one.
HEED_API Status record(const Plan& plan, VkCommandBuffer cmd, const RecordInfo& info);

// The host's halves of the barriers around a recording. `before`: the destination is filled in, the host adds
// where it wrote the inputs and last used the outputs. `after`: the source is filled in, the host adds where
// it reads.
//
//   heed::vulkan::SyncNeeds needs = heed::vulkan::sync_needs(plan);
//   needs.before.srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
//   needs.before.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
//   dependency.pMemoryBarriers = &needs.before;
//   vkCmdPipelineBarrier2(cmd, &dependency);
//   ... record, then the same with needs.after and its dst masks.
//
// On an async compute queue of another family, with buffers of VK_SHARING_MODE_EXCLUSIVE, the same masks go
// into buffer barriers: release the inputs on the graphics queue; there signal a timeline semaphore that the
// compute queue waits for at VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT; acquire with before's dst masks; record;
// release the outputs with after's src masks; signal the next value; acquire on the graphics queue. Adopt
// with the compute queue's family, from which the command buffers must come. tests/vulkan/async_test.cpp is
// that in full.
struct SyncNeeds {
  VkMemoryBarrier2 before = {VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, nullptr, 0, 0, 0, 0};
  VkMemoryBarrier2 after = {VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, nullptr, 0, 0, 0, 0};
  // The same for vkCmdPipelineBarrier and Vulkan 1.1.
  VkPipelineStageFlags before_dst_stages = 0, after_src_stages = 0;
  VkAccessFlags before_dst_accesses = 0, after_src_accesses = 0;
};
// All zero for a plan of the CPU device. The masks cover host scratch too, for a host that uses it otherwise
// as well.
HEED_API SyncNeeds sync_needs(const Plan& plan);

// Once the GPU has finished the recording of `slot`: IndexOutOfRange if an embedding id was outside its
// table, else Ok. Reading clears it.
HEED_API Status take_faults(const Plan& plan, uint32_t slot = 0);

// For plans compiled with CompileOptions::progress: the index into Plan::passes() of the last pass that the GPU
// finished in the recording of `slot`, or -1 if none. It is for lost devices, and works on them: the culprit is
// the pass after this one, or one that may run beside it. Unsupported without CompileOptions::progress.
HEED_API Status last_completed(const Plan& plan, uint32_t slot, int32_t* pass);

}  // namespace heed::vulkan
