// The syntax tree of a grammar: rules, each a tree of items.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <heed/status.hpp>

namespace heed {

struct CodeRange {
  char32_t first = 0, last = 0;
};

struct GrammarRules {
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kNoEnd = UINT32_MAX;  // value of Item::most for no limit

  struct Item {
    enum class Kind : uint8_t {
      Characters,  // one of `set`
      Rule,        // a call of rule `rule`
      Sequence,    // all of `parts` in order; none: the empty text
      Choice,      // one of `parts`
      Repeat,      // parts[0], `least` to `most` times
    };
    Kind kind = Kind::Sequence;
    uint32_t depth = 1;  // depth of the tree below it
    size_t place = 0;    // offset in the text, for messages
    std::vector<CodeRange> set = {};
    uint32_t rule = kNone;
    uint32_t least = 0, most = 0;
    std::vector<uint32_t> parts = {};
  };
  struct Rule {
    std::string name;
    uint32_t item = kNone;
    size_t place = 0;  // offset of its first use, or of its definition once that is known
  };

  std::vector<Item> items;
  std::vector<Rule> rules;
  uint32_t root = kNone;
};

// Parses a grammar as <heed/grammar.hpp> describes it. Every rule that is used is defined, and so is "root". InvalidArgument, with line and
// column: it is invalid or too large.
Status read_grammar(std::string_view text, const Log& log, GrammarRules* rules);

// Logs "grammar, line 3, column 7: <what>", and returns InvalidArgument.
Status refuse_grammar(std::string_view text, size_t place, const std::string& what, const Log& log);

}  // namespace heed
