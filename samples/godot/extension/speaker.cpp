#include "speaker.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include "device.hpp"

namespace {

std::atomic<int64_t> spent_ns = 0;

// Counts the time that it lives as time that speakers took.
class Stopwatch {
 public:
  Stopwatch() : from_(Clock::now()) {}
  ~Stopwatch() { spent_ns += std::chrono::nanoseconds(Clock::now() - from_).count(); }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point from_;
};

}  // namespace

int64_t HeedSpeaker::take_spent_usec() { return spent_ns.exchange(0) / 1000; }

HeedSpeaker::~HeedSpeaker() {
  const Stopwatch stopwatch;
  forget();
  if (model_) SpeakerModel::leave(std::move(model_));
}

// Lets go of the conversation, and of an answer that goes on.
void HeedSpeaker::forget() {
  if (answer_) answer_->cancel();
  answer_.reset();
  if (talk_) model_->forget(std::move(talk_));
  talk_.reset();
}

bool HeedSpeaker::refuse_thread(const char* method) const {
  if (std::this_thread::get_id() == thread_) return false;
  godot::error(std::string("HeedSpeaker.") + method +
               ": called on a thread that did not make the node; use call_deferred()");
  return true;
}

bool HeedSpeaker::refuse_speaking(const char* method) const {
  if (!speaking()) return false;
  godot::error(std::string("HeedSpeaker.") + method +
               ": the character is speaking; wait for finished, or call cancel()");
  return true;
}

int64_t HeedSpeaker::open(GDExtensionObjectPtr object, const std::string& path) {
  const Stopwatch stopwatch;
  if (refuse_thread("open")) return godot::Unavailable;
  const HeedDevice* device = HeedDevice::of(object);
  if (device == nullptr || !device->device().valid()) {
    godot::error("HeedSpeaker.open: the device must be a HeedDevice whose open() returned OK");
    return godot::InvalidParameter;
  }
  forget();
  // The new one is taken first, so that a speaker that opens its own model again keeps it.
  auto before = std::exchange(model_, SpeakerModel::of(device->device(), path, context_tokens_));
  if (before) SpeakerModel::leave(std::move(before));
  return godot::Ok;
}

// The next question begins anew, as somebody else.
int64_t HeedSpeaker::become(talk::Persona persona) {
  persona_ = std::move(persona);
  forget();
  return godot::Ok;
}

int64_t HeedSpeaker::set_persona(const std::string& text) {
  const Stopwatch stopwatch;
  if (refuse_thread("set_persona")) return godot::Unavailable;
  if (refuse_speaking("set_persona")) return godot::Busy;
  talk::Persona persona;
  persona.system = text;
  return become(std::move(persona));
}

int64_t HeedSpeaker::set_persona_file(const std::string& path) {
  const Stopwatch stopwatch;
  if (refuse_thread("set_persona_file")) return godot::Unavailable;
  if (refuse_speaking("set_persona_file")) return godot::Busy;
  talk::Persona persona;
  std::string problem;
  if (talk::read_persona(path, &persona, &problem)) return become(std::move(persona));
  godot::error("HeedSpeaker.set_persona_file: " + problem);
  return godot::FileCannotBeRead;
}

int64_t HeedSpeaker::say(const std::string& text) {
  const Stopwatch stopwatch;
  if (refuse_thread("say")) return godot::Unavailable;
  if (!model_) {
    godot::error("HeedSpeaker.say: there is no model; call open() first");
    return godot::Unconfigured;
  }
  if (refuse_speaking("say")) return godot::Busy;
  if (!talk_) talk_ = SpeakerModel::talk({persona_, answer_tokens_});
  text_.clear();
  answer_ = model_->say(talk_, text);
  return godot::Ok;
}

void HeedSpeaker::cancel() {
  {
    const Stopwatch stopwatch;
    if (refuse_thread("cancel") || !speaking()) return;
    model_->cancel(talk_, *answer_);
    answer_.reset();
  }
  const std::string texts[] = {text_};
  std::ignore = emit("finished", texts);
}

void HeedSpeaker::set_context_tokens(int64_t tokens) {
  if (tokens >= 0)
    context_tokens_ = tokens;
  else
    godot::error("HeedSpeaker.context_tokens: must be 0 or more");
}

void HeedSpeaker::set_answer_tokens(int64_t tokens) {
  if (tokens >= 0)
    answer_tokens_ = tokens;
  else
    godot::error("HeedSpeaker.answer_tokens: must be 0 or more");
}

void HeedSpeaker::process() {
  std::optional<SpeakerAnswer::News> news;
  {
    const Stopwatch stopwatch;
    if (answer_) news = answer_->take();
    if (!news) return;
    text_ += news->text;
    if (news->is_over) answer_.reset();
  }
  // A handler may free the node, and all that is said about it afterwards is this.
  const std::string all[] = {text_}, text[] = {news->text}, why[] = {news->problem};
  if (!news->problem.empty()) godot::error("HeedSpeaker: " + news->problem);
  if (!news->text.empty() && !emit("token", text)) return;
  if (!news->is_over) return;
  if (news->problem.empty())
    std::ignore = emit("finished", all);
  else
    std::ignore = emit("failed", why);
}

const godot::Class& HeedSpeaker::description() {
  using godot::Kind, godot::Value, godot::Instance;
  static const godot::Class result{
      "HeedSpeaker",
      "Node",
      [](GDExtensionObjectPtr object) -> Instance* { return new HeedSpeaker(object); },
      {{"open",
        {{"device", Kind::Object, "HeedDevice"}, {"path", Kind::Text}},
        Kind::Int,
        [](Instance& self, const Value* with, Value* to) {
          to->integer = static_cast<HeedSpeaker&>(self).open(with[0].object, with[1].text);
        }},
       {"set_persona",
        {{"text", Kind::Text}},
        Kind::Int,
        [](Instance& self, const Value* with, Value* to) {
          to->integer = static_cast<HeedSpeaker&>(self).set_persona(with[0].text);
        }},
       {"set_persona_file",
        {{"path", Kind::Text}},
        Kind::Int,
        [](Instance& self, const Value* with, Value* to) {
          to->integer = static_cast<HeedSpeaker&>(self).set_persona_file(with[0].text);
        }},
       {"say",
        {{"text", Kind::Text}},
        Kind::Int,
        [](Instance& self, const Value* with, Value* to) {
          to->integer = static_cast<HeedSpeaker&>(self).say(with[0].text);
        }},
       {"cancel",
        {},
        Kind::None,
        [](Instance& self, const Value*, Value*) { static_cast<HeedSpeaker&>(self).cancel(); }},
       {"is_speaking",
        {},
        Kind::Bool,
        [](Instance& self, const Value*, Value* to) { to->integer = static_cast<HeedSpeaker&>(self).speaking(); }},
       {"get_answer",
        {},
        Kind::Text,
        [](Instance& self, const Value*, Value* to) { to->text = static_cast<HeedSpeaker&>(self).answer(); }},
       {"set_context_tokens",
        {{"tokens", Kind::Int}},
        Kind::None,
        [](Instance& self, const Value* with, Value*) {
          static_cast<HeedSpeaker&>(self).set_context_tokens(with[0].integer);
        }},
       {"get_context_tokens",
        {},
        Kind::Int,
        [](Instance& self, const Value*, Value* to) {
          to->integer = static_cast<HeedSpeaker&>(self).context_tokens();
        }},
       {"set_answer_tokens",
        {{"tokens", Kind::Int}},
        Kind::None,
        [](Instance& self, const Value* with, Value*) {
          static_cast<HeedSpeaker&>(self).set_answer_tokens(with[0].integer);
        }},
       {"get_answer_tokens",
        {},
        Kind::Int,
        [](Instance& self, const Value*, Value* to) { to->integer = static_cast<HeedSpeaker&>(self).answer_tokens(); }},
       {"take_spent_usec",
        {},
        Kind::Int,
        [](Instance&, const Value*, Value* to) { to->integer = HeedSpeaker::take_spent_usec(); }}},
      {{"token", {{"text", Kind::Text}}}, {"finished", {{"answer", Kind::Text}}}, {"failed", {{"why", Kind::Text}}}},
      {{"context_tokens", Kind::Int, "set_context_tokens", "get_context_tokens"},
       {"answer_tokens", Kind::Int, "set_answer_tokens", "get_answer_tokens"}}};
  return result;
}
