// ListenerModel: a model of speech that listeners share.
#pragma once

#include <heed/speech.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "resampler.hpp"
#include "shared_model.hpp"
#include "step_frames.hpp"

// What one listener hears: a node gives sound and takes text, and the worker hears.
class ListenerEar {
 public:
  struct Heard {
    std::string text;
    double begin = 0, end = 0;  // seconds of sound since the listener was made
  };
  struct News {
    std::optional<std::string> partial;
    std::vector<Heard> heard;
    std::string problem;
  };

  // Nothing: the worker is writing just now.
  std::optional<News> take();
  // Sound that was given has not become text yet, or text was not taken.
  bool is_busy() const { return jobs_ > 0 || is_hearing_ || has_news_; }

 private:
  friend class ListenerModel;
  void fail(std::string problem);
  void drop_stream();
  void drop_sound();  // and the stream with it

  // What is said from when somebody begins to listen until they end.
  struct Utterance {
    heed::SpeechOptions options;
    std::vector<float> samples;  // which the stream has not got yet
    bool is_ended = false;
  };

  std::mutex mutex_;
  News news_;
  std::atomic<int> jobs_ = 0;             // that the worker has not begun
  std::atomic<bool> is_hearing_ = false;  // its steps go on
  std::atomic<bool> has_news_ = false;
  // These are the worker's.
  Resampler resampler_;
  std::deque<Utterance> coming_;  // the first one's beginning may be in the stream
  heed::SpeechStream stream_;
  bool is_finished_ = false;  // no sound follows in the stream
  double began_ = 0;          // when the stream did
  int64_t fed_ = 0;           // samples that the stream got since it was last at rest
  bool is_deaf_ = false;      // something failed, and was told
};

class ListenerModel final : public SharedModel {
 public:
  // As SharedModel::find; from any thread, as all of these.
  static std::shared_ptr<ListenerModel> of(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, const std::string& path);

  ListenerModel(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, std::string path);
  ~ListenerModel() override { look_at_device(); }

  // None of these waits. Options count where an utterance begins.
  void push(const std::shared_ptr<ListenerEar>& ear, std::vector<float> samples, int64_t rate,
            const heed::SpeechOptions& options);
  void end(
      const std::shared_ptr<ListenerEar>& ear);  // what was said becomes text; sound that follows is another utterance
  void cancel(const std::shared_ptr<ListenerEar>& ear);  // lets go of what has not become text
  void forget(std::shared_ptr<ListenerEar> ear);

 private:
  using Ear = std::shared_ptr<ListenerEar>;
  std::shared_ptr<ListenerModel> self() { return std::static_pointer_cast<ListenerModel>(shared_from_this()); }
  heed::Status open_model() override;
  void step_in_frame(double budget_ms) override;
  void go_on() override;
  template <class Job>
  void post(const Ear& ear, Job job);
  void take_sound(ListenerEar& ear, std::vector<float> samples, int64_t rate, const heed::SpeechOptions& options);
  void end_utterance(ListenerEar& ear);
  bool feed(ListenerEar& ear);
  void lose(ListenerEar& ear, const std::string& why);
  void hear(const Ear& ear);
  void step(const Ear& ear);
  void pass_on(ListenerEar& ear, heed::Status status, const heed::SpeechPiece& piece);

  // These are the worker's.
  std::deque<Ear> waiting_;  // for time, or on the GPU for the next frame
  heed::SpeechRecognizer recognizer_;
  std::unique_ptr<StepFrames<heed::SpeechRecognizer>> frames_;  // on the GPU
};
