// Converts the items of a grammar's rules to nodes of the automaton.
#pragma once

#include "text/grammar/grammar_automaton.hpp"

namespace heed {

// Fills `nodes` and `starts`. A node comes after its successors, except in loops. InvalidArgument: there are too many.
Status make_nodes(const GrammarRules& rules, std::string_view text, const Log& log, GrammarAutomaton* automaton);

}  // namespace heed
