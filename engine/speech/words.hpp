// The words of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed::speech {

// A word of a text: tokens `begin` .. `end`; without the punctuation joined to it, `from` .. `to`.
struct WordSpan {
  size_t begin = 0, end = 0, from = 0, to = 0;
  std::string text;
};
// Splits a text into words. `bytes` returns a token's text. A word begins with a space; punctuation is joined to its word. Without
// `has_spaces` (Chinese, Japanese, Thai, ...) each character is a word. The bytes of one character stay together.
std::vector<WordSpan> words_of(std::span<const int32_t> ids, const std::function<std::string_view(int32_t)>& bytes,
                               bool has_spaces);

}  // namespace heed::speech
