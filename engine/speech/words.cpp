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

bool ends_sentence(const std::string& text) {
  constexpr std::string_view kEnds[] = {".", "。", "!", "！", "?", "？"};
  return std::any_of(std::begin(kEnds), std::end(kEnds), [&](std::string_view end) { return text.ends_with(end); });
}

size_t characters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}
bool fits(const WordSpan& word, std::string_view more) {
  return characters(word.text) + characters(more) <= kMostWordCharacters;
}

// Bytes that are no text may never end a character.
bool is_endless(const WordSpan& word) { return word.text.size() > 4 * kMostWordCharacters; }

}  // namespace

std::vector<WordSpan> words_of(std::span<const int32_t> ids, const std::function<std::string_view(int32_t)>& bytes,
                               bool has_spaces) {
  std::vector<WordSpan> parts;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view text = bytes(ids[i]);
    const bool ends_whole = !parts.empty() && whole_characters(parts.back().text) == parts.back().text.size();
    const bool begins = parts.empty() || is_endless(parts.back()) ||
                        (ends_whole && (!has_spaces || text.starts_with(' ') ||
                                        is_ascii_punctuation(without_spaces(text)) || !fits(parts.back(), text)));
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
    } else if (!words.empty() && closes(part) && fits(words.back(), part.text)) {
      words.back().text += part.text;
      words.back().end = part.end;
    } else {
      words.push_back(std::move(part));
    }
  }
  for (size_t i = 0; i < words.size(); ++i) words[i].may_follow_pause = i == 0 || ends_sentence(words[i - 1].text);
  return words;
}

void shorten_after_pauses(std::span<WordTime> words) {
  std::vector<int32_t> lengths;
  for (const WordTime& word : words)
    if (word.end > word.begin) lengths.push_back(word.end - word.begin);
  if (lengths.empty()) return;
  std::sort(lengths.begin(), lengths.end());
  // Twice the median.
  const int32_t usual = lengths[(lengths.size() - 1) / 2] + lengths[lengths.size() / 2];
  const int32_t most = std::min(usual, kMostAfterPause);
  for (WordTime& word : words)
    if (word.may_follow_pause) word.begin = std::max(word.begin, word.end - most);
}

}  // namespace heed::speech
