// Helpers for tests of conversations.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include <heed/text_generator.hpp>

#include "harness/devices.hpp"
#include "harness/files.hpp"
#include "harness/setup.hpp"
#include "harness/source_path.hpp"

namespace heed::test {

// The tiny model of make.py, which generates nonsense.
inline const std::string kTinySpeaker = source_path("tests/talk/tiny.gguf");

inline TextGenerator tiny_speaker(Device device, TextGeneratorOptions options = {}) {
  if (options.context == 0) options.context = 128;
  if (options.log.callback == nullptr) options.log = stderr_log();
  TextGenerator model;
  REQUIRE(TextGenerator::open(device, kTinySpeaker, options, &model) == Status::Ok);
  return model;
}

inline TextConversation begun(const TextGenerator& model, const TextConversationOptions& options = {}) {
  TextConversation conversation;
  REQUIRE(model.begin(options, &conversation) == Status::Ok);
  return conversation;
}

inline TextConversation prompted(const TextGenerator& model, const TextConversationOptions& options,
                                 const auto& prompt) {
  TextConversation conversation = begun(model, options);
  REQUIRE(conversation.prompt(prompt) == Status::Ok);
  return conversation;
}
inline TextConversation asked(const TextGenerator& model, const TextConversationOptions& options,
                              std::string_view text) {
  TextConversation conversation = begun(model, options);
  REQUIRE(conversation.say(text) == Status::Ok);
  return conversation;
}

// An answer, piece by piece.
struct Told {
  std::vector<std::string> pieces;
  std::vector<int32_t> tokens;  // including the last one
  int64_t read = 0;
  TextEnd end = TextEnd::None;
  std::string text() const {
    std::string all;
    for (const std::string& piece : pieces) all += piece;
    return all;
  }
  friend bool operator==(const Told&, const Told&) = default;
};

inline void add(const TextPiece& piece, Told* told) {
  if (!piece.done) return;
  told->pieces.push_back(piece.text);
  if (piece.token >= 0) told->tokens.push_back(piece.token);
  told->read += piece.read;
  told->end = piece.end;
}

inline Told tell(TextConversation& conversation) {
  Told told;
  TextPiece piece;
  while (conversation.answering()) {
    REQUIRE(conversation.step(&piece) == Status::Ok);
    REQUIRE(piece.done);
    add(piece, &told);
  }
  CHECK(conversation.answer() == told.text());
  CHECK(conversation.end() == told.end);
  return told;
}

inline TextConversationOptions greedy(int64_t most_tokens) {
  TextConversationOptions options;
  options.sampling.temperature = 0;
  options.most_tokens = most_tokens;
  return options;
}

inline TextConversationOptions drawn(uint32_t seed, int64_t most_tokens) {
  TextConversationOptions options;
  options.sampling = {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = seed};
  options.most_tokens = most_tokens;
  return options;
}

// Polls conversations in turn, as a game does in its frames, until one has answered. None may fall more than two steps behind another.
inline void check_turns(std::vector<TextConversation>& all) {
  TextPiece piece;
  std::vector<size_t> steps(all.size());
  size_t passes = 0;
  while (std::ranges::all_of(all, [](const TextConversation& one) { return one.answering(); })) {
    for (size_t i = 0; i < all.size(); ++i) {
      REQUIRE(all[i].poll(&piece) == Status::Ok);
      steps[i] += piece.done ? 1 : 0;
    }
    CHECK(std::ranges::max(steps) - std::ranges::min(steps) <= 2);
    // As in a game, the step has ended before the next frame begins.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    REQUIRE(++passes < 10'000);
  }
  CHECK(std::ranges::min(steps) > 10);
}

}  // namespace heed::test
