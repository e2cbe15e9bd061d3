// The tiny decoders that make.py made, one in each file of this folder. Tests of models read all of them. A new family needs its file here,
// and the GGUF file that tests/models/make.py makes from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <heed/decoder_model.hpp>
#include <heed/safetensors.hpp>

#include "harness/setup.hpp"
#include "harness/source_path.hpp"

namespace heed::test {

// A decoder, and its expected tokens in double.
struct TinyDecoder {
  std::string name, config_json;  // the config.json of a Hugging Face checkpoint
  SafeTensors file;
  DecoderConfig config;
  float norm_offset = 0;  // the offset that a Hugging Face checkpoint subtracts from the weights of norms
  std::vector<int32_t> prompt, tokens;
  std::vector<float> logits;  // the logits of each token

  static bool is_weight(std::string_view tensor) {
    return tensor != "prompt" && tensor != "tokens" && tensor != "logits";
  }
  // The largest difference from the logits of step `index`, relative to their largest value.
  double distance(std::span<const float> got, size_t index) const {
    double most = 0, largest = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double want = static_cast<double>(logits[index * got.size() + i]);
      const double off = std::fabs(static_cast<double>(got[i]) - want);
      most = std::isnan(off) ? HUGE_VAL : std::max(most, off);
      largest = std::max(largest, std::fabs(want));
    }
    return most / largest;
  }
};

inline std::vector<std::string> tiny_decoders() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/decoders")))
    if (entry.path().extension() == ".safetensors") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  REQUIRE(names.size() >= 4);
  return names;
}

inline TinyDecoder tiny_decoder(const std::string& name) {
  TinyDecoder tiny;
  tiny.name = name;
  REQUIRE(SafeTensors::open(source_path("tests/decoders/") + name + ".safetensors", stderr_log(), &tiny.file) ==
          Status::Ok);
  tiny.config_json = tiny.file.metadata("config.json");
  REQUIRE(parse_decoder_config(tiny.config_json, name, stderr_log(), &tiny.config) == Status::Ok);
  if (const std::string offset(tiny.file.metadata("norm_offset")); !offset.empty())
    tiny.norm_offset = std::stof(offset);
  REQUIRE(read_i32(*tiny.file.find("prompt"), stderr_log(), &tiny.prompt) == Status::Ok);
  REQUIRE(read_i32(*tiny.file.find("tokens"), stderr_log(), &tiny.tokens) == Status::Ok);
  REQUIRE(read_f32(*tiny.file.find("logits"), stderr_log(), &tiny.logits) == Status::Ok);
  return tiny;
}

// A conversation with a plan of one row, whose inputs and outputs are "ids", "logits" and "next". The State holds the text read so far.
class PlanSpeaker {
 public:
  // A run reads `most` tokens.
  PlanSpeaker(Plan compiled_plan, int64_t vocabulary, int64_t most)
      : plan(std::move(compiled_plan)), logits(static_cast<size_t>(vocabulary)), most_(static_cast<size_t>(most)) {
    REQUIRE(plan.make_state(&state) == Status::Ok);
  }
  // Reads tokens, and returns the next one; `logits` then has its logits.
  int32_t read(std::span<const int32_t> ids) {
    int32_t next[1] = {-1};
    for (; !ids.empty(); ids = ids.subspan(std::min(ids.size(), most_))) {
      const std::span<const int32_t> some = ids.first(std::min(ids.size(), most_));
      const auto count = static_cast<int64_t>(some.size());
      REQUIRE(plan.run({{"ids", some}, {"logits", logits}, {"next", next}}, {{"past", past}, {"tokens", count}},
                       {.state = state}) == Status::Ok);
      past += count;
    }
    return next[0];
  }
  Plan plan;
  State state;
  std::vector<float> logits;
  int64_t past = 0;

 private:
  size_t most_;
};

inline std::string tiny_gguf(const std::string& name) { return source_path("tests/models/") + name + ".gguf"; }

}  // namespace heed::test
