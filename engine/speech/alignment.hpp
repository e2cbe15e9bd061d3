// When the tokens of a text are said: dynamic time warping finds a path through the weights with which cross-attention heads attend to
// frames while tokens are decoded (as Whisper's reference does; Radford et al. 2022, arXiv:2212.04356). It is done in parts, so that no
// frame of a host has to wait for a whole window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace heed::speech {

// The running median over 7 values, centred; values are reflected at the ends.
std::vector<double> median_of_7(std::span<const double> values);

// The path with the greatest sum from the first element of a matrix to its last one, by steps down, right or both.
class BestPath {
 public:
  BestPath() = default;
  BestPath(size_t rows, size_t columns);
  // Gives the next column, from the first to the last one.
  void add(std::span<const double> column);
  // The first column of each row on the path. Call it after the last column.
  std::vector<size_t> begins() const;

 private:
  enum Step : uint8_t { kBoth, kDown, kRight };
  size_t rows_ = 0, columns_ = 0, added_ = 0;
  std::vector<double> before_,
      now_;                     // the best sum up to each element of a column, after one for a row before the first
  std::vector<uint8_t> steps_;  // [columns, rows]
};

class Alignment {
 public:
  struct Sizes {
    size_t heads = 0, tokens = 0, frames = 0;
    size_t first = 0, rows = 0;  // the tokens that are aligned: a range of all tokens
  };
  // `looks` are the weights of each head, [heads, tokens, frames], of any sum.
  Alignment(std::unique_ptr<const float[]> looks, const Sizes& sizes);

  // Processes about so many elements of a matrix, at least one row. Returns true if the alignment is done.
  bool advance(size_t elements);

  const Sizes& sizes() const { return sizes_; }
  // The frame at which each of the aligned tokens begins.
  std::span<const size_t> begins() const { return begins_; }
  // How much the heads attended to each frame for an aligned token, as a mean; sums to 1.
  std::span<const float> attention(size_t row) const {
    return std::span(attention_).subspan(row * sizes_.frames, sizes_.frames);
  }
  // The matrix whose best path is taken, [rows, frames]: the mean over heads. Each is first scaled so that every column has mean 0 and
  // deviation 1 over all tokens, and then filtered along its rows by median_of_7.
  std::span<const double> combined() const { return combined_; }

 private:
  enum class Stage : uint8_t { Normalize, Deviate, Filter, Path, Done };
  size_t process();  // the next row, or column of the path; returns its elements
  void normalize();
  void deviate();
  void filter();
  void follow();
  bool is_aligned(size_t token) const { return token >= sizes_.first && token < sizes_.first + sizes_.rows; }
  std::span<double> of_head(size_t token) { return std::span(head_).subspan(token * sizes_.frames, sizes_.frames); }

  std::unique_ptr<const float[]> looks_;
  Sizes sizes_;
  Stage stage_ = Stage::Normalize;
  size_t head_index_ = 0, at_ = 0;      // the current head; the next token, or column of the path
  std::vector<double> head_;            // normalized weights of the current head, [tokens, frames]
  std::vector<double> means_, scales_;  // of its columns: the mean; the sum of squares, then 1 / deviation
  std::vector<double> combined_, column_;
  std::vector<float> attention_;
  BestPath path_;
  std::vector<size_t> begins_;
};

}  // namespace heed::speech
