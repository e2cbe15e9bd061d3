// UTF-8: which bytes are text, and the code points in it.
#pragma once

#include <cstddef>
#include <string_view>

namespace heed {

inline constexpr char32_t kReplacement = 0xFFFD;

bool is_utf8(std::string_view text);
// Gives the code point at *at, and moves *at behind it. Each maximal part of a broken sequence is one U+FFFD (Unicode
// standard, section 3.9, "U+FFFD substitution of maximal subparts").
char32_t next_code_point(std::string_view text, size_t* at);
// How many bytes are left in front of a character that the end of the text cuts; all of them if it cuts none.
size_t whole_characters(std::string_view text);

}  // namespace heed
