// The tiny Whispers that make.py made, and their sound.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <heed/safetensors.hpp>
#include <heed/speech.hpp>

#include "harness/devices.hpp"
#include "harness/setup.hpp"
#include "harness/source_path.hpp"
#include "models/whisper.hpp"

namespace heed::test {

// The formula of sound() in make.py.
inline std::vector<float> tiny_sound(size_t count) {
  std::vector<float> samples(count);
  uint32_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const int loudness = std::abs(static_cast<int>(i / 16 % 128) - 64);
    samples[i] =
        static_cast<float>(static_cast<int>(state >> 16) - 32768) / 32768.0f * static_cast<float>(loudness) / 256.0f;
  }
  return samples;
}

struct TinyWhisper {
  explicit TinyWhisper(const std::string& name) : path(source_path("tests/speech/") + name) {
    const std::string folder = source_path("tests/speech/") + name.substr(0, name.find('-'));  // of this model
    REQUIRE(SafeTensors::open(folder + "/expected.safetensors", stderr_log(), &expected) == Status::Ok);
    REQUIRE(model.open(path, stderr_log()) == Status::Ok);
    sound = tiny_sound(static_cast<size_t>(2.6 * static_cast<double>(model.config().window())));
  }
  std::vector<float> floats(std::string_view name) const {
    std::vector<float> values;
    REQUIRE(read_f32(*expected.find(name), stderr_log(), &values) == Status::Ok);
    return values;
  }
  std::vector<int32_t> integers(std::string_view name) const {
    std::vector<int32_t> values;
    REQUIRE(read_i32(*expected.find(name), stderr_log(), &values) == Status::Ok);
    return values;
  }
  // Lists "WHAT.0", "WHAT.1", ...
  std::vector<std::vector<int32_t>> lists(const std::string& what) const {
    std::vector<std::vector<int32_t>> all;
    while (expected.find(what + "." + std::to_string(all.size())) != nullptr)
      all.push_back(integers(what + "." + std::to_string(all.size())));
    REQUIRE(!all.empty());
    return all;
  }

  std::string path;
  SafeTensors expected;
  models::WhisperModel model;
  std::vector<float> sound;
};

inline SpeechRecognizer opened_recognizer(Device device, const std::string& path,
                                          const SpeechRecognizerOptions& options = {}) {
  SpeechRecognizer recognizer;
  REQUIRE(SpeechRecognizer::open(device, path, options, &recognizer) == Status::Ok);
  return recognizer;
}

// Options that accept the likeliest tokens, whatever they are: models with random weights would reject all of their texts.
inline SpeechOptions without_doubts(bool timestamps) {
  SpeechOptions options;
  options.timestamps = timestamps;
  options.temperature_step = 0;
  options.most_no_speech = HUGE_VALF;
  return options;
}

inline std::vector<std::vector<int32_t>> ids_of(const SpeechText& text) {
  std::vector<std::vector<int32_t>> all;
  for (const SpeechSegment& segment : text.segments) all.push_back(segment.ids);
  return all;
}

inline double distance(std::span<const float> got, std::span<const float> want) {
  REQUIRE(got.size() == want.size());
  double most = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double off = std::fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
    most = std::isnan(off) ? HUGE_VAL : std::max(most, off);
  }
  return most;
}

// One window and a prompt, stage by stage.
struct WhisperStages {
  std::vector<float> mel, encoder, logits;
};
inline WhisperStages hear_stages(Device device, const models::WhisperModel& model, std::span<const float> samples,
                                 const std::vector<int32_t>& prompt, const models::WhisperOptions& options = {}) {
  const models::WhisperConfig& c = model.config();
  Graph ear;
  const Tensor mel = model.mel(ear, ear.input("samples", {1, c.window()}));
  const Tensor encoded = model.encode(ear, mel, options);
  model.remember(ear, encoded, options);
  ear.output("mel", mel);
  ear.output("encoder", encoded);
  Graph reader;
  const Dim past = reader.position("past", c.decoder.positions - 1), tokens = reader.extent("tokens", 4);
  const Tensor rows = model.decode(reader, reader.input("ids", {1, tokens}, DType::I32), past, options);
  reader.output("logits", model.logits(reader, reader.last(rows, 1), options));
  Weights weights;
  REQUIRE(model.upload(device, options, &weights, {}) == Status::Ok);
  Plan hears = compiled(device, ear, weights), reads = compiled(device, reader, weights);
  State state = state_of(reads);
  std::vector<float> window(static_cast<size_t>(c.window()));
  std::copy_n(samples.begin(), std::min(samples.size(), window.size()), window.begin());
  WhisperStages stages;
  stages.mel.resize(static_cast<size_t>(c.frames() * c.bands));
  stages.encoder.resize(static_cast<size_t>(c.encoder.positions * c.width));
  stages.logits.resize(static_cast<size_t>(c.vocabulary));
  REQUIRE(hears.run({{"samples", window}, {"mel", stages.mel}, {"encoder", stages.encoder}}, {}, {.state = state}) ==
          Status::Ok);
  REQUIRE(reads.run({{"ids", prompt}, {"logits", stages.logits}},
                    {{"past", 0}, {"tokens", static_cast<int64_t>(prompt.size())}}, {.state = state}) == Status::Ok);
  return stages;
}

}  // namespace heed::test
