#include "resampler.hpp"

#include <heed/speech.hpp>

#ifdef HEED_GODOT_RESAMPLES
#include <samplerate.h>
#endif

#ifdef HEED_GODOT_RESAMPLES
struct Resampler::Converter {
  SRC_STATE* state = nullptr;
  int error = 0;
  Converter() : state(src_new(SRC_SINC_FASTEST, 1, &error)) {}
  ~Converter() {
    if (state != nullptr) src_delete(state);
  }
  Converter(const Converter&) = delete;
  Converter& operator=(const Converter&) = delete;
};
#else
struct Resampler::Converter {};
#endif

Resampler::Resampler() = default;
Resampler::~Resampler() = default;
Resampler::Resampler(Resampler&&) noexcept = default;
Resampler& Resampler::operator=(Resampler&&) noexcept = default;

bool Resampler::takes(int64_t rate) {
#ifdef HEED_GODOT_RESAMPLES
  return rate >= kLeastRate && rate <= kMostRate;
#else
  return rate == heed::kSpeechRate;
#endif
}

void Resampler::begin(int64_t rate) {
  rate_ = rate;
  converter_ = rate == heed::kSpeechRate ? nullptr : std::make_unique<Converter>();
}

bool Resampler::convert(std::span<const float> samples, bool is_end, std::vector<float>* to, std::string* why) {
  if (!converter_) {
    to->insert(to->end(), samples.begin(), samples.end());
    return true;
  }
#ifdef HEED_GODOT_RESAMPLES
  constexpr size_t kAtOnce = 4096;
  float some[kAtOnce];
  SRC_DATA data = {};
  data.end_of_input = is_end ? 1 : 0;
  data.src_ratio = static_cast<double>(heed::kSpeechRate) / static_cast<double>(rate_);
  int error = converter_->error;
  while (error == 0) {
    data.data_in = samples.data();
    data.input_frames = static_cast<long>(samples.size());
    data.data_out = some;
    data.output_frames = kAtOnce;
    error = src_process(converter_->state, &data);
    if (error != 0) break;
    samples = samples.subspan(static_cast<size_t>(data.input_frames_used));
    to->insert(to->end(), some, some + data.output_frames_gen);
    if (samples.empty() && data.output_frames_gen < static_cast<long>(kAtOnce)) return true;
  }
  *why = src_strerror(error);
#else
  std::ignore = is_end;
  *why = "there is no libsamplerate";
#endif
  return false;
}
