// What is said into the microphone, or in a sound file in its place, piece by piece.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <heed/speech.hpp>

#include "microphone.hpp"
#include "sound.hpp"

namespace samples {

class Ear {
 public:
  // `file`: "" is the microphone. `options` should end windows in pauses. Gives the exit code, after a line that says why.
  int open(const heed::SpeechRecognizer& model, const heed::SpeechOptions& options, const std::string& file);

  enum class Next { Piece, End, Interrupted, Failed };
  // Takes sound and makes a step, if there is one to make; else the piece is empty. End: of the file, or of what was said before finish().
  // Interrupted: by Ctrl-C (terminal.hpp). Failed: a line was printed.
  Next next(heed::SpeechPiece* piece);
  // What was said meanwhile is not heard. A file goes on where it was.
  void skip();
  // No more sound is taken: what was said so far becomes text, and then there is an end.
  void finish() { stream_.finish(), is_finished_ = true; }
  double seconds() const { return stream_.seconds(); }  // of sound
  int code() const { return code_; }                    // the exit code behind Failed

 private:
  int take_sound();

  heed::SpeechStream stream_;
  std::unique_ptr<Sound> file_;  // null: the microphone
  Microphone microphone_;
  std::string name_;
  std::vector<float> samples_;
  bool is_finished_ = false;
  int code_ = 0;
};

}  // namespace samples
