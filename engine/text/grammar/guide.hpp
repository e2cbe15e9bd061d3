// Conversations under a grammar: their plans, and where an answer is in its grammar.
#pragma once

#include <string>

#include <heed/decoder_model.hpp>
#include <heed/text_generator.hpp>

#include "text/grammar/grammar_masker.hpp"

namespace heed {

// What a model's conversations under grammars share; made when the first of them begins.
struct GuidedPlans {
  // Those of TextGenerator::Shared with one more input, "bias" [1, 1, vocabulary].
  Plan reader, speaker;
  std::shared_ptr<const TokenTrie> tokens;
  std::vector<std::weak_ptr<GrammarMasker>> maskers;
};

// Of one conversation; without a grammar it does nothing.
class TextGuide {
 public:
  // InvalidArgument: the grammar is none, or no token of the model can begin an answer. Else what compile() gives.
  Status open(std::string_view grammar, TextGenerator::Shared* shared);
  bool is_on() const { return masker_ != nullptr; }

  void restart() {
    if (is_on()) place_ = masker_->start();
    said_.clear();
  }
  // All bytes that it moved behind since then, and a way back to there. InvalidFile: the grammar does not go on behind them.
  const std::string& said() const { return said_; }
  Status resume(std::string said, const Log& log);
  // Moves behind a token, and says if the answer ends there: None if not.
  Status take(int32_t id, const TextGenerator::Shared& shared, TextEnd* end);
  // For the step that draws the next token: 0 where it may come, else minus infinity. It is valid until the next call.
  Status bias(const TextGenerator::Shared& shared, std::span<const float>* bias);

 private:
  Status find_masker(std::string_view grammar, TextGenerator::Shared* shared);

  std::shared_ptr<GrammarMasker> masker_;
  GrammarMasker::Place place_;
  std::string said_;
  std::vector<float> bias_;
};

}  // namespace heed
