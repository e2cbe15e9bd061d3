// Memory inside a program that owns the GPU: heed can use the host's allocator, place scratch and weights in the host's buffers, and
// respects the driver's memory budget.
//
//   heed::vulkan::BufferNeeds needs;
//   s = device.compile(graph, weights, &plan, {.host_scratch = true});   // allocates no scratch
//   s = heed::vulkan::scratch_needs(plan, &needs);                       // exact
//   s = heed::vulkan::bind_scratch(plan, {frame_heap, offset});          // any number of plans at one place
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <span>
#include <vector>

#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/plan.hpp>

namespace heed::vulkan {

// The use of a block of memory.
enum class MemoryUse : uint8_t {
  Device,     // read and written by the GPU only
  Constants,  // written once by the host, read by the GPU
  Staging,    // written and read by the host, copied by the GPU
  Shared,     // device-local and cached, used in place by GPU and host; only where that saves a copy
};

// A request to the host's allocator.
struct MemoryRequest {
  // The requirements of the buffer that will be bound. memoryTypeBits excludes types that heed cannot use: protected or lazily allocated
  // ones, those with too small a heap, and those without a required property. For memory that the host writes, size and alignment are
  // multiples of nonCoherentAtomSize, so that heed can flush its block alone.
  VkMemoryRequirements requirements = {};
  VkMemoryPropertyFlags required = 0, preferred = 0;
  MemoryUse use = MemoryUse::Device;
  VkBuffer buffer = VK_NULL_HANDLE;  // lets the host make a dedicated allocation
  const char* name = "";             // "scratch", "weights", ...; static text
};

// The block that the host's allocator returns.
struct MemoryBlock {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;   // a multiple of requirements.alignment
  uint32_t memory_type = 0;  // index into VkPhysicalDeviceMemoryProperties::memoryTypes
  // The address at which `offset` is mapped. Needed only if `required` has HOST_VISIBLE.
  void* mapped = nullptr;
  void* token = nullptr;  // for the host; heed gives it back to `free`
};

// The host's allocator, for instance VMA. If `allocate` is given, `free` must be, too; heed then calls neither
// vkAllocateMemory nor vkMapMemory. heed calls both within upload, compile, run, start, make_state, and State::read,
// write, save and load, and `free` also when the last handle of a Weights, Plan, State, StartedRun or Device is destroyed, on
// the thread that does so. record never calls them.
//
//   VkResult allocate(void* user, const heed::vulkan::MemoryRequest& request,
//                     heed::vulkan::MemoryBlock* block) {
//     VmaAllocationCreateInfo how = {};
//     how.requiredFlags = request.required;
//     how.preferredFlags = request.preferred;
//     if (request.required & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT)
//       how.flags = VMA_ALLOCATION_CREATE_MAPPED_BIT;
//     VmaAllocation made;
//     VmaAllocationInfo at;
//     const VkResult result =
//         vmaAllocateMemory(VmaAllocator(user), &request.requirements, &how, &made, &at);
//     if (result == VK_SUCCESS)
//       *block = {at.deviceMemory, at.offset, at.memoryType, at.pMappedData, made};
//     return result;
//   }
//   void free(void* user, const heed::vulkan::MemoryBlock& block) {
//     vmaFreeMemory(VmaAllocator(user), VmaAllocation(block.token));
//   }
struct MemoryAllocator {
  // An error becomes the Status of the call that needed the memory. If a block does not meet the request, heed passes it to `free`, and the
  // call returns InvalidArgument.
  VkResult (*allocate)(void* user, const MemoryRequest& request, MemoryBlock* block) = nullptr;
  void (*free)(void* user, const MemoryBlock& block) = nullptr;
  void* user = nullptr;
};

// The properties that a host's buffer must have to serve heed, known before anything is allocated.
struct BufferNeeds {
  VkDeviceSize bytes = 0;         // the exact size; 0: no buffer is needed
  VkDeviceSize alignment = 1;     // alignment of the offset within the host's buffer
  VkBufferUsageFlags usage = 0;   // the buffer needs these usages, and may have others
  uint32_t memory_type_bits = 0;  // memory types that suit both a buffer with this usage and heed
  VkMemoryPropertyFlags preferred = 0;
};

// A part of a host's buffer. VK_WHOLE_SIZE reaches to its end; heed checks it as vulkan::Buffer::bytes.
struct BufferRange {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  VkDeviceSize bytes = VK_WHOLE_SIZE;
};

// The scratch of one plan at its extents' maxima, whether heed has allocated it or the host will give it.
// InvalidArgument: the plan is not one of a Vulkan device.
HEED_API Status scratch_needs(const Plan& plan, BufferNeeds* needs);

// Gives scratch to a plan that was compiled with CompileOptions::host_scratch; until then its record and run return MissingBuffer. The plan
// may be given another scratch later. Several plans may have the same scratch if they never overlap in time: on one queue record orders
// them, on several queues the host's semaphores must. The contents of scratch need not be preserved between recordings, except between the
// parts of a run that record_some records.
//
// The GPU must have finished every recording of this plan, whose command buffers cannot be submitted after that, and no other thread may
// record the plan meanwhile. On failure the plan keeps the scratch that it had: InvalidArgument (the buffer is null, the offset misaligned,
// or the plan has no host_scratch), BufferTooSmall with both numbers. heed cannot check a buffer's usage and memory, as Vulkan does not
// tell them; the validation layer does.
HEED_API Status bind_scratch(const Plan& plan, const BufferRange& range);

// The memory needs of a State for this plan, whether heed allocates it or the host gives it.
HEED_API Status state_needs(const Plan& plan, BufferNeeds* needs);

// Makes a State for a plan's states in a range of the host's buffer, whose contents become the State's; record_reset or State::reset sets
// them to zero. The buffer stays the host's and must outlive the State. Errors are those of bind_scratch.
HEED_API Status make_state(const Plan& plan, const BufferRange& range, State* state);

// Record State::reset and State::copy into the host's command buffer, with barriers that order them after and before all other uses of the
// States on the same queue. Errors are the same, and nothing is recorded then; but a State that a started run uses is accepted, since the
// recorded commands come after the run. For hosts that gave no queue, and for frames that must not wait.
HEED_API Status record_reset(const State& state, VkCommandBuffer cmd);
HEED_API Status record_copy(const State& to, const State& from, VkCommandBuffer cmd);

// The buffer that the host needs for these tensors.
HEED_API Status upload_needs(const Device& device, std::span<const HostTensor> tensors, BufferNeeds* needs,
                             const UploadOptions& options = {});

// Where weights are stored. The buffer stays the host's, and must live as long as any Weights or Plan made from it.
struct WeightTarget {
  BufferRange range;
  // If null, heed copies the bytes on its queue and waits, as Device::upload does. Else heed writes BufferNeeds::bytes bytes here, and
  // neither needs a queue nor submits anything. This is either the mapping of `range`, or staging memory that the host copies to `range`
  // before the first recording.
  std::byte* mapped = nullptr;
};
HEED_API Status upload(const Device& device, std::span<const HostTensor> tensors, const WeightTarget& target,
                       Weights* weights, const UploadOptions& options = {});

// The memory heaps as VK_EXT_memory_budget describes them. Unsupported if the driver has no such extension, or the host did not list it in
// HostDevice::enabled_extensions. If it is enabled, heed checks the budget before each of its own allocations and skips heaps that have too
// little left. If none has enough, the call fails with OutOfDeviceMemory and both numbers, instead of making the system swap.
struct HeapBudget {
  bool device_local = false;  // VK_MEMORY_HEAP_DEVICE_LOCAL_BIT: the GPU's own memory
  uint64_t bytes = 0;         // the size of the heap
  uint64_t budget = 0;        // how much of it this process may use now
  uint64_t used = 0;          // how much this process uses, heed and host together
};
HEED_API Status memory_budget(const Device& device, std::vector<HeapBudget>* heaps);

}  // namespace heed::vulkan
