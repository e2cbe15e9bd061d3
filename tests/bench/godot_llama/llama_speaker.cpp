#include "llama_speaker.hpp"

#include <chrono>
#include <cstdlib>
#include <tuple>
#include <utility>

namespace {

int64_t spent_ns = 0;  // on the main thread, where all of this runs

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

int32_t setting(const char* name, int32_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atoi(text) : otherwise;
}

// All speakers share one model, which lives while any of them uses it.
std::shared_ptr<LlamaModel> shared_model(const std::string& path) {
  static std::weak_ptr<LlamaModel> last;
  std::shared_ptr<LlamaModel> model = last.lock();
  if (!model) {
    model = std::make_shared<LlamaModel>(
        path, LlamaSettings{setting("LLAMA_SPEAKER_THREADS", 2), setting("LLAMA_SPEAKER_GPU_LAYERS", 0)});
    last = model;
  }
  return model;
}

}  // namespace

int64_t LlamaSpeaker::take_spent_usec() const { return std::exchange(spent_ns, 0) / 1000; }

LlamaSpeaker::~LlamaSpeaker() {
  if (talk_) model_->cancel(*talk_);
}

godot::Error LlamaSpeaker::open(godot::Object, const std::string& path) {
  const Stopwatch stopwatch;
  model_ = shared_model(path);
  return godot::Error::Ok;
}

godot::Error LlamaSpeaker::set_persona(const std::string& text) {
  persona_ = {};
  persona_.system = text;
  talk_.reset();
  return godot::Error::Ok;
}

godot::Error LlamaSpeaker::set_persona_file(const std::string& path) {
  std::string problem;
  talk_.reset();
  if (talk::read_persona(path, &persona_, &problem)) return godot::Error::Ok;
  godot::error("LlamaSpeaker.set_persona_file: " + problem);
  return godot::Error::FileCannotBeRead;
}

godot::Error LlamaSpeaker::say(const std::string& text) {
  const Stopwatch stopwatch;
  if (!model_) return godot::Error::Unconfigured;
  if (is_speaking_) return godot::Error::Busy;
  if (!talk_)
    talk_ = std::make_shared<LlamaTalk>(persona_.system, static_cast<int32_t>(context_tokens_),
                                        static_cast<int32_t>(answer_tokens_));
  text_.clear();
  is_speaking_ = true;
  model_->say(talk_, text);
  return godot::Error::Ok;
}

void LlamaSpeaker::cancel() {
  if (!is_speaking_) return;
  model_->cancel(*talk_);
  talk_.reset();
  is_speaking_ = false;
  std::ignore = emit("finished", {text_});
}

void LlamaSpeaker::process() {
  LlamaNews news;
  {
    const Stopwatch stopwatch;
    if (!is_speaking_) return;
    news = talk_->take();
    text_ += news.text;
    tokens_ += news.tokens;
    if (news.is_over) is_speaking_ = false;
  }
  const std::string all = text_;  // a handler may free the node
  if (!news.text.empty() && !emit("token", {news.text})) return;
  if (!news.is_over) return;
  if (news.problem.empty()) {
    std::ignore = emit("finished", {all});
  } else {
    godot::error("LlamaSpeaker: " + news.problem);
    std::ignore = emit("failed", {news.problem});
  }
}

const godot::Class& LlamaSpeaker::description() {
  using godot::Kind, godot::method;
  static const godot::Class result{
      "LlamaSpeaker",
      "Node",
      godot::create<LlamaSpeaker>,
      {method<&LlamaSpeaker::open>("open", {{"device", Kind::Object, "Object"}, {"path"}}),
       method<&LlamaSpeaker::set_persona>("set_persona", {{"text"}}),
       method<&LlamaSpeaker::set_persona_file>("set_persona_file", {{"path"}}),
       method<&LlamaSpeaker::say>("say", {{"text"}}), method<&LlamaSpeaker::cancel>("cancel"),
       method<&LlamaSpeaker::speaking>("is_speaking"), method<&LlamaSpeaker::answer>("get_answer"),
       method<&LlamaSpeaker::take_spent_usec>("take_spent_usec"), method<&LlamaSpeaker::tokens>("get_tokens"),
       method<&LlamaSpeaker::look>("look", {{"word"}})},
      {{"token", {{"text", Kind::Text}}},
       {"finished", {{"answer", Kind::Text}}},
       {"failed", {{"why", Kind::Text}}},
       {"looked", {{"words", Kind::Texts}, {"weights", Kind::Floats}}}},
      {godot::property<&LlamaSpeaker::set_budget_msec, &LlamaSpeaker::budget_msec>("budget_msec", "set_budget_msec",
                                                                                   "get_budget_msec"),
       godot::property<&LlamaSpeaker::set_context_tokens, &LlamaSpeaker::context_tokens>(
           "context_tokens", "set_context_tokens", "get_context_tokens"),
       godot::property<&LlamaSpeaker::set_answer_tokens, &LlamaSpeaker::answer_tokens>(
           "answer_tokens", "set_answer_tokens", "get_answer_tokens")}};
  return result;
}
