#include "speech/speech_stream.hpp"

#include "base/logging.hpp"

namespace heed {

namespace {

// Elements that a poll processes to time words, about a quarter of a millisecond.
constexpr size_t kElementsOfPoll = size_t{1} << 16;

}  // namespace

SpeechStream::SpeechStream() = default;
SpeechStream::SpeechStream(SpeechStream&&) noexcept = default;
SpeechStream::~SpeechStream() = default;
SpeechStream& SpeechStream::operator=(SpeechStream&&) noexcept = default;

Status SpeechStream::push(std::span<const float> samples) {
  if (!valid()) return refuse("SpeechStream::push: the SpeechStream is empty");
  const Status status = impl_->check(samples);
  if (status == Status::Ok) impl_->take_sound(samples);
  return status;
}

void SpeechStream::finish() {
  if (valid()) impl_->finished = true;
}

bool SpeechStream::busy() const { return valid() && impl_->busy(); }

Status SpeechStream::step(SpeechPiece* piece) {
  if (!valid() || piece == nullptr) return refuse("SpeechStream::step: the SpeechStream is empty, or piece is null");
  *piece = {};
  SpeechRecognizer::Shared& shared = *impl_->shared;
  if (shared.in_frames)
    return fail(shared.log, Status::InvalidArgument, "SpeechStream::step: the host records steps; poll() gives pieces");
  shared.settle();
  Status status = impl_->wants_run() ? impl_->launch(true) : Status::Ok;
  if (status == Status::Ok && impl_->has_run) status = impl_->take(piece);
  if (status == Status::Ok && impl_->words != nullptr) impl_->advance_words(SIZE_MAX, piece);
  return status;
}

Status SpeechStream::poll(SpeechPiece* piece) {
  if (!valid() || piece == nullptr) return refuse("SpeechStream::poll: the SpeechStream is empty, or piece is null");
  *piece = {};
  SpeechRecognizer::Shared& shared = *impl_->shared;
  if (shared.run.under_way && !shared.in_frames && shared.run.started.done()) shared.settle();
  Status status = Status::Ok;
  if (impl_->has_run)
    status = impl_->take(piece);
  else if (impl_->words != nullptr)
    impl_->advance_words(kElementsOfPoll, piece);
  if (status != Status::Ok || shared.in_frames || !impl_->wants_run()) return status;
  SpeechStream::Impl* const waiting = shared.waiting;
  if (shared.run.under_way) {
    if (shared.run.of != impl_.get() && waiting == nullptr) shared.waiting = impl_.get();
    return status;
  }
  // A waiting stream goes first, unless its host no longer polls it.
  shared.waiting = nullptr;
  return waiting == nullptr || waiting == impl_.get() ? impl_->launch(false) : status;
}

void SpeechStream::cancel() {
  if (!valid()) return;
  impl_->wait();
  impl_->cancel();
}

double SpeechStream::seconds() const {
  if (!valid()) return 0;
  return static_cast<double>(impl_->begin + static_cast<int64_t>(impl_->heard.size())) /
         static_cast<double>(models::WhisperConfig::kRate);
}

}  // namespace heed
