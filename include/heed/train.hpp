// Gradients of graphs, for training.
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
// Reverse mode (Linnainmaa 1976, BIT 16) adds nodes to the graph that compute the gradients. They run on every device as others do, with
// the same bits at every run. Activations that the backward passes read are part of the plan's scratch.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <heed/export.hpp>
#include <heed/graph.hpp>

namespace heed::train {

// A result to differentiate, and the gradient that arrives at it.
struct Upstream {
  Tensor output;    // F32, F16 or BF16
  Tensor gradient;  // has the shape and type of `output`; invalid: a gradient of 1, and `output` must be one number
};

// Memory options of gradients.
struct GradientOptions {
  // Layers whose activations are recomputed in the backward pass instead of kept (Chen et al. 2016, arXiv:1604.06174). `remat` is a NAME of
  // labels: a layer is everything in the graph from the first to the last operation whose label is NAME.i or begins with "NAME.i.", for one
  // number i. The stacks of heed::nn label their layers by the names of their weights, "model.layers". Results of a layer's forward passes
  // that its backward passes read are recomputed from the layer's inputs, right before they are read, with the same bits and the same
  // dropout. Results that others read, such as the layer's output, are kept. A layer is kept as a whole if it writes a state or reads one
  // that is written later, draws a sample, or has passes of the host's; so are layers within each other. Empty: everything is kept.
  std::string_view remat = {};
};

// The gradient of the sum over `outputs` of sum(output * its gradient) with respect to each tensor of `of`: one tensor for each, of its
// shape and type. `of` may be any floating-point tensors of the graph: weights, inputs, constants, states, and intermediate results. The
// gradient is zeros if no output depends on the tensor. No pass is added for other tensors.
//
//  - The gradient of a view is that part of the viewed tensor's gradient: of a slice of w, the slice of the gradient of w.
//  - The gradient of a state is that of the value which the tensor in `of` has. No gradient passes through a write to a state: results of
//    append and assign count as inputs. A gradient that needs the value of a state from before a write is a mistake (InvalidArgument).
//  - Masked logits are constants, also with masked_fill: no gradient passes to them, nor through a query without a visible key.
//  - The gradient of a dropout uses the same random bits as the dropout.
//  - Quantized weights pass gradients on to the other operand. They have no gradient themselves (DTypeMismatch).
//  - argmax, sample and ids pass no gradient on. A custom pass needs CustomPass::gradient. Gradients of gradients do not exist for
//    some operations. Such mistakes name the operation (Unsupported).
//  - Attention: keys and values must be finite, even those that no query sees. log_sum_exp has no gradient together with masked_fill.
//
// F16 gradients below 6e-8 become 0. A `gradient` above 1 in `outputs` scales all of them (Micikevicius et al. 2018, arXiv:1710.03740).
//
// Mistakes are the graph's, as with its own calls: an output that is not one number and has no gradient, or one of another shape
// (ShapeMismatch) or type (DTypeMismatch), tensors of another graph. All tensors are then invalid.
HEED_API std::vector<Tensor> gradients(Graph& g, std::span<const Upstream> outputs, std::span<const Tensor> of,
                                       const GradientOptions& options = {});
// The same for one output, which must be one number.
HEED_API std::vector<Tensor> gradients(Graph& g, Tensor loss, std::span<const Tensor> of,
                                       const GradientOptions& options = {});

}  // namespace heed::train
