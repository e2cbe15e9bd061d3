#include "speaker.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <tuple>
#include <utility>

#include "device.hpp"

namespace {

std::atomic<int64_t> spent_ns = 0;

// Counts its lifetime as time that speakers took.
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

template <typename T>
void set_unless_negative(const char* name, T value, T* property) {
  if (value >= 0)
    *property = value;
  else
    godot::error(std::string("HeedSpeaker.") + name + ": must be 0 or more");
}

}  // namespace

int64_t HeedSpeaker::take_spent_usec() const { return spent_ns.exchange(0) / 1000; }

HeedSpeaker::~HeedSpeaker() {
  const Stopwatch stopwatch;
  forget();
  if (model_) SpeakerModel::leave(std::move(model_));
}

// Releases the conversation, and an answer in progress.
void HeedSpeaker::forget() {
  if (answer_) answer_->cancel();
  answer_.reset();
  look_.reset();
  if (file_loads_) file_.reset();
  if (talk_) model_->forget(std::move(talk_));
  talk_.reset();
}

bool HeedSpeaker::refuse_speaking(const char* method) const {
  if (!speaking()) return false;
  godot::error(std::string("HeedSpeaker.") + method +
               ": the character is speaking; wait for finished, or call cancel()");
  return true;
}

godot::Error HeedSpeaker::open(godot::Object object, const std::string& path) {
  const Stopwatch stopwatch;
  if (refuse_thread("HeedSpeaker.open")) return godot::Error::Unavailable;
  const HeedDevice* device = HeedDevice::opened(object, "HeedSpeaker.open");
  if (device == nullptr) return godot::Error::InvalidParameter;
  if (!device->can_serve_models("HeedSpeaker.open")) return godot::Error::Unavailable;
  forget();
  // Gets the new model before releasing the old one, so that a speaker that opens the same model again keeps it.
  auto before =
      std::exchange(model_, SpeakerModel::of(device->gpu(), device->cpu(), godot::system_path(path), context_tokens_));
  if (before) SpeakerModel::leave(std::move(before));
  return godot::Error::Ok;
}

// The next question begins a new conversation, as another character.
godot::Error HeedSpeaker::become(talk::Persona persona) {
  persona_ = std::move(persona);
  forget();
  return godot::Error::Ok;
}

godot::Error HeedSpeaker::set_persona(const std::string& text) {
  const Stopwatch stopwatch;
  if (refuse_thread("HeedSpeaker.set_persona")) return godot::Error::Unavailable;
  if (refuse_speaking("set_persona")) return godot::Error::Busy;
  talk::Persona persona;
  persona.system = text;
  return become(std::move(persona));
}

godot::Error HeedSpeaker::set_persona_file(const std::string& path) {
  const Stopwatch stopwatch;
  if (refuse_thread("HeedSpeaker.set_persona_file")) return godot::Error::Unavailable;
  if (refuse_speaking("set_persona_file")) return godot::Error::Busy;
  talk::Persona persona;
  std::string problem;
  if (talk::read_persona(godot::system_path(path), &persona, &problem)) return become(std::move(persona));
  godot::error("HeedSpeaker.set_persona_file: " + problem + godot::why_no_file(godot::system_path(path)));
  return godot::Error::FileCannotBeRead;
}

godot::Error HeedSpeaker::say(const std::string& text) {
  const Stopwatch stopwatch;
  if (refuse_thread("HeedSpeaker.say")) return godot::Error::Unavailable;
  if (!model_) {
    godot::error("HeedSpeaker.say: there is no model; call open() first");
    return godot::Error::Unconfigured;
  }
  if (file_ && file_loads_ ? refuse_file("say") : refuse_speaking("say")) return godot::Error::Busy;
  if (!talk_) talk_ = SpeakerModel::talk({persona_, answer_tokens_});
  text_.clear();
  answer_ = model_->say(talk_, text);
  return godot::Error::Ok;
}

void HeedSpeaker::cancel() {
  {
    const Stopwatch stopwatch;
    if (refuse_thread("HeedSpeaker.cancel") || !speaking()) return;
    model_->cancel(talk_, *answer_);
    answer_.reset();
  }
  std::ignore = emit("finished", {text_});
}

bool HeedSpeaker::refuse_file(const char* method) const {
  if (file_ == nullptr) return refuse_speaking(method);
  godot::error(std::string("HeedSpeaker.") + method + ": a file is being saved or loaded; wait for saved or loaded");
  return true;
}

godot::Error HeedSpeaker::save(const std::string& path) {
  const Stopwatch stopwatch;
  if (refuse_thread("HeedSpeaker.save")) return godot::Error::Unavailable;
  if (!model_) {
    godot::error("HeedSpeaker.save: there is no model; call open() first");
    return godot::Error::Unconfigured;
  }
  if (refuse_file("save")) return godot::Error::Busy;
  if (!talk_) talk_ = SpeakerModel::talk({persona_, answer_tokens_});
  file_ = model_->save(talk_, godot::system_path(path));
  file_path_ = path;
  file_loads_ = false;
  return godot::Error::Ok;
}

godot::Error HeedSpeaker::load(const std::string& path) {
  const Stopwatch stopwatch;
  if (refuse_thread("HeedSpeaker.load")) return godot::Error::Unavailable;
  if (!model_) {
    godot::error("HeedSpeaker.load: there is no model; call open() first");
    return godot::Error::Unconfigured;
  }
  if (refuse_file("load")) return godot::Error::Busy;
  if (!talk_) talk_ = SpeakerModel::talk({persona_, answer_tokens_});
  file_ = model_->load(talk_, godot::system_path(path));
  file_path_ = path;
  file_loads_ = true;
  return godot::Error::Ok;
}

void HeedSpeaker::set_context_tokens(int64_t tokens) {
  set_unless_negative("context_tokens", tokens, &context_tokens_);
}
void HeedSpeaker::set_answer_tokens(int64_t tokens) { set_unless_negative("answer_tokens", tokens, &answer_tokens_); }
void HeedSpeaker::set_budget_msec(double milliseconds) {
  set_unless_negative("budget_msec", milliseconds, &budget_msec_);
}

godot::Error HeedSpeaker::look(int64_t word) {
  const Stopwatch stopwatch;
  if (refuse_thread("HeedSpeaker.look")) return godot::Error::Unavailable;
  if (refuse_speaking("look")) return godot::Error::Busy;
  if (!talk_ || text_.empty() || word < 0) {
    godot::error("HeedSpeaker.look: there is no such word; ask after finished, with the word's number from 0 on");
    return godot::Error::InvalidParameter;
  }
  look_ = model_->look(talk_, word);
  return godot::Error::Ok;
}

// Returns false if a handler freed the node.
bool HeedSpeaker::tell_answer(const SpeakerAnswer::News& news) {
  const std::string all = news.is_over ? text_ : "";  // handlers may change it
  if (!news.problem.empty()) godot::error("HeedSpeaker: " + news.problem);
  if (!news.text.empty() && !emit("token", {news.text})) return false;
  if (!news.is_over) return true;
  return news.problem.empty() ? emit("finished", {all}) : emit("failed", {news.problem});
}

// Emits the signals of a file that was saved or loaded. Returns false if a handler freed the node.
bool HeedSpeaker::tell_file() {
  const auto news = file_->take();
  if (!news || !news->is_over) return true;
  file_.reset();
  if (!news->problem.empty()) {
    godot::error("HeedSpeaker: " + news->problem);
    return emit("failed", {news->problem});
  }
  if (file_loads_) text_ = news->text;
  return emit(file_loads_ ? "loaded" : "saved", {std::string(file_path_)});
}

void HeedSpeaker::tell_look() {
  const auto news = look_->take();
  if (!news || !news->is_over) return;
  look_.reset();
  if (news->look)
    std::ignore = emit("looked", {news->look->words, news->look->weights});
  else
    godot::error("HeedSpeaker.look: " + news->problem);
}

void HeedSpeaker::process() {
  std::optional<SpeakerAnswer::News> news;
  {
    const Stopwatch stopwatch;
    if (answer_) {
      model_->allow(godot::call_for<int64_t>(godot::singleton("Engine"), "get_process_frames"), budget_msec_);
      news = answer_->take();
    }
    if (news) {
      text_ += news->text;
      tokens_ += news->tokens;
      if (news->is_over) answer_.reset();
    }
  }
  if (news && !tell_answer(*news)) return;
  if (file_ && !tell_file()) return;
  if (look_) tell_look();
}

const godot::Class& HeedSpeaker::description() {
  using godot::Kind, godot::method;
  static const godot::Class result{
      "HeedSpeaker",
      "Node",
      godot::create<HeedSpeaker>,
      {method<&HeedSpeaker::open>("open", {{"device", Kind::Object, "HeedDevice"}, {"path"}}),
       method<&HeedSpeaker::set_persona>("set_persona", {{"text"}}),
       method<&HeedSpeaker::set_persona_file>("set_persona_file", {{"path"}}),
       method<&HeedSpeaker::say>("say", {{"text"}}), method<&HeedSpeaker::cancel>("cancel"),
       method<&HeedSpeaker::save>("save", {{"path"}}), method<&HeedSpeaker::load>("load", {{"path"}}),
       method<&HeedSpeaker::look>("look", {{"word"}}), method<&HeedSpeaker::tokens>("get_tokens"),
       method<&HeedSpeaker::speaking>("is_speaking"), method<&HeedSpeaker::answer>("get_answer"),
       method<&HeedSpeaker::take_spent_usec>("take_spent_usec")},
      {{"token", {{"text", Kind::Text}}},
       {"finished", {{"answer", Kind::Text}}},
       {"failed", {{"why", Kind::Text}}},
       {"saved", {{"path", Kind::Text}}},
       {"loaded", {{"path", Kind::Text}}},
       {"looked", {{"words", Kind::Texts}, {"weights", Kind::Floats}}}},
      {godot::property<&HeedSpeaker::set_budget_msec, &HeedSpeaker::budget_msec>("budget_msec", "set_budget_msec",
                                                                                 "get_budget_msec"),
       godot::property<&HeedSpeaker::set_context_tokens, &HeedSpeaker::context_tokens>(
           "context_tokens", "set_context_tokens", "get_context_tokens"),
       godot::property<&HeedSpeaker::set_answer_tokens, &HeedSpeaker::answer_tokens>(
           "answer_tokens", "set_answer_tokens", "get_answer_tokens")}};
  return result;
}
