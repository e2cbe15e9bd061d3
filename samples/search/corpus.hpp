// The lines of a file that are searched.
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
  std::vector<std::string_view> lines;  // parts of `text`: the lines that are not blank, without their ends
  std::vector<size_t> numbers;          // the number of each line in the file, from 1
  uint64_t hash = 0;                    // identifies the lines
  size_t blank = 0, broken = 0;         // how many lines were left out, and how many have bytes that are not UTF-8
};

// False: *error is one sentence.
bool read_corpus(const std::string& path, Corpus* corpus, std::string* error);

// Reads a line, and keeps its first kMaxQuery bytes. False at the end of the input.
bool read_line(std::istream& input, std::string* line);

// The line as a terminal may show it: at most `columns` wide, without control characters and bytes that are not UTF-8.
std::string printable(std::string_view line, int columns);

}  // namespace search
