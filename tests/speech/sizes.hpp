// The networks of Whisper in the sizes that were published, without values.
#pragma once

#include <string_view>
#include <vector>

#include <heed/status.hpp>

#include "models/whisper_loader.hpp"

namespace heed::test {

struct WhisperSize {
  std::string_view name;
  int64_t width;
  int encoder_layers, decoder_layers;
  int64_t bands, vocabulary;
};
inline constexpr WhisperSize kTinyEnglish = {"tiny.en", 384, 4, 4, 80, 51864};

// Gives a model the tensors of a size, with matrices of f16.
class WhisperOfSize : models::WhisperLoader {
 public:
  WhisperOfSize(const WhisperSize& size, const Log& log, models::WhisperModel* model)
      : WhisperLoader(std::string(size.name), log, model), size_(size) {}

  Status make() {
    const auto side = [&](int layers, int64_t positions) {
      return models::WhisperSide{layers, size_.width / 64, 4 * size_.width, positions};
    };
    config_ = {
        size_.width, size_.bands, size_.vocabulary, side(size_.encoder_layers, 1500), side(size_.decoder_layers, 448),
        {}};
    // The last token is 30 s. Those before the times are in the same order in all vocabularies.
    tokens_.first_time = static_cast<int32_t>(size_.vocabulary) - 1501;
    tokens_.no_times = tokens_.first_time - 1;
    tokens_.no_speech = tokens_.no_times - 1;
    tokens_.previous = tokens_.no_speech - 1;
    tokens_.transcribe = tokens_.previous - 2;
    tokens_.translate = tokens_.transcribe - 1;
    tokens_.multilingual = seems_multilingual();
    tokens_.end = tokens_.multilingual ? 50257 : 50256;
    tokens_.start = tokens_.end + 1;
    Graph g;
    if (const Status status = build(&g); status != Status::Ok) return status;
    const std::vector<WeightInfo> weights = g.weights();
    names_.reserve(weights.size());
    for (const WeightInfo& weight : weights) {
      std::vector<int64_t>& shape = shapes_.emplace_back();
      for (int i = 0; i < weight.shape.rank; ++i) shape.push_back(weight.shape[i].value);
      add({names_.emplace_back(weight.name), "f16", DType::F16, shape, {}});
    }
    return Status::Ok;
  }

 private:
  const WhisperSize size_;
};

}  // namespace heed::test
