#include "speaker_model.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "godot.hpp"
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

void SpeakerAnswer::finish(std::string text) {
  const std::lock_guard lock(mutex_);
  news_.text = std::move(text);
  news_.is_over = true;
}

void SpeakerAnswer::fail(std::string problem) {
  const std::lock_guard lock(mutex_);
  news_.problem = std::move(problem);
  news_.is_over = true;
}

SpeakerModel::SpeakerModel(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, std::string path, int64_t context)
    : SharedModel(std::move(gpu), cpu, std::move(path)), context_(context) {
  if (gpu_) frames_ = std::make_unique<StepFrames<heed::TextGenerator>>(gpu_);
}

std::shared_ptr<SpeakerModel> SpeakerModel::of(std::shared_ptr<Gpu> gpu, const heed::Device& cpu,
                                               const std::string& path, int64_t context) {
  return find<SpeakerModel>(std::move(gpu), cpu, path, context);
}

heed::Status SpeakerModel::open_model() {
  return heed::TextGenerator::open(device_, path_, {.context = context_, .log = godot::log()}, &generator_);
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
  worker_.post([self = self(), talk, answer, text = std::move(text)] {
    if (answer->is_cancelled()) return;
    if (self->status_ != heed::Status::Ok) return answer->fail(self->why_not_open());
    heed::Status status = talk->conversation.valid() ? heed::Status::Ok : self->begin(*talk);
    if (status == heed::Status::Ok) status = talk->conversation.say(text);
    talk->drawn.clear();
    if (status != heed::Status::Ok) return answer->fail("the answer could not begin: " + self->why(status));
    self->step(talk, answer);
  });
  return answer;
}

void SpeakerModel::post_step(const std::shared_ptr<SpeakerTalk>& talk, const std::shared_ptr<SpeakerAnswer>& answer) {
  worker_.post([self = self(), talk, answer] { self->step(talk, answer); });
}

// Runs one step, and then the next. Conversations take turns.
void SpeakerModel::step(const std::shared_ptr<SpeakerTalk>& talk, const std::shared_ptr<SpeakerAnswer>& answer) {
  if (answer->is_cancelled()) return;
  if (must_wait()) return waiting_.push_back({talk, answer});
  const ProcessorShare share;
  heed::TextPiece piece;
  const heed::Status status = talk->conversation.step(&piece);
  pay(share);
  if (!pass_on({talk, answer}, status, piece)) post_step(talk, answer);
}

// Passes on the text of a step. Returns true if the answer is over.
bool SpeakerModel::pass_on(const Waiting& to, heed::Status status, const heed::TextPiece& piece) const {
  if (status != heed::Status::Ok) {
    to.answer->fail("the answer broke off: " + why(status));
    return true;
  }
  if (piece.token >= 0) to.talk->drawn.push_back(piece.token);
  to.answer->add(piece);
  return piece.end != heed::TextEnd::None;
}

// Runs the frame's part of a step on the GPU, and passes on the last step's text.
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

void SpeakerModel::go_on() {
  for (const Waiting& one : std::exchange(waiting_, {})) post_step(one.talk, one.answer);
}

std::shared_ptr<SpeakerAnswer> SpeakerModel::look(const std::shared_ptr<SpeakerTalk>& talk, int64_t word) {
  auto answer = std::make_shared<SpeakerAnswer>();
  worker_.post([self = self(), talk, answer, word] {
    SpeakerAnswer::Look seen;
    const heed::Status status =
        look_at(self->generator_, talk->conversation.ids(), talk->drawn, word, &seen.words, &seen.weights);
    if (status == heed::Status::Ok) return answer->add(std::move(seen));
    answer->fail(std::string("what the character looked at is not known: ") + heed::to_string(status));
  });
  return answer;
}

std::shared_ptr<SpeakerAnswer> SpeakerModel::save(const std::shared_ptr<SpeakerTalk>& talk, std::string path) {
  auto answer = std::make_shared<SpeakerAnswer>();
  worker_.post([self = self(), talk, answer, path = std::move(path)] {
    if (self->status_ != heed::Status::Ok) return answer->fail(self->why_not_open());
    heed::Status status = talk->conversation.valid() ? heed::Status::Ok : self->begin(*talk);
    if (status == heed::Status::Ok) status = talk->conversation.save(path);
    if (status == heed::Status::Ok) return answer->finish({});
    answer->fail("the conversation could not be saved: " + self->why(status));
  });
  return answer;
}

std::shared_ptr<SpeakerAnswer> SpeakerModel::load(const std::shared_ptr<SpeakerTalk>& talk, std::string path) {
  auto answer = std::make_shared<SpeakerAnswer>();
  worker_.post([self = self(), talk, answer, path = std::move(path)] {
    if (self->status_ != heed::Status::Ok) return answer->fail(self->why_not_open());
    const heed::Status status = heed::TextConversation::load(self->generator_, path, &talk->conversation);
    if (status != heed::Status::Ok) return answer->fail("the conversation could not be loaded: " + self->why(status));
    talk->conversation.cancel();  // another program may have saved it in the middle of an answer
    answer->finish(talk->conversation.answer());
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
