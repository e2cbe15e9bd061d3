// A text for a character-level model: each byte that occurs has an id, and the last part is held out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace learn {

struct Text {
  std::string characters;      // the bytes that occur, in order
  std::vector<int32_t> train;  // ids of the text's characters
  std::vector<int32_t> held_out;
};

// The last tenth of the text is held out. Returns false with a sentence in *error if it fails. `least`: the least number of characters in
// each part.
bool read_text(const std::string& path, size_t least, Text* text, std::string* error);
// Ids of the characters of `from`; bytes that do not occur in the text are left out.
std::vector<int32_t> numbers_of(const std::string& from, const std::string& characters);

// Rows of so many characters, and the character after each.
struct Batch {
  std::vector<int32_t> ids, next;
};
// Rows at places that depend only on seed, step and row, so that a step reads the same rows whenever it runs.
Batch draw_batch(const std::vector<int32_t>& from, int64_t rows, int64_t length, uint64_t seed, uint64_t step);

// The learning rate of a step: it rises to `most` during the first twentieth of the training, then falls along a cosine to a tenth.
float rate_at(float most, int64_t steps, int64_t step);

// Random bits that depend only on the arguments (Steele et al. 2014, SplitMix).
uint64_t random_bits(uint64_t seed, uint64_t counter);

}  // namespace learn
