#include "speech/words.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/utf8.hpp"

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

namespace {

void standardize_columns(Matrix* m) {
  const auto rows = static_cast<double>(m->rows);
  for (size_t c = 0; c < m->columns; ++c) {
    double mean = 0, square = 0;
    for (size_t r = 0; r < m->rows; ++r) mean += m->row(r)[c];
    mean /= rows;
    for (size_t r = 0; r < m->rows; ++r) square += (m->row(r)[c] - mean) * (m->row(r)[c] - mean);
    const double deviation = std::sqrt(square / rows);
    // A smaller deviation comes from rounding alone.
    const double by = deviation > 1e-9 * std::fabs(mean) ? 1 / deviation : 0;
    for (size_t r = 0; r < m->rows; ++r) m->row(r)[c] = (m->row(r)[c] - mean) * by;
  }
}

}  // namespace

Matrix combined(std::vector<Matrix> heads) {
  if (heads.empty()) return {};
  Matrix sum{heads[0].rows, heads[0].columns, std::vector<double>(heads[0].values.size())};
  for (Matrix& head : heads) {
    standardize_columns(&head);
    for (size_t r = 0; r < head.rows; ++r) {
      const std::vector<double> filtered = median_of_7(head.row(r));
      for (size_t c = 0; c < head.columns; ++c) sum.row(r)[c] += filtered[c] / static_cast<double>(heads.size());
    }
  }
  return sum;
}

std::vector<size_t> path_begins(const Matrix& values) {
  enum Step : uint8_t { kBoth, kDown, kRight };
  const size_t rows = values.rows, columns = values.columns;
  std::vector<size_t> begins(rows);
  if (rows == 0 || columns == 0) return begins;
  // The best sum up to each element, column by column.
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  std::vector<double> before(rows + 1, kNone), now(rows + 1);
  std::vector<uint8_t> steps(rows * columns);
  before[0] = 0;
  for (size_t c = 0; c < columns; ++c) {
    now[0] = kNone;
    for (size_t r = 0; r < rows; ++r) {
      const double both = before[r], down = now[r], right = before[r + 1];
      const Step step = both > down && both > right ? kBoth : down > both && down > right ? kDown : kRight;
      steps[r * columns + c] = step;
      now[r + 1] = values.row(r)[c] + (step == kBoth ? both : step == kDown ? down : right);
    }
    std::swap(before, now);
  }
  size_t r = rows - 1, c = columns - 1;
  while (true) {
    begins[r] = c;
    if (r == 0 && c == 0) return begins;
    const auto step = r == 0 ? kRight : c == 0 ? kDown : static_cast<Step>(steps[r * columns + c]);
    if (step != kRight) --r;
    if (step != kDown) --c;
  }
}

namespace {

std::string_view without_spaces(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_ascii_punctuation(std::string_view text) {
  return text.size() == 1 && static_cast<unsigned char>(text[0]) > 32 && static_cast<unsigned char>(text[0]) < 127 &&
         std::string_view("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~").find(text[0]) != std::string_view::npos;
}

// Punctuation that is joined to the next word if a space is before it, and punctuation that is joined to the previous word if no space is
// before it.
constexpr std::string_view kOpens[] = {"\"", "'", "“", "¿", "(", "[", "{", "-"};
constexpr std::string_view kCloses[] = {"\"", "'", ".",  "。", ",", "，", "!", "！", "?",
                                        "？", ":", "：", "”",  ")", "]",  "}", "、"};

bool opens(const WordSpan& word) {
  return word.text.starts_with(' ') &&
         std::find(std::begin(kOpens), std::end(kOpens), without_spaces(word.text)) != std::end(kOpens);
}
bool closes(const WordSpan& word) {
  return std::find(std::begin(kCloses), std::end(kCloses), word.text) != std::end(kCloses);
}

}  // namespace

std::vector<WordSpan> words_of(std::span<const int32_t> ids, const std::function<std::string_view(int32_t)>& bytes,
                               bool has_spaces) {
  std::vector<WordSpan> parts;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view text = bytes(ids[i]);
    const bool begins =
        parts.empty() || (whole_characters(parts.back().text) == parts.back().text.size() &&
                          (!has_spaces || text.starts_with(' ') || is_ascii_punctuation(without_spaces(text))));
    if (begins) parts.push_back({i, i, i, i, {}});
    parts.back().text += text;
    parts.back().end = parts.back().to = i + 1;
  }
  std::vector<WordSpan> words;
  for (WordSpan& part : parts) {
    if (!words.empty() && opens(words.back())) {
      part.text.insert(0, words.back().text);
      part.begin = words.back().begin;
      words.back() = std::move(part);
    } else if (!words.empty() && closes(part)) {
      words.back().text += part.text;
      words.back().end = part.end;
    } else {
      words.push_back(std::move(part));
    }
  }
  return words;
}

}  // namespace heed::speech
