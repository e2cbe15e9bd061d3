// Backpropagation through a graph: the gradient that arrives at each tensor, and what the rules of operations add.
#pragma once

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <heed/train.hpp>

#include "graph/build/backward.hpp"

namespace heed::train {

using detail::Build;
using detail::GraphData;

// Gradients belong to storages: the gradient of a view is added to that of its storage. A state counts as another tensor after each write.
class Backflow {
 public:
  explicit Backflow(Graph& g) : g_(g), data_(detail::data_of(g)), build_(data_, "gradients") {}

  Graph& graph() { return g_; }
  GraphData& data() { return data_; }
  Build& build() { return build_; }
  const TensorInfo& info(Tensor t) const { return build_.info(t); }

  // --- For rules
  // The gradient of a node's output, of its shape and type; invalid if there is none.
  Tensor upstream(Tensor output);
  // Whether a gradient of this input is needed; false for an invalid tensor.
  bool wants(Tensor input) const;
  // Adds to the gradient of an input if it is needed. The gradient may have a larger shape, to which the input was broadcast, and another
  // floating-point type.
  void add(Tensor input, Tensor gradient);
  // Records a mistake that says that the node's operation has no gradient.
  void refuse(const Node& node, const char* why);

  // --- For gradients() itself
  void ask(Tensor of);
  // Marks all tensors that depend on requested ones.
  void spread(std::span<const Node> nodes);
  bool flows_to(Tensor output) const { return flows_.count(key_of(output)) != 0; }
  // The whole gradient of a requested tensor.
  Tensor result(Tensor of);
  // `copy` is `original` recomputed in other memory: its gradient is added to the original's.
  void is_copy(Tensor copy, Tensor original) { originals_[copy.id] = original.id; }

 private:
  using Key = std::pair<uint32_t, uint32_t>;  // storage, writes
  struct Part {
    Tensor view, gradient;
  };

  Key key_of(Tensor t) const {
    const auto original = originals_.find(info(t).storage);
    return {original == originals_.end() ? info(t).storage : original->second, info(t).writes};
  }
  // The sum of all gradients of a storage, with the dims of the tensor that owns it; invalid if there are none.
  Tensor gathered(Tensor t);
  Tensor as_owner(const Part& part, Tensor owner);
  Tensor unexpanded(Tensor view);
  // Adds the gradient of a view, as one of the parts that do not overlap.
  void add_part(const Part& part);
  // Sums the gradients of parts with equal views, which leaves one part for each view.
  std::vector<Part> by_view(const std::vector<Part>& parts);
  // The concatenation of the parts, if their views are slices that cover the whole owner; otherwise invalid.
  Tensor joined(std::vector<Part> parts, Tensor owner);

  Graph& g_;
  GraphData& data_;
  Build build_;
  std::set<Key> wanted_;
  std::map<Key, std::vector<Part>> flows_;
  std::map<uint32_t, uint32_t> originals_;  // original tensor of each recomputed copy, by id
};

// --- Helpers of rules (parts.cpp)

Dim dim_of(Backflow& flow, SizeId size);
// x with these dims, which have the same number of elements.
Tensor reshaped(Backflow& flow, Tensor x, std::span<const SizeId> dims);
// The sum over all axes along which `target` is broadcast to x.
Tensor summed_to(Backflow& flow, Tensor x, const TensorInfo& target);
// x times a factor, broadcast to the dims of `target` by a copy.
Tensor expanded(Backflow& flow, Tensor x, const TensorInfo& target, float factor = 1.0f);
// A tensor of these dims and this type whose elements are all 0 or all 1.
Tensor filled(Backflow& flow, const TensorInfo& shape, DType dtype, float value);
// A view of `x` whose axes are in memory order, from the outermost to the innermost. Axes of size 1 are removed, but at least one remains.
// `axes` are the corresponding axes of x.
TensorInfo in_memory_order(Backflow& flow, const TensorInfo& x, std::vector<int>* axes);

}  // namespace heed::train
