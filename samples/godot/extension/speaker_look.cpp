#include "speaker_look.hpp"

#include <algorithm>
#include <string_view>

namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

// The index of the token with which this word of the answer begins; the answer's size if it has no such word.
size_t begin_of(const heed::Bpe& bpe, std::span<const int32_t> answer, int64_t word) {
  int64_t at = -1;
  bool behind_space = true;
  for (size_t i = 0; i < answer.size(); ++i)
    for (const char c : bpe.bytes(answer[i])) {
      if (!is_space(c) && behind_space && ++at == word) return i;
      behind_space = is_space(c);
    }
  return answer.size();
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

heed::Status look_at(heed::TextGenerator& model, std::span<const int32_t> ids, std::span<const int32_t> drawn,
                     int64_t word, std::vector<std::string>* words, std::vector<float>* weights) {
  const heed::Bpe& bpe = model.tokenizer();
  // The token that ended the answer may not be part of the conversation.
  auto found = std::find_end(ids.begin(), ids.end(), drawn.begin(), drawn.end());
  if (found == ids.end() && !drawn.empty()) {
    drawn = drawn.first(drawn.size() - 1);
    found = std::find_end(ids.begin(), ids.end(), drawn.begin(), drawn.end());
  }
  const size_t in_answer = begin_of(bpe, drawn, word);
  if (drawn.empty() || found == ids.end() || in_answer == drawn.size()) return heed::Status::InvalidArgument;
  const auto seen = ids.first(static_cast<size_t>(found - ids.begin()) + in_answer);
  heed::TokenAttention attention;
  const heed::Status status = model.attention(seen, &attention);
  if (status != heed::Status::Ok) return status;
  std::vector<float> of_token(seen.size());
  for (size_t i = 0; i < attention.weights.size(); ++i) of_token[i % seen.size()] += attention.weights[i];
  bool begins = true, is_role = false;  // the role name follows a token that separates messages, up to the line's end
  for (size_t i = 0; i < seen.size(); ++i) {
    const std::string_view bytes = bpe.bytes(seen[i]);
    if (bytes.empty() || is_role) {
      is_role = bytes.find('\n') == std::string_view::npos;
      begins = true;
      continue;
    }
    if (begins || is_space(bytes.front()) || is_space(words->back().back())) {
      words->emplace_back();
      weights->push_back(0);
    }
    begins = false;
    words->back() += bytes;
    weights->back() += of_token[i];
  }
  for (std::string& text : *words) text = trimmed(text);
  const float most = weights->empty() ? 0 : *std::max_element(weights->begin(), weights->end());
  if (most > 0)
    for (float& weight : *weights) weight /= most;
  return heed::Status::Ok;
}
