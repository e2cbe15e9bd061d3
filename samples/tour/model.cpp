#include "model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "../fingerprint.hpp"

namespace tour {
namespace {

// The first kPositionWidth components of a word's vector are zero, and hold the positional encoding. Its waves there are short enough (2 pi
// to 54 words) to distinguish neighbours.
constexpr int64_t kPositionWidth = kHeadWidth;
constexpr double kWordSize = 2.0;     // standard deviation of a component; the positional encoding's is 0.7
constexpr double kAlikeScore = 4.0;   // score of two equal words in a head for equal words; others are near 0
constexpr double kRandomScore = 1.7;  // standard deviation of the scores of a random head
constexpr double kPlaceGain = 2.2;    // the wanted position gets about five times the weight of its neighbours

uint64_t hash(std::string_view text) { return samples::fingerprint(std::as_bytes(std::span(text))); }

// Normally distributed numbers that are the same with every standard library (std::normal_distribution is not).
class Normal {
 public:
  explicit Normal(uint64_t seed) : engine_(seed) {}
  double operator()() {
    const double u = uniform(), v = uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

 private:
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  std::mt19937_64 engine_;
};

// Hashes of the word, and of all groups of two and three bytes in "<word>".
std::vector<uint64_t> letter_groups(std::string_view word) {
  std::string marked(1, '<');
  marked.append(word.substr(0, 64)).push_back('>');
  std::vector<uint64_t> groups = {hash(word)};
  for (size_t length = 2; length <= 3; ++length)
    for (size_t at = 0; at + length <= marked.size(); ++at)
      groups.push_back(hash(std::string_view(marked).substr(at, length)));
  return groups;
}

void append_word(std::string_view word, std::vector<float>* table) {
  std::array<double, kWidth> sum{};
  const std::vector<uint64_t> groups = letter_groups(word);
  for (const uint64_t group : groups) {
    Normal normal(group);
    for (int64_t i = kPositionWidth; i < kWidth; ++i) sum[static_cast<size_t>(i)] += normal();
  }
  const double size = kWordSize / std::sqrt(static_cast<double>(groups.size()));
  for (const double s : sum) table->push_back(static_cast<float>(s * size));
}

std::vector<int32_t> look_up(const Words& words, std::map<std::string, int32_t>* ids, std::vector<float>* table) {
  std::vector<int32_t> found;
  for (const std::string& word : words.folded) {
    const auto [entry, fresh] = ids->try_emplace(word, static_cast<int32_t>(ids->size()));
    if (fresh) append_word(word, table);
    found.push_back(entry->second);
  }
  return found;
}

enum class Looks { Alike, Back, Ahead, Random };
Looks looks_of(int head) { return static_cast<Looks>(head % 4); }
int distance_of(int head) { return 1 + head / 4; }

// Query and key project the word's part of the vector on random directions, which are nearly orthogonal. With the same directions for both,
// their dot product measures how alike two words are; else it is a random number for each pair of words.
void set_words(Model* model, int head, bool alike, Normal* normal) {
  // |projected word|^2 is about kHeadWidth |word|^2 gain^2; scores are divided by sqrt(kHeadWidth).
  const double word = static_cast<double>(kWidth - kPositionWidth) * kWordSize * kWordSize;
  const double width = static_cast<double>(kHeadWidth);
  const double gain = std::sqrt(alike ? kAlikeScore / (word * std::sqrt(width)) : kRandomScore / word);
  for (int64_t row = head * kHeadWidth; row < (head + 1) * kHeadWidth; ++row)
    for (int64_t i = kPositionWidth; i < kWidth; ++i) {
      const auto at = static_cast<size_t>(row * kWidth + i);
      model->query[at] = static_cast<float>(gain * (*normal)());
      model->key[at] = alike ? model->query[at] : static_cast<float>(gain * (*normal)());
    }
}

// The key is the encoding of its position. The query is the encoding of its own position shifted by `shift`, which rotates each (sin, cos)
// pair. Their dot product is largest for keys at that distance.
void set_place(Model* model, int head, int shift) {
  for (int64_t pair = 0; pair < kPositionWidth / 2; ++pair) {
    const double turn = shift * std::pow(10000.0, -2.0 * static_cast<double>(pair) / kWidth);
    const auto sine = static_cast<size_t>((head * kHeadWidth + 2 * pair) * kWidth + 2 * pair);
    const size_t cosine = sine + kWidth;  // the row below
    const auto gain = static_cast<float>(kPlaceGain);
    model->key[sine] = model->key[cosine + 1] = gain;
    model->query[sine] = model->query[cosine + 1] = gain * static_cast<float>(std::cos(turn));
    model->query[sine + 1] = gain * static_cast<float>(std::sin(turn));
    model->query[cosine] = -gain * static_cast<float>(std::sin(turn));
  }
}

void set_head(Model* model, int head, Normal* normal) {
  switch (looks_of(head)) {
    case Looks::Alike: return set_words(model, head, true, normal);
    case Looks::Back: return set_place(model, head, -distance_of(head));
    case Looks::Ahead: return set_place(model, head, distance_of(head));
    case Looks::Random: return set_words(model, head, false, normal);
  }
}

std::vector<float> random_matrix(size_t size, double deviation, Normal* normal) {
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(deviation * (*normal)());
  return values;
}

}  // namespace

const char* name_of(Flavour flavour) {
  switch (flavour) {
    case Flavour::Bidirectional: return "bidirectional";
    case Flavour::Causal: return "causal";
    case Flavour::Cross: return "cross";
  }
  return "";
}

std::string head_title(int head) {
  const int distance = distance_of(head);
  const std::string places = distance == 1 ? "1 place" : std::to_string(distance) + " places";
  switch (looks_of(head)) {
    case Looks::Alike: return "alike words";
    case Looks::Back: return places + " back";
    case Looks::Ahead: return places + " ahead";
    case Looks::Random: return "random";
  }
  return "";
}

Model make_model(const Words& rows, const Words& columns, int heads) {
  Model model;
  model.heads = heads;
  std::map<std::string, int32_t> ids;
  model.rows = look_up(rows, &ids, &model.embedding);
  model.columns = look_up(columns, &ids, &model.embedding);

  const auto size = static_cast<size_t>(heads * kHeadWidth * kWidth);
  model.query.assign(size, 0.0f);
  model.key.assign(size, 0.0f);
  Normal normal(2017);
  for (int head = 0; head < heads; ++head) set_head(&model, head, &normal);
  model.value = random_matrix(size, 1 / std::sqrt(static_cast<double>(kWidth)), &normal);
  model.out = random_matrix(size, 1 / std::sqrt(static_cast<double>(heads * kHeadWidth)), &normal);
  return model;
}

}  // namespace tour
