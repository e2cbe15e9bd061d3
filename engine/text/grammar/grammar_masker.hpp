// GrammarMasker finds which tokens may come next, so that a text stays within a grammar.
#pragma once

#include <memory>
#include <unordered_map>

#include "text/grammar/grammar_states.hpp"
#include "text/grammar/token_trie.hpp"

namespace heed {

// All answers under one grammar share a masker, and with it the states and masks that were met. Their calls must not overlap in
// time.
class GrammarMasker {
 public:
  using Mask = std::vector<uint64_t>;  // a bit for each token
  struct Table;
  // Where an answer is; a cheap value.
  struct Place {
    std::shared_ptr<Table> table;
    uint32_t state = GrammarStates::kDead;
  };

  // `ends` are the tokens that end an answer. read_grammar and build_automaton say what is refused.
  static Status make(std::string_view grammar, std::shared_ptr<const TokenTrie> tokens, std::vector<int32_t> ends,
                     const Log& log, std::shared_ptr<GrammarMasker>* masker);

  const std::string& grammar() const { return grammar_; }
  Place start() const;
  // The mask is valid until the next call. Unsupported: the grammar is too ambiguous here.
  Status mask(Place* place, const Log& log, const Mask** mask);
  // Moves behind bytes that the grammar allows here; behind others to the dead state.
  Status take(std::string_view bytes, const Log& log, Place* place);

  static bool accepts(const Place& place);
  // Whether anything but an end may follow.
  static bool goes_on(const Place& place);

 private:
  void settle(Place* place);  // into the table in use
  Mask make_mask(GrammarStates& states, uint32_t state) const;
  Status exhausted(const Log& log) const;

  std::string grammar_;
  std::shared_ptr<const GrammarAutomaton> automaton_;
  std::shared_ptr<const TokenTrie> tokens_;
  std::vector<int32_t> ends_;
  std::shared_ptr<Table> table_;
};

}  // namespace heed
