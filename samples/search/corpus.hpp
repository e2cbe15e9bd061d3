// The lines of a file to search.
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
  std::string text;                     // the whole file
  std::vector<std::string_view> lines;  // parts of `text`: the non-blank lines, without line ends
  std::vector<size_t> numbers;          // the number of each line in the file, from 1
  uint64_t hash = 0;                    // hash of the lines
  size_t blank = 0, broken = 0;         // number of lines left out, and of lines with invalid UTF-8
};

// Returns false with a sentence in *error if it fails.
bool read_corpus(const std::string& path, Corpus* corpus, std::string* error);

// Reads a line, and keeps its first kMaxQuery bytes. Returns false at the end of the input.
bool read_line(std::istream& input, std::string* line);

// The line for a terminal: at most `columns` wide, without control characters and invalid UTF-8.
std::string printable(std::string_view line, int columns);

}  // namespace search
