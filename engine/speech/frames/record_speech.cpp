#include <heed/speech_frames.hpp>

#include <algorithm>

#include "speech/speech_stream.hpp"
#include "text/frames/recorded_step.hpp"

namespace heed {

struct SpeechAccess {
  static SpeechRecognizer::Shared* shared_of(const SpeechRecognizer& model) { return model.shared_.get(); }
};

namespace vulkan {
namespace {

constexpr uint64_t kWord = sizeof(int32_t);

// Of the streams that want a step, the one whose last step is oldest.
SpeechStream::Impl* next_of(const SpeechRecognizer::Shared& s) {
  SpeechStream::Impl* found = nullptr;
  for (SpeechStream::Impl* one : s.streams)
    if (one->wants_run() && (found == nullptr || one->begun_at < found->begun_at)) found = one;
  return found;
}

}  // namespace

uint64_t speech_memory_bytes(const SpeechRecognizer& model) {
  const SpeechRecognizer::Shared* s = SpeechAccess::shared_of(model);
  if (s == nullptr) return 0;
  constexpr uint64_t kNumbers = 6;  // the most numbers in a SpeechRun
  const models::WhisperConfig& config = s->model.config();
  const uint64_t window = place_behind(static_cast<uint64_t>(config.window()) * kWord);
  const uint64_t token = place_behind(static_cast<uint64_t>(config.decoder.positions) * kWord) +
                         place_behind(sizeof(SampleWords)) + place_behind(sizeof(speech::Limits)) +
                         kNumbers * place_behind(kWord);
  const uint64_t words =
      s->aligner.valid()
          ? token + place_behind(static_cast<uint64_t>(config.decoder.positions) * s->look_size() * kWord)
          : 0;
  return std::max({window, token, words});
}

Status record_step(const SpeechRecognizer& model, VkCommandBuffer cmd, const SpeechMemory& memory, double budget_ms,
                   SpeechPart* part) {
  SpeechRecognizer::Shared* s = SpeechAccess::shared_of(model);
  if (s == nullptr || part == nullptr) return refuse("record_step: the SpeechRecognizer is empty, or part is null");
  const auto prepare = [&](SpeechStream::Impl** first) {
    *first = next_of(*s);
    if (*first != nullptr) (*first)->prepare();
    return Status::Ok;
  };
  return record_part<SpeechStream::Impl>(*s, !s->run.under_way, speech_memory_bytes(model), cmd, memory, budget_ms,
                                         part, prepare, [&] { return s->run.state; });
}

Status finish_step(const SpeechRecognizer& model) {
  SpeechRecognizer::Shared* s = SpeechAccess::shared_of(model);
  if (s == nullptr) return refuse("finish_step: the SpeechRecognizer is empty");
  return finish_recorded(*s);
}

}  // namespace vulkan
}  // namespace heed
