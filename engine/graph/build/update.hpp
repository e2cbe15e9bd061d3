// Nodes of optimizers, which change states in place (heed::train::Optimizer calls them), and weights that live in a state.
//
// All numbers of a run come from rows of settings, F32 [rows, words of UpdateSettings] (base/update.hpp). Gradients are divided by
// the scale of the loss, and clipped, by one factor, which the update reads from what gradient_norm gave: F32 [words of UpdateFactors].
// A step that is left out, because the run asked for none or because the norm is infinite or NaN, changes neither weights, nor
// moments, nor the step.
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
// The root of the sum of squares of all gradients, F32 [n] each, 1 to kMostGradients of them, in a fixed order; what follows from it
// by row 0 of `settings`; and the count of steps, `step`, a state F32 [1]. The sums are f32: squares of a gradient above 1e19 are
// infinite.
GradientNorm gradient_norm(GraphData& data, std::span<const Tensor> gradients, Tensor settings, Tensor step);

struct Updated {
  Tensor weights;        // a whole state, F32 [n]
  Tensor first, second;  // moments, likewise; invalid if the rule has none: AdamW has both, Sgd the first or none
  Tensor gradient;       // F32 [n] without gaps; with attrs.clears a whole state
};
// Adds the update. `row` of the settings counts. Afterwards the states are other tensors: state() called again returns them.
void update(GraphData& data, const Updated& operands, Tensor factors, Tensor settings, int64_t row,
            const UpdateAttrs& attrs);

// Makes `weight`, F32 and one of the graph's weights, a view of elements at .. of `state`, F32 [n], which no graph call has written
// so far; with it all views of the weight. Graph::weight and find_weight go on returning it by its name.
void weight_in_state(GraphData& data, Tensor weight, Tensor state, int64_t at);

}  // namespace heed::detail
