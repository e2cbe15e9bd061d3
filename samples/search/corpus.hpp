// The lines to search.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace search {

inline constexpr size_t kMaxLines = 1'000'000;  // 1.5 GB of vectors of width 384
inline constexpr size_t kMaxQuery = 1 << 20;
inline constexpr uint64_t kMaxBytes = uint64_t{1} << 30;  // of the file

struct Corpus {
  std::string path;
  std::string text;                     // the file
  std::vector<std::string_view> lines;  // into text: those that are not blank, without line ends
  std::vector<size_t> numbers;          // of each line in the file, from 1
  uint64_t hash = 0;                    // of the lines
  size_t blank = 0, broken = 0;         // lines left out; lines with bytes that are not UTF-8
};

// False: *error is one sentence.
bool read_corpus(const std::string& path, Corpus* corpus, std::string* error);

// A line of at most kMaxQuery bytes; what is beyond is skipped. False at the end of the input.
bool read_line(std::istream& input, std::string* line);

// A line fit for a terminal: at most `columns` wide, control characters and broken bytes replaced.
std::string printable(std::string_view line, int columns);

}  // namespace search
