#include "text/grammar/grammar_nodes.hpp"

#include <algorithm>
#include <unordered_map>

#include "text/wordpiece/tokenizer_unicode.hpp"

namespace heed {

namespace {

constexpr size_t kMostNodes = 1u << 17, kMostMakings = 1u << 18;

// Converts each item given the node that follows it, from the last item to the first.
class NodeMaker {
 public:
  NodeMaker(const GrammarRules& rules, std::string_view text, const Log& log, GrammarAutomaton* automaton)
      : rules_(rules), text_(text), log_(log), automaton_(*automaton) {}

  Status make() {
    automaton_.nodes = {{.kind = Node::Kind::End}, {.kind = Node::Kind::Accept}};
    for (const GrammarRules::Rule& rule : rules_.rules)
      automaton_.starts.push_back(item(rule.item, GrammarAutomaton::kEnd));
    return status_;
  }

 private:
  using Node = GrammarAutomaton::Node;
  using Item = GrammarRules::Item;

  uint32_t add(Node node) {
    automaton_.nodes.push_back(node);
    return static_cast<uint32_t>(automaton_.nodes.size() - 1);
  }
  uint32_t split(uint32_t a, uint32_t b) { return a == b ? a : add({.kind = Node::Kind::Split, .to = a, .other = b}); }

  // Equal byte ranges with the same successor share a node, so that sets of characters share their last bytes.
  uint32_t byte(uint8_t low, uint8_t high, uint32_t to) {
    const uint64_t key = uint64_t{to} << 16 | uint64_t{low} << 8 | high;
    const auto [found, fresh] = bytes_.try_emplace(key, 0);
    if (fresh) found->second = add({.kind = Node::Kind::Byte, .low = low, .high = high, .to = to});
    return found->second;
  }

  uint32_t item(uint32_t id, uint32_t next) {
    const Item& made = rules_.items[id];
    if (status_ == Status::Ok && (++makings_ > kMostMakings || automaton_.nodes.size() > kMostNodes))
      status_ =
          refuse_grammar(text_, made.place, "the grammar is too large here, with its repetitions written out", log_);
    if (status_ != Status::Ok) return GrammarAutomaton::kEnd;
    switch (made.kind) {
      case Item::Kind::Characters: return characters(made.set, next);
      case Item::Kind::Rule: return add({.kind = Node::Kind::Call, .to = next, .other = made.rule});
      case Item::Kind::Sequence:
        for (size_t i = made.parts.size(); i > 0; --i) next = item(made.parts[i - 1], next);
        return next;
      case Item::Kind::Choice: return choice(made.parts, next);
      case Item::Kind::Repeat: return repeat(made, next);
    }
    return next;
  }

  uint32_t choice(const std::vector<uint32_t>& parts, uint32_t next) {
    uint32_t all = item(parts.back(), next);
    for (size_t i = parts.size() - 1; i > 0; --i) all = split(item(parts[i - 1], next), all);
    return all;
  }

  // Optional repetitions lead directly to the end, not through the further ones, so that each place reaches only one other.
  uint32_t repeat(const Item& made, uint32_t next) {
    const uint32_t part = made.parts[0];
    uint32_t all = next, least = made.least;
    if (made.most == GrammarRules::kNoEnd) {
      const uint32_t loop = add({.kind = Node::Kind::Split, .to = next, .other = next});
      const uint32_t again = item(part, loop);
      automaton_.nodes[loop].other = again;
      all = least > 0 ? again : loop;
      least -= std::min(least, 1u);
    } else {
      for (uint32_t i = made.least; i < made.most && status_ == Status::Ok; ++i) all = split(item(part, all), next);
    }
    for (; least > 0 && status_ == Status::Ok; --least) all = item(part, all);
    return all;
  }

  uint32_t characters(const std::vector<CodeRange>& set, uint32_t next) {
    uint32_t all = GrammarAutomaton::kNone;
    for (const CodeRange range : set) {
      constexpr char32_t kBelow = 0xD7FF, kAbove = 0xE000;  // the code points next to the surrogates
      if (range.first <= kBelow) add_range({range.first, std::min(range.last, kBelow)}, next, &all);
      if (range.last >= kAbove) add_range({std::max(range.first, kAbove), range.last}, next, &all);
    }
    return all;
  }

  // Splits a range until all its characters have the same number of bytes and form a product of byte ranges.
  void add_range(CodeRange range, uint32_t next, uint32_t* all) {
    constexpr char32_t kLastOfLength[] = {0x7F, 0x7FF, 0xFFFF};
    for (const char32_t last : kLastOfLength)
      if (range.first <= last && range.last > last) return add_halves(range, last, next, all);
    for (int tail = 1; tail < 4 && range.first > 0x7F; ++tail) {
      const char32_t below = (char32_t{1} << 6 * tail) - 1;  // mask of the bits of the last `tail` bytes
      if ((range.first & ~below) == (range.last & ~below)) break;
      if ((range.first & below) != 0) return add_halves(range, range.first | below, next, all);
      if ((range.last & below) != below) return add_halves(range, (range.last & ~below) - 1, next, all);
    }
    std::string first, last;
    append_utf8(range.first, &first);
    append_utf8(range.last, &last);
    uint32_t node = next;
    for (size_t i = first.size(); i > 0; --i)
      node = byte(static_cast<uint8_t>(first[i - 1]), static_cast<uint8_t>(last[i - 1]), node);
    *all = *all == GrammarAutomaton::kNone ? node : split(node, *all);
  }

  void add_halves(CodeRange range, char32_t middle, uint32_t next, uint32_t* all) {
    add_range({range.first, middle}, next, all);
    add_range({middle + 1, range.last}, next, all);
  }

  const GrammarRules& rules_;
  std::string_view text_;
  const Log& log_;
  GrammarAutomaton& automaton_;
  Status status_ = Status::Ok;
  size_t makings_ = 0;
  std::unordered_map<uint64_t, uint32_t> bytes_;
};

}  // namespace

Status make_nodes(const GrammarRules& rules, std::string_view text, const Log& log, GrammarAutomaton* automaton) {
  return NodeMaker(rules, text, log, automaton).make();
}

}  // namespace heed
