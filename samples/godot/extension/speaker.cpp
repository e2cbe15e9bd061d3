#include "speaker.hpp"

#include <atomic>
#include <map>
#include <tuple>
#include <utility>

#include "device.hpp"

// A model that its own thread opens. `generator` and `status` are the thread's until `opened` is true.
struct SpeakerModel {
  heed::Device device;
  heed::TextGenerator generator;
  heed::Status status = heed::Status::NotReady;
  std::atomic<bool> opened = false;
  std::thread opener;

  ~SpeakerModel() {
    if (opener.joinable()) opener.join();
  }
};

namespace {

// Conversations of one generator must be called one after the other, so that all speakers live on one thread, and this
// table does, too.
std::shared_ptr<SpeakerModel> model_of(const heed::Device& device, const std::string& path) {
  static std::map<std::pair<const void*, std::string>, std::weak_ptr<SpeakerModel>> models;
  std::weak_ptr<SpeakerModel>& known = models[{device.impl().get(), path}];
  if (auto model = known.lock(); model && !(model->opened && model->status != heed::Status::Ok)) return model;
  auto model = std::make_shared<SpeakerModel>();
  model->device = device;
  model->opener = std::thread([raw = model.get(), path] {
    raw->status = heed::TextGenerator::open(raw->device, path, {.context = 1024, .log = godot::log()}, &raw->generator);
    raw->opened = true;
  });
  known = model;
  return model;
}

}  // namespace

bool HeedSpeaker::refuse_thread(const char* method) const {
  if (std::this_thread::get_id() == thread_) return false;
  godot::error(std::string("HeedSpeaker.") + method +
               ": called on a thread that did not make the node; use call_deferred()");
  return true;
}

int64_t HeedSpeaker::open(GDExtensionObjectPtr object, const std::string& path) {
  if (refuse_thread("open")) return godot::Unavailable;
  const HeedDevice* device = HeedDevice::of(object);
  if (device == nullptr || !device->device().valid()) {
    godot::error("HeedSpeaker.open: the device must be a HeedDevice whose open() returned OK");
    return godot::InvalidParameter;
  }
  conversation_ = {};
  asked_.reset();
  speaking_ = false;
  model_ = model_of(device->device(), path);
  return godot::Ok;
}

int64_t HeedSpeaker::set_persona(const std::string& text) {
  if (refuse_thread("set_persona")) return godot::Unavailable;
  if (speaking_) {
    godot::error("HeedSpeaker.set_persona: the character is speaking; wait for finished, or call cancel()");
    return godot::Busy;
  }
  persona_ = text;
  conversation_ = {};  // the next question begins anew, as somebody else
  return godot::Ok;
}

int64_t HeedSpeaker::say(const std::string& text) {
  if (refuse_thread("say")) return godot::Unavailable;
  if (!model_) {
    godot::error("HeedSpeaker.say: there is no model; call open() first");
    return godot::Unconfigured;
  }
  if (speaking_) {
    godot::error("HeedSpeaker.say: the character is speaking; wait for finished, or call cancel()");
    return godot::Busy;
  }
  asked_ = text;
  answer_.clear();
  speaking_ = true;
  return godot::Ok;
}

void HeedSpeaker::cancel() {
  if (refuse_thread("cancel") || !speaking_) return;
  asked_.reset();
  if (conversation_.valid() && conversation_.answering()) conversation_.cancel();
  speaking_ = false;
  const std::string texts[] = {answer_};
  std::ignore = emit("finished", texts);
}

void HeedSpeaker::fail(const std::string& why) {
  asked_.reset();
  speaking_ = false;
  godot::error("HeedSpeaker: " + why);
  const std::string texts[] = {why};
  std::ignore = emit("failed", texts);
}

// False: the answer cannot begin yet, or never.
bool HeedSpeaker::begin() {
  if (!model_->opened) return false;
  heed::Status status = model_->status;
  if (status != heed::Status::Ok) {
    fail(std::string("the model could not be opened: ") + heed::to_string(status));
    return false;
  }
  if (!conversation_.valid()) status = model_->generator.begin({.system = persona_, .most_tokens = 80}, &conversation_);
  if (status == heed::Status::Ok) status = conversation_.say(*asked_);
  if (status != heed::Status::Ok) {
    fail(std::string("the answer could not begin: ") + heed::to_string(status));
    return false;
  }
  asked_.reset();
  return true;
}

void HeedSpeaker::process() {
  if (!speaking_ || (asked_ && !begin())) return;
  heed::TextPiece piece;
  const heed::Status status = conversation_.poll(&piece);
  if (status != heed::Status::Ok) {
    fail(std::string("the answer broke off: ") + heed::to_string(status));
    return;
  }
  answer_ += piece.text;
  const bool over = piece.end != heed::TextEnd::None;
  if (over) speaking_ = false;
  const std::string text[] = {piece.text}, all[] = {answer_};
  if (!piece.text.empty() && !emit("token", text)) return;
  if (over) std::ignore = emit("finished", all);
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
        [](Instance& self, const Value*, Value* to) { to->text = static_cast<HeedSpeaker&>(self).answer(); }}},
      {{"token", {{"text", Kind::Text}}}, {"finished", {{"answer", Kind::Text}}}, {"failed", {{"why", Kind::Text}}}}};
  return result;
}
