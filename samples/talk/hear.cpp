#include "hear.hpp"

#include <algorithm>

namespace talk {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

}  // namespace

int Listener::open(const Options& options, Session& session) {
  const heed::Status status =
      heed::SpeechRecognizer::open(session.device, options.ears, {.log = program_log()}, &model_);
  if (status != heed::Status::Ok) return failed("the speech model", status);
  heed::SpeechOptions speech;
  speech.timestamps = false;  // speech up to a pause is one line
  // No pause is longer than half a window.
  speech.pause_seconds =
      std::min(0.7f, 0.5f * static_cast<float>(model_.window_samples()) / static_cast<float>(heed::kSpeechRate));
  speech.partial_seconds = output_is_terminal() && options.recording.empty() ? 1.0f : 0.0f;
  return ear_.open(model_, speech, options.recording);
}

Line Listener::read_line(std::string* line) {
  line->clear();
  ear_.skip();
  heed::SpeechPiece piece;
  while (true) {
    switch (ear_.next(&piece)) {
      case samples::Ear::Next::Piece: break;
      case samples::Ear::Next::Interrupted: return Line::Interrupted;
      case samples::Ear::Next::Failed:
      case samples::Ear::Next::End: return Line::End;
    }
    for (const heed::SpeechSegment& segment : piece.segments) *line += segment.text;
    *line = trimmed(*line);
    if (!piece.partial.empty() && output_is_terminal()) samples::write_over("> " + trimmed(piece.partial));
    if (line->empty()) continue;
    if (output_is_terminal()) samples::write_over("");
    write_text((output_is_terminal() ? "> " : "") + *line + "\n");
    return Line::Read;
  }
}

}  // namespace talk
