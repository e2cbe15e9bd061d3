#include <heed/text_frames.hpp>

#include <cstring>
#include <string>
#include <vector>

#include "base/logging.hpp"
#include "text/generator/conversation.hpp"

namespace heed {

struct TextAccess {
  static TextGenerator::Shared* shared_of(const TextGenerator& model) { return model.shared_.get(); }
};

namespace vulkan {
namespace {

constexpr uint64_t kWord = sizeof(int32_t), kApart = 16;

// A step that is being recorded.
struct Recording {
  Cursor cursor;
  std::vector<Buffer> buffers;
  const std::byte* next = nullptr;
};

uint64_t place_behind(uint64_t bytes) { return (bytes + kApart - 1) / kApart * kApart; }

// Brings what the run is given to the host's memory.
void write_inputs(const TextRun& run, const TextMemory& memory, Recording* recording) {
  uint64_t at = 0;
  for (const HostBuffer& buffer : run.buffers) {
    recording->buffers.push_back({buffer.name, memory.range.buffer, memory.range.offset + at, buffer.bytes});
    if (buffer.data == run.next.data()) recording->next = memory.mapped + at;
    std::memcpy(memory.mapped + at, buffer.data, buffer.bytes);
    at += place_behind(buffer.bytes);
  }
}

// Who had no step for the longest time, of those that want one.
TextConversation::Impl* next_of(const TextGenerator::Shared& s) {
  TextConversation::Impl* found = nullptr;
  for (const std::weak_ptr<TextRoom>& one : s.rooms)
    if (const std::shared_ptr<TextRoom> room = one.lock())
      for (TextConversation::Impl* c : room->rows)
        if (c != nullptr && c->answering && !c->finished && (found == nullptr || c->begun_at < found->begun_at))
          found = c;
  return found;
}

}  // namespace

uint64_t text_memory_bytes(const TextGenerator& model) {
  const TextGenerator::Shared* s = TextAccess::shared_of(model);
  if (s == nullptr) return 0;
  constexpr uint64_t kLists = 12;  // of TextRun, at most
  const auto members = static_cast<uint64_t>(s->together), tokens = static_cast<uint64_t>(s->read);
  return place_behind(members * kSampleWords * kWord) + kLists * place_behind(members * kWord) +
         2 * place_behind(tokens * kWord) +
         place_behind(static_cast<uint64_t>(s->config().vocabulary) * kWord);  // what a grammar allows
}

Status record_step(const TextGenerator& model, VkCommandBuffer cmd, const TextMemory& memory, double budget_ms,
                   TextPart* part) {
  TextGenerator::Shared* s = TextAccess::shared_of(model);
  if (s == nullptr || part == nullptr) return refuse("record_step: s is null, or part is null");
  *part = {};
  TextRun& run = s->run;
  const bool begins = run.members.empty();
  TextConversation::Impl* first = nullptr;
  if (begins) {
    if (memory.mapped == nullptr || memory.range.buffer == VK_NULL_HANDLE)
      return fail(s->log, Status::InvalidArgument, "record_step: there is no memory for what a step is given");
    if (memory.range.bytes < text_memory_bytes(model))
      return fail(s->log, Status::BufferTooSmall,
                  format("record_step: %llu bytes of memory; %llu are needed",
                         static_cast<unsigned long long>(memory.range.bytes),
                         static_cast<unsigned long long>(text_memory_bytes(model))));
    first = next_of(*s);
    if (first == nullptr) return Status::Ok;
    const Status ready = first->prepare();
    if (ready != Status::Ok) return ready;
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
      record_some(run.plan, cmd, {.buffers = recording.buffers, .extents = run.extents, .state = run.room->state},
                  budget_ms, &recording.cursor);
  if (status != Status::Ok) {
    if (begins) run.clear();
    return status;
  }
  s->in_frames = true;
  if (begins) first->begins();
  *part = {true, recording.cursor.done(), recording.cursor.milliseconds};
  return Status::Ok;
}

Status finish_step(const TextGenerator& model) {
  TextGenerator::Shared* s = TextAccess::shared_of(model);
  if (s == nullptr) return refuse("finish_step: s is null");
  TextRun& run = s->run;
  const auto* recording = static_cast<const Recording*>(run.recording.get());
  if (recording == nullptr || !recording->cursor.done())
    return fail(s->log, Status::InvalidArgument, "finish_step: no complete step is recorded");
  std::memcpy(run.next.data(), recording->next, run.next.size() * kWord);
  run.finish(take_faults(run.plan));
  return Status::Ok;
}

}  // namespace vulkan
}  // namespace heed
