// Segments as lines of text, subtitles, JSON or lists of ids.
#pragma once

#include <string>

#include <heed/speech.hpp>

namespace listen {

enum class Form { Text, Subtitles, Json, Ids };

// Prints the segments of a file as they come.
class Printer {
 public:
  explicit Printer(Form form) : form_(form) {}
  void print(const heed::SpeechSegment& segment);
  void finish();  // a file is over

 private:
  Form form_;
  int count_ = 0;
};

}  // namespace listen
