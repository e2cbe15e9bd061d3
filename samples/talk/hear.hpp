// Lines that are spoken instead of typed.
#pragma once

#include <heed/speech.hpp>

#include "../ear.hpp"
#include "session.hpp"

namespace talk {

class Listener {
 public:
  // Gives the exit code, after a line that says why.
  int open(const Options& options, Session& session);
  // Waits for what is said next, and shows on a terminal what it may be. What was said since the last line is not heard.
  Line read_line(std::string* line);
  // Not 0: hearing failed, and a line said why.
  int code() const { return ear_.code(); }

 private:
  heed::SpeechRecognizer model_;
  samples::Ear ear_;
};

}  // namespace talk
