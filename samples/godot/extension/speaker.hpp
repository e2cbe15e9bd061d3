// HeedSpeaker: a node that speaks for one character by a language model. A thread opens the model, heed's pool computes the
// steps, and each frame asks whether a step is over. Speakers with the same model share its weights.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <thread>

#include <heed/text_generator.hpp>

#include "godot.hpp"

struct SpeakerModel;

class HeedSpeaker final : public godot::Instance {
 public:
  static const godot::Class& description();

  explicit HeedSpeaker(GDExtensionObjectPtr object) : Instance(object), thread_(std::this_thread::get_id()) {}

  int64_t open(GDExtensionObjectPtr device, const std::string& path);
  int64_t set_persona(const std::string& text);
  int64_t say(const std::string& text);
  void cancel();
  bool speaking() const { return speaking_; }
  const std::string& answer() const { return answer_; }

  void ready() override { set_process(true); }
  void process() override;

 private:
  bool refuse_thread(const char* method) const;
  bool begin();
  void fail(const std::string& why);

  std::thread::id thread_;  // the one that made the node; all of its calls belong there
  std::shared_ptr<SpeakerModel> model_;
  heed::TextConversation conversation_;
  std::string persona_, answer_;
  std::optional<std::string> asked_;  // what the conversation has not been told yet
  bool speaking_ = false;
};
