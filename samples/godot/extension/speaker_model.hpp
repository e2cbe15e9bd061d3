// SpeakerModel: a language model that speakers share, with a worker that makes all of heed's calls for it, so that none of
// them holds up a frame.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <heed/text_generator.hpp>

#include "../../talk/persona.hpp"
#include "gpu.hpp"
#include "speaker_frames.hpp"
#include "worker.hpp"

// One answer: the worker writes it, and a speaker takes it.
class SpeakerAnswer {
 public:
  struct Look {
    std::vector<std::string> words;
    std::vector<float> weights;
  };
  struct News {
    std::string text, problem;
    int64_t tokens = 0;
    bool is_over = false;
    std::optional<Look> look;
  };

  // Nothing: the worker is writing just now.
  std::optional<News> take();
  void add(const heed::TextPiece& piece);
  void add(Look look);
  void fail(std::string problem);
  void cancel() { is_cancelled_ = true; }
  bool is_cancelled() const { return is_cancelled_; }

 private:
  std::mutex mutex_;
  News news_;
  std::atomic<bool> is_cancelled_ = false;
};

struct SpeakerTalk;  // one conversation, which lives on the worker's thread

class SpeakerModel : public std::enable_shared_from_this<SpeakerModel> {
 public:
  struct Character {
    talk::Persona persona;
    int64_t answer_tokens = 0;
  };

  // The one that another speaker holds already, or a new one that its worker begins to open. From any thread, as all of these.
  // `gpu` is null where the CPU computes.
  static std::shared_ptr<SpeakerModel> of(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, const std::string& path,
                                          int64_t context);

  SpeakerModel(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, std::string path, int64_t context);

  ~SpeakerModel();

  // None of these waits. A talk begins with its first question.
  static std::shared_ptr<SpeakerTalk> talk(Character character);
  std::shared_ptr<SpeakerAnswer> say(const std::shared_ptr<SpeakerTalk>& talk, std::string text);
  void cancel(const std::shared_ptr<SpeakerTalk>& talk, SpeakerAnswer& answer);
  void forget(std::shared_ptr<SpeakerTalk> talk);
  // What the character looked at when it began this word of its last answer; words are parted by spaces.
  std::shared_ptr<SpeakerAnswer> look(const std::shared_ptr<SpeakerTalk>& talk, int64_t word);
  // Once in each frame while somebody speaks. 0: no limit. On the GPU, the frame gets a part of a step that takes about so many
  // milliseconds. On the CPU, whose steps are not cut, they may take so much in each frame from others that want the processors
  // (ProcessorShare). What a step takes beyond that, it pays by waiting for later frames.
  void allow(int64_t frame, double budget_ms);
  // Once for each `of`: a speaker lets go of the model, which it must hold by nothing else.
  static void leave(std::shared_ptr<SpeakerModel> model);

 private:
  struct Waiting {
    std::shared_ptr<SpeakerTalk> talk;
    std::shared_ptr<SpeakerAnswer> answer;
  };
  void open();
  // Says what a status means for whoever asked, as a part of a sentence.
  std::string why(heed::Status status) const;
  heed::Status begin(SpeakerTalk& talk) const;
  void step(const std::shared_ptr<SpeakerTalk>& talk, const std::shared_ptr<SpeakerAnswer>& answer);
  void step_in_frame(double budget_ms);
  void allow_time(double budget_ms);
  bool pass_on(const Waiting& to, heed::Status status, const heed::TextPiece& piece) const;
  void post_step(const std::shared_ptr<SpeakerTalk>& talk, const std::shared_ptr<SpeakerAnswer>& answer);

  const std::string path_;
  const int64_t context_;
  std::atomic<int> speakers_ = 0;
  std::atomic<bool> is_failed_ = false;
  std::atomic<int64_t> frame_ = -1;  // of which time was allowed
  const std::shared_ptr<Gpu> gpu_;   // before what lives on its device
  // These are the worker's.
  std::deque<Waiting> waiting_;  // for time, or on the GPU for the next frame
  double allowed_ms_ = 0;
  bool is_limited_ = false;
  heed::Device device_;
  heed::TextGenerator generator_;
  std::unique_ptr<SpeakerFrames> frames_;  // on the GPU
  heed::Status status_ = heed::Status::NotReady;
  Worker worker_;
};
