#include "speech/words.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace heed::speech {

namespace {

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_ascii_punctuation(std::string_view text) {
  return text.size() == 1 && static_cast<unsigned char>(text[0]) > 32 && static_cast<unsigned char>(text[0]) < 127 &&
         std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~").find(text[0]) != std::string_view::npos;
}

// Punctuation that is joined to the next word if a space is before it, and punctuation that is joined to the previous word if no space is
// before it.
constexpr std::string_view kOpens[] = {"\"", "'", "“", "¿", "(", "[", "{", "-"};
constexpr std::string_view kCloses[] = {"\"", "'", ".",  "。", ",", "，", "!", "！", "?",
                                        "？", ":", "：", "”",  ")", "]",  "}", "、"};

bool opens(const WordSpan& word) {
  return word.text.starts_with(' ') &&
         std::find(std::begin(kOpens), std::end(kOpens), without_spaces(word.text)) != std::end(kOpens);
}
bool closes(const WordSpan& word) {
  return std::find(std::begin(kCloses), std::end(kCloses), word.text) != std::end(kCloses);
}

}  // namespace

std::vector<WordSpan> words_of(std::span<const int32_t> ids, const std::function<std::string_view(int32_t)>& bytes,
                               bool has_spaces) {
  std::vector<WordSpan> parts;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view text = bytes(ids[i]);
    const bool begins =
        parts.empty() || (whole_characters(parts.back().text) == parts.back().text.size() &&
                          (!has_spaces || text.starts_with(' ') || is_ascii_punctuation(without_spaces(text))));
    if (begins) parts.push_back({i, i, i, i, {}});
    parts.back().text += text;
    parts.back().end = parts.back().to = i + 1;
  }
  std::vector<WordSpan> words;
  for (WordSpan& part : parts) {
    if (!words.empty() && opens(words.back())) {
      part.text.insert(0, words.back().text);
      part.begin = words.back().begin;
      words.back() = std::move(part);
    } else if (!words.empty() && closes(part)) {
      words.back().text += part.text;
      words.back().end = part.end;
    } else {
      words.push_back(std::move(part));
    }
  }
  return words;
}

}  // namespace heed::speech
