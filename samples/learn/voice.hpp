// A language model that learns a character's voice by adapters (LoRA) beside its frozen weights, quantized or not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/heed.hpp>

#include "lines.hpp"

namespace learn {

// The configuration stored in a checkpoint.
struct VoiceConfig {
  int64_t rank = 8;
  int layers = 0;  // the number of last layers with adapters; 0: half of all
  int64_t batch = 4;
  uint32_t seed = 1;
  int64_t steps = 60;
  float rate = 1.5e-3f;
  std::string lines;  // a fingerprint of the training data
};

class Voice {
 public:
  static constexpr int64_t kMostTokens = 128;  // of a line with its template

  heed::Status open(heed::Device device, const std::string& model, const VoiceConfig& config, const heed::Log& log);
  const VoiceConfig& config() const { return config_; }
  int64_t weights() const;
  const Speech& speech() const { return speech_; }
  std::string about() const;

  heed::Status begin();
  // A file of adapters and moments, written by Optimizer::save.
  heed::Status load(const std::string& path);
  heed::Status save(const std::string& path) const;
  // Writes only the adapters, for PEFT and heed::train::Lora.
  heed::Status save_adapters(const std::string& folder) const;

  struct Row {
    std::vector<int32_t> ids;
    size_t answer = 0;  // index of its first token
  };
  // One step of AdamW on config().batch rows, which the step number determines.
  heed::Status step(const std::vector<Row>& rows, int64_t number, float* loss, heed::train::StepReport* report);
  heed::Status judge(const std::vector<Row>& rows, float* loss);
  // The greedy answer of up to `most` tokens, with the learned adapters or without any.
  heed::Status answer(const std::string& said, bool learned, int64_t most, std::string* text);

 private:
  heed::Status compile();
  heed::Status run(heed::Plan& plan, const std::vector<const Row*>& rows, const heed::train::StepNumbers& numbers,
                   float* loss, heed::train::StepReport* report);

  VoiceConfig config_;
  heed::Log log_;
  heed::Device device_;
  heed::DecoderModel model_;
  std::string name_;
  Speech speech_;
  heed::train::Lora lora_;
  heed::train::Optimizer optimizer_;
  heed::Plan learns_, judges_, speaks_;
  heed::State state_, speaking_;
};

}  // namespace learn
