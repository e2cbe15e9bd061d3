// A grammar as a pushdown automaton over UTF-8 bytes. It reads bytes rather than code points since tokens may end within a character.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "text/grammar/grammar_rules.hpp"

namespace heed {

struct GrammarAutomaton {
  static constexpr uint32_t kEnd = 0;     // the current rule ends
  static constexpr uint32_t kAccept = 1;  // the root ends, and the text is complete
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Node {
    enum class Kind : uint8_t { End, Accept, Byte, Call, Split };
    Kind kind = Kind::End;
    uint8_t low = 0, high = 0;  // of Byte: bytes `low` to `high` lead to `to`
    uint32_t to = 0;            // of Call: the node after the rule; of Split: one alternative
    uint32_t other = 0;         // of Call: the rule; of Split: the other alternative
  };
  // Everything reachable from a node without reading a byte. A call of a rule that may be empty also reaches the node after it.
  struct Reach {
    uint32_t begin = 0, calls = 0, end = 0;  // range in `reached`: first bytes, then calls
    bool ends = false, accepts = false;
  };

  std::vector<Node> nodes;
  std::vector<uint32_t> starts;  // by rule
  // By rule: a rule comes after those that call it before reading a byte.
  std::vector<uint32_t> ranks, by_rank;
  uint32_t root = 0;
  std::vector<uint32_t> reach_of;  // by node; kNone for nodes to which no byte, call or rule leads
  std::vector<Reach> reaches;
  std::vector<uint32_t> reached;
  // Bytes that no node distinguishes form one class.
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

// InvalidArgument, with line and column in `text`: left recursion (a rule calls itself before it reads anything), a rule that never ends,
// or a grammar that is too large.
Status build_automaton(const GrammarRules& rules, std::string_view text, const Log& log, GrammarAutomaton* automaton);

}  // namespace heed
