// The tokens that Graph::sample should draw, computed in double from the definitions in the papers.
#pragma once

#include "harness/trial.hpp"

namespace heed::ops {

// The tensors of SampleOptions, broadcast by their last dimensions; null: not used.
struct SampleReference {
  SampleOptions options;  // only its numbers count, not its tensors
  const Array* previous = nullptr;
  const Array* counts = nullptr;
  const Array* bias = nullptr;
  const Array* steps = nullptr;
  const Array* seeds = nullptr;
  uint32_t seed = 0, stream = 0;
  int64_t step = 0, count = -1;  // below 0: all
};

// One token for each row of logits. The bound is 0, or infinite if the random number, or a share of top_p or min_p, is closer to an edge
// than the integer weights resolve. If `unclear` is not null, it counts the latter.
Array sample(const Array& logits, const SampleReference& reference, int64_t* unclear = nullptr);
// The probabilities of the tokens in one row.
std::vector<double> probabilities(const Array& row, const SampleReference& reference);

}  // namespace heed::ops
