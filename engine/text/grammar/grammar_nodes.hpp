// Nodes of a grammar's automaton, made of the items of its rules.
#pragma once

#include "text/grammar/grammar_automaton.hpp"

namespace heed {

// Fills `nodes` and `starts`. A node is made behind those that it leads to, except in loops. InvalidArgument: too many of them.
Status make_nodes(const GrammarRules& rules, std::string_view text, const Log& log, GrammarAutomaton* automaton);

}  // namespace heed
