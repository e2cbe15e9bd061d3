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

  // False, with a sentence in error(): there is none.
  bool open();
  // What came since the last call, mono at heed::kSpeechRate. After nothing came for a while, it waits for some milliseconds.
  void read(std::vector<float>* samples);
  // Lets go of what came since.
  void skip();
  const std::string& error() const { return error_; }

 private:
  uint32_t device_ = 0;  // 0: none
  std::string error_;
};

}  // namespace samples
