// Sound files of any rate and number of channels as mono at 16 kHz.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace samples {

// Reads a file from front to back, so that memory does not grow with its length.
class Sound {
 public:
  Sound();
  ~Sound();
  Sound(const Sound&) = delete;
  Sound& operator=(const Sound&) = delete;

  // False, with the reason in error(): the file is none that libsndfile reads, or its rate is not 1 to 768 kHz.
  bool open(const std::string& path);
  // Sets *samples to the next ones, a second or so; none at the end. False: the file is damaged.
  bool read(std::vector<float>* samples);
  const std::string& error() const { return error_; }

 private:
  struct Reader;
  std::unique_ptr<Reader> reader_;
  std::string error_;
};

}  // namespace samples
