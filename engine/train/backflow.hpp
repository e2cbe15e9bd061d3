// The way back through a graph: what flows to each tensor, and what the rules of operations add to it.
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

// Gradients belong to memory: a view of a tensor contributes to the tensor. A state is another tensor after each write.
class Backflow {
 public:
  explicit Backflow(Graph& g) : g_(g), data_(detail::data_of(g)), build_(data_, "gradients") {}

  Graph& graph() { return g_; }
  GraphData& data() { return data_; }
  Build& build() { return build_; }
  const TensorInfo& info(Tensor t) const { return build_.info(t); }

  // --- For rules
  // The gradient of what a node gave, of its shape and type; invalid if none flows.
  Tensor upstream(Tensor output);
  // Whether anybody asked for what lies behind an input; an invalid tensor is not wanted.
  bool wants(Tensor input) const;
  // Contributes to an input that is wanted; other calls do nothing. The gradient may have a larger shape, to which the input was
  // broadcast, and another floating-point type.
  void add(Tensor input, Tensor gradient);
  // The operation of a node has no gradient: a mistake that says so.
  void refuse(const Node& node, const char* why);

  // --- For gradients() itself
  void ask(Tensor of);
  // Marks what depends on what was asked for.
  void spread(std::span<const Node> nodes);
  bool flows_to(Tensor output) const { return flows_.count(key_of(output)) != 0; }
  // The gradient of a tensor that was asked for, all of it.
  Tensor result(Tensor of);
  // `copy` is `original` computed again, with memory of its own: its gradient flows to the original.
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
  // The sum of what flows to the memory of a tensor, with the dims of the tensor that owns it; invalid if nothing does.
  Tensor gathered(Tensor t);
  Tensor as_owner(const Part& part, Tensor owner);
  Tensor unexpanded(Tensor view);
  // Keeps what flows to a view, in parts that do not overlap.
  void add_part(const Part& part);
  // Sums the gradients of parts that are the same view, which leaves one part for each view.
  std::vector<Part> by_view(const std::vector<Part>& parts);
  // The parts side by side, if their views are slices that make up all of the owner; otherwise invalid.
  Tensor joined(std::vector<Part> parts, Tensor owner);

  Graph& g_;
  GraphData& data_;
  Build build_;
  std::set<Key> wanted_;
  std::map<Key, std::vector<Part>> flows_;
  std::map<uint32_t, uint32_t> originals_;  // of copies
};

// --- What rules are made of (parts.cpp)

Dim dim_of(Backflow& flow, SizeId size);
// x with these dims, of which there are as many elements.
Tensor reshaped(Backflow& flow, Tensor x, std::span<const SizeId> dims);
// The sum over all axes along which `target` is broadcast to x.
Tensor summed_to(Backflow& flow, Tensor x, const TensorInfo& target);
// x, which broadcasts to the dims of `target`, copied to these dims, times a factor.
Tensor expanded(Backflow& flow, Tensor x, const TensorInfo& target, float factor = 1.0f);
// A tensor of these dims and this type whose elements are all 0 or 1.
Tensor filled(Backflow& flow, const TensorInfo& shape, DType dtype, float value);
// A view of `x` that shows its memory in order, its axes from the outermost to the innermost. Axes of size 1 are left out; at
// least one is left. `axes` are those of x.
TensorInfo in_memory_order(Backflow& flow, const TensorInfo& x, std::vector<int>* axes);

}  // namespace heed::train
