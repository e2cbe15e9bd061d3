// heed inside a program that owns the GPU. No Vulkan header is needed: dispatchable handles (VkInstance, VkPhysicalDevice, VkDevice,
// VkQueue, VkCommandBuffer) and pointers are void*, others (VkBuffer, VkPipelineCache, VkDeviceMemory) uint64_t, sizes uint64_t, masks as
// wide as in Vulkan. <heed/vulkan.hpp>, vulkan_memory.hpp and vulkan_frames.hpp have the details.
#ifndef HEED_C_VULKAN_H
#define HEED_C_VULKAN_H

#include <heed/c/device.h>
#include <heed/c/plan.h>
#include <heed/c/speech.h>
#include <heed/c/text.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HEED_WHOLE_SIZE UINT64_MAX  // VK_WHOLE_SIZE: to the end of the buffer

// --- The host's device and memory -----------------------------------------------------------------------------

// A request to the host's allocator.
typedef struct heed_memory_request {
  size_t size;
  uint64_t bytes;  // VkMemoryRequirements of the buffer that will be bound
  uint64_t alignment;
  uint64_t buffer;   // VkBuffer, for a dedicated allocation
  const char* name;  // "scratch", "weights", ...; static
  uint32_t memory_type_bits;
  uint32_t required, preferred;  // VkMemoryPropertyFlags
  int32_t use;                   // HEED_MEMORY_*
} heed_memory_request;
// The block that the host's allocator returns.
typedef struct heed_memory_block {
  uint64_t memory;  // VkDeviceMemory
  uint64_t offset;  // a multiple of the alignment
  void* mapped;     // where `offset` is mapped, if `required` has HOST_VISIBLE
  void* token;      // for the host; heed gives it back to `free`
  uint32_t memory_type;
  int32_t reserved;  // 0
} heed_memory_block;
// The host's allocator. `allocate` fills *block and returns a VkResult, 0 for success. heed calls both within its calls, and `free` also
// when handles are destroyed.
typedef struct heed_memory_allocator {
  int32_t (*allocate)(void* user, const heed_memory_request* request, heed_memory_block* block);
  void (*free)(void* user, const heed_memory_block* block);
  void* user;
} heed_memory_allocator;

// How heed submits to a queue that others use, too. Calls that submit call these functions on their thread.
typedef struct heed_queue_access {
  // Called before and after each vkQueueSubmit, so that the host's own submissions wait meanwhile. Set both or neither.
  void (*lock)(void* user);
  void (*unlock)(void* user);
  // Replaces vkQueueSubmit: submits the VkSubmitInfo with the VkFence to a queue of queue_family, and returns a VkResult. `queue` is
  // heed_host_device::queue, which may then be NULL. submit_info and the memory it points to are valid during the call only.
  int32_t (*submit)(void* user, void* queue, const void* submit_info, uint64_t fence);
  void* user;
} heed_queue_access;

// The host's device, and what heed may use of it. It must outlive all that heed makes with it, unless heed_device_gone is called. The three
// handles and queue_family are enough. Features and extensions that are not listed count as disabled, and heed_device_info::reason names
// the members for them.
typedef struct heed_host_device {
  size_t size;
  void* instance;
  void* physical_device;
  void* device;
  void* queue;                            // NULL: uploads and runs that submit return Unsupported
  void (*get_instance_proc_addr)(void);   // PFN_vkGetInstanceProcAddr, cast to this type; NULL: that of the system's
                                          // loader
  const char* const* enabled_extensions;  // extensions that were enabled on the device
  size_t enabled_extension_count;
  const void* enabled_features;         // VkPhysicalDeviceFeatures2 with its pNext chain; NULL: none
  const void* allocator;                // VkAllocationCallbacks
  const heed_memory_allocator* memory;  // NULL: heed calls vkAllocateMemory; copied
  uint64_t pipeline_cache;              // VkPipelineCache; heed uses it and never destroys it
  const void* self_test_results;        // a blob of heed_self_test_report_blob from an earlier start
  size_t self_test_results_bytes;
  const heed_log* log;           // copied
  uint32_t api_version;          // version with which instance and device were created; 0: 1.1
  uint32_t queue_family;         // supports compute; command buffers are made for it
  int32_t debug_utils;           // 1: VK_EXT_debug_utils was enabled on the instance
  int32_t assume_16bit_storage;  // 1: instead of enabled_features, for engines known to enable storageBuffer16BitAccess
  const void*
      pipeline_cache_blob;  // of heed_device_pipeline_cache from an earlier start, for a cache of heed's own; may be stale
  size_t pipeline_cache_blob_bytes;
  const heed_queue_access* queue_access;  // NULL: nothing else uses `queue` during a call that submits; copied
} heed_host_device;
// Makes a device on the host's VkDevice. InvalidArgument: a handle is null or a list malformed. Unsupported: below heed's requirements.
HEED_API heed_status heed_device_adopt(const heed_host_device* host, heed_device** device);
// For hosts that may destroy their VkDevice before all of heed's handles. Call this before, when the GPU has finished all of heed's work
// and no other thread is in a call of heed. From then on no handle of this device calls Vulkan or the host's allocators, calls return
// HEED_DEVICE_LOST, and handles can still be destroyed. InvalidArgument: not an adopted device.
HEED_API heed_status heed_device_gone(heed_device* device);

// The properties that a host's buffer must have to serve heed.
typedef struct heed_buffer_needs {
  size_t size;
  uint64_t bytes;             // exact; 0: no buffer is needed
  uint64_t alignment;         // alignment of the offset within the host's buffer
  uint32_t usage;             // VkBufferUsageFlags, at least these
  uint32_t memory_type_bits;  // memory types that suit
  uint32_t preferred;         // VkMemoryPropertyFlags
  uint32_t reserved;
} heed_buffer_needs;
// A part of a host's buffer.
typedef struct heed_buffer_range {
  uint64_t buffer;  // VkBuffer
  uint64_t offset;
  uint64_t bytes;  // or HEED_WHOLE_SIZE
} heed_buffer_range;

// The scratch of a plan. InvalidArgument: it is a plan of the CPU device.
HEED_API heed_status heed_plan_scratch_needs(heed_plan* plan, heed_buffer_needs* needs);
// Gives scratch to a plan that was compiled with host_scratch. Plans may share it if they never overlap in time.
HEED_API heed_status heed_plan_bind_scratch(heed_plan* plan, const heed_buffer_range* range);
// The first call returns what a buffer for a State must fulfil. The second makes a State in a range of such a buffer; the range's contents
// become the State's.
HEED_API heed_status heed_plan_state_needs(heed_plan* plan, heed_buffer_needs* needs);
HEED_API heed_status heed_plan_make_state_at(heed_plan* plan, const heed_buffer_range* range, heed_state** state);
// Weights in a range of the host's buffer. If `mapped` is NULL, heed copies the bytes on its queue and waits. Else heed writes them to
// `mapped`, and the host copies them to the range before the first recording, unless `mapped` is the range's mapping.
HEED_API heed_status heed_device_upload_needs(heed_device* device, const heed_host_tensor* tensors, size_t count,
                                              const heed_upload_options* options, heed_buffer_needs* needs);
HEED_API heed_status heed_device_upload_at(heed_device* device, const heed_host_tensor* tensors, size_t count,
                                           const heed_upload_options* options, const heed_buffer_range* range,
                                           void* mapped, heed_weights** weights);

// A memory heap, and how much of it is in use.
typedef struct heed_heap_budget {
  uint64_t bytes;   // the size of the heap
  uint64_t budget;  // how much of it this process may use now
  uint64_t used;    // how much this process uses, heed and host together
  int32_t device_local;
  int32_t reserved;
} heed_heap_budget;
// The memory heaps as VK_EXT_memory_budget describes them. Unsupported: the driver lacks that extension, or it is not enabled.
HEED_API heed_status heed_device_memory_budget(heed_device* device, heed_heap_budget* heaps, size_t capacity,
                                               size_t* count);

// --- Recording ------------------------------------------------------------------------------------------------

// A named input or output in a host buffer (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT), which must live until the GPU has finished.
typedef struct heed_buffer {
  const char* name;
  uint64_t buffer;  // VkBuffer
  uint64_t offset;  // a multiple of the element size, or of 4 for U8
  uint64_t bytes;   // to the end of the tensor, rounded up to 4 bytes; or HEED_WHOLE_SIZE
} heed_buffer;
// The arguments of a recording.
typedef struct heed_record_info {
  size_t size;
  const heed_buffer* buffers;  // every input and output once
  size_t buffer_count;
  const heed_extent_value* extents;
  size_t extent_count;
  heed_state* state;  // for plans whose graph has states; else NULL
  uint32_t seed;
  uint32_t slot;  // 0 .. record_slots - 1; recordings in flight together need different ones
} heed_record_info;
// Writes dispatches and barriers into `command_buffer`, which must be recording, outside of a render pass. Submits nothing, waits for
// nothing, takes no lock; allocates nothing for up to 16 buffers and 16 extents. After a failure nothing was recorded. Inputs must be
// visible to the compute shader stage before, and outputs are written in that stage: see heed_plan_sync_needs. Keep plan and state until
// the GPU has finished.
HEED_API heed_status heed_plan_record(heed_plan* plan, void* command_buffer, const heed_record_info* info);

// heed's halves of the barriers around a recording: the host adds where it wrote inputs, and where it reads outputs. All are 0 for the CPU.
typedef struct heed_sync_needs {
  size_t size;
  uint64_t before_dst_stages2, before_dst_accesses2;  // VkPipelineStageFlags2, VkAccessFlags2
  uint64_t after_src_stages2, after_src_accesses2;
  uint32_t before_dst_stages, before_dst_accesses;  // the same for vkCmdPipelineBarrier of Vulkan 1.1
  uint32_t after_src_stages, after_src_accesses;
} heed_sync_needs;
HEED_API heed_status heed_plan_sync_needs(heed_plan* plan, heed_sync_needs* needs);
// Call this when the GPU has finished the recording of `slot`: IndexOutOfRange if an id or index was outside its range. The call clears the
// fault.
HEED_API heed_status heed_plan_take_faults(heed_plan* plan, uint32_t slot);
// The last pass that the GPU finished in the recording of `slot`, or -1. Works on lost devices. Unsupported: the plan was compiled without
// progress.
HEED_API heed_status heed_plan_last_completed(heed_plan* plan, uint32_t slot, int32_t* pass);

// How far a run that is spread over frames has been recorded. A plain value that may be copied; zeros begin a new run.
typedef struct heed_cursor {
  double milliseconds;  // heed's estimate for the part that the last call recorded
  int32_t done;         // 1: the last part is recorded
  uint32_t pass;        // the next dispatch; these are private to heed
  uint32_t dispatch, piece;
  uint32_t slot, seed;
  uint64_t run;
  uint64_t extents, buffers;
} heed_cursor;
// As heed_plan_record, but records only as many dispatches as should fit into budget_ms of GPU time, and at least one. From the first part
// to the last, `info` must stay the same, and nothing else may use the plan's scratch.
HEED_API heed_status heed_plan_record_some(heed_plan* plan, void* command_buffer, const heed_record_info* info,
                                           double budget_ms, heed_cursor* cursor);
// The estimated time of a run before it is recorded.
typedef struct heed_estimate {
  size_t size;
  double milliseconds;  // estimated time of the rest of the run
  double measured;      // 0 to 1: the share of the estimate that comes from measured times
  double longest;       // milliseconds of the longest dispatch: smaller budgets cannot be kept
  uint32_t dispatches;  // the most parts that the rest can be split into
  int32_t reserved;
} heed_estimate;
// heed's estimate of the rest of a run from `cursor` on; NULL: of the whole run.
HEED_API heed_status heed_plan_estimate(heed_plan* plan, const heed_extent_value* extents, size_t extent_count,
                                        const heed_cursor* cursor, heed_estimate* estimate);

// Record heed_state_clear and heed_state_copy, with barriers that order them on the queue.
HEED_API heed_status heed_state_record_clear(heed_state* state, void* command_buffer);
HEED_API heed_status heed_state_record_copy(heed_state* state, heed_state* from, void* command_buffer);

// --- Submitting for hosts without access to command buffers; see <heed/vulkan_submitter.hpp> -----------------------------

// Options of a submitter.
typedef struct heed_submitter_options {
  size_t size;          // set by heed_submitter_options_init
  uint32_t slots;       // how many recordings may be in flight at once, at least 1; plans need as many record_slots
  uint32_t timeout_ms;  // work that takes longer counts as a lost device; 0: ten minutes
  // How the host uses inputs and outputs before, and outputs afterwards: VkPipelineStageFlags and VkAccessFlags. The defaults wait for all
  // stages.
  uint32_t stages_before, accesses_before;
  uint32_t stages_after, accesses_after;
} heed_submitter_options;
HEED_API heed_status heed_submitter_options_init(heed_submitter_options* options);
// One thread at a time. It keeps plans and states in flight alive. InvalidArgument: the device is the CPU's. Unsupported: the host adopted
// it without a queue.
HEED_API heed_status heed_submitter_create(heed_device* device, const heed_submitter_options* options,
                                           heed_submitter** submitter);
HEED_API heed_status heed_submitter_destroy(heed_submitter* submitter);  // waits for what is in flight
// Records the plan with barriers on both sides into a free slot and submits it, within the call. info->slot is not read; *slot becomes the
// slot that was used. Errors of heed_plan_record, and NotReady: all slots are in flight.
HEED_API heed_status heed_submitter_submit(heed_submitter* submitter, heed_plan* plan, const heed_record_info* info,
                                           uint32_t* slot);
// HEED_OK if the slot's work has ended, or nothing was submitted; HEED_NOT_READY if it goes on; else the failure: IndexOutOfRange as for
// heed_plan_take_faults, or DeviceLost. Outputs can be read through a mapping if accesses_after has HOST_READ.
HEED_API heed_status heed_submitter_poll(heed_submitter* submitter, uint32_t slot);
HEED_API heed_status heed_submitter_wait(heed_submitter* submitter, uint32_t slot);  // the same, but waits

// --- Steps of a language model inside frames; see <heed/text_frames.hpp> ------------------------------------------

// The bytes of the host's memory that a step needs.
HEED_API heed_status heed_text_generator_memory_bytes(heed_text_generator* generator, uint64_t* bytes);
// The result of recording a part of a step.
typedef struct heed_text_part {
  size_t size;
  double milliseconds;  // heed's estimate for this part
  int32_t recorded;     // 0: there was nothing to record
  int32_t complete;     // 1: the step's last part is recorded
} heed_text_part;
// Records the next part of a step. `range` is host-coherent memory of heed_text_generator_memory_bytes bytes, mapped at `mapped`.
HEED_API heed_status heed_text_generator_record_step(heed_text_generator* generator, void* command_buffer,
                                                     const heed_buffer_range* range, void* mapped, double budget_ms,
                                                     heed_text_part* part);
// Call this when the GPU has finished the last part: heed_conversation_poll then returns each conversation's piece.
HEED_API heed_status heed_text_generator_finish_step(heed_text_generator* generator);

// --- Steps of a speech recognizer inside frames; see <heed/speech_frames.hpp> ---------------------------------------

// The bytes of the host's memory that a step needs; more once a stream with words has begun.
HEED_API heed_status heed_speech_recognizer_memory_bytes(heed_speech_recognizer* recognizer, uint64_t* bytes);
// As heed_text_generator_record_step. A window of sound is one step, and so is each token.
HEED_API heed_status heed_speech_recognizer_record_step(heed_speech_recognizer* recognizer, void* command_buffer,
                                                        const heed_buffer_range* range, void* mapped, double budget_ms,
                                                        heed_text_part* part);
// Call this when the GPU has finished the last part: heed_speech_stream_poll then returns the stream's piece. Call that in each frame, since
// the times of words are computed over several calls.
HEED_API heed_status heed_speech_recognizer_finish_step(heed_speech_recognizer* recognizer);

#ifdef __cplusplus
}
#endif

#endif
