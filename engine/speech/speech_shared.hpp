// Data shared by all streams of a recognizer: weights, plans, and the current run.
#pragma once

#include <array>

#include <heed/speech.hpp>

#include "models/whisper.hpp"
#include "speech/times.hpp"

namespace heed {

// The current run; there is at most one, as plans share one scratch. Its buffers keep their addresses until it ends.
struct SpeechRun {
  SpeechStream::Impl* of = nullptr;  // null: there is no current run, or its stream has left
  bool under_way = false;
  StartedRun started;
  std::shared_ptr<void> recording;  // for a run that the host records into its frames; see frames/record_speech.cpp
  std::vector<float> samples;       // samples of a window, zero-padded
  std::vector<int32_t> ids;
  std::unique_ptr<float[]> looks;  // [alignment heads, ids, frames of the window's sound]
  std::array<int32_t, 4> limits = {};
  std::array<int32_t, 1> start = {}, next = {}, seed = {}, step = {};
  std::array<float, 1> loss = {}, no_speech = {};
  SampleWords settings = {};
  // Arguments of the run: buffers of the vectors above.
  Plan plan;
  State state;
  std::vector<HostBuffer> buffers;
  std::vector<ExtentValue> extents;

  void finish(Status status);  // stores the results in its stream
  void clear();
};

// The kind of a decoder plan. All return "next" [1, 1], the token drawn among "limits" (speech::Limits, I32 [1, 1, 4]), and its "loss" [1,
// 1], -log(probability). The position "past" is the number of tokens in the states.
struct Decoding {
  // True: reads the prompt "ids" [1, tokens], and also returns "no_speech" [1, 1], the probability at row "start" [1, 1]. False: reads the
  // token that the last run drew.
  bool reads = false;
  bool times = false;  // draws a time token if the sum of their probabilities exceeds that of every other token
  // Draws by "settings" [1, 1, kSampleWords], "seed" and "step" [1, 1]; otherwise takes the likeliest token.
  bool draws = false;
  size_t index() const { return (reads ? 4u : 0u) + (times ? 2u : 0u) + (draws ? 1u : 0u); }
};

struct SpeechRecognizer::Shared {
  Device device;
  std::string path;
  Log log;
  models::WhisperModel model;  // names, shapes and types of weights, from which later plans are built
  Bpe bpe;
  models::WhisperOptions network;
  CompileOptions compiling;  // options of all plans
  Weights weights;
  Plan encoder;
  std::array<Plan, 8> decoders;  // by Decoding::index(), compiled when needed
  Plan aligner;                  // compiled when a stream requests words

  SpeechRun run;
  std::vector<SpeechStream::Impl*> streams;
  bool in_frames = false;                 // the host records steps into its frames, so poll begins none
  uint64_t begun = 0;                     // number of runs that poll has begun
  SpeechStream::Impl* waiting = nullptr;  // a stream that wanted to begin a run while another was running

  Status compile_decoder(const Decoding& what, Plan* plan);
  Status compile_aligner();
  size_t look_size() const {
    return model.config().aligning_heads().size() * static_cast<size_t>(model.config().encoder.positions);
  }
  // Waits for the current run, and stores its results in its stream.
  void settle();
  speech::Times times() const;
  // The token of a language; -1: none.
  int32_t language(std::string_view name) const;
  std::string language_name(int32_t id) const;  // "": it is not a language
};

Graph hearing_graph(const SpeechRecognizer::Shared& shared);
Graph decoding_graph(const SpeechRecognizer::Shared& shared, const Decoding& what);
// A graph that reads a text "ids" [1, tokens] from its beginning and returns "looks" (SpeechRun) for the first "frames".
Graph aligning_graph(const SpeechRecognizer::Shared& shared);

}  // namespace heed
