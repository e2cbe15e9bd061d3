// What Whisper's tokens of times mean: which tokens may follow, and where segments begin and end.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace heed::speech {

// Ids that may be drawn: those of texts and other tokens from [0] to before [1], and those of times from [2] to before [3].
using Limits = std::array<int32_t, 4>;

struct Times {
  int32_t end = 0, first = 0, words = 0;  // the token that ends a text; that of 0 s; the size of the vocabulary
  bool is_time(int32_t id) const { return id >= first; }

  // All tokens.
  Limits all() const { return {0, first, first, words}; }
  // What may follow `ids`, all of a window so far: it begins with a time of at most one second, times come in pairs or before the end, and
  // none is before the one that came last.
  Limits behind(std::span<const int32_t> ids) const;
};

// A stretch of a window's ids, and its times in steps of 0.02 s from the window's beginning.
struct Stretch {
  size_t begin = 0, end = 0;
  int32_t from = 0, to = 0;
};
// Segments of a window of `length` steps. What follows the last whole one is left to the next window, which begins at *next > 0.
std::vector<Stretch> stretches(const Times& times, std::span<const int32_t> ids, int32_t length, int32_t* next);

// The entropy of the last ids, at most 32 of them, in nats; as high as can be for fewer.
float entropy_of_last(std::span<const int32_t> ids);

}  // namespace heed::speech
