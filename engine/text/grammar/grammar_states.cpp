#include "text/grammar/grammar_states.hpp"

#include <algorithm>
#include <functional>

namespace heed {

GrammarStates::GrammarStates(std::shared_ptr<const GrammarAutomaton> automaton)
    : automaton_(std::move(automaton)), classes_(automaton_->class_bytes.size()) {
  next_.assign(classes_, kDead);  // transitions of the dead state
  flags_.assign(1, 0);
  call(automaton_->root, GrammarAutomaton::kAccept, 0);
  // An empty root must be accepted here, since no step leads to it.
  if (automaton_->reach(automaton_->starts[automaton_->root]).ends) places_.push_back({GrammarAutomaton::kAccept, 0});
  finish_calls();
  start_ = state_of(std::move(places_));
}

size_t GrammarStates::bytes() const {
  constexpr size_t kBytesOfList = 48;  // including its entry in the table
  return (frames_.pairs() + states_.pairs()) * sizeof(NumberPair) + (frames_.size() + states_.size()) * kBytesOfList +
         next_.size() * sizeof(uint32_t);
}

uint32_t GrammarStates::state_of(std::vector<NumberPair> places) {
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  const uint32_t id = states_.id_of(places);
  if (id < flags_.size()) return id;
  uint8_t flags = 0;
  for (const NumberPair place : places) flags |= place.first == GrammarAutomaton::kAccept ? kAccepts : kGoesOn;
  flags_.push_back(flags);
  next_.resize(next_.size() + classes_, kUnknown);
  return id;
}

uint32_t GrammarStates::make_step(uint32_t state, uint8_t byte) {
  if (is_exhausted()) return kDead;
  places_.clear();
  arrived_.clear();
  for (const NumberPair place : states_[state]) {
    const GrammarAutomaton::Node& node = automaton_->nodes[place.first];
    if (node.kind == GrammarAutomaton::Node::Kind::Byte && byte >= node.low && byte <= node.high)
      open_.push_back({node.to, place.second});
  }
  while (!open_.empty()) {
    if (work_ > kMostWork) {
      open_.clear();
      calls_.clear();
      ranks_.clear();
      return kDead;
    }
    const NumberPair place = open_.back();
    open_.pop_back();
    if (arrived_.insert(uint64_t{place.first} << 32 | place.second).second) arrive(place.first, place.second);
  }
  finish_calls();
  work_ += places_.size() + 1;
  const uint32_t next = state_of(std::move(places_));
  next_[state * classes_ + automaton_->classes[byte]] = next;
  return next;
}

// Follows everything reachable from a node without a byte, in a frame from before this step.
void GrammarStates::arrive(uint32_t node, uint32_t frame) {
  const GrammarAutomaton::Reach& reach = automaton_->reach(node);
  for (const uint32_t byte : automaton_->bytes_of(reach)) places_.push_back({byte, frame});
  for (const uint32_t called : automaton_->calls_of(reach))
    call(automaton_->nodes[called].other, automaton_->nodes[called].to, frame);
  if (reach.accepts) places_.push_back({GrammarAutomaton::kAccept, 0});
  work_ += reach.end - reach.begin + 1;
  if (!reach.ends) return;
  for (const NumberPair behind : frames_[frame]) open_.push_back(behind);
  work_ += frames_[frame].size();
}

// Tail call: a rule that ends with a call passes its own frame on, so that a recursive list stays one frame deep.
void GrammarStates::call(uint32_t rule, uint32_t behind, uint32_t frame) {
  const uint32_t rank = automaton_->ranks[rule];
  const auto [found, fresh] = calls_.try_emplace(rank);
  if (fresh) {
    ranks_.push_back(rank);
    std::push_heap(ranks_.begin(), ranks_.end(), std::greater<>());
  }
  if (behind != GrammarAutomaton::kEnd) {
    found->second.push_back({behind, frame});
  } else {
    const std::span<const NumberPair> own = frames_[frame];
    found->second.insert(found->second.end(), own.begin(), own.end());
    work_ += own.size();
  }
}

// Rules are entered in the order of their ranks, so that all calls of one are known when its frame is made. If a rule may be empty, its
// callers have already continued after it.
void GrammarStates::finish_calls() {
  while (!ranks_.empty()) {
    std::pop_heap(ranks_.begin(), ranks_.end(), std::greater<>());
    const uint32_t rank = ranks_.back();
    ranks_.pop_back();
    std::vector<NumberPair> behind = std::move(calls_.extract(rank).mapped());
    std::sort(behind.begin(), behind.end());
    behind.erase(std::unique(behind.begin(), behind.end()), behind.end());
    const uint32_t frame = frames_.id_of(behind);
    const GrammarAutomaton::Reach& reach = automaton_->reach(automaton_->starts[automaton_->by_rank[rank]]);
    for (const uint32_t byte : automaton_->bytes_of(reach)) places_.push_back({byte, frame});
    for (const uint32_t called : automaton_->calls_of(reach))
      call(automaton_->nodes[called].other, automaton_->nodes[called].to, frame);
    work_ += reach.end - reach.begin + behind.size();
  }
}

uint32_t GrammarStates::copy(const GrammarStates& from, uint32_t state) {
  std::vector<uint32_t> open, needed;
  std::unordered_map<uint32_t, uint32_t> here = {{0, 0}};
  const auto need = [&](std::span<const NumberPair> list) {
    for (const NumberPair pair : list)
      if (here.try_emplace(pair.second, 0).second) open.push_back(pair.second);
  };
  need(from.states_[state]);
  while (!open.empty()) {
    const uint32_t frame = open.back();
    open.pop_back();
    needed.push_back(frame);
    need(from.frames_[frame]);
  }
  const auto moved = [&](std::span<const NumberPair> list) {
    std::vector<NumberPair> pairs(list.begin(), list.end());
    for (NumberPair& pair : pairs) pair.second = here[pair.second];
    std::sort(pairs.begin(), pairs.end());
    return pairs;
  };
  std::sort(needed.begin(), needed.end());  // a frame has a higher number than the frames that it refers to
  for (const uint32_t frame : needed) here[frame] = frames_.id_of(moved(from.frames_[frame]));
  return state_of(moved(from.states_[state]));
}

}  // namespace heed
