// Whitespace as Python's str.strip takes it off, which templates call.
#pragma once

#include <string_view>

#include "text/wordpiece/tokenizer_unicode.hpp"

namespace heed {

inline bool is_stripped(char32_t c) { return is_space(c) || (c >= 0x1C && c <= 0x1F); }

inline std::string_view strip_front(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (!is_stripped(next_code_point(text, &at))) return text.substr(begin);
  }
  return {};
}

inline std::string_view strip_back(std::string_view text) {
  size_t end = 0;
  for (size_t at = 0; at < text.size();)
    if (!is_stripped(next_code_point(text, &at))) end = at;
  return text.substr(0, end);
}

inline std::string_view strip(std::string_view text) { return strip_back(strip_front(text)); }

inline std::string_view strip_lines(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

}  // namespace heed
