// The objects of speech.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <heed/speech.hpp>

#include "c/text/shared_model.hpp"

namespace heed::c {

// Segments as C structs that point into the C++ ones, which do not move.
struct SegmentViews {
  explicit SegmentViews(std::span<const SpeechSegment> of = {});

  std::vector<heed_speech_word> words;
  std::vector<heed_speech_segment> segments;  // they point into `words`
};

using Listener = SharedModel<heed::SpeechRecognizer, heed::SpeechStream>;

struct SpeechRecognizer : ModelObject<Listener> {
  using Handle = heed_speech_recognizer;
  static constexpr Kind kKind = Kind::SpeechRecognizer;

  std::vector<std::string> languages;
  std::vector<const char*> language_pointers;
};

struct SpeechStream : PartObject<Listener, heed::SpeechStream> {
  using Handle = heed_speech_stream;
  static constexpr Kind kKind = Kind::SpeechStream;
  using PartObject::PartObject;

  SpeechPiece piece;  // the host reads it until the next call
  SegmentViews views;
};

struct SpeechText {
  using Handle = heed_speech_text;
  static constexpr Kind kKind = Kind::SpeechText;
  explicit SpeechText(heed::SpeechText given) : it(std::move(given)), whole(it.text()), views(it.segments) {}

  heed::SpeechText it;
  std::string whole;
  SegmentViews views;
};

}  // namespace heed::c
