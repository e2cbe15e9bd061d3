// Rules of Whisper's time tokens: which tokens may follow, and where segments begin and end.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace heed::speech {

// Ranges of ids that may be drawn: [0] to before [1] for text and other tokens, [2] to before [3] for times.
using Limits = std::array<int32_t, 4>;

struct Times {
  int32_t end = 0, first = 0, words = 0;  // the token that ends a text; the token of 0 s; the size of the vocabulary
  bool is_time(int32_t id) const { return id >= first; }

  // Allows all tokens.
  Limits all() const { return {0, first, first, words}; }
  // The tokens that may follow `ids`, the window's tokens so far. A window begins with a time of at most one second, times come in pairs or
  // before the end, and none is before the last one.
  Limits behind(std::span<const int32_t> ids) const;
};

// A segment of a window: a range of its ids, and its times in steps of 0.02 s from the window's beginning.
struct Stretch {
  size_t begin = 0, end = 0;
  int32_t from = 0, to = 0;
};
// Segments of a window of `length` steps. Text after the last complete segment is left to the next window, which begins at step *next > 0.
std::vector<Stretch> stretches(const Times& times, std::span<const int32_t> ids, int32_t length, int32_t* next);

// The entropy of the last 32 ids, in nats; the maximum for fewer ids.
float entropy_of_last(std::span<const int32_t> ids);

}  // namespace heed::speech
