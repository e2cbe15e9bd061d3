// Steps that a host records into its frames, each one run of a plan; shared by language models and speech recognizers.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <heed/text_frames.hpp>

#include "base/logging.hpp"

namespace heed::vulkan {

// The bytes that a buffer takes in the host's memory, rounded up so that the next buffer is aligned.
inline uint64_t place_behind(uint64_t bytes) {
  constexpr uint64_t kApart = 16;
  return (bytes + kApart - 1) / kApart * kApart;
}

// A step that is being recorded.
struct RecordedStep {
  Cursor cursor;
  std::vector<Buffer> buffers;
  const std::byte* mapped = nullptr;

  // Copies the run's inputs to the host's memory.
  RecordedStep(std::span<const HostBuffer> given, const TextMemory& memory) : mapped(memory.mapped) {
    uint64_t at = 0;
    for (const HostBuffer& buffer : given) {
      buffers.push_back({buffer.name, memory.range.buffer, memory.range.offset + at, buffer.bytes});
      std::memcpy(memory.mapped + at, buffer.data, buffer.bytes);
      at += place_behind(buffer.bytes);
    }
  }

  // Copies results to the run's output buffers.
  void read_outputs(std::span<const HostBuffer> given) const {
    uint64_t at = 0;
    for (const HostBuffer& buffer : given) {
      if (buffer.writable) std::memcpy(const_cast<void*>(buffer.data), mapped + at, buffer.bytes);
      at += place_behind(buffer.bytes);
    }
  }
};

// Records a part of the run in a model's `shared`. If there is no current run, prepare(&first) prepares one and sets the conversation or
// stream that wants it; null: none does. state() returns the run's State.
template <class First, class Shared, class Prepare, class StateOf>
Status record_part(Shared& shared, bool begins, uint64_t bytes, VkCommandBuffer cmd, const TextMemory& memory,
                   double budget_ms, TextPart* part, const Prepare& prepare, const StateOf& state) {
  *part = {};
  auto& run = shared.run;
  First* first = nullptr;
  if (begins) {
    if (memory.mapped == nullptr || memory.range.buffer == VK_NULL_HANDLE)
      return fail(shared.log, Status::InvalidArgument, "record_step: there is no memory for what a step is given");
    if (memory.range.bytes < bytes)
      return fail(shared.log, Status::BufferTooSmall,
                  format("record_step: %llu bytes of memory; %llu are needed",
                         static_cast<unsigned long long>(memory.range.bytes), static_cast<unsigned long long>(bytes)));
    const Status ready = prepare(&first);
    if (ready != Status::Ok || first == nullptr) return ready;
    run.recording = std::make_shared<RecordedStep>(run.buffers, memory);
  } else if (run.recording == nullptr) {
    return fail(shared.log, Status::InvalidArgument, "record_step: a step that poll began goes on");
  }
  RecordedStep& recorded = *static_cast<RecordedStep*>(run.recording.get());
  if (recorded.cursor.done())
    return fail(shared.log, Status::InvalidArgument, "record_step: the step is complete; finish_step comes first");
  const Status status =
      record_some(run.plan, cmd, {.buffers = recorded.buffers, .extents = run.extents, .state = state()}, budget_ms,
                  &recorded.cursor);
  if (status != Status::Ok) {
    if (begins) run.clear();
    return status;
  }
  shared.in_frames = true;
  if (begins) first->begins();
  *part = {true, recorded.cursor.done(), recorded.cursor.milliseconds};
  return Status::Ok;
}

template <class Shared>
Status finish_recorded(Shared& shared) {
  auto& run = shared.run;
  const auto* recorded = static_cast<const RecordedStep*>(run.recording.get());
  if (recorded == nullptr || !recorded->cursor.done())
    return fail(shared.log, Status::InvalidArgument, "finish_step: no complete step is recorded");
  recorded->read_outputs(run.buffers);
  run.finish(take_faults(run.plan));
  return Status::Ok;
}

}  // namespace heed::vulkan
