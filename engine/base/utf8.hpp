// UTF-8: which bytes are text, and the code points in it.
#pragma once

#include <cstddef>
#include <string_view>

namespace heed {

inline constexpr char32_t kReplacement = 0xFFFD;

bool is_utf8(std::string_view text);
// Reads the code point at *at, and advances *at. Each maximal invalid subpart gives one U+FFFD (Unicode standard, section 3.9, "U+FFFD
// substitution of maximal subparts").
char32_t next_code_point(std::string_view text, size_t* at);
// The length of the text without an incomplete character at its end.
size_t whole_characters(std::string_view text);

}  // namespace heed
