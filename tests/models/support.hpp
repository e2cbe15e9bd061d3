// Helpers for tests of models in files.
#pragma once

#include "decoders/tiny.hpp"
#include "harness/devices.hpp"
#include "harness/files.hpp"

namespace heed::test {

inline Plan plan_of(Device device, const DecoderModel& model, int64_t capacity, int64_t most,
                    const DecoderOptions& options) {
  Graph g;
  const Dim past = g.position("past", capacity - 1), tokens = g.extent("tokens", most);
  DecoderOptions with_cache = options;
  with_cache.cache = {.capacity = capacity, .past = past};
  const DecoderResult y = model.build(g, g.input("ids", {1, tokens}, DType::I32), with_cache);
  g.output("logits", options.dtype == DType::F32 ? y.logits : g.cast(y.logits, DType::F32));
  g.output("next", g.argmax(y.logits));
  INFO(g.error());
  REQUIRE(g.status() == Status::Ok);
  Weights weights;
  REQUIRE(model.upload(device, options, &weights) == Status::Ok);
  return compiled(device, g, weights);
}

// A greedy conversation with a model, of one row.
struct ModelSpeaker : PlanSpeaker {
  ModelSpeaker(Device device, const DecoderModel& model, int64_t capacity, int64_t most,
               const DecoderOptions& options = {})
      : PlanSpeaker(plan_of(std::move(device), model, capacity, most, options), model.config().vocabulary, most) {}
  void forget() { past = 0; }
};

// The expected text of a real model, computed in double, in a file of this folder.
struct Prompt {
  std::string text;
  std::vector<int32_t> ids, greedy;
  std::vector<std::pair<size_t, double>> largest;  // logits after the prompt
};

std::vector<Prompt> prompts_of(const char* file, size_t count);
// Checks for each prompt that at most `most` tokens follow as stored, and that the largest logits differ by less than `bound`.
void check_prompts(const ops::TestDevice& on, const DecoderModel& model, const DecoderOptions& options,
                   std::span<const Prompt> prompts, size_t most, double bound);

inline DecoderModel opened_model(const std::string& path) { return opened<DecoderModel>(path, stderr_log()); }

}  // namespace heed::test
