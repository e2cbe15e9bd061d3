// ListenerModel: a speech model that listeners share.
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

// The state of one listener: a node pushes sound and reads text, and the worker recognizes.
class ListenerEar {
 public:
  struct Heard {
    std::string text;
    double begin = 0, end = 0;  // seconds of sound since the listener was created
  };
  struct News {
    std::optional<std::string> partial;
    std::vector<Heard> heard;
    std::string problem;
  };

  // Empty if the worker is writing at this moment.
  std::optional<News> take();
  // Whether sound has not become text yet, or text has not been read.
  bool is_busy() const { return jobs_ > 0 || is_hearing_ || has_news_; }

 private:
  friend class ListenerModel;
  void fail(std::string problem);
  void drop_stream();
  void drop_sound();  // and with it the stream

  // The sound from the begin of listening to its end.
  struct Utterance {
    heed::SpeechOptions options;
    std::vector<float> samples;  // not yet passed to the stream
    bool is_ended = false;
  };

  std::mutex mutex_;
  News news_;
  std::atomic<int> jobs_ = 0;             // not begun by the worker
  std::atomic<bool> is_hearing_ = false;  // its steps are in progress
  std::atomic<bool> has_news_ = false;
  // Only the worker uses these.
  Resampler resampler_;
  std::deque<Utterance> coming_;  // the first utterance's beginning may be in the stream
  heed::SpeechStream stream_;
  bool is_finished_ = false;  // the stream gets no more sound
  double began_ = 0;          // time at which the stream ended
  int64_t fed_ = 0;           // samples passed to the stream since it was last idle
  bool is_deaf_ = false;      // an error occurred and was reported
};

class ListenerModel final : public SharedModel {
 public:
  // Like SharedModel::find. All of these may be called from any thread.
  static std::shared_ptr<ListenerModel> of(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, const std::string& path);

  ListenerModel(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, std::string path);
  ~ListenerModel() override { look_at_device(); }

  // None of these waits. Options take effect when an utterance begins.
  void push(const std::shared_ptr<ListenerEar>& ear, std::vector<float> samples, int64_t rate,
            const heed::SpeechOptions& options);
  void end(const std::shared_ptr<ListenerEar>& ear);  // the sound so far becomes text; later sound is another utterance
  void cancel(const std::shared_ptr<ListenerEar>& ear);  // discards sound that has not become text
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

  // Only the worker uses these.
  std::deque<Ear> waiting_;  // waits for time, or on the GPU for the next frame
  heed::SpeechRecognizer recognizer_;
  std::unique_ptr<StepFrames<heed::SpeechRecognizer>> frames_;  // on the GPU
};
