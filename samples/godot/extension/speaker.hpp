// HeedSpeaker: a node that speaks for one character by a language model. Each frame reads the text that the model's worker has generated
// since the last one. Speakers with the same model share its weights.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "godot.hpp"
#include "speaker_model.hpp"

class HeedSpeaker final : public godot::Node {
 public:
  static const godot::Class& description();

  using Node::Node;
  ~HeedSpeaker() override;

  godot::Error open(godot::Object device, const std::string& path);
  godot::Error set_persona(const std::string& text);
  godot::Error set_persona_file(const std::string& path);
  godot::Error say(const std::string& text);
  void cancel();
  godot::Error save(const std::string& path);
  godot::Error load(const std::string& path);
  godot::Error look(int64_t word);
  bool speaking() const { return answer_ != nullptr; }
  const std::string& answer() const { return text_; }

  int64_t context_tokens() const { return context_tokens_; }
  void set_context_tokens(int64_t tokens);
  int64_t answer_tokens() const { return answer_tokens_; }
  void set_answer_tokens(int64_t tokens);

  double budget_msec() const { return budget_msec_; }
  void set_budget_msec(double milliseconds);
  // The number of tokens in all answers so far.
  int64_t tokens() const { return tokens_; }

  // Microseconds that the calls and frames of all speakers have taken since the last call, without their signals' handlers.
  int64_t take_spent_usec() const;

  void process() override;

 private:
  bool refuse_speaking(const char* method) const;
  bool refuse_file(const char* method) const;
  godot::Error become(talk::Persona persona);
  void forget();
  [[nodiscard]] bool tell_answer(const SpeakerAnswer::News& news);
  [[nodiscard]] bool tell_file();
  void tell_look();

  std::shared_ptr<SpeakerModel> model_;
  std::shared_ptr<SpeakerTalk> talk_;      // null: the next question begins one
  std::shared_ptr<SpeakerAnswer> answer_;  // null: the character is silent
  std::shared_ptr<SpeakerAnswer> look_;    // null: nobody asked
  std::shared_ptr<SpeakerAnswer> file_;    // null: none is being saved or loaded
  std::string file_path_;
  bool file_loads_ = false;
  talk::Persona persona_;
  std::string text_;  // text of the present or last answer
  int64_t context_tokens_ = 1024, answer_tokens_ = 80, tokens_ = 0;
  double budget_msec_ = 0;
};
