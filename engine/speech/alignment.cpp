#include "speech/alignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace heed::speech {

namespace {

void sort(double* a, double* b) {
  const double least = std::min(*a, *b);
  *b = std::max(*a, *b);
  *a = least;
}

// The least and the greatest of five values cannot be the median of seven: they are dropped, and the next value is inserted.
double median(std::array<double, 7> v) {
  for (size_t first = 0, last = 4; first < 3; ++first) {
    for (size_t i = first + 1; i <= last; ++i) sort(&v[first], &v[i]);
    for (size_t i = first + 1; i < last; ++i) sort(&v[i], &v[last]);
    if (first < 2) v[last] = v[5 + first];
  }
  return v[3];
}

}  // namespace

std::vector<double> median_of_7(std::span<const double> values) {
  constexpr int64_t kHalf = 3;
  const auto count = static_cast<int64_t>(values.size());
  std::vector<double> result(values.begin(), values.end());
  if (count <= kHalf) return result;  // too few values to reflect
  for (int64_t i = 0; i < count; ++i) {
    std::array<double, 2 * kHalf + 1> around;
    for (int64_t k = -kHalf; k <= kHalf; ++k) {
      int64_t at = std::abs(i + k);
      if (at >= count) at = 2 * (count - 1) - at;
      around[static_cast<size_t>(k + kHalf)] = values[static_cast<size_t>(at)];
    }
    result[static_cast<size_t>(i)] = median(around);
  }
  return result;
}

BestPath::BestPath(size_t rows, size_t columns)
    : rows_(rows),
      columns_(columns),
      before_(rows + 1, -std::numeric_limits<double>::infinity()),
      now_(before_),
      steps_(rows * columns) {
  before_[0] = 0;
}

void BestPath::add(std::span<const double> column) {
  uint8_t* steps = steps_.data() + added_++ * rows_;
  for (size_t r = 0; r < rows_; ++r) {
    const double both = before_[r], down = now_[r], right = before_[r + 1];
    steps[r] = both > down && both > right ? kBoth : down > both && down > right ? kDown : kRight;
    now_[r + 1] = column[r] + (steps[r] == kBoth ? both : steps[r] == kDown ? down : right);
  }
  before_.swap(now_);
  now_[0] = before_[0] = -std::numeric_limits<double>::infinity();
}

std::vector<size_t> BestPath::begins() const {
  std::vector<size_t> begins(rows_);
  if (rows_ == 0 || columns_ == 0) return begins;
  size_t r = rows_ - 1, c = columns_ - 1;
  while (true) {
    begins[r] = c;
    if (r == 0 && c == 0) return begins;
    const auto step = r == 0 ? kRight : c == 0 ? kDown : static_cast<Step>(steps_[c * rows_ + r]);
    if (step != kRight) --r;
    if (step != kDown) --c;
  }
}

Alignment::Alignment(std::unique_ptr<const float[]> looks, const Sizes& sizes)
    : looks_(std::move(looks)),
      sizes_(sizes),
      means_(sizes.frames),
      scales_(sizes.frames),
      column_(sizes.rows),
      path_(sizes.rows, sizes.frames) {
  // Filled row by row, since clearing them at once would take long.
  head_.reserve(sizes.tokens * sizes.frames);
  combined_.reserve(sizes.rows * sizes.frames);
  attention_.reserve(sizes.rows * sizes.frames);
}

bool Alignment::advance(size_t elements) {
  for (size_t done = 0; stage_ != Stage::Done && done < elements;) done += process();
  return stage_ == Stage::Done;
}

size_t Alignment::process() {
  constexpr size_t kOfFilter = 8;  // the time of the filter relative to that of other stages
  const Stage stage = stage_;
  switch (stage) {
    case Stage::Normalize: normalize(); break;
    case Stage::Deviate: deviate(); break;
    case Stage::Filter: filter(); break;
    case Stage::Path: follow(); return sizes_.rows;
    case Stage::Done: break;
  }
  if (++at_ == sizes_.tokens) {
    at_ = 0;
    stage_ = stage == Stage::Normalize       ? Stage::Deviate
             : stage == Stage::Deviate       ? Stage::Filter
             : ++head_index_ == sizes_.heads ? Stage::Path
                                             : Stage::Normalize;
  }
  return stage == Stage::Filter ? kOfFilter * sizes_.frames : sizes_.frames;
}

void Alignment::normalize() {
  if (at_ == 0) std::fill(means_.begin(), means_.end(), 0.0);
  const auto frames = sizes_.frames;
  const std::span<const float> from(looks_.get() + (head_index_ * sizes_.tokens + at_) * frames, frames);
  head_.resize(std::max(head_.size(), (at_ + 1) * frames));
  const std::span<double> to = of_head(at_);
  const double sum = std::accumulate(from.begin(), from.end(), 0.0);
  for (size_t c = 0; c < frames; ++c) {
    to[c] = sum > 0 ? static_cast<double>(from[c]) / sum : 1.0 / static_cast<double>(frames);
    means_[c] += to[c];
  }
  if (!is_aligned(at_)) return;
  const size_t row = at_ - sizes_.first;
  attention_.resize(std::max(attention_.size(), (row + 1) * frames));
  for (size_t c = 0; c < frames; ++c)
    attention_[row * frames + c] += static_cast<float>(to[c] / static_cast<double>(sizes_.heads));
}

void Alignment::deviate() {
  const auto tokens = static_cast<double>(sizes_.tokens);
  if (at_ == 0) {
    std::fill(scales_.begin(), scales_.end(), 0.0);
    for (double& mean : means_) mean /= tokens;
  }
  const std::span<const double> row = of_head(at_);
  for (size_t c = 0; c < row.size(); ++c) scales_[c] += (row[c] - means_[c]) * (row[c] - means_[c]);
  if (at_ + 1 < sizes_.tokens) return;
  for (size_t c = 0; c < row.size(); ++c) {
    const double deviation = std::sqrt(scales_[c] / tokens);
    // A smaller deviation comes from rounding alone.
    scales_[c] = deviation > 1e-9 * std::fabs(means_[c]) ? 1 / deviation : 0;
  }
}

void Alignment::filter() {
  if (!is_aligned(at_)) return;
  const size_t begin = (at_ - sizes_.first) * sizes_.frames;
  const std::span<double> row = of_head(at_);
  for (size_t c = 0; c < row.size(); ++c) row[c] = (row[c] - means_[c]) * scales_[c];
  const std::vector<double> filtered = median_of_7(row);
  combined_.resize(std::max(combined_.size(), begin + row.size()));
  for (size_t c = 0; c < row.size(); ++c) combined_[begin + c] += filtered[c] / static_cast<double>(sizes_.heads);
}

void Alignment::follow() {
  for (size_t r = 0; r < sizes_.rows; ++r) column_[r] = combined_[r * sizes_.frames + at_];
  path_.add(column_);
  if (++at_ < sizes_.frames) return;
  begins_ = path_.begins();
  stage_ = Stage::Done;
}

}  // namespace heed::speech
