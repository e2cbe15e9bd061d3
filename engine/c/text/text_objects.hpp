// The objects of text.h that several files use.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <heed/bpe.hpp>
#include <heed/text_generator.hpp>

#include "c/objects.hpp"

namespace heed::c {

struct Tokenizer {
  using Handle = heed_tokenizer;
  static constexpr Kind kKind = Kind::Tokenizer;
  Bpe it;
};

struct AttentionMap {
  using Handle = heed_attention_map;
  static constexpr Kind kKind = Kind::AttentionMap;
  int64_t layers = 0, heads = 0, queries = 0, tokens = 0;
  std::vector<float> weights;
  std::vector<std::string> texts;
  std::vector<const char*> text_pointers;
};

// A language model with what the hosts of it and of its device gave. It and its conversations serve one call at a time.
class Speaker {
 public:
  std::shared_ptr<Host> device_host, host;
  heed::TextGenerator it;

  // False if another call has the turn. Conversations that are ending are waited for, since garbage collectors destroy handles on
  // threads of their own.
  bool take_turn() {
    Holder was = Holder::Nobody;
    while (!holder_.compare_exchange_weak(was, Holder::Call, std::memory_order_acquire)) {
      if (was == Holder::Call) return false;
      if (was == Holder::End) std::this_thread::yield();
      was = Holder::Nobody;
    }
    return true;
  }
  void give_turn() {
    holder_.store(Holder::Nobody, std::memory_order_release);
    end_dropped();
  }
  // A conversation's end uses what all of the model's conversations share. If a call has the turn, that call ends this one, too.
  void drop(heed::TextConversation conversation) {
    {
      const std::lock_guard lock(mutex_);
      dropped_.push_back(std::move(conversation));
    }
    end_dropped();
  }

 private:
  bool has_dropped() {
    const std::lock_guard lock(mutex_);
    return !dropped_.empty();
  }
  void end_dropped() {
    while (has_dropped()) {
      Holder was = Holder::Nobody;
      if (!holder_.compare_exchange_strong(was, Holder::End, std::memory_order_acquire))
        return;  // that one looks again
      std::vector<heed::TextConversation> ending;
      {
        const std::lock_guard lock(mutex_);
        ending.swap(dropped_);
      }
      ending.clear();
      holder_.store(Holder::Nobody, std::memory_order_release);
    }
  }

  enum class Holder : uint8_t { Nobody, Call, End };
  std::atomic<Holder> holder_{Holder::Nobody};
  std::mutex mutex_;  // of dropped_
  std::vector<heed::TextConversation> dropped_;
};

struct TextGenerator {
  using Handle = heed_text_generator;
  static constexpr Kind kKind = Kind::TextGenerator;
  std::shared_ptr<Speaker> speaker = std::make_shared<Speaker>();

  bool take_turn() { return speaker->take_turn(); }
  void give_turn() { speaker->give_turn(); }
  heed::TextGenerator& it() { return speaker->it; }
  Host* host() { return speaker->host.get(); }
};

struct Conversation {
  using Handle = heed_conversation;
  static constexpr Kind kKind = Kind::Conversation;
  explicit Conversation(std::shared_ptr<Speaker> of) : speaker(std::move(of)) {}
  ~Conversation() {
    if (it.valid()) speaker->drop(std::move(it));
  }

  std::shared_ptr<Speaker> speaker;
  heed::TextConversation it;
  TextPiece piece;  // which the host reads until the next call

  bool take_turn() { return speaker->take_turn(); }
  void give_turn() { speaker->give_turn(); }
  Host* host() { return speaker->host.get(); }
};

}  // namespace heed::c
