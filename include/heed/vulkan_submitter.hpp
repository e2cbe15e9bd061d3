// A helper for hosts without access to command buffers, such as extensions of engines that hide theirs. It records plans into its own
// command buffers, submits them to the device's queue, and reports when the GPU has finished.
//
//   heed::vulkan::Submitter submitter;
//   s = heed::vulkan::Submitter::create(device, {.slots = 2}, &submitter);   // while loading
//   ... in each frame:
//   s = submitter.submit(plan, {.buffers = buffers}, &slot);   // NotReady: the GPU still works on all slots
//   ... in a later frame: Ok once the outputs are there, NotReady before
//   s = submitter.poll(slot);
#pragma once

#include <cstdint>
#include <memory>

#include <heed/export.hpp>
#include <heed/vulkan.hpp>

namespace heed::vulkan {

// Options of a Submitter.
struct SubmitterOptions {
  // How many recordings may be in flight at once; at least 1. Plans need as many CompileOptions::record_slots.
  uint32_t slots = 2;
  // How the host uses the inputs and outputs before, and the outputs afterwards, on the same queue. The defaults wait for all stages.
  VkPipelineStageFlags stages_before = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkAccessFlags accesses_before = VK_ACCESS_MEMORY_WRITE_BIT;
  VkPipelineStageFlags stages_after = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkAccessFlags accesses_after = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  uint32_t timeout_ms = 10000;  // work that takes longer counts as a lost device; 0: ten minutes
};

// Owns a command pool, a command buffer and a fence for each slot. Not thread-safe. It keeps plans and States in flight alive, and its
// destructor waits for them.
class HEED_API Submitter {
 public:
  Submitter();
  ~Submitter();
  Submitter(Submitter&&) noexcept;
  Submitter& operator=(Submitter&&) noexcept;

  // InvalidArgument: the device is the CPU's, no slots are requested, or *submitter has work in flight. Unsupported: the host adopted the
  // device without a queue.
  static Status create(const Device& device, const SubmitterOptions& options, Submitter* submitter);

  // Records the plan with the barriers of sync_needs on both sides into a slot that is free, and submits it, by the calling thread and
  // within the call (HostDevice::queue_access says how the queue is shared). Inputs and outputs are the host's buffers, as for record,
  // whose errors it returns; info.slot is not read. *slot is the slot that was used, for poll and wait. NotReady: all slots are in flight.
  // A slot is free as soon as the GPU has finished, even if poll and wait were not called; a fault is then lost.
  Status submit(const Plan& plan, const RecordInfo& info, uint32_t* slot);

  // Ok if the slot's work has ended, or nothing was submitted; NotReady if the GPU still works on it. Otherwise the failure:
  // IndexOutOfRange as from take_faults, or DeviceLost. Outputs become available to host reads of mapped memory only if accesses_after has
  // VK_ACCESS_HOST_READ_BIT, and stages_after its stage.
  Status poll(uint32_t slot);
  // The same, but waits for the GPU.
  Status wait(uint32_t slot);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heed::vulkan
