// Helpers for tests of grammars: an independent check of what a grammar accepts.
#pragma once

#include "harness/setup.hpp"
#include "text/grammar/grammar_states.hpp"
#include "text/support.hpp"
#include "text/wordpiece/tokenizer_unicode.hpp"

namespace heed::test {

// Finds from the rules alone, by exhaustive search, where an item that begins at a place may end.
class SlowGrammar {
 public:
  explicit SlowGrammar(const GrammarRules& rules) : rules_(rules) {}

  bool accepts(std::string_view utf8) {
    text_.clear();
    decode_utf8(utf8, &text_);
    known_.clear();
    return ends(rules_.rules[rules_.root].item, 0).contains(text_.size());
  }

 private:
  using Ends = std::set<size_t>;

  Ends ends(uint32_t id, size_t at) {
    if (const auto found = known_.find({id, at}); found != known_.end()) return found->second;
    const GrammarRules::Item& item = rules_.items[id];
    Ends all;
    switch (item.kind) {
      case GrammarRules::Item::Kind::Characters:
        for (const CodeRange range : item.set)
          if (at < text_.size() && text_[at] >= range.first && text_[at] <= range.last) all.insert(at + 1);
        break;
      case GrammarRules::Item::Kind::Rule: all = ends(rules_.rules[item.rule].item, at); break;
      case GrammarRules::Item::Kind::Sequence:
        all = {at};
        for (const uint32_t part : item.parts) all = behind(part, all);
        break;
      case GrammarRules::Item::Kind::Choice:
        for (const uint32_t part : item.parts) all.merge(ends(part, at));
        break;
      case GrammarRules::Item::Kind::Repeat: {
        Ends now = {at};
        for (uint32_t i = 0; i < item.least; ++i) now = behind(item.parts[0], now);
        all = now;
        for (uint32_t i = item.least; i < item.most && !now.empty(); ++i) {
          Ends fresh;
          for (const size_t end : behind(item.parts[0], now))
            if (all.insert(end).second) fresh.insert(end);
          now = std::move(fresh);
        }
        break;
      }
    }
    return known_[{id, at}] = all;
  }
  Ends behind(uint32_t item, const Ends& from) {
    Ends all;
    for (const size_t at : from) all.merge(ends(item, at));
    return all;
  }

  const GrammarRules& rules_;
  std::u32string text_;
  std::map<std::pair<uint32_t, size_t>, Ends> known_;
};

inline Status compile_grammar(std::string_view text, const Log& log, GrammarRules* rules,
                              std::shared_ptr<GrammarAutomaton>* automaton) {
  *automaton = std::make_shared<GrammarAutomaton>();
  const Status status = read_grammar(text, log, rules);
  return status == Status::Ok ? build_automaton(*rules, text, log, automaton->get()) : status;
}

inline uint32_t walked(GrammarStates& states, std::string_view text) {
  uint32_t state = states.start();
  for (const char byte : text) state = states.step(state, static_cast<uint8_t>(byte));
  return state;
}

inline GrammarStates states_of(std::string_view text) {
  GrammarRules rules;
  std::shared_ptr<GrammarAutomaton> automaton;
  INFO(text);
  REQUIRE(compile_grammar(text, stderr_log(), &rules, &automaton) == Status::Ok);
  return GrammarStates(automaton);
}

inline bool accepts(GrammarStates& states, std::string_view text) { return states.accepts(walked(states, text)); }

}  // namespace heed::test
