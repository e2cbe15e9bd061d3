// A text as a model of characters learns it: each byte that occurs is a number, and the last part is held out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace learn {

struct Text {
  std::string characters;      // those that occur, in the order of their bytes
  std::vector<int32_t> train;  // the numbers of the text's characters
  std::vector<int32_t> held_out;
};

// A tenth of the text is held out, its end. False: *error is one sentence. `least`: how many characters each part must have.
bool read_text(const std::string& path, size_t least, Text* text, std::string* error);
// The numbers of the characters of `from`; those that do not occur are left out.
std::vector<int32_t> numbers_of(const std::string& from, const std::string& characters);

// Rows of so many characters, and the character that follows each.
struct Batch {
  std::vector<int32_t> ids, next;
};
// Rows that begin at places that seed, step and row decide, so that a step reads the same whenever it is taken.
Batch draw_batch(const std::vector<int32_t>& from, int64_t rows, int64_t length, uint64_t seed, uint64_t step);

// The rate of a step, of which the training has so many: it rises to `most` for a twentieth of them, then falls along a cosine to a
// tenth.
float rate_at(float most, int64_t steps, int64_t step);

// Random bits that depend on what is given alone (Steele et al. 2014, SplitMix).
uint64_t random_bits(uint64_t seed, uint64_t counter);

}  // namespace learn
