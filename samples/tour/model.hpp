// A small attention layer in three flavours. Its weights follow rules and are not trained.
//
// A word's vector is the sum of random vectors, one for each group of its letters: words that share letters have similar vectors, and the
// same word always has the same vector. Heads attend to alike words, to a position in the sentence, or at random. The pictures show
// spelling and position, not meaning.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/heed.hpp>

#include "text.hpp"

namespace tour {

inline constexpr int64_t kWidth = 128;  // the width of a word's vector
inline constexpr int64_t kHeadWidth = 32;
inline constexpr int kMaxHeads = 16;

enum class Flavour { Bidirectional, Causal, Cross };
inline constexpr Flavour kFlavours[] = {Flavour::Bidirectional, Flavour::Causal, Flavour::Cross};
const char* name_of(Flavour flavour);

// What a head attends to: "alike words", "the word before", ...
std::string head_title(int head);

struct Model {
  int heads = 4;
  std::vector<int32_t> rows, columns;  // rows of the embedding table: the text, and the text to cross with
  std::vector<float> embedding;        // [vocabulary, kWidth]
  std::vector<float> query, key;       // [heads kHeadWidth, kWidth]
  std::vector<float> value;            // [heads kHeadWidth, kWidth]
  std::vector<float> out;              // [kWidth, heads kHeadWidth]

  int64_t vocabulary() const { return static_cast<int64_t>(embedding.size()) / kWidth; }
};
Model make_model(const Words& rows, const Words& columns, int heads);

struct Result {
  std::vector<float> weights;  // [heads, rows, columns]
  std::vector<float> output;   // [rows, kWidth]
  double milliseconds = 0;     // median of repeated runs, including copies from and to host memory
};

// Compiles and runs one flavour. If it fails, heed has logged why.
heed::Status run(heed::Device& device, const Model& model, Flavour flavour, Result* result);

}  // namespace tour
