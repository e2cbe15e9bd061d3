// SpeechRecognizer: a speech model (Whisper) on a device, which turns sound into text.
//
//   heed::SpeechRecognizer model;
//   heed::Status s = heed::SpeechRecognizer::open(device, "whisper-tiny.en", {.log = heed::stderr_log()}, &model);
//   heed::SpeechText text;
//   if (s == heed::Status::Ok) s = model.recognize(samples, {}, &text);   // a file's worth, waited for
//
//   heed::SpeechStream ear;                                               // or as the sound comes in
//   if (s == heed::Status::Ok) s = model.begin({.partial_seconds = 1}, &ear);
//   heed::SpeechPiece piece;
//   ... in each frame:
//   s = ear.push(microphone);
//   s = ear.poll(&piece);                                                 // does not wait for the device
//   for (const heed::SpeechSegment& segment : piece.segments) print(segment.text);
//
// Samples are mono, kSpeechRate a second, from -1 to 1. There are no callbacks, and no thread of the host's is used. Final text does not
// depend on the pieces in which samples come, nor on when the host polls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/bpe.hpp>
#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/plan.hpp>
#include <heed/status.hpp>

namespace heed {

inline constexpr int kSpeechRate = 16000;  // samples a second

// In which types a recognizer stores weights and caches, and how it computes.
struct SpeechRecognizerOptions {
  // Storage of matrices: F32, F16, BF16 or Q8_0; values are rounded to it, except those of convolutions and positions. Default: as in the
  // file.
  std::optional<DType> weight_dtype = {};
  // Storage of keys and values: F16 or BF16, for half the memory of a stream, if the device supports it. Default: F32.
  std::optional<DType> cache_dtype = {};
  bool round_rows = false;    // see CompileOptions; may change words
  bool reproducible = false;  // see CompileOptions: the same tokens on every device
  bool timestamps = false;    // see CompileOptions: record_step fills its budget by measured times
  UploadProgress progress = {};
  Log log = {};  // also receives the messages of streams
};

// Whether speech is transcribed or translated.
enum class SpeechTask : uint8_t {
  Transcribe,
  Translate,  // to English; needs a model of several languages
};

// Options of a stream. Sound is processed in windows of 30 seconds (SpeechRecognizer::window_samples).
struct SpeechOptions {
  // The spoken language, for models of several languages: "en", "de", ... Default: the model detects it for each window.
  std::string language = {};
  SpeechTask task = SpeechTask::Transcribe;
  // The model tells when segments begin and end. A window begins where the last complete segment ended, so that no word is cut. Without it
  // windows follow each other without gaps, and each is one segment.
  bool timestamps = true;
  int64_t most_tokens = 0;  // per window; 0: half of the decoder's capacity
  bool words = false;       // fills SpeechSegment::words, for which each window is decoded once more

  // A window is doubtful if the mean of log(probability) of its tokens is lower than this,
  float least_log_probability = -1.0f;
  // or if its ids repeat so much that the entropy of the last 32, in nats, is lower than this.
  float least_entropy = 2.4f;
  // A doubtful window is decoded again by sampling; each time the temperature rises by this much, up to 1. 0: no further attempts.
  float temperature_step = 0.2f;
  uint32_t seed = 0;  // seed of the sampling
  // A window counts as silence, without segments, if the probability of no speech is above this and the mean is below
  // least_log_probability.
  float most_no_speech = 0.6f;

  // Of streams: a window also ends where the sound stays below `pause_level` (root mean square; full scale is 1) for this many seconds, at
  // most half a window, so that text becomes final before 30 seconds are full. The rest of the pause is skipped. 0: windows do not end at
  // pauses.
  float pause_seconds = 0;
  float pause_level = 0.01f;
  // Of streams: the incomplete window is decoded each time this many more seconds have arrived, for SpeechPiece::partial. 0: never.
  float partial_seconds = 0;
};

// A word, with the punctuation around it. Text without spaces is split into words of at most 80 characters.
struct SpeechWord {
  std::string text;           // UTF-8; the concatenated texts of a segment's words are its text
  double begin = 0, end = 0;  // seconds since the stream began
  float probability = 0;      // mean over its tokens
  // How much the alignment heads attended to each 0.02 s from SpeechSegment::window_begin on; sums to 1.
  std::vector<float> attention;
};

// A stretch of speech, such as a sentence.
struct SpeechSegment {
  double begin = 0, end = 0;  // seconds since the stream began
  std::string text;           // UTF-8, usually with a space at its front
  std::vector<int32_t> ids;   // tokens of the text and its times
  std::string language = {};  // the spoken language, from models of several languages
  // Of the segment's window: the mean of log(probability) of its tokens, the probability that there is no speech, and the temperature.
  float log_probability = 0, no_speech = 0, temperature = 0;
  double window_begin = 0;        // where the sound of the window begins, in seconds since the stream began
  std::vector<SpeechWord> words;  // if SpeechOptions::words
};

// The whole text of a sound.
struct SpeechText {
  std::vector<SpeechSegment> segments;
  std::string text() const;  // texts of all segments, concatenated
};

// The result of a step.
struct SpeechPiece {
  bool done = false;                    // a step has ended; false if poll() has none to report
  int32_t token = -1;                   // the token that the step drew, which may end a window; -1: none
  std::vector<SpeechSegment> segments;  // those that became final
  // The text of the incomplete window so far. It replaces that of earlier steps, and may change until its segments are final.
  std::string partial;
};

class SpeechStream;
struct SpeechAccess;  // private to the implementation

// A cheap handle: copies share device, weights and plans. All of a model's streams use the same plans, one run after the other, so their
// calls, and those of the handle, must not overlap in time.
class HEED_API SpeechRecognizer {
 public:
  // Loads a model. `path` is one of these:
  // - a folder with Whisper in CTranslate2's format (faster-whisper's models): model.bin, config.json, and vocabulary.txt or
  //   vocabulary.json; matrices of f32, f16 or bf16, or of 8 bits with scales
  // - a folder of Hugging Face: config.json, tokenizer.json, safetensors, and optionally generation_config.json
  // - a file of whisper.cpp, ggml-*.bin: matrices of f32, f16, or a quantized type that is a DType
  //
  // NotFound: a file is missing. InvalidFile: one is damaged. MissingWeight, ShapeMismatch, Unsupported: the tensors do not fit the
  // network. Other failures are those of Device::upload and compile. On failure *recognizer is unchanged.
  static Status open(Device& device, std::string_view path, const SpeechRecognizerOptions& options,
                     SpeechRecognizer* recognizer);

  // Begins a stream. Compiles plans that no earlier stream needed. InvalidArgument: an option is outside its range. Unsupported: the model
  // lacks this language or task. On failure *stream is unchanged.
  Status begin(const SpeechOptions& options, SpeechStream* stream) const;

  // The text of these samples, as a stream of them gives it. Takes the memory of one stream, whatever their number. Without samples the
  // text is empty. InvalidArgument: a sample is NaN or far outside -1 .. 1, or an option is outside its range. InvalidFile: the model's
  // logits are NaN or infinite. On failure *text is unchanged.
  Status recognize(std::span<const float> samples, const SpeechOptions& options, SpeechText* text) const;

  bool valid() const { return shared_ != nullptr; }
  // The recognizer must be valid for the calls below.
  const Bpe& tokenizer() const;  // decodes ids to text; it has no merges, so it cannot encode
  int64_t window_samples() const;
  std::vector<std::string> languages() const;  // none: the model knows English only
  uint64_t stream_bytes() const;               // device memory of a stream
  const Weights& weights() const;
  const Plan& encoder() const;  // the plan for one window, for PassInfo
  const Plan& decoder() const;  // the plan for one token

  struct Shared;  // private to the implementation

 private:
  friend class SpeechStream;
  friend struct SpeechAccess;
  std::shared_ptr<Shared> shared_;
};

// Incoming sound and its text. Move-only; it keeps the model alive. The destructor waits for the step that poll began.
class HEED_API SpeechStream {
 public:
  SpeechStream();
  ~SpeechStream();
  SpeechStream(SpeechStream&&) noexcept;
  SpeechStream& operator=(SpeechStream&&) noexcept;
  bool valid() const { return impl_ != nullptr; }

  // Adds samples, which it copies; those that have become text are released. InvalidArgument: finish() was called, or a sample is NaN or
  // far outside -1 .. 1; nothing is added then.
  Status push(std::span<const float> samples);
  // Tells the end of the sound: the rest of it becomes text, too.
  void finish();

  // Whether step() has work before more sound arrives.
  bool busy() const;
  // Encodes a window, or decodes one or several tokens, and waits for it. If there is nothing to do, piece->done is false. InvalidFile: the
  // model's logits are NaN or infinite. Other failures are those of Plan::run.
  Status step(SpeechPiece* piece);
  // The same without waiting, as far as Plan::start does not wait: begins a step, or returns the last one's result and begins the next.
  // With SpeechOptions::words the times of a window's words are computed over several calls, a fraction of a millisecond in each.
  // While a step of another stream is running, it does nothing; streams that are polled in turn get their steps in turn. After a failure of
  // step or poll, the current window is lost, and the stream continues after it.
  Status poll(SpeechPiece* piece);
  // Discards all sound that has not become text. It waits for the step that poll began and discards its result. Time goes on.
  void cancel();

  double seconds() const;  // duration of all pushed samples

  struct Impl;  // private to the implementation

 private:
  friend class SpeechRecognizer;
  friend struct SpeechAccess;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heed
