// The objects of text.h that several files use.
#pragma once

#include <memory>
#include <mutex>
#include <string>
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

  bool take_turn() { return turn_.take(); }
  void give_turn() {
    turn_.give_back();
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
    while (has_dropped() && turn_.take()) {
      std::vector<heed::TextConversation> ending;
      {
        const std::lock_guard lock(mutex_);
        ending.swap(dropped_);
      }
      ending.clear();
      turn_.give_back();
    }
  }

  Turn turn_;
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

// In models.cpp.
heed_decoder_config to_c(const DecoderConfig& config);

}  // namespace heed::c
