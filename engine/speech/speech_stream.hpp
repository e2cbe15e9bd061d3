// The implementation of a SpeechStream.
#pragma once

#include "speech/speech_shared.hpp"
#include "speech/stream_words.hpp"

namespace heed {

struct SpeechStream::Impl {
  Impl(std::shared_ptr<SpeechRecognizer::Shared> of, const SpeechOptions& wanted)
      : shared(std::move(of)), options(wanted) {
    shared->streams.push_back(this);
  }
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // Each stage is the work of the next run. In Words there is no run: the host computes the times of words.
  enum class Stage : uint8_t { Idle, Hears, Detects, Reads, Draws, Aligns, Words };

  std::shared_ptr<SpeechRecognizer::Shared> shared;
  SpeechOptions options;
  Plan reader, drawer, fallback_reader, fallback_drawer;
  State state;

  // Sound: samples `begin` .. `begin` + heard.size() of the stream. All sound before `begin` has become text.
  std::vector<float> heard;
  int64_t begin = 0;
  bool finished = false;
  // Loudness of the sound, measured in short stretches to find pauses.
  int64_t measured = 0, quiet = 0;  // end of the measured samples; number of quiet samples before it
  bool spoke = false;               // a stretch of the window was not quiet
  int64_t pause_end = -1;           // end of a window that a pause ends; -1: none found yet
  int64_t drafted = 0;              // the sample at which the last partial text ended

  // The current window.
  Stage stage = Stage::Idle;
  int64_t samples = 0;    // number of samples
  bool is_final = false;  // false: its text is partial
  float temperature = 0;
  int32_t language = -1;
  std::vector<int32_t> prompt, ids;
  std::vector<float> id_log_probabilities;
  float mean_log_probability = 0;
  int64_t there = 0;  // number of tokens in the states
  float no_speech = 0;
  double log_probabilities = 0;
  std::unique_ptr<SpeechWords> words;  // while the stage is Words

  // The finished run whose result has not been fetched, and its results.
  bool has_run = false;
  Status run_status = Status::Ok;
  int32_t run_next = -1;
  float run_log_probability = 0, run_no_speech = 0;
  std::unique_ptr<float[]> run_looks;  // output of an aligning run
  uint64_t begun_at = 0;               // value of the shared run counter at this stream's last run

  const Log& log() const { return shared->log; }
  int64_t window_samples() const { return shared->model.config().window(); }
  Status prepare_plans();

  // Sound, in stream_sound.cpp.
  Status check(std::span<const float> samples) const;
  void take_sound(std::span<const float> samples);
  void measure();
  int64_t end_of_window() const;  // the sample at which a window that begins now ends; -1: not known yet
  bool may_draft() const;
  void begin_window();
  void drop(int64_t samples);  // removes samples from the front
  void cancel();

  // Runs, in stream_steps.cpp.
  bool busy() const;
  bool wants_run() const;
  Status launch(bool wait);
  void prepare();
  void begins();  // marks the prepared run as this stream's current one
  Status take(SpeechPiece* piece);
  Status take_token(SpeechPiece* piece);
  void begin_text();
  int64_t room() const;  // the most tokens that can still be drawn
  void end_window(SpeechPiece* piece);
  std::vector<SpeechSegment> segments_of_window(int32_t* next) const;
  void give(std::vector<SpeechSegment> segments, int32_t next, SpeechPiece* piece);
  std::string text_of(std::span<const int32_t> ids) const;
  void wait();

  // Times of words, in stream_words.cpp.
  std::vector<int32_t> text_to_align() const;
  size_t frames_to_align() const;
  void begin_words();
  void advance_words(size_t elements, SpeechPiece* piece);
};

}  // namespace heed
