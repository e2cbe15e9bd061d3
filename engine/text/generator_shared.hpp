// What all conversations of a model share: weights, plans, and whose step is under way.
#pragma once

#include <heed/decoder_model.hpp>
#include <heed/text_generator.hpp>

#include "text/guide.hpp"

namespace heed {

struct TextGenerator::Shared {
  Device device;
  std::string path;
  DecoderConfig config;
  Bpe bpe;
  std::optional<ChatTemplate> chat;
  std::string chat_problem;   // why there is no template
  std::vector<int32_t> ends;  // tokens that end an answer, ascending
  int64_t context = 0, read = 0;
  DecoderOptions network;
  DType weight_dtype = DType::F32;  // of most bytes
  Log log;
  Weights weights;
  // `reader` takes ids from the host. `speaker` takes the token that the last run of either has drawn, which did not leave the
  // device.
  Plan reader, speaker;
  Plan scorer;  // of TextGenerator::loss, made when it is asked for
  Plan looker;  // of TextGenerator::attention, likewise
  GuidedPlans guided;

  StartedRun run;
  TextConversation::Impl* running = nullptr;  // whose run that is
  // Who was polled and could not begin a step since then, and how many steps were begun by polls.
  std::vector<TextConversation::Impl*> waiting;
  uint64_t begun = 0;

  // Waits for the run under way, and leaves its status with its conversation.
  void settle();
};

// Names of a plan's inputs and outputs are "ids" and "counted" [1, tokens], "settings", "seed", "step" and "next"; its extents are "past" and "tokens".
// A guided one has the input "bias", which says what may be drawn.
Graph speaking_graph(const DecoderModel& model, const TextGenerator::Shared& shared, bool reads, bool guided = false);

bool is_utf8(std::string_view text);

}  // namespace heed
