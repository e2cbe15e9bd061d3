// Unicode's properties of characters that the tokenizer needs, as the reference has them.
#pragma once

#include <string>
#include <string_view>

#include "base/space.hpp"
#include "base/utf8.hpp"

namespace heed {

bool is_dropped(char32_t c);      // by cleaning: categories Cc (but tab, line feed, return), Cf, Co; U+0, U+FFFD
bool is_punctuation(char32_t c);  // category P and all ASCII symbols
bool is_mark(char32_t c);         // category Mn
bool is_cjk_ideograph(char32_t c);
// Categories L and N, as the installed utf8proc has them.
bool is_letter(char32_t c);
bool is_number(char32_t c);

// Appends the code points of UTF-8 text.
void decode_utf8(std::string_view text, std::u32string* out);
void append_utf8(char32_t c, std::string* out);
// Canonical composition (NFC), in place. Text that is not valid UTF-8 stays as it is.
void compose(std::string* text);

// Canonical decomposition (NFD) without the marks, in place.
void strip_accents(std::u32string* text);
// Lower case of each code point by itself, in place.
void to_lower(std::u32string* text);

}  // namespace heed
