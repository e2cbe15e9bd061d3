// When words were said: the frames that heads of cross attention look at while they tell tokens, along which dynamic time warping finds a
// path (as Whisper's reference does; Radford et al. 2022, arXiv:2212.04356).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed::speech {

// Rows of tokens, columns of frames.
struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<double> values;
  std::span<double> row(size_t r) { return std::span(values).subspan(r * columns, columns); }
  std::span<const double> row(size_t r) const { return std::span(values).subspan(r * columns, columns); }
};

// The median of the values from 3 before to 3 behind each one, reflected at the ends.
std::vector<double> median_of_7(std::span<const double> values);

// The mean of several heads, each of which is scaled so that over the rows, each column has a mean of 0 and a deviation of 1, and then
// filtered along its rows by median_of_7.
Matrix combined(std::vector<Matrix> heads);

// Finds the path with the greatest sum from the first element to the last one, which goes down, right or both at once, and gives the first
// column of each row on it.
std::vector<size_t> path_begins(const Matrix& values);

// Words of a text: consecutive tokens `begin` .. `end`, of which those from `from` to `to` are no punctuation that was joined to it.
struct WordSpan {
  size_t begin = 0, end = 0, from = 0, to = 0;
  std::string text;
};
// `bytes` gives a token's text. A word begins with a space or is punctuation, which joins the word that it belongs to; without
// `has_spaces` (Chinese, Japanese, Thai, ...) each letter is one. Bytes of one letter are never parted.
std::vector<WordSpan> words_of(std::span<const int32_t> ids, const std::function<std::string_view(int32_t)>& bytes,
                               bool has_spaces);

}  // namespace heed::speech
