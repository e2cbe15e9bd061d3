// Lines that are spoken instead of typed.
#pragma once

#include <heed/speech.hpp>

#include "../ear.hpp"
#include "session.hpp"

namespace talk {

class Listener {
 public:
  // Returns the exit code, after a line that says why it failed.
  int open(const Options& options, Session& session);
  // Waits for the next utterance, and shows its provisional text on a terminal. Skips sound since the last line.
  Line read_line(std::string* line);
  // Nonzero if hearing failed; a line said why.
  int code() const { return ear_.code(); }

 private:
  heed::SpeechRecognizer model_;
  samples::Ear ear_;
};

}  // namespace talk
