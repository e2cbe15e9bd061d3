#include "text/grammar/grammar_masker.hpp"

#include "base/logging.hpp"

namespace heed {

namespace {

// Beyond these sizes a new table begins, to which answers move at their next step.
constexpr size_t kUsualBytes = 32u << 20, kUsualMasks = 1024;

void allow(int32_t id, GrammarMasker::Mask* mask) {
  const auto bit = static_cast<size_t>(id);
  (*mask)[bit / 64] |= uint64_t{1} << bit % 64;
}

}  // namespace

struct GrammarMasker::Table {
  explicit Table(std::shared_ptr<const GrammarAutomaton> automaton) : states(std::move(automaton)) {}
  GrammarStates states;
  std::unordered_map<uint32_t, Mask> masks;  // by state
};

Status GrammarMasker::make(std::string_view grammar, std::shared_ptr<const TokenTrie> tokens, std::vector<int32_t> ends,
                           const Log& log, std::shared_ptr<GrammarMasker>* masker) {
  GrammarRules rules;
  auto automaton = std::make_shared<GrammarAutomaton>();
  Status status = read_grammar(grammar, log, &rules);
  if (status == Status::Ok) status = build_automaton(rules, grammar, log, automaton.get());
  if (status != Status::Ok) return status;
  auto fresh = std::make_shared<GrammarMasker>();
  fresh->grammar_ = std::string(grammar);
  fresh->automaton_ = std::move(automaton);
  fresh->tokens_ = std::move(tokens);
  fresh->ends_ = std::move(ends);
  fresh->table_ = std::make_shared<Table>(fresh->automaton_);
  *masker = std::move(fresh);
  return Status::Ok;
}

GrammarMasker::Place GrammarMasker::start() const { return {table_, table_->states.start()}; }

void GrammarMasker::settle(Place* place) {
  if (table_->states.bytes() > kUsualBytes || table_->masks.size() > kUsualMasks)
    table_ = std::make_shared<Table>(automaton_);
  if (place->table == table_) return;
  place->state = table_->states.copy(place->table->states, place->state);
  place->table = table_;
}

Status GrammarMasker::exhausted(const Log& log) const {
  return fail(log, Status::Unsupported, "grammar: too many ways to read the answer so far; make it less ambiguous");
}

Status GrammarMasker::mask(Place* place, const Log& log, const Mask** mask) {
  settle(place);
  GrammarStates& states = table_->states;
  const auto found = table_->masks.find(place->state);
  if (found != table_->masks.end()) {
    *mask = &found->second;
    return Status::Ok;
  }
  states.rest();
  Mask fresh = make_mask(states, place->state);
  if (states.is_exhausted()) return exhausted(log);
  *mask = &table_->masks.emplace(place->state, std::move(fresh)).first->second;
  return Status::Ok;
}

// Walks the token trie and the automaton together, and skips the subtree of a byte that is not allowed.
GrammarMasker::Mask GrammarMasker::make_mask(GrammarStates& states, uint32_t state) const {
  Mask mask((tokens_->vocabulary() + 63) / 64);
  if (states.accepts(state))
    for (const int32_t id : ends_) allow(id, &mask);
  const std::span<const TokenTrie::Node> nodes = tokens_->nodes();
  std::vector<uint32_t> path(tokens_->depth() + 1, state);
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    const uint32_t next = states.step(path[node.depth - 1u], node.byte);
    path[node.depth] = next;
    if (next == GrammarStates::kDead) {
      i = node.behind;
      continue;
    }
    for (const int32_t id : tokens_->tokens(i)) allow(id, &mask);
    ++i;
  }
  return mask;
}

Status GrammarMasker::take(std::string_view bytes, const Log& log, Place* place) {
  settle(place);
  table_->states.rest();
  for (const char byte : bytes) place->state = table_->states.step(place->state, static_cast<uint8_t>(byte));
  return table_->states.is_exhausted() ? exhausted(log) : Status::Ok;
}

bool GrammarMasker::accepts(const Place& place) { return place.table->states.accepts(place.state); }
bool GrammarMasker::goes_on(const Place& place) { return place.table->states.goes_on(place.state); }

}  // namespace heed
