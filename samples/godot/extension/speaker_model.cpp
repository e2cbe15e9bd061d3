#include "speaker_model.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "godot.hpp"
#include "processor.hpp"
#include "speaker_look.hpp"

struct SpeakerTalk {
  SpeakerModel::Character character;
  heed::TextConversation conversation;
  std::vector<int32_t> drawn;  // the tokens of the last answer
};

std::optional<SpeakerAnswer::News> SpeakerAnswer::take() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return {};
  return std::exchange(news_, {});
}

void SpeakerAnswer::add(const heed::TextPiece& piece) {
  const std::lock_guard lock(mutex_);
  news_.text += piece.text;
  news_.tokens += piece.token >= 0 ? 1 : 0;
  news_.is_over = piece.end != heed::TextEnd::None;
}

void SpeakerAnswer::add(Look look) {
  const std::lock_guard lock(mutex_);
  news_.look = std::move(look);
  news_.is_over = true;
}

void SpeakerAnswer::fail(std::string problem) {
  const std::lock_guard lock(mutex_);
  news_.problem = std::move(problem);
  news_.is_over = true;
}

SpeakerModel::SpeakerModel(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, std::string path, int64_t context)
    : path_(std::move(path)), context_(context), gpu_(std::move(gpu)), device_(gpu_ ? gpu_->background() : cpu) {
  if (gpu_) frames_ = std::make_unique<SpeakerFrames>(gpu_);
}

SpeakerModel::~SpeakerModel() {
  if (gpu_) (void)gpu_->is_alive();
}

std::shared_ptr<SpeakerModel> SpeakerModel::of(std::shared_ptr<Gpu> gpu, const heed::Device& cpu,
                                               const std::string& path, int64_t context) {
  static std::mutex mutex;
  static std::map<std::tuple<const void*, std::string, int64_t>, std::weak_ptr<SpeakerModel>> models;
  const void* device = gpu ? static_cast<const void*>(gpu.get()) : cpu.impl().get();
  const std::lock_guard lock(mutex);
  std::erase_if(models, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<SpeakerModel>& known = models[{device, path, context}];
  std::shared_ptr<SpeakerModel> model = known.lock();
  if (model) ++model->speakers_;
  if (model && !model->is_failed_) return model;
  if (model) --model->speakers_;
  model = std::make_shared<SpeakerModel>(std::move(gpu), cpu, path, context);
  ++model->speakers_;
  known = model;
  model->worker_.post([model] { model->open(); });
  return model;
}

std::string SpeakerModel::why(heed::Status status) const {
  if (gpu_) gpu_->note(status);
  return gpu_ && !gpu_->is_alive() ? gpu_->problem() : heed::to_string(status);
}

void SpeakerModel::open() {
  // All speakers were freed before their model's turn came. One that comes now gets another model.
  if (speakers_ == 0) {
    is_failed_ = true;
    if (speakers_ == 0) return;
  }
  status_ = heed::TextGenerator::open(device_, path_, {.context = context_, .log = godot::log()}, &generator_);
  is_failed_ = status_ != heed::Status::Ok;
}

std::shared_ptr<SpeakerTalk> SpeakerModel::talk(Character character) {
  auto talk = std::make_shared<SpeakerTalk>();
  talk->character = std::move(character);
  return talk;
}

heed::Status SpeakerModel::begin(SpeakerTalk& talk) const {
  const auto& [persona, answer_tokens] = talk.character;
  heed::TextConversation fresh;
  heed::Status status = generator_.begin({.system = persona.system, .most_tokens = answer_tokens}, &fresh);
  for (const auto& [said, answered] : persona.examples) {
    if (status == heed::Status::Ok) status = fresh.add("user", said);
    if (status == heed::Status::Ok) status = fresh.add("assistant", answered);
  }
  if (status == heed::Status::Ok) talk.conversation = std::move(fresh);
  return status;
}

std::shared_ptr<SpeakerAnswer> SpeakerModel::say(const std::shared_ptr<SpeakerTalk>& talk, std::string text) {
  auto answer = std::make_shared<SpeakerAnswer>();
  worker_.post([self = shared_from_this(), talk, answer, text = std::move(text)] {
    if (answer->is_cancelled()) return;
    if (self->status_ != heed::Status::Ok)
      return answer->fail("the model could not be opened: " + self->why(self->status_) +
                          godot::why_no_file(self->path_));
    heed::Status status = talk->conversation.valid() ? heed::Status::Ok : self->begin(*talk);
    if (status == heed::Status::Ok) status = talk->conversation.say(text);
    talk->drawn.clear();
    if (status != heed::Status::Ok) return answer->fail("the answer could not begin: " + self->why(status));
    self->step(talk, answer);
  });
  return answer;
}

void SpeakerModel::post_step(const std::shared_ptr<SpeakerTalk>& talk, const std::shared_ptr<SpeakerAnswer>& answer) {
  worker_.post([self = shared_from_this(), talk, answer] { self->step(talk, answer); });
}

// One step, and then the next, behind those of other conversations: they take turns.
void SpeakerModel::step(const std::shared_ptr<SpeakerTalk>& talk, const std::shared_ptr<SpeakerAnswer>& answer) {
  if (answer->is_cancelled()) return;
  if (frames_ || (is_limited_ && allowed_ms_ <= 0)) return waiting_.push_back({talk, answer});
  const ProcessorShare share;
  heed::TextPiece piece;
  const heed::Status status = talk->conversation.step(&piece);
  allowed_ms_ -= share.took_ms();
  if (!pass_on({talk, answer}, status, piece)) post_step(talk, answer);
}

// Passes on what a step gave. True: the answer is over.
bool SpeakerModel::pass_on(const Waiting& to, heed::Status status, const heed::TextPiece& piece) const {
  if (status != heed::Status::Ok) {
    to.answer->fail("the answer broke off: " + why(status));
    return true;
  }
  if (piece.token >= 0) to.talk->drawn.push_back(piece.token);
  to.answer->add(piece);
  return piece.end != heed::TextEnd::None;
}

// Makes the frame's part of a step on the GPU, and passes on what the last step gave.
void SpeakerModel::step_in_frame(double budget_ms) {
  std::erase_if(waiting_, [](const Waiting& one) { return one.answer->is_cancelled(); });
  if (waiting_.empty()) return;
  bool has_pieces = false;
  const heed::Status status =
      frames_->advance(generator_, budget_ms > 0 ? budget_ms : std::numeric_limits<double>::infinity(), &has_pieces);
  gpu_->note(status);
  if (status != heed::Status::Ok) {
    for (const Waiting& one : std::exchange(waiting_, {})) (void)pass_on(one, status, {});
    return;
  }
  if (!has_pieces) return;
  std::erase_if(waiting_, [&](const Waiting& one) {
    heed::TextPiece piece;
    const heed::Status polled = one.talk->conversation.poll(&piece);
    return pass_on(one, polled, piece);
  });
}

// Debts stay for the frames that follow, but what nobody used does not, and steps without a limit leave no debts.
void SpeakerModel::allow_time(double budget_ms) {
  is_limited_ = budget_ms > 0;
  allowed_ms_ = is_limited_ ? std::min(allowed_ms_, 0.0) + budget_ms : 0;
  if (is_limited_ && allowed_ms_ <= 0) return;
  for (const Waiting& one : std::exchange(waiting_, {})) post_step(one.talk, one.answer);
}

void SpeakerModel::allow(int64_t frame, double budget_ms) {
  if (frame_.exchange(frame) == frame) return;  // another speaker's call
  worker_.post([self = shared_from_this(), budget_ms] {
    self->frames_ ? self->step_in_frame(budget_ms) : self->allow_time(budget_ms);
  });
}

std::shared_ptr<SpeakerAnswer> SpeakerModel::look(const std::shared_ptr<SpeakerTalk>& talk, int64_t word) {
  auto answer = std::make_shared<SpeakerAnswer>();
  worker_.post([self = shared_from_this(), talk, answer, word] {
    SpeakerAnswer::Look seen;
    const heed::Status status =
        look_at(self->generator_, talk->conversation.ids(), talk->drawn, word, &seen.words, &seen.weights);
    if (status == heed::Status::Ok) return answer->add(std::move(seen));
    answer->fail(std::string("what the character looked at is not known: ") + heed::to_string(status));
  });
  return answer;
}

void SpeakerModel::cancel(const std::shared_ptr<SpeakerTalk>& talk, SpeakerAnswer& answer) {
  answer.cancel();
  worker_.post([talk] { talk->conversation.cancel(); });
}

void SpeakerModel::forget(std::shared_ptr<SpeakerTalk> talk) {
  worker_.post([talk = std::move(talk)] { std::ignore = talk; });
}

// The last that holds the model is then its worker, on whose thread it is destroyed.
void SpeakerModel::leave(std::shared_ptr<SpeakerModel> model) {
  --model->speakers_;
  Worker& worker = model->worker_;
  worker.post([model = std::move(model)] { std::ignore = model; });
}
