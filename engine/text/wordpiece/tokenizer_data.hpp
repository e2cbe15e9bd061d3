// The data of a tokenizer: rules, vocabulary, special tokens.
#pragma once

#include <string_view>
#include <unordered_map>

#include <heed/tokenizer.hpp>

namespace heed {

struct WordPiece::Data {
  WordPieceOptions options;
  bool strips_accents = true;
  std::vector<std::string> tokens;                    // by id; must not change once `ids` refers to it
  std::unordered_map<std::string_view, int32_t> ids;  // keys point into `tokens`
  std::vector<int32_t> special;                       // ids that are recognized in raw text, longest text first
  std::vector<int32_t> sorted;                        // all ids, sorted by the bytes of their texts
  int32_t unknown = -1, cls = -1, sep = -1, pad = -1;

  int32_t find(std::string_view token) const {
    const auto found = ids.find(token);
    return found == ids.end() ? -1 : found->second;
  }
  // Appends the ids of text without special tokens, at most `most` of them. Returns false if there were more.
  bool encode_plain(std::string_view text, size_t most, std::vector<int32_t>* out) const;
};

}  // namespace heed
