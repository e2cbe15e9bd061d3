// SpeechRecognizer: a speech model (Whisper) on a device, and what it hears.
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
// Samples are mono, kSpeechRate a second, from -1 to 1. Nothing calls back and no thread of the host's is used. Final text does not depend
// on the pieces in which samples come, nor on when the host polls.
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

// In which types a recognizer keeps its weights and caches.
struct SpeechRecognizerOptions {
  // Storage of matrices: F32, F16 or BF16, or Q8_0, to which they are rounded (convolutions and positions stay as they are). Default:
  // as in the file.
  std::optional<DType> weight_dtype = {};
  // Storage of keys and values: F16 or BF16, for half the memory of a stream, where the device can. Default: F32.
  std::optional<DType> cache_dtype = {};
  bool round_rows = false;    // see CompileOptions; words may differ
  bool reproducible = false;  // see CompileOptions: the same tokens on every device
  UploadProgress progress = {};
  Log log = {};  // of the streams, too
};

// What becomes of the speech.
enum class SpeechTask : uint8_t {
  Transcribe,
  Translate,  // to English; only models of several languages can
};

// Sound is heard in windows of 30 seconds (SpeechRecognizer::window_samples).
struct SpeechOptions {
  // What is spoken, for models of several languages: "en", "de", ... Default: the model tells for each window.
  std::string language = {};
  SpeechTask task = SpeechTask::Transcribe;
  // The model tells when segments begin and end, and a window begins where the last whole segment ended, so that no word is cut.
  // Without it windows lie one behind the other, and each is one segment.
  bool timestamps = true;
  int64_t most_tokens = 0;  // of a window; 0: half of what the decoder has room for
  bool words = false;       // gives SpeechSegment::words, for which each window is read once more

  // A window whose tokens have a lower mean of log(probability) than this is doubtful.
  float least_log_probability = -1.0f;
  // So is one whose ids repeat each other so that the entropy of the last 32, in nats, is lower than this.
  float least_entropy = 2.4f;
  // A doubtful window is read again by draws, each time of a temperature that is higher by so much, up to 1. 0: it is not.
  float temperature_step = 0.2f;
  uint32_t seed = 0;  // of the draws
  // A window without speech of more than this probability, and a mean below least_log_probability, is silence: it gives no segment.
  float most_no_speech = 0.6f;

  // Of streams: a window also ends where the sound stays below `pause_level` (root of the mean square, of 1 as full scale) for so many
  // seconds, at most half a window, so that text is final before 30 seconds are full; longer silence is not heard. 0: no such ends.
  float pause_seconds = 0;
  float pause_level = 0.01f;
  // Of streams: what is there of a window is read each time that so many seconds more have come, for SpeechPiece::partial.
  // 0: never.
  float partial_seconds = 0;
};

// A word, with the punctuation around it.
struct SpeechWord {
  std::string text;           // UTF-8; those of a segment, one behind the other, are its text
  double begin = 0, end = 0;  // seconds since the stream began
  float probability = 0;      // the mean of its tokens'
  // How much the heads that align looked at each 0.02 s from SpeechSegment::window_begin on; the sum is 1.
  std::vector<float> attention;
};

// A stretch of speech, such as a sentence.
struct SpeechSegment {
  double begin = 0, end = 0;  // seconds since the stream began
  std::string text;           // UTF-8, usually with a space at its front
  std::vector<int32_t> ids;   // of the text and its times
  std::string language = {};  // of models of several languages: what was spoken
  // Of the segment's window: the mean of log(probability) of its tokens, the probability that nobody speaks, and the temperature.
  float log_probability = 0, no_speech = 0, temperature = 0;
  double window_begin = 0;        // where the sound of the window begins, in seconds since the stream began
  std::vector<SpeechWord> words;  // if SpeechOptions::words
};

// All that was heard in a sound.
struct SpeechText {
  std::vector<SpeechSegment> segments;
  std::string text() const;  // of all segments, as they follow each other
};

// What a step gave.
struct SpeechPiece {
  bool done = false;                    // a step is over; poll() may have none to tell of
  int32_t token = -1;                   // which the step drew, also one that ends a window; -1: none
  std::vector<SpeechSegment> segments;  // which became final
  // What the window under way is heard as so far. It takes the place of what an earlier step gave, and may change until its
  // segments are final.
  std::string partial;
};

class SpeechStream;
struct SpeechAccess;  // private to the implementation

// A cheap handle: copies share device, weights and plans. All of a model's streams run on the same plans, one run after the other,
// so that their calls, and those of the handle, must not overlap in time.
class HEED_API SpeechRecognizer {
 public:
  // `path` is one of these:
  // - a folder with Whisper as CTranslate2 has it (faster-whisper's models): model.bin, config.json, and vocabulary.txt or
  //   vocabulary.json; matrices of f32, f16 or bf16, or of 8 bits with scales
  // - a folder of Hugging Face: config.json, tokenizer.json, safetensors, and generation_config.json if there is one
  // - a file of whisper.cpp, ggml-*.bin: matrices of f32, f16, or a quantized type that a DType stands for
  // NotFound: a file is missing. InvalidFile: one is damaged.
  // MissingWeight, ShapeMismatch, Unsupported: the tensors are not those of the network. Otherwise failures are those of
  // Device::upload and compile. On failure *recognizer is unchanged.
  static Status open(Device& device, std::string_view path, const SpeechRecognizerOptions& options,
                     SpeechRecognizer* recognizer);

  // Begins a stream. Compiles plans that no earlier stream needed. InvalidArgument: an option is outside of its range. Unsupported:
  // the model has not this language or task. On failure *stream is unchanged.
  Status begin(const SpeechOptions& options, SpeechStream* stream) const;

  // What is said in these samples, as a stream of them gives it. Takes the memory of a stream, whatever their number. No samples are
  // no text. InvalidArgument: a sample is no number or far from -1 .. 1, or an option is outside of its range. InvalidFile: the model's
  // logits are no numbers. On failure *text is unchanged.
  Status recognize(std::span<const float> samples, const SpeechOptions& options, SpeechText* text) const;

  bool valid() const { return shared_ != nullptr; }
  // The recognizer must be valid for all of these.
  const Bpe& tokenizer() const;  // gives texts of ids; it has no merges, and so makes no ids of texts
  int64_t window_samples() const;
  std::vector<std::string> languages() const;  // none: the model hears English alone
  uint64_t stream_bytes() const;               // what a stream takes on the device
  const Weights& weights() const;
  const Plan& encoder() const;  // of a window, for PassInfo
  const Plan& decoder() const;  // of a token

  struct Shared;  // private to the implementation

 private:
  friend class SpeechStream;
  friend struct SpeechAccess;
  std::shared_ptr<Shared> shared_;
};

// Sound that comes in, and its text. Move-only; it keeps the model alive. Destroying it waits for the step that poll began.
class HEED_API SpeechStream {
 public:
  SpeechStream();
  ~SpeechStream();
  SpeechStream(SpeechStream&&) noexcept;
  SpeechStream& operator=(SpeechStream&&) noexcept;
  bool valid() const { return impl_ != nullptr; }

  // Takes more sound, which it copies; what has become text is let go. InvalidArgument: the sound was finished, or a sample is no
  // number or far from -1 .. 1; nothing is taken then.
  Status push(std::span<const float> samples);
  // No sound follows: what is left of it becomes text, too.
  void finish();

  // Whether step() has something to do before more sound comes.
  bool busy() const;
  // Hears a window or reads or draws tokens, and waits for it. Does nothing if there is nothing to do: piece->done is then false.
  // InvalidFile: the model's logits are no numbers. Other failures are those of Plan::run.
  Status step(SpeechPiece* piece);
  // The same without waiting, as far as Plan::start does not wait: begins a step, or gives what the last one gave and begins the
  // next. While a step of another stream goes on, it does nothing; streams that are polled in turn get their steps in turn. After a
  // failure of either, the window under way is lost, and the stream goes on behind it.
  Status poll(SpeechPiece* piece);
  // Lets go of all sound that has not become text. It waits for the step that poll began, and what that gives is lost. Time goes on.
  void cancel();

  double seconds() const;  // of sound that was pushed

  struct Impl;  // private to the implementation

 private:
  friend class SpeechRecognizer;
  friend struct SpeechAccess;
  std::unique_ptr<Impl> impl_;
};

}  // namespace heed
