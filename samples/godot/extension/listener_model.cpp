#include "listener_model.hpp"

#include <limits>
#include <utility>

#include "godot.hpp"

namespace {

std::string without_space(const std::string& text) {
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first);
}

}  // namespace

std::optional<ListenerEar::News> ListenerEar::take() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return {};
  has_news_ = false;
  return std::exchange(news_, {});
}

void ListenerEar::fail(std::string problem) {
  const std::lock_guard lock(mutex_);
  news_.problem = std::move(problem);
  has_news_ = true;
}

void ListenerEar::drop_stream() {
  began_ += stream_.seconds();
  stream_ = {};
  is_finished_ = false;
}

void ListenerEar::drop_sound() {
  drop_stream();
  coming_.clear();
  is_deaf_ = false;
}

ListenerModel::ListenerModel(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, std::string path)
    : SharedModel(std::move(gpu), cpu, std::move(path)) {
  if (gpu_) frames_ = std::make_unique<StepFrames<heed::SpeechRecognizer>>(gpu_);
}

std::shared_ptr<ListenerModel> ListenerModel::of(std::shared_ptr<Gpu> gpu, const heed::Device& cpu,
                                                 const std::string& path) {
  return find<ListenerModel>(std::move(gpu), cpu, path);
}

heed::Status ListenerModel::open_model() {
  return heed::SpeechRecognizer::open(device_, path_, {.timestamps = frames_ != nullptr, .log = godot::log()},
                                      &recognizer_);
}

// Runs the job on the worker's thread, and then recognizes pending sound.
template <class Job>
void ListenerModel::post(const Ear& ear, Job job) {
  ++ear->jobs_;
  worker_.post([self = self(), ear, job = std::move(job)]() mutable {
    job(*self, *ear);
    self->hear(ear);
    --ear->jobs_;
  });
}

void ListenerModel::push(const Ear& ear, std::vector<float> samples, int64_t rate, const heed::SpeechOptions& options) {
  post(ear, [samples = std::move(samples), rate, options](ListenerModel& self, ListenerEar& of) mutable {
    self.take_sound(of, std::move(samples), rate, options);
  });
}

void ListenerModel::end(const Ear& ear) {
  post(ear, [](ListenerModel& self, ListenerEar& of) { self.end_utterance(of); });
}

void ListenerModel::cancel(const Ear& ear) {
  post(ear, [](ListenerModel&, ListenerEar& of) { of.drop_sound(); });
}

void ListenerModel::forget(std::shared_ptr<ListenerEar> ear) {
  worker_.post([self = self(), ear = std::move(ear)] {
    std::erase(self->waiting_, ear);
    ear->drop_sound();
  });
}

void ListenerModel::take_sound(ListenerEar& ear, std::vector<float> samples, int64_t rate,
                               const heed::SpeechOptions& options) {
  if (ear.is_deaf_) return;
  if (status_ != heed::Status::Ok) return lose(ear, why_not_open());
  if (ear.coming_.empty() || ear.coming_.back().is_ended) ear.coming_.push_back({options, {}, false});
  std::vector<float>& to = ear.coming_.back().samples;
  std::string problem;
  if (ear.resampler_.rate() != rate) ear.resampler_.begin(rate);
  if (!ear.resampler_.convert(samples, false, &to, &problem)) return lose(ear, "sound could not be read: " + problem);
  // A device slower than speech would accumulate sound without limit.
  constexpr size_t kMostWaiting = 60 * heed::kSpeechRate;
  size_t waiting = 0;
  for (const ListenerEar::Utterance& one : ear.coming_) waiting += one.samples.size();
  if (waiting > kMostWaiting) lose(ear, "sound comes faster than it is heard: what was said last is lost");
}

void ListenerModel::end_utterance(ListenerEar& ear) {
  ear.is_deaf_ = false;
  if (ear.coming_.empty() || ear.coming_.back().is_ended) return;
  std::string problem;
  if (ear.resampler_.rate() != 0) {
    if (!ear.resampler_.convert({}, true, &ear.coming_.back().samples, &problem))
      return lose(ear, "sound could not be read: " + problem);
    ear.resampler_.begin(ear.resampler_.rate());
  }
  ear.coming_.back().is_ended = true;
}

// No more sound is accepted before the utterance ends.
void ListenerModel::lose(ListenerEar& ear, const std::string& why) {
  ear.fail(why);
  ear.drop_sound();
  ear.is_deaf_ = true;
}

// Passes sound to the stream, and utterances one after the other. Returns true if the stream has work.
bool ListenerModel::feed(ListenerEar& ear) {
  while (!ear.is_deaf_) {
    if (ear.is_finished_ && !ear.stream_.busy()) ear.drop_stream();
    if (ear.is_finished_) return true;
    if (ear.coming_.empty()) break;
    ListenerEar::Utterance& first = ear.coming_.front();
    heed::Status status = heed::Status::Ok;
    if (!ear.stream_.valid()) status = recognizer_.begin(first.options, &ear.stream_);
    if (status != heed::Status::Ok) {
      lose(ear, "listening could not begin: " + why(status));
      break;
    }
    if (!ear.stream_.busy()) ear.fed_ = 0;
    if (ear.fed_ >= recognizer_.window_samples()) return true;  // it has enough for now
    status = ear.stream_.push(first.samples);
    if (status != heed::Status::Ok) {
      lose(ear, "sound could not be heard: " + why(status));
      break;
    }
    ear.fed_ += static_cast<int64_t>(first.samples.size());
    first.samples.clear();
    if (!first.is_ended) break;
    ear.stream_.finish();
    ear.is_finished_ = true;
    ear.coming_.pop_front();
  }
  return ear.stream_.busy();
}

// Begins steps, unless some are in progress.
void ListenerModel::hear(const Ear& ear) {
  if (ear->is_hearing_ || status_ != heed::Status::Ok || !feed(*ear)) return;
  ear->is_hearing_ = true;
  waiting_.push_back(ear);
  if (!must_wait()) go_on();
}

// Waiting listeners take turns.
void ListenerModel::go_on() {
  for (const Ear& ear : std::exchange(waiting_, {})) worker_.post([self = self(), ear] { self->step(ear); });
}

void ListenerModel::step(const Ear& ear) {
  if (must_wait()) return waiting_.push_back(ear);
  const ProcessorShare share;
  heed::SpeechPiece piece;
  const heed::Status status = ear->stream_.valid() ? ear->stream_.step(&piece) : heed::Status::Ok;
  pay(share);
  pass_on(*ear, status, piece);
  ear->is_hearing_ = false;
  hear(ear);
}

void ListenerModel::pass_on(ListenerEar& ear, heed::Status status, const heed::SpeechPiece& piece) {
  // The window is lost, and later sound is recognized, unless the device is lost, too.
  if (status != heed::Status::Ok) return lose(ear, "hearing broke off: " + why(status));
  const std::lock_guard lock(ear.mutex_);
  for (const heed::SpeechSegment& segment : piece.segments) {
    const std::string text = without_space(segment.text);
    if (!text.empty()) ear.news_.heard.push_back({text, ear.began_ + segment.begin, ear.began_ + segment.end});
    ear.news_.partial.reset();
  }
  if (piece.segments.empty() && !piece.partial.empty()) ear.news_.partial = without_space(piece.partial);
  ear.has_news_ = ear.news_.partial || !ear.news_.heard.empty() || !ear.news_.problem.empty();
}

// Runs the frame's part of a step on the GPU, and passes on the last step's text.
void ListenerModel::step_in_frame(double budget_ms) {
  if (waiting_.empty()) return;
  bool has_pieces = false;
  const heed::Status status =
      frames_->advance(recognizer_, budget_ms > 0 ? budget_ms : std::numeric_limits<double>::infinity(), &has_pieces);
  gpu_->note(status);
  if (status == heed::Status::Ok && !has_pieces) return;
  for (const Ear& ear : std::exchange(waiting_, {})) {
    heed::SpeechPiece piece;
    const bool has_stream = status == heed::Status::Ok && ear->stream_.valid();
    pass_on(*ear, has_stream ? ear->stream_.poll(&piece) : status, piece);
    ear->is_hearing_ = false;
    hear(ear);
  }
}
