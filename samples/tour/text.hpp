// Splits a text into words. `error` is one sentence that says what is wrong with an input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tour {

// A text's further words are left out, with a notice: a heat map of 128 x 128 words is the largest that can be read.
inline constexpr int kMaxWords = 128;
inline constexpr size_t kMaxBytes = 1u << 20;  // how much of a file is read

struct Words {
  std::string origin;               // "the sentence", or the file's name
  std::vector<std::string> shown;   // as written, without the punctuation around it
  std::vector<std::string> folded;  // lower case (ASCII): what the embedding sees
  bool truncated = false;           // there was more than kMaxWords words or kMaxBytes bytes
};

// `argument` is a sentence, the path of an existing file, or "-" for standard input. False: *error says why.
bool read_words(const std::string& argument, Words* words, std::string* error);

// The next code point of valid UTF-8 at *at, which moves behind it.
char32_t next_code_point(std::string_view text, size_t* at);
// Columns that the text takes in a terminal: 0 for combining marks, 2 for East Asian wide characters and emoji.
int display_width(std::string_view text);
// At most `columns` wide, cut at a code point; what was cut is shown as "…".
std::string shorten(std::string_view text, int columns);

}  // namespace tour
