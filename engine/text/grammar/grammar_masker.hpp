// GrammarMasker finds the tokens that may come next under a grammar.
#pragma once

#include <memory>
#include <unordered_map>

#include "text/grammar/grammar_states.hpp"
#include "text/grammar/token_trie.hpp"

namespace heed {

// All answers under one grammar share a masker, and with it the cache of states and masks. Calls must not overlap in time.
class GrammarMasker {
 public:
  using Mask = std::vector<uint64_t>;  // a bit for each token
  struct Table;
  // The position of an answer in its grammar; a small value.
  struct Place {
    std::shared_ptr<Table> table;
    uint32_t state = GrammarStates::kDead;
  };

  // `ends` are the tokens that end an answer. Failures are those of read_grammar and build_automaton.
  static Status make(std::string_view grammar, std::shared_ptr<const TokenTrie> tokens, std::vector<int32_t> ends,
                     const Log& log, std::shared_ptr<GrammarMasker>* masker);

  const std::string& grammar() const { return grammar_; }
  Place start() const;
  // The mask is valid until the next call. Unsupported: the grammar is too ambiguous at this place.
  Status mask(Place* place, const Log& log, const Mask** mask);
  // Advances by bytes. Bytes that the grammar does not allow lead to the dead state.
  Status take(std::string_view bytes, const Log& log, Place* place);

  static bool accepts(const Place& place);
  // Whether more text may follow, not only the end.
  static bool goes_on(const Place& place);

 private:
  void settle(Place* place);  // moves it to the current table
  Mask make_mask(GrammarStates& states, uint32_t state) const;
  Status exhausted(const Log& log) const;

  std::string grammar_;
  std::shared_ptr<const GrammarAutomaton> automaton_;
  std::shared_ptr<const TokenTrie> tokens_;
  std::vector<int32_t> ends_;
  std::shared_ptr<Table> table_;
};

}  // namespace heed
