// Unicode properties that the tokenizer needs, equal to those of the reference (Hugging Face's tokenizers).
#pragma once

#include <string>
#include <string_view>

#include "base/space.hpp"
#include "base/utf8.hpp"

namespace heed {

bool is_dropped(char32_t c);      // removed by cleaning: categories Cc (except tab, line feed, return), Cf, Co; U+0,
                                  // U+FFFD
bool is_punctuation(char32_t c);  // category P and all ASCII symbols
bool is_mark(char32_t c);         // category Mn
bool is_cjk_ideograph(char32_t c);
// Categories L and N of the installed utf8proc.
bool is_letter(char32_t c);
bool is_number(char32_t c);

// Appends the code points of UTF-8 text.
void decode_utf8(std::string_view text, std::u32string* out);
void append_utf8(char32_t c, std::string* out);
// Canonical composition (NFC), in place. Text that is not valid UTF-8 is unchanged.
void compose(std::string* text);

// Canonical decomposition (NFD) without the marks, in place.
void strip_accents(std::u32string* text);
// Converts each code point to lower case, in place.
void to_lower(std::u32string* text);

}  // namespace heed
