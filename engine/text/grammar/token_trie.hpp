// A trie of the bytes of all tokens that may be part of an answer.
#pragma once

#include <span>
#include <vector>

#include <heed/bpe.hpp>

namespace heed {

class TokenTrie {
 public:
  // Nodes are in preorder: a node is followed by its subtree.
  struct Node {
    uint8_t byte = 0;
    uint16_t depth = 0;   // 1 for the first byte of tokens
    uint32_t behind = 0;  // the first node after the subtree
    uint32_t tokens = 0;  // index in `ids` of the first token that ends here; the next node's index is the end
  };

  // Skips tokens that write nothing, and tokens that change how the following text is written: in vocabularies with space_prefix,
  // UserDefined tokens remove the space after them.
  explicit TokenTrie(const Bpe& bpe);

  std::span<const Node> nodes() const { return std::span(nodes_).first(nodes_.size() - 1); }
  std::span<const int32_t> tokens(size_t node) const {
    return std::span(ids_).subspan(nodes_[node].tokens, nodes_[node + 1].tokens - nodes_[node].tokens);
  }
  size_t depth() const { return depth_; }
  size_t vocabulary() const { return vocabulary_; }

 private:
  std::vector<Node> nodes_;  // with an end marker
  std::vector<int32_t> ids_;
  size_t depth_ = 0, vocabulary_ = 0;
};

}  // namespace heed
