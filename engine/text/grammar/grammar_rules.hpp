// A grammar as its text says it: rules, each a tree of items.
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
  static constexpr uint32_t kNoEnd = UINT32_MAX;  // of Item::most

  struct Item {
    enum class Kind : uint8_t {
      Characters,  // one of `set`
      Rule,        // what rule `rule` writes
      Sequence,    // `parts`, one behind the other; none: the empty text
      Choice,      // one of `parts`
      Repeat,      // parts[0], `least` to `most` times
    };
    Kind kind = Kind::Sequence;
    uint32_t depth = 1;  // of the tree below it
    size_t place = 0;    // in the text, for messages
    std::vector<CodeRange> set = {};
    uint32_t rule = kNone;
    uint32_t least = 0, most = 0;
    std::vector<uint32_t> parts = {};
  };
  struct Rule {
    std::string name;
    uint32_t item = kNone;
    size_t place = 0;  // where it is first named, and once it is known where it is defined
  };

  std::vector<Item> items;
  std::vector<Rule> rules;
  uint32_t root = kNone;
};

// <heed/grammar.hpp> says what a grammar may hold. Every rule that is named is there, and so is "root". InvalidArgument, with line
// and column: it is none, or is too large.
Status read_grammar(std::string_view text, const Log& log, GrammarRules* rules);

// Logs "grammar, line 3, column 7: WHAT", and returns InvalidArgument.
Status refuse_grammar(std::string_view text, size_t place, const std::string& what, const Log& log);

}  // namespace heed
