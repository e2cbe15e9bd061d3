// LlamaSpeaker: a node with the methods and signals of HeedSpeaker that speaks by llama.cpp, so that the demo can measure both.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "godot.hpp"
#include "llama_talk.hpp"
#include "persona.hpp"

class LlamaSpeaker final : public godot::Instance {
 public:
  static const godot::Class& description();

  explicit LlamaSpeaker(godot::Object object) : Instance(object) {}
  ~LlamaSpeaker() override;

  godot::Error open(godot::Object device, const std::string& path);  // `device` is not used
  godot::Error set_persona(const std::string& text);
  godot::Error set_persona_file(const std::string& path);
  godot::Error say(const std::string& text);
  void cancel();
  bool speaking() const { return is_speaking_; }
  const std::string& answer() const { return text_; }
  int64_t context_tokens() const { return context_tokens_; }
  void set_context_tokens(int64_t tokens) { context_tokens_ = tokens; }
  int64_t answer_tokens() const { return answer_tokens_; }
  void set_answer_tokens(int64_t tokens) { answer_tokens_ = tokens; }
  int64_t take_spent_usec() const;
  int64_t tokens() const { return tokens_; }
  godot::Error look(int64_t) { return godot::Error::Unavailable; }
  double budget_msec() const { return budget_msec_; }
  void set_budget_msec(double msec) { budget_msec_ = msec; }  // ignored, since llama.cpp's thread cannot keep a budget

  void ready() override { set_process(true); }
  void process() override;

 private:
  std::shared_ptr<LlamaModel> model_;
  std::shared_ptr<LlamaTalk> talk_;  // null: the next question creates one
  talk::Persona persona_;
  std::string text_;
  int64_t context_tokens_ = 1024, answer_tokens_ = 80, tokens_ = 0;
  double budget_msec_ = 0;
  bool is_speaking_ = false;
};
