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
#include <span>
#include <string_view>

#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/plan.hpp>
#include <heed/vulkan_memory.hpp>

namespace heed::vulkan {

// How heed submits to a queue that others use, too. The calls that HostDevice::queue lists call these functions on their thread, with
// `user`. The CPU device never does.
struct QueueAccess {
  void* user = nullptr;
  // Called before and after each vkQueueSubmit, so that the host's own submissions wait meanwhile. Set both or neither.
  void (*lock)(void* user) = nullptr;
  void (*unlock)(void* user) = nullptr;
  // Replaces vkQueueSubmit, for hosts that hand work to a thread of their own: submits `info` with `fence` to a queue of
  // HostDevice::queue_family and returns Vulkan's result. `queue` is HostDevice::queue, which may then be null. `info` and the memory it
  // points to are valid during the call only.
  VkResult (*submit)(void* user, VkQueue queue, const VkSubmitInfo& info, VkFence fence) = nullptr;
};

// The host's device and what heed may use of it. The host keeps these objects, which must outlive the Device made from them. Whatever the
// physical device supports, heed uses functions of Vulkan 1.1, and of extensions only if they are listed here. Vulkan cannot tell whether
// `device`, `queue` and `pipeline_cache` belong together, or which family `queue` has: the host is responsible for that.
//
// The three handles and the queue family are enough. Features and extensions that the host does not list count as disabled, and
// DeviceInfo::reason names the field for them.
struct HostDevice {
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  // If it is null, heed opens the system's Vulkan loader, which must then be the library that `instance` was created with. A host that
  // links a driver or has its own loader must set this.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  uint32_t api_version = VK_API_VERSION_1_1;  // version with which instance and device were created; at least 1.1
  uint32_t queue_family = 0;                  // has VK_QUEUE_COMPUTE_BIT; command buffers are made for it
  // The queue for Device::upload, vulkan::upload without `mapped`, Plan::run, Plan::start, Plan::make_state, calls of State, and
  // vulkan::Submitter, each within the call. The host must not use the queue meanwhile, unless queue_access says how it is shared. All but
  // start and Submitter::submit also wait. If it is VK_NULL_HANDLE, and queue_access.submit is null, they return Unsupported, except upload
  // of no weights, and make_state, which leaves the State undefined.
  VkQueue queue = VK_NULL_HANDLE;
  QueueAccess queue_access = {};
  // The device extensions that the host enabled. heed uses VK_EXT_memory_budget, and, if api_version is at least 1.3 and enabled_features
  // lists the features that they need (DeviceInfo::reason names them), VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16.
  std::span<const char* const> enabled_extensions = {};
  // The features that the host enabled: a VkPhysicalDeviceFeatures2 with its pNext chain, or null for none. If
  // vulkanMemoryModel is among them, vulkanMemoryModelDeviceScope must be, too.
  const VkPhysicalDeviceFeatures2* enabled_features = nullptr;
  // For hosts on an engine that hides which features it enabled: storageBuffer16BitAccess counts as enabled if the driver has it. Set it
  // only for engines known to enable it wherever it exists, as Godot 4 does; using a feature that is not enabled is undefined behaviour.
  bool assume_16bit_storage = false;
  bool debug_utils = false;                          // VK_EXT_debug_utils was enabled on the instance
  const VkAllocationCallbacks* allocator = nullptr;  // host memory
  MemoryAllocator memory = {};                       // device memory; without it, heed calls vkAllocateMemory
  // heed uses it and never destroys it. Several threads use it without a lock, so it must not be created as externally synchronized, and no
  // caches may be merged into it while plans are compiled or prepared.
  VkPipelineCache pipeline_cache = VK_NULL_HANDLE;
  // Without pipeline_cache: a blob from Device::pipeline_cache of an earlier start, for a cache of heed's own. Checked, may be
  // stale.
  std::span<const std::byte> pipeline_cache_blob = {};
  // SelfTestReport::blob of an earlier start; see DeviceOptions::self_test_results.
  std::span<const std::byte> self_test_results = {};
  Log log = {};
};

// Makes a Device on the host's VkDevice. Creates no queue and submits nothing. InvalidArgument: a handle is null, get_instance_proc_addr is
// null where there is no Vulkan loader, a function is missing, the queue family does not support compute, or a list is malformed.
// Unsupported: the device is below heed's requirements, or has the memory model without its device scope.
HEED_API Status adopt(const HostDevice& host, Device* device);

// For hosts that may destroy their VkDevice before all of heed's handles, such as plug-ins whose objects scripts free in any order. Call
// this before the device is destroyed, when the GPU has finished all of heed's work and no other thread is in a call of heed. From then on
// no handle of this device, its plans, weights and States makes a Vulkan call or calls the host's allocators: calls return DeviceLost, and
// destructors free heed's host memory only. InvalidArgument: heed opened the device itself, or it is the CPU's.
HEED_API Status device_gone(const Device& device);

// A named input or output of the plan in a host buffer, which must be created with VK_BUFFER_USAGE_STORAGE_BUFFER_BIT and must live until
// the GPU has finished. Every input and output is given once. Inputs may share memory; an output must not overlap any other range of the
// recording, not even an input, as passes use the buffers in place where Plan::run would copy. heed cannot check a buffer's usage and exact
// size, as Vulkan does not tell them; the validation layer does.
//
// Only the bytes of the tensors at this call's extents are used. Data that must stay from run to run, such as a growing cache of keys,
// belongs into a state of the graph (Graph::state), not into such a buffer.
struct Buffer {
  std::string_view name;
  VkBuffer buffer = VK_NULL_HANDLE;
  // A multiple of the tensor's element size, or of 4 for U8; it need not be a multiple of
  // minStorageBufferOffsetAlignment.
  VkDeviceSize offset = 0;
  // The range must reach to the end of the tensor at this call's extents, rounded up to a multiple of 4 bytes. A size that is given here is
  // checked exactly. VK_WHOLE_SIZE reaches to the buffer's end, and heed checks the buffer's memory requirements, which may be somewhat
  // larger than the buffer: a buffer that is too small by less than this difference passes the check.
  VkDeviceSize bytes = VK_WHOLE_SIZE;
};

// The arguments of a recording.
struct RecordInfo {
  std::span<const Buffer> buffers = {};       // every input and output once
  std::span<const ExtentValue> extents = {};  // every extent once; a position that is not given is 0
  uint32_t seed = 0;                          // the key of sample, and of dropout in training plans
  // 0 .. CompileOptions::record_slots - 1. Recordings that are in flight together need different slots. Before a slot
  // is recorded again, the GPU must have finished its last recording, whose command buffer cannot be submitted after
  // that. Different threads may record different slots at once.
  uint32_t slot = 0;
  State state = {};  // for plans whose graph has states; see record
};

// Writes the plan's dispatches and barriers into `cmd`, which must be recording, outside of a render pass, on a queue
// family that computes. Allocates nothing, submits nothing, waits for nothing, and takes no lock. After a failure
// nothing was written: MissingBuffer, BufferTooSmall, ExtentOutOfRange, NotFound (the plan has no such name),
// InvalidArgument (an output overlaps another range of its VkBuffer, or the plan is the CPU's, which only Plan::run
// runs), Unsupported (a range exceeds the device's limit), NotReady (pipelines are missing, see CompileOptions),
// DeviceLost.
//
// Synchronization. Before: the host makes its writes to the inputs available and visible to
// VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT with VK_ACCESS_SHADER_READ_BIT, and orders earlier uses of the outputs before
// that stage; to outputs of U8 earlier writes are made visible, too, since bytes are written into words that are read
// before. After: outputs were written at COMPUTE_SHADER with SHADER_WRITE; the host's barrier starts from there.
// sync_needs gives these masks. heed records one barrier at its start (compute to compute) that orders it after the
// previous recording of any heed plan on the same queue, whose scratch it may share.
//
// Keep a handle of the plan until the GPU has finished its recordings: scratch, constants, weights and descriptor sets
// are destroyed with the last handle. The same holds for the State.
//
// A State is given as to Plan::run, with the same errors (InvalidArgument, too, if a buffer lies in its memory). On one
// queue heed's barriers order recordings that use one State, so that many steps may be recorded into one command
// buffer; on several queues the host's semaphores must. Before another thread calls Plan::run or a call of State with
// it, the GPU must have finished them, unless both use one queue.
HEED_API Status record(const Plan& plan, VkCommandBuffer cmd, const RecordInfo& info);

// heed's halves of the barriers around a recording. `before` has the destination masks; the host adds as source where it wrote the inputs
// and last used the outputs. `after` has the source masks; the host adds as destination where it reads.
//
//   heed::vulkan::SyncNeeds needs = heed::vulkan::sync_needs(plan);
//   needs.before.srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
//   needs.before.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
//   dependency.pMemoryBarriers = &needs.before;
//   vkCmdPipelineBarrier2(cmd, &dependency);
//   ... record, then the same with needs.after and its dst masks.
//
// On an async compute queue of another family, with buffers of VK_SHARING_MODE_EXCLUSIVE, the same masks go into buffer barriers: release
// the inputs on the graphics queue; there signal a timeline semaphore that the compute queue waits for at
// VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT; acquire with before's dst masks; record; release the outputs with after's src masks; signal the
// next value; acquire on the graphics queue. Adopt with the compute queue's family, for which the command buffers must be made.
// tests/vulkan/async_test.cpp does all of this.
struct SyncNeeds {
  VkMemoryBarrier2 before = {VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, nullptr, 0, 0, 0, 0};
  VkMemoryBarrier2 after = {VK_STRUCTURE_TYPE_MEMORY_BARRIER_2, nullptr, 0, 0, 0, 0};
  // Masks for vkCmdPipelineBarrier of Vulkan 1.1.
  VkPipelineStageFlags before_dst_stages = 0, after_src_stages = 0;
  VkAccessFlags before_dst_accesses = 0, after_src_accesses = 0;
};
// For a plan of the CPU device all masks are zero. The masks also cover scratch that the host gives, in case the host
// uses it for other things between recordings.
HEED_API SyncNeeds sync_needs(const Plan& plan);

// Call this when the GPU has finished the recording of `slot`. IndexOutOfRange if an embedding id was outside its table, or an index of
// append or take beyond the end, else Ok. The call clears the fault.
HEED_API Status take_faults(const Plan& plan, uint32_t slot = 0);

// Gives the last pass that the GPU finished in the recording of `slot`, as an index into Plan::passes(), or -1 if there is none. It works
// on lost devices: the pass that lost the device comes after this one, or may have run at the same time. Unsupported unless the plan was
// compiled with CompileOptions::progress.
HEED_API Status last_completed(const Plan& plan, uint32_t slot, int32_t* pass);

}  // namespace heed::vulkan
