// Shared by the tests of models in files.
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

// A conversation with a model: greedy, of one row.
struct ModelSpeaker : PlanSpeaker {
  ModelSpeaker(Device device, const DecoderModel& model, int64_t capacity, int64_t most,
               const DecoderOptions& options = {})
      : PlanSpeaker(plan_of(std::move(device), model, capacity, most, options), model.config().vocabulary, most) {}
  void forget() { past = 0; }
};

inline DecoderModel opened_model(const std::string& path) { return opened<DecoderModel>(path, stderr_log()); }

}  // namespace heed::test
