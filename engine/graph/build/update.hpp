// Nodes of optimizers, which update states in place (heed::train::Optimizer calls them), and weights that are stored in a state.
//
// All numbers of a run come from rows of settings, F32 [rows, words of UpdateSettings] (base/update.hpp). One factor divides gradients by
// the loss scale and clips them; the update reads it from the result of gradient_norm: F32 [words of UpdateFactors]. A step that is
// skipped, because `apply` is false or the norm is infinite or NaN, changes neither weights, nor moments, nor the step.
#pragma once

#include <span>

#include "base/update.hpp"
#include "graph/graph_data.hpp"

namespace heed::detail {

inline constexpr int64_t kUpdateWords = sizeof(UpdateSettings) / sizeof(float);
inline constexpr int64_t kUpdateFactors = sizeof(UpdateFactors) / sizeof(float);
inline constexpr size_t kMostGradients = kMaxInputs - in::kNormGradients;

struct GradientNorm {
  Tensor factors;  // F32 [kUpdateFactors]
  Tensor step;     // the state after the write
};
// The square root of the sum of squares of all gradients, F32 [n] each, 1 to kMostGradients of them, in a fixed order; the factors that
// follow from it by row 0 of `settings`; and the count of steps, `step`, a state F32 [1]. Sums are f32: squares of a gradient above 1e19
// are infinite.
GradientNorm gradient_norm(GraphData& data, std::span<const Tensor> gradients, Tensor settings, Tensor step);

struct Updated {
  Tensor weights;        // a whole state, F32 [n]
  Tensor first, second;  // moments, whole states, too; invalid if the rule has none: AdamW has both, Sgd the first or
                         // none
  Tensor gradient;       // F32 [n], contiguous; with attrs.clears a whole state
};
// Adds the update, which reads row `row` of the settings. Afterwards the states have new tensors, which state() returns.
void update(GraphData& data, const Updated& operands, Tensor factors, Tensor settings, int64_t row,
            const UpdateAttrs& attrs);

// Turns `weight`, F32 and one of the graph's weights, and all views of it, into views of elements at .. of `state`, F32 [n], which no graph
// call has written so far. Graph::weight and find_weight still return it by its name.
void weight_in_state(GraphData& data, Tensor weight, Tensor state, int64_t at);

}  // namespace heed::detail
