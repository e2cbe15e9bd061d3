#include <heed/speech_frames.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/logging.hpp"
#include "speech/speech_stream.hpp"

namespace heed {

struct SpeechAccess {
  static SpeechRecognizer::Shared* shared_of(const SpeechRecognizer& model) { return model.shared_.get(); }
};

namespace vulkan {
namespace {

constexpr uint64_t kWord = sizeof(int32_t), kApart = 16;

// A step that is being recorded.
struct Recording {
  Cursor cursor;
  std::vector<Buffer> buffers;
  const std::byte* mapped = nullptr;
};

uint64_t place_behind(uint64_t bytes) { return (bytes + kApart - 1) / kApart * kApart; }

// Brings what the run is given to the host's memory.
void write_inputs(const SpeechRun& run, const SpeechMemory& memory, Recording* recording) {
  uint64_t at = 0;
  recording->mapped = memory.mapped;
  for (const HostBuffer& buffer : run.buffers) {
    recording->buffers.push_back({buffer.name, memory.range.buffer, memory.range.offset + at, buffer.bytes});
    std::memcpy(memory.mapped + at, buffer.data, buffer.bytes);
    at += place_behind(buffer.bytes);
  }
}

// Takes what the step has written to where the run expects it.
void read_outputs(const Recording& recording, const SpeechRun& run) {
  uint64_t at = 0;
  for (const HostBuffer& buffer : run.buffers) {
    if (buffer.writable) std::memcpy(const_cast<void*>(buffer.data), recording.mapped + at, buffer.bytes);
    at += place_behind(buffer.bytes);
  }
}

// Who had no step for the longest time, of those that want one.
SpeechStream::Impl* next_of(const SpeechRecognizer::Shared& s) {
  SpeechStream::Impl* found = nullptr;
  for (SpeechStream::Impl* one : s.streams)
    if (!one->has_run && one->busy() && (found == nullptr || one->begun_at < found->begun_at)) found = one;
  return found;
}

}  // namespace

uint64_t speech_memory_bytes(const SpeechRecognizer& model) {
  const SpeechRecognizer::Shared* s = SpeechAccess::shared_of(model);
  if (s == nullptr) return 0;
  constexpr uint64_t kNumbers = 6;  // of SpeechRun, at most
  const models::WhisperConfig& config = s->model.config();
  const uint64_t window = place_behind(static_cast<uint64_t>(config.window()) * kWord);
  const uint64_t token = place_behind(static_cast<uint64_t>(config.decoder.positions) * kWord) +
                         place_behind(sizeof(SampleWords)) + place_behind(sizeof(speech::Limits)) +
                         kNumbers * place_behind(kWord);
  return std::max(window, token);
}

Status record_step(const SpeechRecognizer& model, VkCommandBuffer cmd, const SpeechMemory& memory, double budget_ms,
                   SpeechPart* part) {
  SpeechRecognizer::Shared* s = SpeechAccess::shared_of(model);
  if (s == nullptr || part == nullptr) return refuse("record_step: the SpeechRecognizer is empty, or part is null");
  *part = {};
  SpeechRun& run = s->run;
  const bool begins = !run.under_way;
  SpeechStream::Impl* first = nullptr;
  if (begins) {
    if (memory.mapped == nullptr || memory.range.buffer == VK_NULL_HANDLE)
      return fail(s->log, Status::InvalidArgument, "record_step: there is no memory for what a step is given");
    if (memory.range.bytes < speech_memory_bytes(model))
      return fail(s->log, Status::BufferTooSmall,
                  format("record_step: %llu bytes of memory; %llu are needed",
                         static_cast<unsigned long long>(memory.range.bytes),
                         static_cast<unsigned long long>(speech_memory_bytes(model))));
    first = next_of(*s);
    if (first == nullptr) return Status::Ok;
    first->prepare();
    auto fresh = std::make_shared<Recording>();
    write_inputs(run, memory, fresh.get());
    run.recording = std::move(fresh);
  } else if (run.recording == nullptr) {
    return fail(s->log, Status::InvalidArgument, "record_step: a step that poll began goes on");
  }
  Recording& recording = *static_cast<Recording*>(run.recording.get());
  if (recording.cursor.done())
    return fail(s->log, Status::InvalidArgument, "record_step: the step is complete; finish_step comes first");
  const Status status =
      record_some(run.plan, cmd, {.buffers = recording.buffers, .extents = run.extents, .state = run.state}, budget_ms,
                  &recording.cursor);
  if (status != Status::Ok) {
    if (begins) run.clear();
    return status;
  }
  s->in_frames = true;
  if (begins) first->begins();
  *part = {true, recording.cursor.done(), recording.cursor.milliseconds};
  return Status::Ok;
}

Status finish_step(const SpeechRecognizer& model) {
  SpeechRecognizer::Shared* s = SpeechAccess::shared_of(model);
  if (s == nullptr) return refuse("finish_step: the SpeechRecognizer is empty");
  SpeechRun& run = s->run;
  const auto* recording = static_cast<const Recording*>(run.recording.get());
  if (recording == nullptr || !recording->cursor.done())
    return fail(s->log, Status::InvalidArgument, "finish_step: no complete step is recorded");
  read_outputs(*recording, run);
  run.finish(take_faults(run.plan));
  return Status::Ok;
}

}  // namespace vulkan
}  // namespace heed
