// A file of questions and a character's answers, and the same as rows of tokens.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/heed.hpp>

namespace learn {

struct Line {
  std::string said, answer;
};

// Lines "> question", each followed by lines of the answer, as in the characters of talk. Returns false with a sentence in *error if it
// fails.
bool read_lines(const std::string& path, std::vector<Line>* lines, std::string* error);

// Tokenizes texts with the model's template.
class Speech {
 public:
  // The model's file must have a tokenizer and a chat template.
  heed::Status open(const heed::DecoderModel& model, const heed::Log& log);
  // The tokens before the answer.
  heed::Status prompt(const std::string& said, std::vector<int32_t>* ids) const;
  // All tokens of a line. The answer and its end begin at *answer.
  heed::Status whole(const Line& line, std::vector<int32_t>* ids, size_t* answer) const;
  bool ends(int32_t id) const { return id == eos_ || id == answer_end_; }
  std::string text_of(const std::vector<int32_t>& ids) const;

 private:
  heed::Status encode(std::vector<heed::ChatMessage> messages, bool prompts, std::vector<int32_t>* ids) const;

  heed::Bpe bpe_;
  heed::ChatTemplate chat_;
  heed::Log log_;
  int32_t eos_ = -1, answer_end_ = -1;
};

}  // namespace learn
