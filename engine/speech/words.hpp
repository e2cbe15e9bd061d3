// The words of a text, and their lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed::speech {

// A text that repeats itself without spaces, as a model may write for noise, is split into words of at most this many characters. Tokens
// stay whole.
inline constexpr size_t kMostWordCharacters = 80;

// A word of a text: tokens `begin` .. `end`; without the punctuation joined to it, `from` .. `to`.
struct WordSpan {
  size_t begin = 0, end = 0, from = 0, to = 0;
  std::string text;
  bool may_follow_pause = false;  // it begins a text or a sentence
};
// Splits a text into words. `bytes` returns a token's text. A word begins with a space; punctuation is joined to its word. Without
// `has_spaces` (Chinese, Japanese, Thai, ...) each character is a word. The bytes of one character stay together.
std::vector<WordSpan> words_of(std::span<const int32_t> ids, const std::function<std::string_view(int32_t)>& bytes,
                               bool has_spaces);

// Times of a word in steps of 0.02 s.
struct WordTime {
  int32_t begin = 0, end = 0;
  bool may_follow_pause = false;
};
inline constexpr int32_t kMostAfterPause = 70;  // 1.4 s
// The path through a sound gives a pause to the word after it. Such a word begins later, so that it is at most twice as long as the median
// word, and kMostAfterPause (as in Whisper's reference).
void shorten_after_pauses(std::span<WordTime> words);

}  // namespace heed::speech
