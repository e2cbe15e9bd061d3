// Times of words: dynamic time warping finds a path through the weights with which cross-attention heads attend to frames while tokens are
// decoded (as Whisper's reference does; Radford et al. 2022, arXiv:2212.04356).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed::speech {

// A matrix with a row for each token and a column for each frame.
struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<double> values;
  std::span<double> row(size_t r) { return std::span(values).subspan(r * columns, columns); }
  std::span<const double> row(size_t r) const { return std::span(values).subspan(r * columns, columns); }
};

// The running median over 7 values, centred; values are reflected at the ends.
std::vector<double> median_of_7(std::span<const double> values);

// The mean over several heads. Each is first scaled so that every column has mean 0 and deviation 1 over the rows, and then filtered along
// its rows by median_of_7.
Matrix combined(std::vector<Matrix> heads);

// The path with the greatest sum from the first element to the last one, by steps down, right or both. Returns the first column of each row
// on it.
std::vector<size_t> path_begins(const Matrix& values);

// A word of a text: tokens `begin` .. `end`; without the punctuation joined to it, `from` .. `to`.
struct WordSpan {
  size_t begin = 0, end = 0, from = 0, to = 0;
  std::string text;
};
// Splits a text into words. `bytes` returns a token's text. A word begins with a space; punctuation is joined to its word. Without
// `has_spaces` (Chinese, Japanese, Thai, ...) each character is a word. The bytes of one character stay together.
std::vector<WordSpan> words_of(std::span<const int32_t> ids, const std::function<std::string_view(int32_t)>& bytes,
                               bool has_spaces);

}  // namespace heed::speech
