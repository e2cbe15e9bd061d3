// States of a grammar's automaton, computed lazily.
//
// A place is a byte node with a frame. A frame is a return address: the nodes that follow in the calling rules when the node's rule ends,
// each with a frame of its own. All calls of a rule that begin at the same byte share one frame, as in the parsers of Tomita (1985) and
// Earley (1970), so that the memory of an ambiguous grammar grows with the square of the text, not exponentially. A state is a set of
// places. Equal frames and equal states have the same number, so that a repeated step is a table look-up.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "text/bpe/pair_lists.hpp"
#include "text/grammar/grammar_automaton.hpp"

namespace heed {

class GrammarStates {
 public:
  static constexpr uint32_t kDead = 0;  // no continuation is allowed

  explicit GrammarStates(std::shared_ptr<const GrammarAutomaton> automaton);

  uint32_t start() const { return start_; }
  // The state after a byte. kDead if it is not allowed, or if the states are too large; is_exhausted() distinguishes these.
  uint32_t step(uint32_t state, uint8_t byte) {
    uint32_t& next = next_[state * classes_ + automaton_->classes[byte]];
    return next != kUnknown ? next : make_step(state, byte);
  }
  bool accepts(uint32_t state) const { return (flags_[state] & kAccepts) != 0; }
  bool goes_on(uint32_t state) const { return (flags_[state] & kGoesOn) != 0; }
  bool is_exhausted() const { return work_ > kMostWork || bytes() > kMostBytes; }
  void rest() { work_ = 0; }  // resets the work limit before further steps

  size_t bytes() const;
  // The number in this table of a state of another table of the same grammar.
  uint32_t copy(const GrammarStates& from, uint32_t state);
  const std::shared_ptr<const GrammarAutomaton>& automaton() const { return automaton_; }

 private:
  static constexpr uint32_t kUnknown = UINT32_MAX;
  static constexpr uint8_t kAccepts = 1, kGoesOn = 2;
  static constexpr size_t kMostWork = 1u << 23, kMostBytes = 128u << 20;

  uint32_t make_step(uint32_t state, uint8_t byte);
  uint32_t state_of(std::vector<NumberPair> places);
  void arrive(uint32_t node, uint32_t frame);
  void call(uint32_t rule, uint32_t behind, uint32_t frame);
  void finish_calls();

  std::shared_ptr<const GrammarAutomaton> automaton_;
  size_t classes_;
  PairLists frames_, states_;
  std::vector<uint32_t> next_;  // by state and class of bytes
  std::vector<uint8_t> flags_;  // by state
  uint32_t start_ = kDead;
  size_t work_ = 0;

  // Working lists of the current step.
  std::vector<NumberPair> places_, open_;
  std::unordered_set<uint64_t> arrived_;
  std::unordered_map<uint32_t, std::vector<NumberPair>> calls_;  // by rank
  std::vector<uint32_t> ranks_;                                  // a heap of the ranks that have calls
};

}  // namespace heed
