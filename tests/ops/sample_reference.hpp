// The tokens that Graph::sample should draw, in double from the definitions of the papers.
#pragma once

#include "harness/trial.hpp"

namespace heed::ops {

// The tensors of SampleOptions, broadcast by their last dimensions; null: not given.
struct SampleReference {
  SampleOptions options;  // the numbers; tensors in it do not count
  const Array* previous = nullptr;
  const Array* counts = nullptr;
  const Array* bias = nullptr;
  const Array* steps = nullptr;
  const Array* seeds = nullptr;
  uint32_t seed = 0, stream = 0;
  int64_t step = 0, count = -1;  // < 0: all
};

// One token per row of logits. Its bound is 0, or infinite where the random number, or a share of top_p or min_p, is nearer
// to an edge than weights of whole numbers can tell; `unclear`, if not null, counts these.
Array sample(const Array& logits, const SampleReference& reference, int64_t* unclear = nullptr);
// The probabilities of the tokens of one row.
std::vector<double> probabilities(const Array& row, const SampleReference& reference);

}  // namespace heed::ops
