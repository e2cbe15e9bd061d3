// Random graphs of several operations, each of which reads earlier results: projections, attention, norms, matmuls, views, sums, and reads
// and writes of states, in any order. Some values have several readers, some have none, and some are also outputs. These graphs test what
// no case of one operation does: fusion, shared memory, barriers.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <string>

#include "ops/random.hpp"

namespace heed::ops {

struct Composition {
  std::list<std::string> positions;  // names that runs refer to
  std::unique_ptr<Trial> trial;      // with its runs and their references
  std::string text;                  // one line for each value, for messages
  int operations = 0;
  // Outputs of all runs, and how many of them have bounds so large that hardly any error would show.
  int outputs = 0, loose = 0;
};

// The composition of this number. Storage types alternate over kCompositionTypes numbers. Fails the test if the graph rejects a call.
inline constexpr int64_t kCompositionTypes = 5;
Composition compose(uint64_t seed, int64_t number);

// Calls try_it for `usual` compositions, for as many as HEED_COMPOSITIONS says, or for the one that HEED_COMPOSITION names. If it returns
// an error text, the test fails and says how to repeat it.
using TryComposition = std::function<std::string(int64_t number, const Composition& composition)>;
void for_compositions(int64_t usual, const TryComposition& try_it);
bool compositions_are_asked_for();  // whether one of the two variables is set

}  // namespace heed::ops
