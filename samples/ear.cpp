#include "ear.hpp"

#include "complaints.hpp"
#include "terminal.hpp"

namespace samples {

int Ear::open(const heed::SpeechRecognizer& model, const heed::SpeechOptions& options, const std::string& file) {
  name_ = file.empty() ? "the microphone" : file;
  if (!file.empty()) {
    file_ = std::make_unique<Sound>();
    if (!file_->open(file)) return bad_input(file_->error());
  } else if (!microphone_.open()) {
    return bad_input(microphone_.error());
  }
  const heed::Status status = model.begin(options, &stream_);
  return status == heed::Status::Ok ? kOk : failed(name_, status);
}

// Prints a line that says why, and returns the exit code.
int Ear::take_sound() {
  if (!file_) {
    microphone_.read(&samples_);
  } else if (!file_->read(&samples_)) {
    return bad_input(file_->error());
  } else if (samples_.empty()) {
    if (stream_.seconds() == 0) return bad_input(name_ + " holds no sound");
    finish();
  }
  const heed::Status status = samples_.empty() ? heed::Status::Ok : stream_.push(samples_);
  return status == heed::Status::Ok ? kOk : failed(name_, status);
}

Ear::Next Ear::next(heed::SpeechPiece* piece) {
  *piece = {};
  if (interrupted()) return Next::Interrupted;
  // Reads sound first, since it may end the present utterance.
  if (!is_finished_ && (file_ == nullptr || !stream_.busy())) code_ = take_sound();
  if (code_ != kOk) return Next::Failed;
  if (!stream_.busy()) return is_finished_ ? Next::End : Next::Piece;
  const heed::Status status = stream_.step(piece);
  if (status != heed::Status::Ok) code_ = failed(name_, status);
  return code_ == kOk ? Next::Piece : Next::Failed;
}

void Ear::skip() {
  if (file_) return;
  microphone_.skip();
  stream_.cancel();
}

}  // namespace samples
