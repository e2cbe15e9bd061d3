#include "text/grammar/token_trie.hpp"

#include <algorithm>

namespace heed {

namespace {

std::vector<int32_t> written_tokens(const Bpe& bpe) {
  const bool moves_spaces = bpe.vocabulary().space_prefix && !bpe.vocabulary().space_once;
  std::vector<int32_t> ids;
  for (size_t i = 0; i < bpe.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    const TokenType type = bpe.type(id);
    if (bpe.bytes(id).empty() || type == TokenType::Unused || (type == TokenType::UserDefined && moves_spaces))
      continue;
    ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return bpe.bytes(a) < bpe.bytes(b); });
  return ids;
}

}  // namespace

TokenTrie::TokenTrie(const Bpe& bpe) : ids_(written_tokens(bpe)), vocabulary_(bpe.size()) {
  std::vector<size_t> path;  // nodes of the previous token
  std::string_view before;
  const auto leave = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back()) nodes_[path.back()].behind = static_cast<uint32_t>(nodes_.size());
  };
  for (size_t i = 0; i < ids_.size(); ++i) {
    const std::string_view bytes = bpe.bytes(ids_[i]);
    leave(static_cast<size_t>(std::ranges::mismatch(bytes, before).in1 - bytes.begin()));
    while (path.size() < bytes.size()) {
      const size_t depth = path.size();
      path.push_back(nodes_.size());
      // A token ends at the node of its last byte. Nodes above have no token, or got theirs before.
      nodes_.push_back(
          {static_cast<uint8_t>(bytes[depth]), static_cast<uint16_t>(depth + 1), 0, static_cast<uint32_t>(i)});
    }
    depth_ = std::max(depth_, bytes.size());
    before = bytes;
  }
  leave(0);
  nodes_.push_back({.tokens = static_cast<uint32_t>(ids_.size())});
}

}  // namespace heed
