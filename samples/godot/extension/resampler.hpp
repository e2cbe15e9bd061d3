// Converts sound of any rate to that of speech models.
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
  // False if the extension was built without libsamplerate, and accepts only heed::kSpeechRate.
  static bool takes(int64_t rate);

  int64_t rate() const { return rate_; }  // 0: none yet
  // Sets the rate of further sound. The rate must be supported.
  void begin(int64_t rate);
  // Appends samples at heed::kSpeechRate to *to. The converter holds a few back until more arrive, or until the end. Returns false with the
  // reason in *why if it failed.
  bool convert(std::span<const float> samples, bool is_end, std::vector<float>* to, std::string* why);

 private:
  struct Converter;
  int64_t rate_ = 0;
  std::unique_ptr<Converter> converter_;  // null at heed::kSpeechRate
};
