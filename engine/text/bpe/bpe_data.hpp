// The data of a byte pair tokenizer: the vocabulary, and tables derived from it.
#pragma once

#include <array>

#include <heed/bpe.hpp>

#include "text/bpe/bpe_merge.hpp"
#include "text/bpe/pre_tokenizer.hpp"
#include "text/bpe/token_table.hpp"

namespace heed {

// Pairs of tokens, grouped by the left one: find does a binary search in one group, so that a hostile file cannot slow it down.
class BpePairs {
 public:
  struct Entry {
    int32_t left, right;
    BpePair pair;
  };
  // If a pair occurs twice, the first entry counts.
  void set(std::vector<Entry> entries, size_t tokens);
  BpePair find(int32_t left, int32_t right) const;
  bool empty() const { return rights_.empty(); }

 private:
  std::vector<uint32_t> begins_;  // by left token: index into the other vectors
  std::vector<int32_t> rights_;   // ascending for each left token
  std::vector<BpePair> pairs_;
};

struct Bpe::Data {
  BpeVocabulary vocabulary;  // must not change once `ids` refers to it
  PreTokenizer pre = PreTokenizer::Gpt2;
  TokenTable ids;                          // all tokens
  TokenTable merged;                       // for a vocabulary with scores: the tokens that merging may produce
  size_t longest_merged = 0;               // bytes
  std::array<int32_t, 256> byte_ids = {};  // the token of each byte, or -1
  BpePairs pairs;                          // for a vocabulary with merges
  std::vector<uint32_t> ranks;             // by id, derived from scores

  // Tokens that are searched for in texts, sorted by their bytes, and the index of the first one for each first byte.
  std::vector<int32_t> special;
  std::array<uint32_t, 257> special_begins = {};

  // The bytes that each token decodes to: consecutive ranges of `written`, whose ends are in `written_ends`.
  std::string written;
  std::vector<uint32_t> written_ends;

  bool has(int32_t id) const { return id >= 0 && static_cast<size_t>(id) < vocabulary.tokens.size(); }
  const std::string& token(int32_t id) const { return vocabulary.tokens[static_cast<size_t>(id)]; }
  TokenType type(int32_t id) const {
    return vocabulary.types.empty() ? TokenType::Normal : vocabulary.types[static_cast<size_t>(id)];
  }
  int32_t find(std::string_view text) const { return ids.find(text); }
  std::string_view bytes(int32_t id) const {
    const size_t begin = id == 0 ? 0 : written_ends[static_cast<size_t>(id) - 1];
    return std::string_view(written).substr(begin, written_ends[static_cast<size_t>(id)] - begin);
  }
};

inline constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581, a space in SentencePiece's tokens

inline bool is_hidden(TokenType type) { return type == TokenType::Control || type == TokenType::Unknown; }

}  // namespace heed
