// What all conversations of a model share: weights, plans, and whose step is under way.
#pragma once

#include <heed/decoder_model.hpp>
#include <heed/text_generator.hpp>

#include "text/generator/together.hpp"
#include "text/grammar/guide.hpp"

namespace heed {

struct TextGenerator::Shared {
  Device device;
  std::string path;
  DecoderModel model;  // its file stays open: later plans are built from it
  Bpe bpe;
  std::optional<ChatTemplate> chat;
  std::string chat_problem;   // why there is no template
  std::vector<int32_t> ends;  // tokens that end an answer, ascending
  int64_t context = 0, read = 0;
  DecoderOptions network;
  CompileOptions compiling;         // of all plans
  DType weight_dtype = DType::F32;  // of most bytes
  Log log;
  Weights weights;
  // `reader` takes ids from the host. `speaker`, and `chorus` for several conversations of a room, take the tokens that the last run
  // of any has drawn, which did not leave the device.
  Plan reader, speaker, chorus;
  Plan scorer;  // of TextGenerator::loss, made when it is asked for
  Plan looker;  // of TextGenerator::attention, likewise
  GuidedPlans guided;

  int64_t together = 1;  // rows of a room
  std::vector<std::weak_ptr<TextRoom>> rooms;
  TextRun run;
  bool in_frames = false;  // the host records steps, so that poll begins none
  uint64_t begun = 0;      // how many runs polls began

  uint64_t fingerprint = 0;  // of the model's files, when saved conversations first asked for it; see saved.cpp

  // Waits for the run under way, and leaves what it gave with its conversations.
  void settle();

  const DecoderConfig& config() const { return model.config(); }
  // Compiles a plan that is not needed from the start. Does nothing if the plan is there.
  Status compile_later(Graph (*graph)(const Shared& shared), Plan* plan);
  // InvalidArgument: an id is none of the model's. `what` begins the message.
  Status check_ids(std::span<const int32_t> ids, const char* what) const;
  // The decoder with keys and values that stay, of one text whose first `past` tokens are there.
  DecoderOptions with_cache(Dim past) const;
};

// Says what a plan of a generator does. The plan's inputs and outputs, by name, are "settings" [1, members, kSampleWords], and "seed",
// "step" and "next" [1, members]; the position "past" is the length of the text before the run, or of the longest. A plan for one
// member of a room takes the member's row as the position "row".
enum class Speaking : uint8_t {
  Reads,   // a conversation's tokens, "ids" and "counted" [1, tokens]; the extent "tokens"
  Goes,    // a conversation goes on from the token that was drawn for it
  Chorus,  // so do as many members of a room as the extent "members" says; the other inputs are the lists of TextRun
};
// A guided one has the input "bias" [1, 1, vocabulary] and is for one member.
Graph speaking_graph(const TextGenerator::Shared& shared, Speaking what, bool guided = false);

}  // namespace heed
