// Data shared by all conversations of a model: weights, plans, and the current run.
#pragma once

#include <heed/decoder_model.hpp>
#include <heed/text_generator.hpp>

#include "text/generator/together.hpp"
#include "text/grammar/guide.hpp"

namespace heed {

struct TextGenerator::Shared {
  Device device;
  std::string path;
  DecoderModel model;  // its file stays open, since later plans are built from it
  Bpe bpe;
  std::optional<ChatTemplate> chat;
  std::string chat_problem;   // why there is no template
  std::vector<int32_t> ends;  // tokens that end an answer, ascending
  int64_t context = 0, read = 0;
  DecoderOptions network;
  CompileOptions compiling;         // options of all plans
  DType weight_dtype = DType::F32;  // type of most of the bytes
  Log log;
  Weights weights;
  // `prefill` reads ids from the host. `decode`, for one conversation, and `batch_decode`, for several conversations of a batch, read the
  // tokens that earlier runs have drawn and that stayed on the device.
  Plan prefill, decode, batch_decode;
  Plan scorer;     // for TextGenerator::loss, compiled at its first call
  Plan attention;  // for TextGenerator::attention, likewise
  GuidedPlans guided;

  int64_t together = 1;  // number of rows in a batch
  std::vector<std::weak_ptr<BatchState>> batches;
  TextRun run;
  bool in_frames = false;  // the host records steps into its frames, so poll begins none
  uint64_t begun = 0;      // number of runs that poll has begun

  uint64_t fingerprint = 0;  // of the model's files, computed when a conversation is first saved or loaded (saved.cpp)

  // Waits for the current run, and stores its results in its conversations.
  void settle();

  const DecoderConfig& config() const { return model.config(); }
  // Compiles a plan that is not needed from the start. Does nothing if the plan exists.
  Status compile_later(Graph (*graph)(const Shared& shared), Plan* plan);
  // InvalidArgument: an id is outside the vocabulary. `what` begins the message.
  Status check_ids(std::span<const int32_t> ids, const char* what) const;
  // Options of the decoder with a cache in which `past` tokens are already stored.
  DecoderOptions with_cache(Dim past) const;
};

// The kind of a generator's plan. Inputs and outputs are "settings" [1, members, kSampleWords], and "seed", "step" and "next" [1, members];
// the position "past" is the length of the text before the run, or of the longest text. A plan for one member of a batch has the member's
// row as the position "row".
enum class StepKind : uint8_t {
  Prefill,      // reads tokens of one conversation, "ids" and "counted" [1, tokens]; the extent is "tokens"
  Decode,       // one conversation decodes from the token that was drawn for it
  BatchDecode,  // the extent "members" is the number of conversations that decode; further inputs are the lists of TextRun
};
// A guided graph has the input "bias" [1, 1, vocabulary] and is for one member.
Graph step_graph(const TextGenerator::Shared& shared, StepKind what, bool guided = false);

}  // namespace heed
