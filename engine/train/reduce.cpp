// Gradients of reductions and cumulative sums.
#include <array>

#include "graph/build/backward.hpp"
#include "train/rules.hpp"

namespace heed::train {
namespace {

// The weight of each element in a mean: 1 / n, or 0 if the mask excludes it. Computed as a softmax of zeros, since n may be known only at a
// run. [B, n] with a mask, else [1, n].
Tensor shares(Backflow& flow, const Node& mean, const TensorInfo& x) {
  const auto& attrs = mean.as<ReduceAttrs>();
  const Tensor mask = mean.inputs[in::kReduceMask];
  TensorInfo shape;
  shape.rank = 2;
  shape.dims = {mask.valid() ? x.dims[0] : flow.data().sizes.constant(1), x.dims[static_cast<size_t>(attrs.axis)]};
  return flow.graph().softmax(filled(flow, shape, x.dtype, 0.0f), {.mask = {mask, attrs.mask_meaning}});
}

class ReduceRule {
 public:
  ReduceRule(Backflow& flow, const Node& node)
      : flow_(flow),
        node_(node),
        attrs_(node.as<ReduceAttrs>()),
        x_(node.inputs[in::kX]),
        info_(flow.info(x_)),
        column_(info_) {
    column_.dims[static_cast<size_t>(attrs_.axis)] = flow.data().sizes.constant(1);
  }

  Tensor gradient() {
    const Tensor upstream = as_column(flow_.upstream(node_.outputs[0]));
    if (!upstream.valid()) return {};
    if (attrs_.kind == Reduction::Sum || attrs_.kind == Reduction::Mean)
      return of_mean(flow_.graph().cast(upstream, info_.dtype));
    // F32, since counts of equal elements or zeros could exceed F16.
    const Tensor g = wide(upstream), x = wide(x_), y = wide(as_column(node_.outputs[0]));
    return of_kind(g, x, y);
  }

 private:
  Tensor wide(Tensor t) { return flow_.graph().cast(t, DType::F32); }
  Tensor number(double value) { return flow_.graph().number(value); }
  Tensor as_column(Tensor t) { return reshaped(flow_, t, {column_.dims.data(), static_cast<size_t>(column_.rank)}); }
  Tensor summed(Tensor t) { return as_column(flow_.graph().sum(t, attrs_.axis)); }

  Tensor of_mean(Tensor upstream) {
    const Tensor mask = node_.inputs[in::kReduceMask];
    SizeTable& sizes = flow_.data().sizes;
    const SizeId length = info_.dims[static_cast<size_t>(attrs_.axis)];
    const bool sum = attrs_.kind == Reduction::Sum;
    if (sum || (!mask.valid() && sizes.is_constant(length)))
      return expanded(flow_, upstream, info_, sum ? 1.0f : 1.0f / static_cast<float>(flow_.build().max_of(length)));
    TensorInfo share = info_;
    for (int i = 0; i < info_.rank; ++i)
      if (i != attrs_.axis && (i != 0 || !mask.valid())) share.dims[static_cast<size_t>(i)] = sizes.constant(1);
    const Tensor each =
        reshaped(flow_, shares(flow_, node_, info_), {share.dims.data(), static_cast<size_t>(share.rank)});
    return each.valid() ? flow_.graph().mul(upstream, each) : Tensor{};
  }

  Tensor of_kind(Tensor g, Tensor x, Tensor y) {
    Graph& G = flow_.graph();
    switch (attrs_.kind) {
      case Reduction::Product: return of_product(g, x);
      case Reduction::LogSumExp: {
        // Minus infinity contributes nothing to the sum, also if the whole row is minus infinity.
        const Tensor share = G.exp(G.sub(x, y));
        return G.where(G.lt(x, number(-3.402823466e38)), number(0), G.mul(g, share));
      }
      case Reduction::L2: return G.where(G.eq(y, number(0)), number(0), G.div(G.mul(g, x), y));
      default: {
        const Tensor equal = G.cast(G.eq(x, y), DType::F32);
        return G.mul(equal, G.div(g, summed(equal)));
      }
    }
  }

  // The product of the other elements: the product of all nonzero ones, divided by the element itself, or 0 if another element is 0.
  Tensor of_product(Tensor g, Tensor x) {
    Graph& G = flow_.graph();
    const Tensor is_zero = G.eq(x, number(0)), zeros = summed(G.cast(is_zero, DType::F32));
    const Tensor factors = G.where(is_zero, number(1), x);
    const Tensor product = as_column(G.reduce(factors, Reduction::Product, {attrs_.axis}));
    const Tensor others_are_zero = G.gt(zeros, G.cast(is_zero, DType::F32));
    return G.where(others_are_zero, number(0), G.mul(g, G.div(product, factors)));
  }

  Backflow& flow_;
  const Node& node_;
  const ReduceAttrs& attrs_;
  const Tensor x_;
  const TensorInfo info_;
  TensorInfo column_;
};

}  // namespace

void reduce_rule(Backflow& flow, const Node& node) {
  const Tensor x = node.inputs[in::kX];
  if (flow.wants(x) && is_float(flow.info(x).dtype)) flow.add(x, ReduceRule(flow, node).gradient());
}

void cumsum_rule(Backflow& flow, const Node& node) {
  auto attrs = node.as<CumsumAttrs>();
  attrs.reverse = !attrs.reverse;
  flow.add(node.inputs[in::kX], detail::cumsum(flow.data(), flow.upstream(node.outputs[0]), attrs));
}

}  // namespace heed::train
