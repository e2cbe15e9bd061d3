// What all streams of a recognizer share: weights, plans, and whose run is under way.
#pragma once

#include <array>

#include <heed/speech.hpp>

#include "models/whisper.hpp"
#include "speech/times.hpp"

namespace heed {

// The run under way, which is at most one, as a plan has one scratch. Its buffers stay where they are meanwhile.
struct SpeechRun {
  SpeechStream::Impl* of = nullptr;  // null: none is under way, or its stream has left
  bool under_way = false;
  StartedRun started;
  std::shared_ptr<void> recording;  // of a run that the host records into its frames; see frames/record_speech.cpp
  std::vector<float> samples;       // of a window, with zeros behind its end
  std::vector<int32_t> ids;
  std::vector<float> looks;  // [heads that align, ids, encoder.positions]
  std::array<int32_t, 4> limits = {};
  std::array<int32_t, 1> start = {}, next = {}, seed = {}, step = {};
  std::array<float, 1> loss = {}, no_speech = {};
  SampleWords settings = {};
  // What the plan is given: buffers of the above.
  Plan plan;
  State state;
  std::vector<HostBuffer> buffers;
  std::vector<ExtentValue> extents;

  void finish(Status status);  // tells its stream
  void clear();
};

// What a plan of the decoder does. All give "next" [1, 1], the token that is drawn among "limits" (speech::Limits, I32 [1, 1, 4]), and its
// "loss" [1, 1], -log(its probability). The position "past" is how many tokens the states have.
struct Decoding {
  // True: it reads the prompt "ids" [1, tokens], and also gives "no_speech" [1, 1], the probability at the row "start" [1, 1]. False: it
  // reads the token that the last run drew.
  bool reads = false;
  bool times = false;  // a time is drawn if times together are likelier than each other token
  bool draws =
      false;  // by "settings" [1, 1, kSampleWords], "seed" and "step" [1, 1]; else the likeliest token is taken
  size_t index() const { return (reads ? 4u : 0u) + (times ? 2u : 0u) + (draws ? 1u : 0u); }
};

struct SpeechRecognizer::Shared {
  Device device;
  std::string path;
  Log log;
  models::WhisperModel model;  // names, shapes and types of weights, by which later plans are built
  Bpe bpe;
  models::WhisperOptions network;
  CompileOptions compiling;  // of all plans
  Weights weights;
  Plan encoder;
  std::array<Plan, 8> decoders;  // by Decoding::index(), made when they are needed
  Plan aligner;                  // made when a stream wants words

  SpeechRun run;
  std::vector<SpeechStream::Impl*> streams;
  bool in_frames = false;                 // the host records steps, so that poll begins none
  uint64_t begun = 0;                     // how many runs
  SpeechStream::Impl* waiting = nullptr;  // which wanted to begin a run while another was under way

  Status compile_decoder(const Decoding& what, Plan* plan);
  Status compile_aligner();
  size_t look_size() const {
    return model.config().aligning_heads().size() * static_cast<size_t>(model.config().encoder.positions);
  }
  // Waits for the run under way, and leaves what it gave with its stream.
  void settle();
  speech::Times times() const;
  // The token of a language; -1: none.
  int32_t language(std::string_view name) const;
  std::string language_name(int32_t id) const;  // "": it is none
};

Graph hearing_graph(const SpeechRecognizer::Shared& shared);
Graph decoding_graph(const SpeechRecognizer::Shared& shared, const Decoding& what);
// Reads a text "ids" [1, tokens] from its beginning and gives "looks" (SpeechRun).
Graph aligning_graph(const SpeechRecognizer::Shared& shared);

}  // namespace heed
