// Incoming sound, and where its windows end.
#include <algorithm>
#include <cmath>

#include "base/logging.hpp"
#include "speech/speech_stream.hpp"

namespace heed {

namespace {

// The spectrum of louder samples would overflow; no meaningful sound is as loud.
constexpr float kLoudest = 65536.0f;
// Loudness is measured in stretches of 20 ms.
constexpr int64_t kStretch = models::WhisperConfig::kRate / 50;

bool is_quiet(std::span<const float> stretch, float level) {
  float squares = 0;
  for (const float sample : stretch) squares += sample * sample;
  return squares < level * level * static_cast<float>(stretch.size());
}

}  // namespace

Status SpeechStream::Impl::check(std::span<const float> fresh) const {
  if (finished) return fail(log(), Status::InvalidArgument, "sound for a stream that was finished");
  for (size_t i = 0; i < fresh.size(); ++i)
    if (!(std::fabs(fresh[i]) <= kLoudest))
      return fail(
          log(), Status::InvalidArgument,
          format("sample %zu is %g; samples are numbers, usually from -1 to 1", i, static_cast<double>(fresh[i])));
  return Status::Ok;
}

void SpeechStream::Impl::take_sound(std::span<const float> fresh) {
  heard.insert(heard.end(), fresh.begin(), fresh.end());
  measure();
}

// Finds the first pause after speech. While no window is being decoded, only the last half of a pause before speech is kept, since speech
// may begin softly.
void SpeechStream::Impl::measure() {
  if (options.pause_seconds <= 0) return;
  const auto enough = static_cast<int64_t>(options.pause_seconds * static_cast<float>(models::WhisperConfig::kRate));
  measured = std::max(measured, begin);
  int64_t first = begin;  // the first sample of the kept sound
  while (pause_end < 0 && measured + kStretch <= begin + static_cast<int64_t>(heard.size())) {
    const auto at = static_cast<size_t>(measured - begin);
    const bool now = is_quiet(std::span(heard).subspan(at, static_cast<size_t>(kStretch)), options.pause_level);
    measured += kStretch;
    quiet = now ? quiet + kStretch : 0;
    spoke = spoke || !now;
    if (quiet < enough) continue;
    if (spoke) {
      pause_end = measured;
    } else if (stage == Stage::Idle) {
      quiet = enough / 2 / kStretch * kStretch;
      first = std::max(measured - quiet, first);
    }
  }
  heard.erase(heard.begin(), heard.begin() + (first - begin));
  begin = first;
}

int64_t SpeechStream::Impl::end_of_window() const {
  const int64_t end = begin + static_cast<int64_t>(heard.size()), full = begin + window_samples();
  if (pause_end >= 0 && pause_end <= full) return pause_end;
  if (end >= full) return full;
  // There is no speech in the rest after a pause.
  const bool is_quiet_rest = options.pause_seconds > 0 && !spoke;
  return finished && end > begin && !is_quiet_rest ? end : -1;
}

bool SpeechStream::Impl::may_draft() const {
  if (options.partial_seconds <= 0 || finished || (options.pause_seconds > 0 && !spoke)) return false;
  const double more = static_cast<double>(options.partial_seconds) * static_cast<double>(models::WhisperConfig::kRate);
  const int64_t end = begin + static_cast<int64_t>(heard.size());
  return static_cast<double>(end - std::max(drafted, begin)) >= more;
}

void SpeechStream::Impl::begin_window() {
  const int64_t end = end_of_window();
  is_final = end >= 0;
  samples = (is_final ? end : begin + static_cast<int64_t>(heard.size())) - begin;
  drafted = begin + samples;
  temperature = 0;
  language = -1;
  stage = Stage::Hears;
}

void SpeechStream::Impl::drop(int64_t count) {
  heard.erase(heard.begin(), heard.begin() + count);
  begin += count;
  if (pause_end >= 0 && begin >= pause_end) pause_end = -1, quiet = 0, spoke = false;
  measure();
}

void SpeechStream::Impl::cancel() {
  begin += static_cast<int64_t>(heard.size());
  heard.clear();
  measured = drafted = begin;
  quiet = 0;
  spoke = has_run = false;
  pause_end = -1;
  words = nullptr;
  stage = Stage::Idle;
}

}  // namespace heed
