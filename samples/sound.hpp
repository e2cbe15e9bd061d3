// Reads sound files of any rate and number of channels as mono at 16 kHz.
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

  // Returns false, with the reason in error(), if libsndfile cannot read the file or its rate is not 1 to 768 kHz.
  bool open(const std::string& path);
  // Sets *samples to the next second or so; empty at the end. Returns false if the file is damaged.
  bool read(std::vector<float>* samples);
  const std::string& error() const { return error_; }

 private:
  struct Reader;
  std::unique_ptr<Reader> reader_;
  std::string error_;
};

}  // namespace samples
