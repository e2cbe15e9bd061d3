// The tokens that an answer may be made of, as a tree by their bytes.
#pragma once

#include <span>
#include <vector>

#include <heed/bpe.hpp>

namespace heed {

class TokenTrie {
 public:
  // Nodes lie as they are visited: a node, then all below it.
  struct Node {
    uint8_t byte = 0;
    uint16_t depth = 0;   // 1: the first byte of tokens
    uint32_t behind = 0;  // the first node that is not below it
    uint32_t tokens = 0;  // where the tokens that end here begin in `ids`; they end where those of the next node begin
  };

  // Leaves out tokens that write nothing, and those behind which the text does not go on as it is written: in vocabularies with
  // a space in front of words (BpeVocabulary::space_prefix) UserDefined tokens take it away.
  explicit TokenTrie(const Bpe& bpe);

  std::span<const Node> nodes() const { return std::span(nodes_).first(nodes_.size() - 1); }
  std::span<const int32_t> tokens(size_t node) const {
    return std::span(ids_).subspan(nodes_[node].tokens, nodes_[node + 1].tokens - nodes_[node].tokens);
  }
  size_t depth() const { return depth_; }
  size_t vocabulary() const { return vocabulary_; }

 private:
  std::vector<Node> nodes_;  // and one behind them
  std::vector<int32_t> ids_;
  size_t depth_ = 0, vocabulary_ = 0;
};

}  // namespace heed
