// SpeakerModel: a language model that speakers share, with a worker that makes all of heed's calls for it, so that none of
// them holds up a frame.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <heed/text_generator.hpp>

#include "../../talk/persona.hpp"
#include "worker.hpp"

// One answer: the worker writes it, and a speaker takes it.
class SpeakerAnswer {
 public:
  struct News {
    std::string text, problem;
    bool is_over = false;
  };

  // Nothing: the worker is writing just now.
  std::optional<News> take();
  void add(const std::string& text, bool is_over);
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
  static std::shared_ptr<SpeakerModel> of(const heed::Device& device, const std::string& path, int64_t context);

  SpeakerModel(const heed::Device& device, std::string path, int64_t context);

  // None of these waits. A talk begins with its first question.
  static std::shared_ptr<SpeakerTalk> talk(Character character);
  std::shared_ptr<SpeakerAnswer> say(const std::shared_ptr<SpeakerTalk>& talk, std::string text);
  void cancel(const std::shared_ptr<SpeakerTalk>& talk, SpeakerAnswer& answer);
  void forget(std::shared_ptr<SpeakerTalk> talk);
  // Once for each `of`: a speaker lets go of the model, which it must hold by nothing else.
  static void leave(std::shared_ptr<SpeakerModel> model);

 private:
  void open();
  heed::Status begin(SpeakerTalk& talk) const;
  void step(const std::shared_ptr<SpeakerTalk>& talk, const std::shared_ptr<SpeakerAnswer>& answer);

  const std::string path_;
  const int64_t context_;
  std::atomic<int> speakers_ = 0;
  std::atomic<bool> is_failed_ = false;
  // These are the worker's.
  heed::Device device_;
  heed::TextGenerator generator_;
  heed::Status status_ = heed::Status::NotReady;
  Worker worker_;
};
