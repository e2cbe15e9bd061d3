// The objects of text.h that several files use.
#pragma once

#include <string>
#include <vector>

#include <heed/bpe.hpp>
#include <heed/text_generator.hpp>

#include "c/text/shared_model.hpp"

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

using Speaker = SharedModel<heed::TextGenerator, heed::TextConversation>;

struct TextGenerator : ModelObject<Speaker> {
  using Handle = heed_text_generator;
  static constexpr Kind kKind = Kind::TextGenerator;
};

struct Conversation : PartObject<Speaker, heed::TextConversation> {
  using Handle = heed_conversation;
  static constexpr Kind kKind = Kind::Conversation;
  using PartObject::PartObject;

  TextPiece piece;  // the host reads it until the next call
};

}  // namespace heed::c
