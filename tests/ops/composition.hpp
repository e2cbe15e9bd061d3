// Graphs of several operations drawn at random, each of which reads earlier results: projections, attention, norms,
// products, views and sums in any order, writes to states and reads of them, with values that several operations read,
// that none reads, and that are outputs besides. They test what no case of one operation does: fused operations, memory
// that values share, barriers.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "ops/random.hpp"

namespace heed::ops {

struct Composition {
  std::list<std::string> positions;  // names, which runs refer to
  std::unique_ptr<Trial> trial;      // with its runs and their references
  std::string text;                  // one line for each value, for people
  int operations = 0;
  // Outputs of all runs, and those among them whose bounds have grown so far that hardly an error would show.
  int outputs = 0, loose = 0;
};

// The composition of this number. Storage types take turns over kCompositionTypes of them. Fails the test if the graph
// refuses a call.
inline constexpr int64_t kCompositionTypes = 5;
Composition compose(uint64_t seed, int64_t number);

// Calls try_it for `usual` compositions, or as many as HEED_COMPOSITIONS says, or for the one that HEED_COMPOSITION
// names. If it returns what went wrong, the test fails and says how to repeat it.
using TryComposition = std::function<std::string(int64_t number, const Composition& composition)>;
void for_compositions(int64_t usual, const TryComposition& try_it);
bool compositions_are_asked_for();  // by one of the two variables

}  // namespace heed::ops
