// Conversations under a grammar: their plans, and the position of an answer in its grammar.
#pragma once

#include <string>

#include <heed/decoder_model.hpp>
#include <heed/text_generator.hpp>

#include "text/grammar/grammar_masker.hpp"

namespace heed {

// Plans shared by a model's conversations with grammars; compiled when the first one begins.
struct GuidedPlans {
  // The plans of TextGenerator::Shared with an additional input, "bias" [1, 1, vocabulary].
  Plan prefill, decode;
  std::shared_ptr<const TokenTrie> tokens;
  std::vector<std::weak_ptr<GrammarMasker>> maskers;
};

// The grammar of one conversation; does nothing if there is no grammar.
class TextGuide {
 public:
  // InvalidArgument: the grammar is invalid, or no token of the model can begin an answer. Other failures are those of compile().
  Status open(std::string_view grammar, TextGenerator::Shared* shared);
  bool is_on() const { return masker_ != nullptr; }

  void restart() {
    if (is_on()) place_ = masker_->start();
    said_.clear();
  }
  // All bytes since begin(), with which resume() restores the guide. InvalidFile: the grammar does not accept them.
  const std::string& said() const { return said_; }
  Status resume(std::string said, const Log& log);
  // Advances by a token. *end tells how the answer ends there; None if it does not.
  Status take(int32_t id, const TextGenerator::Shared& shared, TextEnd* end);
  // The bias for the step that draws the next token: 0 for allowed tokens, minus infinity for others. Valid until the next call.
  Status bias(const TextGenerator::Shared& shared, std::span<const float>* bias);

 private:
  Status find_masker(std::string_view grammar, TextGenerator::Shared* shared);

  std::shared_ptr<GrammarMasker> masker_;
  GrammarMasker::Place place_;
  std::string said_;
  std::vector<float> bias_;
};

}  // namespace heed
