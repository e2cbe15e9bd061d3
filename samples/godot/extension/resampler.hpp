// Sound of any rate as sound for models of speech.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

class Resampler {
 public:
  Resampler();
  ~Resampler();
  Resampler(Resampler&&) noexcept;
  Resampler& operator=(Resampler&&) noexcept;

  static constexpr int64_t kLeastRate = 1000, kMostRate = 768000;
  // False: the extension was built without libsamplerate, and takes heed::kSpeechRate alone.
  static bool takes(int64_t rate);

  int64_t rate() const { return rate_; }  // 0: none yet
  // From now on sound is of this rate, which it takes.
  void begin(int64_t rate);
  // Appends samples at heed::kSpeechRate to *to. The converter holds back a few until more come, or until the end is told. False: it failed,
  // and the reason is in *why.
  bool convert(std::span<const float> samples, bool is_end, std::vector<float>* to, std::string* why);

 private:
  struct Converter;
  int64_t rate_ = 0;
  std::unique_ptr<Converter> converter_;  // none at heed::kSpeechRate
};
