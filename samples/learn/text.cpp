#include "text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numbers>

namespace learn {

uint64_t random_bits(uint64_t seed, uint64_t counter) {
  uint64_t z = seed * 0xd1342543de82ef95u + counter * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

float rate_at(float most, int64_t steps, int64_t step) {
  const double warm = std::max<double>(1.0, static_cast<double>(steps) / 20.0);
  const double at = static_cast<double>(step) + 1.0;
  if (at < warm) return most * static_cast<float>(at / warm);
  const double rest = std::min(1.0, (at - warm) / std::max(1.0, static_cast<double>(steps) - warm));
  return most * static_cast<float>(0.55 + 0.45 * std::cos(std::numbers::pi * rest));
}

std::vector<int32_t> numbers_of(const std::string& from, const std::string& characters) {
  std::array<int32_t, 256> number;
  number.fill(-1);
  for (size_t i = 0; i < characters.size(); ++i)
    number[static_cast<unsigned char>(characters[i])] = static_cast<int32_t>(i);
  std::vector<int32_t> numbers;
  numbers.reserve(from.size());
  for (const char c : from)
    if (number[static_cast<unsigned char>(c)] >= 0) numbers.push_back(number[static_cast<unsigned char>(c)]);
  return numbers;
}

bool read_text(const std::string& path, size_t least, Text* text, std::string* error) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file && bytes.empty()) {
    *error = path + " cannot be read";
    return false;
  }
  std::array<bool, 256> occurs{};
  for (const char c : bytes) occurs[static_cast<unsigned char>(c)] = true;
  text->characters.clear();
  for (size_t i = 0; i < occurs.size(); ++i)
    if (occurs[i]) text->characters += static_cast<char>(i);
  const std::vector<int32_t> all = numbers_of(bytes, text->characters);
  const size_t cut = all.size() - all.size() / 10;
  text->train.assign(all.begin(), all.begin() + static_cast<ptrdiff_t>(cut));
  text->held_out.assign(all.begin() + static_cast<ptrdiff_t>(cut), all.end());
  if (text->held_out.size() >= least) return true;
  *error = path + " has " + std::to_string(bytes.size()) + " bytes; " + std::to_string(10 * least) +
           " are needed, or a shorter --context";
  return false;
}

Batch draw_batch(const std::vector<int32_t>& from, int64_t rows, int64_t length, uint64_t seed, uint64_t step) {
  Batch batch;
  const uint64_t places = from.size() - static_cast<size_t>(length);
  for (int64_t row = 0; row < rows; ++row) {
    const uint64_t counter = step * static_cast<uint64_t>(rows) + static_cast<uint64_t>(row);
    const auto begin = from.begin() + static_cast<ptrdiff_t>(random_bits(seed, counter) % places);
    batch.ids.insert(batch.ids.end(), begin, begin + length);
    batch.next.insert(batch.next.end(), begin + 1, begin + length + 1);
  }
  return batch;
}

}  // namespace learn
