// A tiny model that generates nonsense, through C.
#pragma once

#include <cstring>

#include "c/kept.hpp"
#include "talk/support.hpp"

namespace heed::test {

inline constexpr const char* kAsked = "The dragon sleeps in the north, they say.";

inline KeptGenerator open_speaker(heed_device* device) {
  auto options = sized<heed_text_generator_options>();
  options.context = 128;
  return KeptGenerator(heed_text_generator_open, device, kTinySpeaker.c_str(), &options);
}

inline heed_text_sampling drawn_in_c(uint32_t seed) {
  auto sampling = sized<heed_text_sampling>();
  sampling.temperature = 1;
  sampling.top_k = 0;
  sampling.top_p = 1;
  sampling.min_p = 0;
  sampling.seed = seed;
  return sampling;
}

inline KeptConversation begin_drawn(heed_text_generator* generator, uint32_t seed, int64_t most) {
  auto options = sized<heed_conversation_options>();
  options.sampling = drawn_in_c(seed);
  options.most_tokens = most;
  return KeptConversation(heed_conversation_begin, generator, &options);
}

inline bool answers(heed_conversation* conversation) {
  int32_t answering = 0;
  done(heed_conversation_answering(conversation, &answering));
  return answering != 0;
}

inline Told tell_in_c(heed_conversation* conversation,
                      heed_status (*next)(heed_conversation*, heed_text_piece*) = heed_conversation_step) {
  Told told;
  while (answers(conversation)) {
    auto piece = sized<heed_text_piece>();
    done(next(conversation, &piece));
    if (piece.done == 0) continue;
    CHECK(std::strlen(piece.text) <= piece.text_bytes);
    told.pieces.emplace_back(piece.text, piece.text_bytes);
    if (piece.token >= 0) told.tokens.push_back(piece.token);
    told.read += piece.read;
    told.end = static_cast<TextEnd>(piece.end);
  }
  KeptBlob text;
  int32_t end = -1;
  done(heed_conversation_text(conversation, text.out(), &end));
  CHECK(text_of(text).ends_with(told.text()));  // some of it may have been returned before
  CHECK(end == static_cast<int32_t>(told.end));
  return told;
}

}  // namespace heed::test
