// Whose memory heed uses inside a program that owns the GPU: the host's allocator, scratch and weights in the
// host's buffers, and the driver's memory budget.
//
//   heed::vulkan::BufferNeeds needs;
//   s = device.compile(graph, weights, &plan, {.host_scratch = true});   // allocates no scratch
//   s = heed::vulkan::scratch_needs(plan, &needs);                       // exact
//   s = heed::vulkan::bind_scratch(plan, {frame_heap, offset});          // any number of plans at one place
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/plan.hpp>
#include <span>
#include <vector>

namespace heed::vulkan {

// What a block of memory is for.
enum class MemoryUse : uint8_t {
  Device,     // read and written by the GPU only
  Constants,  // written once by the host, read by the GPU
  Staging,    // written and read by the host, copied by the GPU
  Shared,     // used in place by both: device-local and cached; only where there is no other copy to save
};

struct MemoryRequest {
  // Of the buffer that will be bound. memoryTypeBits leaves out types that heed cannot use (protected, lazily
  // allocated, too small a heap, without a required property). For memory that the host writes, size and
  // alignment are multiples of nonCoherentAtomSize, so that heed can flush its block and nothing else.
  VkMemoryRequirements requirements = {};
  VkMemoryPropertyFlags required = 0, preferred = 0;
  MemoryUse use = MemoryUse::Device;
  VkBuffer buffer = VK_NULL_HANDLE;  // for a dedicated allocation, if the host wants one
  const char* name = "";             // "scratch", "weights", ...; static text
};

struct MemoryBlock {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;   // a multiple of requirements.alignment
  uint32_t memory_type = 0;  // index into VkPhysicalDeviceMemoryProperties::memoryTypes
  // Where `offset` is mapped; needed if `required` has HOST_VISIBLE, else not looked at.
  void* mapped = nullptr;
  void* token = nullptr;  // the host's own
};

// A host's allocator, for instance VMA. If `allocate` is given, `free` must be; heed then calls neither
// vkAllocateMemory nor vkMapMemory. Both are called from upload, compile and run, `free` also where the last
// handle of Weights, Plan or Device dies, from any thread that does so; never from record.
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
  // An error becomes the Status of the call that needed the memory. A block that does not keep to the request
  // is given back by `free` and becomes InvalidArgument.
  VkResult (*allocate)(void* user, const MemoryRequest& request, MemoryBlock* block) = nullptr;
  void (*free)(void* user, const MemoryBlock& block) = nullptr;
  void* user = nullptr;
};

// What a buffer of the host must be to serve heed. All of it is known before anything is allocated.
struct BufferNeeds {
  VkDeviceSize bytes = 0;         // exact; 0: no buffer is needed
  VkDeviceSize alignment = 1;     // of the offset within the host's buffer
  VkBufferUsageFlags usage = 0;   // at least these
  uint32_t memory_type_bits = 0;  // types that a buffer with this usage can be bound to and heed can use
  VkMemoryPropertyFlags preferred = 0;
};

// A part of a host's buffer. VK_WHOLE_SIZE: to the end, which heed takes on trust where Vulkan cannot tell.
struct BufferRange {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceSize offset = 0;
  VkDeviceSize bytes = VK_WHOLE_SIZE;
};

// Scratch of one plan at its extents' maxima, whether heed has allocated it or the host will give it.
// InvalidArgument: not a plan of a Vulkan device.
HEED_API Status scratch_needs(const Plan& plan, BufferNeeds* needs);

// Gives a plan that was compiled with CompileOptions::host_scratch its scratch; it may be given another
// later. Until then record and run return MissingBuffer. Several plans may have the same scratch if they
// never overlap in time: on one queue record orders them itself, on several queues the host's semaphores
// must. What is in scratch has no meaning between recordings (but see record_some, which leaves a run half
// done). The GPU must have finished every recording of this plan, whose command buffers cannot be submitted
// any more. Not while another thread records this plan. On failure the plan keeps what it had:
// InvalidArgument (null buffer, misaligned offset, plan without host_scratch), BufferTooSmall with both
// numbers. Vulkan cannot tell a buffer's usage or its memory: the validation layer can.
HEED_API Status bind_scratch(const Plan& plan, const BufferRange& range);

// What `tensors` will take in a host's buffer.
HEED_API Status upload_needs(const Device& device, std::span<const HostTensor> tensors, BufferNeeds* needs,
                             const UploadOptions& options = {});

// Where weights go. The host keeps the buffer, which must live as long as any Weights or Plan made from it.
struct WeightTarget {
  BufferRange range;
  // Null: heed copies through its queue and waits, as Device::upload does.
  // Else: heed writes the bytes here, needs no queue and submits nothing. Bring them to `range` yourself
  // before the first recording: by mapping the range itself, or by a copy from this staging memory. Holds
  // BufferNeeds::bytes.
  std::byte* mapped = nullptr;
};
HEED_API Status upload(const Device& device, std::span<const HostTensor> tensors, const WeightTarget& target,
                       Weights* weights, const UploadOptions& options = {});

// VK_EXT_memory_budget, by memory heap. Unsupported where the extension is not enabled.
// Where it is, heed also asks it before each own allocation: a heap that has not enough left is passed over,
// and if none has, the call fails with OutOfDeviceMemory and both numbers instead of making the system swap.
struct HeapBudget {
  bool device_local = false;
  uint64_t bytes = 0;   // of the heap
  uint64_t budget = 0;  // what this process may use of it now
  uint64_t used = 0;    // what it uses, heed and host together
};
HEED_API Status memory_budget(const Device& device, std::vector<HeapBudget>* heaps);

}  // namespace heed::vulkan
