#include "text/grammar/grammar_automaton.hpp"

#include <algorithm>
#include <bitset>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"
#include "text/grammar/grammar_nodes.hpp"

namespace heed {

namespace {

constexpr size_t kMostReached = 1u << 20, kMostVisits = 1u << 24;

using Node = GrammarAutomaton::Node;

class AutomatonBuilder {
 public:
  AutomatonBuilder(const GrammarRules& rules, std::string_view text, const Log& log, GrammarAutomaton* automaton)
      : rules_(rules), text_(text), log_(log), a_(*automaton) {}

  Status build() {
    Status status = make_nodes(rules_, text_, log_, &a_);
    if (status != Status::Ok) return status;
    a_.root = rules_.root;
    empty_ = lead_to_end(false);
    const std::vector<bool> ending = lead_to_end(true);
    for (size_t i = 0; i < a_.starts.size(); ++i)
      if (!ending[a_.starts[i]]) return refuse(i, " never ends: each way through it leads back into it");
    status = find_reaches();
    if (status == Status::Ok) status = rank_rules();
    if (status == Status::Ok) find_classes();
    return status;
  }

 private:
  Status refuse(size_t rule, const char* what) const {
    const GrammarRules::Rule& refused = rules_.rules[rule];
    return refuse_grammar(text_, refused.place, format("rule '%s'%s", printable(refused.name).c_str(), what), log_);
  }

  // By node: whether its rule can end after it, either with any bytes or without reading one.
  std::vector<bool> lead_to_end(bool with_bytes) const {
    std::vector<bool> leads(a_.nodes.size());
    leads[GrammarAutomaton::kEnd] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < a_.nodes.size(); ++i) {
        if (leads[i]) continue;
        const Node& node = a_.nodes[i];
        const bool now = (node.kind == Node::Kind::Byte && with_bytes && leads[node.to]) ||
                         (node.kind == Node::Kind::Call && leads[node.to] && leads[a_.starts[node.other]]) ||
                         (node.kind == Node::Kind::Split && (leads[node.to] || leads[node.other]));
        leads[i] = now;
        changed = changed || now;
      }
    }
    return leads;
  }

  Status find_reaches() {
    a_.reach_of.assign(a_.nodes.size(), GrammarAutomaton::kNone);
    seen_.assign(a_.nodes.size(), GrammarAutomaton::kNone);
    std::vector<uint32_t> targets = a_.starts;
    targets.push_back(GrammarAutomaton::kAccept);
    for (const Node& node : a_.nodes)
      if (node.kind == Node::Kind::Byte || node.kind == Node::Kind::Call) targets.push_back(node.to);
    for (const uint32_t target : targets) {
      if (a_.reach_of[target] == GrammarAutomaton::kNone) find_reach(target);
      if (a_.reached.size() > kMostReached || visits_ > kMostVisits)
        return refuse(a_.root, ": too much of the grammar may be left out, one behind the other");
    }
    return Status::Ok;
  }

  void find_reach(uint32_t from) {
    GrammarAutomaton::Reach reach = {.begin = static_cast<uint32_t>(a_.reached.size())};
    std::vector<uint32_t> calls, open = {from};
    while (!open.empty()) {
      const uint32_t id = open.back();
      open.pop_back();
      if (seen_[id] == from) continue;
      seen_[id] = from;
      ++visits_;
      const Node& node = a_.nodes[id];
      switch (node.kind) {
        case Node::Kind::End: reach.ends = true; break;
        case Node::Kind::Accept: reach.accepts = true; break;
        case Node::Kind::Byte: a_.reached.push_back(id); break;
        case Node::Kind::Call:
          calls.push_back(id);
          if (empty_[a_.starts[node.other]]) open.push_back(node.to);
          break;
        case Node::Kind::Split:
          open.push_back(node.other);
          open.push_back(node.to);
          break;
      }
    }
    reach.calls = static_cast<uint32_t>(a_.reached.size());
    a_.reached.insert(a_.reached.end(), calls.begin(), calls.end());
    reach.end = static_cast<uint32_t>(a_.reached.size());
    a_.reach_of[from] = static_cast<uint32_t>(a_.reaches.size());
    a_.reaches.push_back(reach);
  }

  // Sorts rules so that callers come before the rules that they call without reading a byte. A cycle is left recursion.
  Status rank_rules() {
    enum : uint8_t { kNew, kOpen, kDone };
    struct Visit {
      uint32_t rule;
      size_t call;
    };
    const size_t count = a_.starts.size();
    std::vector<uint8_t> progress(count, kNew);
    std::vector<Visit> path;
    for (uint32_t first = 0; first < count; ++first) {
      if (progress[first] == kNew) path.push_back({first, 0});
      while (!path.empty()) {
        Visit& visit = path.back();
        progress[visit.rule] = kOpen;
        const auto calls = a_.calls_of(a_.reach(a_.starts[visit.rule]));
        if (visit.call == calls.size()) {
          progress[visit.rule] = kDone;
          a_.by_rank.push_back(visit.rule);
          path.pop_back();
          continue;
        }
        const uint32_t called = a_.nodes[calls[visit.call++]].other;
        if (progress[called] == kOpen) return refuse(called, " calls itself before it reads anything (left recursion)");
        if (progress[called] == kNew) path.push_back({called, 0});
      }
    }
    std::reverse(a_.by_rank.begin(), a_.by_rank.end());
    a_.ranks.resize(count);
    for (uint32_t i = 0; i < count; ++i) a_.ranks[a_.by_rank[i]] = i;
    return Status::Ok;
  }

  void find_classes() {
    std::bitset<257> begins;
    begins[0] = true;
    for (const Node& node : a_.nodes)
      if (node.kind == Node::Kind::Byte) begins[node.low] = begins[node.high + 1u] = true;
    for (size_t byte = 0; byte < 256; ++byte) {
      if (begins[byte]) a_.class_bytes.push_back(static_cast<uint8_t>(byte));
      a_.classes[byte] = static_cast<uint8_t>(a_.class_bytes.size() - 1);
    }
  }

  const GrammarRules& rules_;
  std::string_view text_;
  const Log& log_;
  GrammarAutomaton& a_;
  std::vector<bool> empty_;     // by node: whether its rule can end without a byte
  std::vector<uint32_t> seen_;  // by node: the node from which it was last reached
  size_t visits_ = 0;
};

}  // namespace

Status build_automaton(const GrammarRules& rules, std::string_view text, const Log& log, GrammarAutomaton* automaton) {
  *automaton = {};
  return AutomatonBuilder(rules, text, log, automaton).build();
}

}  // namespace heed
