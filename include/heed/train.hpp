// Gradients: what makes a Graph learn.
//
//   heed::Graph g;
//   const heed::Tensor w = g.weight("w", {10, 64});
//   const heed::Tensor y = g.linear(g.input("x", {32, 64}), w);
//   const heed::Tensor losses = g.cross_entropy(y, g.input("labels", {32}, heed::DType::I32));
//   const heed::Tensor loss = g.mean(g.reshape(losses, {1, 32}), 1);
//   const std::vector<heed::Tensor> d = heed::train::gradients(g, loss, {{w}});
//   g.output("loss", loss);
//   g.output("dw", d[0]);
//
// They are made by reverse mode (Linnainmaa 1976, BIT 16): nodes are added to the graph that compute them, and these run on
// every device as others do, with the same bits at every run. Memory for what the backward passes read of the forward ones
// is part of the plan's scratch.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <heed/export.hpp>
#include <heed/graph.hpp>

namespace heed::train {

// A result that is differentiated, and what its gradient is.
struct Upstream {
  Tensor output;    // F32, F16 or BF16
  Tensor gradient;  // of the shape and type of `output`; invalid: 1, and `output` must be one number
};

// What gradients keeps in memory.
struct GradientOptions {
  // Layers whose activations are computed again on the way back instead of kept (Chen et al. 2016, arXiv:1604.06174). A layer is all
  // that the graph has from the first to the last operation whose label is NAME.i or begins with "NAME.i.", for one number i;
  // heed::nn's stacks label theirs by the names of their weights, "model.layers". What the backward passes of a layer read of its
  // forward ones is computed again from what came into the layer, right before them, with the same bits and the same dropout. What
  // others read of a layer stays, such as what it gave. A layer is kept that writes a state or reads one as it no longer is,
  // draws a sample or has passes of the host's; so are layers that lie within each other. Empty: all is kept.
  std::string_view remat = {};
};

// The gradient of sum over the outputs of sum(output * its gradient) with respect to each tensor of `of`: one tensor for each,
// of its shape and type. `of` may be any floating-point tensors of the graph: weights, inputs, constants, states, and what lies
// between. A gradient of zeros is given for those on which no output depends. No pass is added for a tensor that nobody asked
// for.
//
//  - A view shows the gradient of what it shows: of a slice of w, the slice of the gradient of w.
//  - A state is differentiated as it was when the call returned the tensor that `of` names. No gradient passes through a write
//    to a state: what append and assign return counts as given. A gradient that needs what a state was before it was written is a
//    mistake (InvalidArgument).
//  - Masked logits, with masked_fill too, are constants: no gradient passes to them. A query without a visible key passes none.
//  - A dropout draws the same bits as before, so that training plans differentiate what they computed.
//  - Quantized weights pass gradients on to what they multiply. Their own do not exist (DTypeMismatch).
//  - argmax, sample and ids pass nothing on. A custom pass needs CustomPass::gradient, and the gradient of a gradient does not
//    exist where a pass of gradients.. is on the way: mistakes that name the operation (Unsupported).
//  - Attention: keys and values must be finite, also those that no query sees. log_sum_exp has no gradient beside masked_fill.
//
// For F16, gradients that are below 6e-8 are 0. A `gradient` above 1 in `outputs` scales all of them (Micikevicius et al. 2018,
// arXiv:1710.03740).
//
// Mistakes are the graph's, as with its own calls: an output that is not one number and has no gradient, or one of another shape
// (ShapeMismatch) or type (DTypeMismatch), tensors of another graph. All tensors are then invalid.
HEED_API std::vector<Tensor> gradients(Graph& g, std::span<const Upstream> outputs, std::span<const Tensor> of,
                                       const GradientOptions& options = {});
// Of one output, which is one number.
HEED_API std::vector<Tensor> gradients(Graph& g, Tensor loss, std::span<const Tensor> of,
                                       const GradientOptions& options = {});

}  // namespace heed::train
