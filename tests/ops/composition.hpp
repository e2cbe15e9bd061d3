// Graphs of several operations drawn at random, each fed by what came before: projections, attention, norms, products,
// views, sums, in any order, with values that several read, that none reads, and that are outputs besides. What devices
// make of them (fused operations, shared memory, barriers) is in no case of one operation.
#pragma once

#include <memory>
#include <string>

#include "ops/random.hpp"

namespace heed::ops {

struct Composition {
  std::unique_ptr<Trial> trial;  // with its runs and their references
  std::string text;              // one line for each value, for people
  int operations = 0;
};

// The composition of this number; storage types take turns. Fails the test if the graph refuses a call.
Composition compose(uint64_t seed, int64_t number);

}  // namespace heed::ops
