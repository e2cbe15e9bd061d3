// The machine's microphone, by SDL2.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace samples {

class Microphone {
 public:
  Microphone() = default;
  ~Microphone();
  Microphone(const Microphone&) = delete;
  Microphone& operator=(const Microphone&) = delete;

  // Returns false, with a sentence in error(), if there is none.
  bool open();
  // The sound since the last call, mono at heed::kSpeechRate. If no sound arrived for a while, waits for some milliseconds.
  void read(std::vector<float>* samples);
  // Discards the sound since the last call.
  void skip();
  const std::string& error() const { return error_; }

 private:
  uint32_t device_ = 0;  // 0: none
  std::string error_;
};

}  // namespace samples
