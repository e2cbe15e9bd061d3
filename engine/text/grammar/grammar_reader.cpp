// Parses the text of a grammar.
#include <algorithm>
#include <unordered_map>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"
#include "text/grammar/grammar_rules.hpp"
#include "text/wordpiece/tokenizer_unicode.hpp"

namespace heed {

namespace {

constexpr size_t kMostGrammarBytes = 1u << 18, kMostItems = 1u << 16, kMostRules = 4096;
constexpr uint32_t kMostGrammarDepth = 100, kMostTimes = 10000;
constexpr char32_t kLastCodePoint = 0x10FFFF;

using Item = GrammarRules::Item;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// Sorts ranges and merges those that overlap.
std::vector<CodeRange> in_order(std::vector<CodeRange> set) {
  std::sort(set.begin(), set.end(), [](CodeRange a, CodeRange b) { return a.first < b.first; });
  std::vector<CodeRange> merged;
  for (const CodeRange range : set)
    if (!merged.empty() && range.first <= merged.back().last + 1)
      merged.back().last = std::max(merged.back().last, range.last);
    else
      merged.push_back(range);
  return merged;
}

// The complement of a sorted set.
std::vector<CodeRange> all_but(const std::vector<CodeRange>& set) {
  std::vector<CodeRange> rest;
  char32_t next = 0;
  for (const CodeRange range : set) {
    if (range.first > next) rest.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) rest.push_back({next, kLastCodePoint});
  return rest;
}

// Half of a surrogate pair, which is not a character.
bool is_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

class GrammarReader {
 public:
  GrammarReader(std::string_view text, const Log& log, GrammarRules* rules) : text_(text), log_(log), rules_(*rules) {}

  Status read() {
    if (text_.size() > kMostGrammarBytes) refuse(0, format("%zu bytes; at most 262144 are read", text_.size()));
    if (is_good() && !is_utf8(text_)) refuse(0, "is not UTF-8");
    skip_space();
    while (is_good() && at_ < text_.size()) rule();
    if (!is_good()) return status_;
    const auto root = names_.find("root");
    if (root == names_.end()) refuse(text_.size(), "there is no rule 'root'");
    for (const GrammarRules::Rule& named : rules_.rules)
      if (named.item == GrammarRules::kNone)
        refuse(named.place, format("there is no rule '%s'", printable(named.name).c_str()));
    if (is_good()) rules_.root = root->second;
    return status_;
  }

 private:
  void refuse(size_t place, const std::string& what) {
    if (status_ == Status::Ok) status_ = refuse_grammar(text_, place, what, log_);
  }
  bool is_good() const { return status_ == Status::Ok; }
  bool is_at(char c) const { return at_ < text_.size() && text_[at_] == c; }

  void skip_space() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == ' ' || c == '\t' || c == '\n' || c == '\r')
        ++at_;
      else
        return;
    }
  }

  std::string_view name_here() const {
    size_t end = at_;
    while (end < text_.size() && is_name(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  // Whether "name ::=" follows, which ends the rule before it.
  bool is_definition() const {
    size_t behind = at_ + name_here().size();
    if (behind == at_) return false;
    while (behind < text_.size() && (text_[behind] == ' ' || text_[behind] == '\t')) ++behind;
    return text_.substr(behind).starts_with("::=");
  }

  uint32_t rule_named(std::string_view name, size_t place) {
    const auto [found, fresh] = names_.try_emplace(std::string(name), static_cast<uint32_t>(rules_.rules.size()));
    if (fresh) rules_.rules.push_back({std::string(name), GrammarRules::kNone, place});
    if (rules_.rules.size() > kMostRules) refuse(place, "more than 4096 rules");
    return found->second;
  }

  void rule() {
    const size_t place = at_;
    if (!is_definition()) {
      refuse(place, "a rule is expected: name ::= ...");
      return;
    }
    const std::string_view name = name_here();
    const uint32_t id = rule_named(name, place);
    if (rules_.rules[id].item != GrammarRules::kNone)
      refuse(place, format("rule '%s' is there twice", printable(name).c_str()));
    at_ = text_.find("::=", at_) + 3;
    skip_space();
    const uint32_t item = choice(1);
    if (is_good() && at_ < text_.size() && !is_definition()) refuse(at_, unexpected());
    rules_.rules[id].item = item;
    rules_.rules[id].place = place;
  }

  std::string unexpected() const {
    size_t behind = at_;
    next_code_point(text_, &behind);
    return format("'%s' is not expected here", printable(text_.substr(at_, behind - at_)).c_str());
  }

  uint32_t add(Item item) {
    if (rules_.items.size() >= kMostItems) refuse(item.place, "the grammar is too large: more than 65536 items");
    for (const uint32_t part : item.parts) item.depth = std::max(item.depth, rules_.items[part].depth + 1);
    if (item.depth > kMostGrammarDepth) refuse(item.place, "groups or repetitions are nested deeper than 100");
    if (!is_good()) return 0;
    rules_.items.push_back(std::move(item));
    return static_cast<uint32_t>(rules_.items.size() - 1);
  }

  uint32_t choice(uint32_t depth) {
    Item all = {.kind = Item::Kind::Choice, .place = at_};
    if (depth > kMostGrammarDepth) refuse(at_, "groups or repetitions are nested deeper than 100");
    for (;;) {
      const uint32_t one = sequence(depth);
      if (!is_good()) return 0;
      all.parts.push_back(one);
      if (!is_at('|')) break;
      ++at_;
      skip_space();
    }
    return all.parts.size() == 1 ? all.parts[0] : add(std::move(all));
  }

  uint32_t sequence(uint32_t depth) {
    Item all = {.kind = Item::Kind::Sequence, .place = at_};
    while (is_good() && at_ < text_.size() && !is_at('|') && !is_at(')') && !is_definition()) {
      const uint32_t one = repeated(element(depth));
      if (is_good()) all.parts.push_back(one);
    }
    if (!is_good()) return 0;
    return all.parts.size() == 1 ? all.parts[0] : add(std::move(all));
  }

  uint32_t element(uint32_t depth) {
    const size_t place = at_;
    uint32_t item = 0;
    if (is_at('"')) {
      item = literal();
    } else if (is_at('[')) {
      item = characters();
    } else if (is_at('.')) {
      ++at_;
      item = add({.kind = Item::Kind::Characters, .place = place, .set = all_but({})});
    } else if (is_at('(')) {
      ++at_;
      skip_space();
      item = choice(depth + 1);
      if (is_good() && !is_at(')')) refuse(place, "this group has no end");
      ++at_;
    } else if (const std::string_view name = name_here(); !name.empty()) {
      at_ += name.size();
      const uint32_t rule = rule_named(name, place);
      item = add({.kind = Item::Kind::Rule, .place = place, .rule = rule});
    } else {
      refuse(place, unexpected());
    }
    if (is_good()) skip_space();
    return item;
  }

  uint32_t repeated(uint32_t item) {
    while (is_good() && at_ < text_.size()) {
      Item times = {
          .kind = Item::Kind::Repeat, .place = at_, .least = 0, .most = GrammarRules::kNoEnd, .parts = {item}};
      const char c = text_[at_];
      if (c == '+')
        times.least = 1;
      else if (c == '?')
        times.most = 1;
      else if (c == '{')
        read_times(&times);
      else if (c != '*')
        break;
      ++at_;
      skip_space();
      item = add(std::move(times));
    }
    return item;
  }

  uint32_t number() {
    const size_t place = at_;
    uint32_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && value <= kMostTimes)
      value = value * 10 + static_cast<uint32_t>(text_[at_++] - '0');
    if (at_ == place) refuse(at_, "a number is expected: {m}, {m,} or {m,n}");
    if (value > kMostTimes) refuse(place, "a repetition of more than 10000 times");
    skip_space();
    return value;
  }

  // Reads {m}, {m,} or {m,n}, without the closing brace.
  void read_times(Item* times) {
    ++at_;
    skip_space();
    times->least = times->most = number();
    if (is_good() && is_at(',')) {
      ++at_;
      skip_space();
      times->most = is_at('}') ? GrammarRules::kNoEnd : number();
    }
    if (is_good() && !is_at('}')) refuse(times->place, "this repetition has no end");
    if (is_good() && times->most < times->least) refuse(times->place, "a repetition whose most is below its least");
  }

  uint32_t literal() {
    Item all = {.kind = Item::Kind::Sequence, .place = at_};
    ++at_;
    while (is_good() && !is_at('"')) {
      const size_t place = at_;
      const char32_t c = character(all.place, "this text has no end");
      all.parts.push_back(add({.kind = Item::Kind::Characters, .place = place, .set = {{c, c}}}));
    }
    ++at_;
    return is_good() ? add(std::move(all)) : 0;
  }

  uint32_t characters() {
    const size_t begin = at_;
    constexpr const char* kNoEndHere = "these characters have no end";
    ++at_;
    const bool others = is_at('^');
    if (others) ++at_;
    std::vector<CodeRange> set;
    while (is_good() && !is_at(']')) {
      const size_t place = at_;
      CodeRange range;
      range.first = range.last = character(begin, kNoEndHere);
      if (is_good() && is_at('-') && text_.substr(at_ + 1, 1) != "]") {
        ++at_;
        range.last = character(begin, kNoEndHere);
      }
      if (is_good() && range.last < range.first) refuse(place, "a range whose last character is below its first");
      set.push_back(range);
    }
    ++at_;
    set = in_order(std::move(set));
    if (others) set = all_but(set);
    // The set is empty if it contains only halves of surrogate pairs.
    const bool any = std::any_of(set.begin(), set.end(),
                                 [](CodeRange r) { return !is_surrogate(r.first) || !is_surrogate(r.last); });
    if (is_good() && !any) refuse(begin, "no character is one of these");
    return is_good() ? add({.kind = Item::Kind::Characters, .place = begin, .set = std::move(set)}) : 0;
  }

  // Reads a character of a text or a set, which began at `begin`.
  char32_t character(size_t begin, const char* no_end) {
    if (at_ >= text_.size()) {
      refuse(begin, no_end);
      return 0;
    }
    if (!is_at('\\')) return next_code_point(text_, &at_);
    const size_t place = at_++;
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    switch (c) {
      case 'n': return '\n';
      case 'r': return '\r';
      case 't': return '\t';
      case 'x': return hexadecimal(place, 2);
      case 'u': return hexadecimal(place, 4);
      case 'U': return hexadecimal(place, 8);
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^': return static_cast<char32_t>(c);
      default:
        refuse(place, "this escape is not known; there are \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\^ \\x \\u \\U");
        return 0;
    }
  }

  char32_t hexadecimal(size_t place, size_t digits) {
    uint32_t value = 0;
    for (size_t i = 0; i < digits; ++i) {
      const char c = at_ < text_.size() ? text_[at_++] : '\0';
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse(place, format("%zu hexadecimal digits are expected", digits));
      value = value << 4 | static_cast<uint32_t>(std::max(digit, 0));
    }
    if (value > kLastCodePoint || is_surrogate(value)) refuse(place, format("U+%X is no character", value));
    return is_good() ? value : 0;
  }

  std::string_view text_;
  const Log& log_;
  GrammarRules& rules_;
  Status status_ = Status::Ok;
  size_t at_ = 0;
  std::unordered_map<std::string, uint32_t> names_;
};

}  // namespace

Status read_grammar(std::string_view text, const Log& log, GrammarRules* rules) {
  *rules = {};
  return GrammarReader(text, log, rules).read();
}

Status refuse_grammar(std::string_view text, size_t place, const std::string& what, const Log& log) {
  const std::string_view before = text.substr(0, place);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const size_t column = place - begin + 1;
  return fail(log, Status::InvalidArgument,
              format("grammar, line %lld, column %zu: %s", static_cast<long long>(line), column, what.c_str()));
}

}  // namespace heed
