// Splits a text into words. `error` is one sentence about an invalid input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tour {

// Further words are left out, with a notice: a larger heat map than 128 x 128 words is unreadable.
inline constexpr int kMaxWords = 128;
inline constexpr size_t kMaxBytes = 1u << 20;  // how much of a file is read

struct Words {
  std::string origin;               // "the sentence", or the file's name
  std::vector<std::string> shown;   // as written, without the punctuation around it
  std::vector<std::string> folded;  // lower case (ASCII), as embedded
  bool truncated = false;           // there was more than kMaxWords words or kMaxBytes bytes
};

// `argument` is a sentence, the path of an existing file, or "-" for standard input. Returns false with the reason in *error if it fails.
bool read_words(const std::string& argument, Words* words, std::string* error);

// The next code point of valid UTF-8 at *at. Moves *at past it.
char32_t next_code_point(std::string_view text, size_t* at);
// Columns of the text in a terminal: 0 for combining marks, 2 for East Asian wide characters and emoji.
int display_width(std::string_view text);
// The text cut to at most `columns` at a code point, with "…" for the rest.
std::string shorten(std::string_view text, int columns);

}  // namespace tour
