// SpeakerModel: a language model that speakers share.
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
#include "shared_model.hpp"
#include "step_frames.hpp"

// One answer: the worker generates it, and a speaker reads it.
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

  // Empty if the worker is writing at this moment.
  std::optional<News> take();
  void add(const heed::TextPiece& piece);
  void add(Look look);
  void finish(std::string text);
  void fail(std::string problem);
  void cancel() { is_cancelled_ = true; }
  bool is_cancelled() const { return is_cancelled_; }

 private:
  std::mutex mutex_;
  News news_;
  std::atomic<bool> is_cancelled_ = false;
};

struct SpeakerTalk;  // one conversation, which lives on the worker's thread

class SpeakerModel final : public SharedModel {
 public:
  struct Character {
    talk::Persona persona;
    int64_t answer_tokens = 0;
  };

  // Like SharedModel::find. All of these may be called from any thread.
  static std::shared_ptr<SpeakerModel> of(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, const std::string& path,
                                          int64_t context);

  SpeakerModel(std::shared_ptr<Gpu> gpu, const heed::Device& cpu, std::string path, int64_t context);
  ~SpeakerModel() override { look_at_device(); }

  // None of these waits. A conversation begins with its first question.
  static std::shared_ptr<SpeakerTalk> talk(Character character);
  std::shared_ptr<SpeakerAnswer> say(const std::shared_ptr<SpeakerTalk>& talk, std::string text);
  void cancel(const std::shared_ptr<SpeakerTalk>& talk, SpeakerAnswer& answer);
  void forget(std::shared_ptr<SpeakerTalk> talk);
  // The returned answers end when the file is written or read. A loaded conversation replaces that of `talk`; its last answer is the text.
  std::shared_ptr<SpeakerAnswer> save(const std::shared_ptr<SpeakerTalk>& talk, std::string path);
  std::shared_ptr<SpeakerAnswer> load(const std::shared_ptr<SpeakerTalk>& talk, std::string path);
  // The words that the character attended to when it began this word of its last answer; spaces separate words.
  std::shared_ptr<SpeakerAnswer> look(const std::shared_ptr<SpeakerTalk>& talk, int64_t word);

 private:
  struct Waiting {
    std::shared_ptr<SpeakerTalk> talk;
    std::shared_ptr<SpeakerAnswer> answer;
  };
  std::shared_ptr<SpeakerModel> self() { return std::static_pointer_cast<SpeakerModel>(shared_from_this()); }
  heed::Status open_model() override;
  void step_in_frame(double budget_ms) override;
  void go_on() override;
  heed::Status begin(SpeakerTalk& talk) const;
  void step(const std::shared_ptr<SpeakerTalk>& talk, const std::shared_ptr<SpeakerAnswer>& answer);
  bool pass_on(const Waiting& to, heed::Status status, const heed::TextPiece& piece) const;
  void post_step(const std::shared_ptr<SpeakerTalk>& talk, const std::shared_ptr<SpeakerAnswer>& answer);

  const int64_t context_;
  // Only the worker uses these.
  std::deque<Waiting> waiting_;  // waits for time, or on the GPU for the next frame
  heed::TextGenerator generator_;
  std::unique_ptr<StepFrames<heed::TextGenerator>> frames_;  // used on the GPU
};
