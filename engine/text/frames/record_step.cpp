#include <heed/text_frames.hpp>

#include "text/frames/recorded_step.hpp"
#include "text/generator/conversation.hpp"

namespace heed {

struct TextAccess {
  static TextGenerator::Shared* shared_of(const TextGenerator& model) { return model.shared_.get(); }
};

namespace vulkan {
namespace {

constexpr uint64_t kWord = sizeof(int32_t);

// Of the conversations that want a step, the one whose last step is oldest.
TextConversation::Impl* next_of(const TextGenerator::Shared& s) {
  TextConversation::Impl* found = nullptr;
  for (const std::weak_ptr<BatchState>& one : s.batches)
    if (const std::shared_ptr<BatchState> batch = one.lock())
      for (TextConversation::Impl* c : batch->rows)
        if (c != nullptr && c->answering && !c->finished && (found == nullptr || c->begun_at < found->begun_at))
          found = c;
  return found;
}

}  // namespace

uint64_t text_memory_bytes(const TextGenerator& model) {
  const TextGenerator::Shared* s = TextAccess::shared_of(model);
  if (s == nullptr) return 0;
  constexpr uint64_t kLists = 12;  // the most lists in a TextRun
  const auto members = static_cast<uint64_t>(s->together), tokens = static_cast<uint64_t>(s->read);
  return place_behind(members * kSampleWords * kWord) + kLists * place_behind(members * kWord) +
         2 * place_behind(tokens * kWord) +
         place_behind(static_cast<uint64_t>(s->config().vocabulary) * kWord);  // the mask of a grammar
}

Status record_step(const TextGenerator& model, VkCommandBuffer cmd, const TextMemory& memory, double budget_ms,
                   TextPart* part) {
  TextGenerator::Shared* s = TextAccess::shared_of(model);
  if (s == nullptr || part == nullptr) return refuse("record_step: the TextGenerator is empty, or part is null");
  const auto prepare = [&](TextConversation::Impl** first) {
    *first = next_of(*s);
    return *first != nullptr ? (*first)->prepare() : Status::Ok;
  };
  return record_part<TextConversation::Impl>(*s, s->run.members.empty(), text_memory_bytes(model), cmd, memory,
                                             budget_ms, part, prepare, [&] { return s->run.batch->state; });
}

Status finish_step(const TextGenerator& model) {
  TextGenerator::Shared* s = TextAccess::shared_of(model);
  if (s == nullptr) return refuse("finish_step: the TextGenerator is empty");
  return finish_recorded(*s);
}

}  // namespace vulkan
}  // namespace heed
