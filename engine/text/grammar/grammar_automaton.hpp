// A grammar as a pushdown automaton over the bytes of UTF-8. Tokens end anywhere within a character, so that bytes, not code
// points, are what it reads.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "text/grammar/grammar_rules.hpp"

namespace heed {

struct GrammarAutomaton {
  static constexpr uint32_t kEnd = 0;     // the rule is over
  static constexpr uint32_t kAccept = 1;  // the root is over, and the text complete
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Node {
    enum class Kind : uint8_t { End, Accept, Byte, Call, Split };
    Kind kind = Kind::End;
    uint8_t low = 0, high = 0;  // Byte: `low` to `high` lead to `to`
    uint32_t to = 0;            // Call: where the rule leads; Split: one way
    uint32_t other = 0;         // Call: the rule; Split: the other way
  };
  // All that is reached from a node without a byte. A call of a rule that may be empty also leads behind itself.
  struct Reach {
    uint32_t begin = 0, calls = 0, end = 0;  // bytes, then calls, in `reached`
    bool ends = false, accepts = false;
  };

  std::vector<Node> nodes;
  std::vector<uint32_t> starts;  // by rule
  // By rule: a rule comes behind those that call it before they read a byte.
  std::vector<uint32_t> ranks, by_rank;
  uint32_t root = 0;
  std::vector<uint32_t> reach_of;  // by node; kNone where no byte, call or rule leads to it
  std::vector<Reach> reaches;
  std::vector<uint32_t> reached;
  // Bytes that no node tells apart are one class.
  std::array<uint8_t, 256> classes = {};
  std::vector<uint8_t> class_bytes;  // one byte of each class

  const Reach& reach(uint32_t node) const { return reaches[reach_of[node]]; }
  std::span<const uint32_t> bytes_of(const Reach& r) const {
    return std::span(reached).subspan(r.begin, r.calls - r.begin);
  }
  std::span<const uint32_t> calls_of(const Reach& r) const {
    return std::span(reached).subspan(r.calls, r.end - r.calls);
  }
};

// InvalidArgument, with line and column in `text`: a rule calls itself before it reads anything (left recursion), a rule has no end,
// or the grammar is too large.
Status build_automaton(const GrammarRules& rules, std::string_view text, const Log& log, GrammarAutomaton* automaton);

}  // namespace heed
