// Transcribes the microphone, or a sound file in its place, piece by piece.
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
  // `file`: "" means the microphone. `options` should end windows at pauses. Returns the exit code, after a line that says why it failed.
  int open(const heed::SpeechRecognizer& model, const heed::SpeechOptions& options, const std::string& file);

  enum class Next { Piece, End, Interrupted, Failed };
  // Reads sound and runs a step if one is due; else the piece is empty. End: the end of the file, or of the sound before finish().
  // Interrupted: Ctrl-C (terminal.hpp). Failed: a line was printed.
  Next next(heed::SpeechPiece* piece);
  // Skips the sound of the meantime. A file continues where it was.
  void skip();
  // Stops reading sound: the sound so far becomes text, and then comes End.
  void finish() { stream_.finish(), is_finished_ = true; }
  double seconds() const { return stream_.seconds(); }  // of sound
  int code() const { return code_; }                    // the exit code after Failed

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
