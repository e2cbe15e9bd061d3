// The segments of a window while the times of their words are computed.
#pragma once

#include <heed/speech.hpp>

#include "speech/alignment.hpp"
#include "speech/words.hpp"

namespace heed {

struct SpeechWords {
  explicit SpeechWords(speech::Alignment of) : alignment(std::move(of)) {}
  bool advance(size_t elements);

  struct Span {
    size_t from = 0, to = 0;  // tokens of the window's text
  };
  std::vector<float> attention_of(const Span& span) const;

  speech::Alignment alignment;
  std::vector<SpeechSegment> segments;
  int32_t next = 0;  // the step at which the next window begins
  // For each word of all segments.
  std::vector<Span> spans;
  std::vector<speech::WordTime> times;
  std::vector<std::vector<float>> attentions;  // those of the first `timed` words
  size_t timed = 0;
};

}  // namespace heed
