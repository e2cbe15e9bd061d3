// Helpers for tests of gradients.
#pragma once

#include "harness/trial.hpp"

namespace heed::train_tests {

// The gradient of y by `of`, with an upstream of the shape of y.
inline Tensor gradient(ops::Trial& t, Tensor y, Tensor of, DType upstream) {
  const train::Upstream output{y, t.graph.input("up", t.graph.shape(y), upstream)};
  return train::gradients(t.graph, std::span(&output, 1), std::span(&of, 1))[0];
}
inline Tensor gradient(ops::Trial& t, Tensor y, Tensor of) { return gradient(t, y, of, t.dtype); }

}  // namespace heed::train_tests
