// Segments as lines of text, subtitles, JSON or lists of ids.
#pragma once

#include <string>

#include <heed/speech.hpp>

namespace listen {

enum class Form { Text, Subtitles, Json, Ids };

// Prints the segments of a file as they arrive.
class Printer {
 public:
  // `words`: a line or a subtitle for each word.
  Printer(Form form, bool words) : form_(form), words_(words) {}
  void print(const heed::SpeechSegment& segment);
  void finish();  // ends a file

 private:
  Form form_;
  void print_line(double begin, double end, const std::string& text);
  const bool words_;
  int count_ = 0;
};

}  // namespace listen
