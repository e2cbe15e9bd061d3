// A model that speaks nonsense, through C.
#pragma once

#include "c/kept.hpp"
#include "talk/support.hpp"

namespace heed::test {

inline constexpr const char* kAsked = "The dragon sleeps in the north, they say.";

inline void open_speaker(heed_device* device, KeptGenerator* generator) {
  auto options = sized<heed_text_generator_options>();
  options.context = 128;
  done(heed_text_generator_open(device, kTinySpeaker.c_str(), &options, generator->out()));
}

inline heed_text_sampling drawn_in_c(uint32_t seed) {
  auto sampling = sized<heed_text_sampling>();
  sampling.temperature = 1;
  sampling.top_k = -1;
  sampling.top_p = 1;
  sampling.min_p = -1;
  sampling.seed = seed;
  return sampling;
}

inline void begin_drawn(heed_text_generator* generator, uint32_t seed, int64_t most, KeptConversation* conversation) {
  const heed_text_sampling sampling = drawn_in_c(seed);
  auto options = sized<heed_conversation_options>();
  options.sampling = &sampling;
  options.most_tokens = most;
  done(heed_conversation_begin(generator, &options, conversation->out()));
}

}  // namespace heed::test
