// The node that computes the gradients of an attention.
#include "graph/build/attention_backward.hpp"

#include <algorithm>
#include <cmath>

#include "graph/build/build.hpp"

namespace heed::detail {
namespace {

constexpr int64_t kWidestHead = 256;
// If all keys of a query are filled, weights are exp(fill - log_sum_exp). Rounding the log-sum-exp changes them by 2^-24 of the fill, which
// at the common fill of -1e9 leaves no correct digit.
constexpr float kLargestFill = 64.0f;

// x if the elements of its rows are contiguous, else a copy.
Tensor with_dense_rows(Build& build, Tensor x) {
  const TensorInfo& info = build.info(x);
  return build.data().sizes.is_constant(info.strides[3], 1) ? x : build.copy(x);
}

// [B, H, S, width] with the memory layout [B, S, H, width].
TensorInfo heads_like(Build& build, const TensorInfo& shape_of, SizeId width) {
  SizeTable& sizes = build.data().sizes;
  TensorInfo info;
  info.dtype = shape_of.dtype;
  info.rank = 4;
  info.dims = {shape_of.dims[0], shape_of.dims[1], shape_of.dims[2], width};
  const SizeId token = sizes.mul(info.dims[1], width);
  info.strides = {sizes.mul(token, info.dims[2]), width, token, sizes.constant(1)};
  info.offset = sizes.constant(0);
  return info;
}
Tensor add_heads(Build& build, const TensorInfo& shape_of, SizeId width) {
  return build.add_storage(heads_like(build, shape_of, width));
}

// x if it has the memory layout of the attention's output, else a copy that has it.
Tensor laid_as_output(Build& build, Tensor x) {
  const TensorInfo info = build.info(x), wanted = heads_like(build, info, info.dims[3]);
  bool same = true;
  for (size_t i = 0; i < 4; ++i)
    same = same && (info.strides[i] == wanted.strides[i] || build.data().sizes.is_constant(info.dims[i], 1));
  if (same) return x;  // the other branch adds a tensor, and every tensor needs a node that makes it
  const Tensor copy = build.add_storage(wanted);
  build.add_node(Op::Elementwise, {x}, copy, ElementwiseAttrs{});
  return copy;
}

Tensor log_sum_exp_of(Build& build, size_t node) {
  const Tensor known = build.data().nodes[node].outputs[out::kLogSumExp];
  if (known.valid()) return known;
  TensorInfo rows = build.info(build.data().nodes[node].outputs[0]);
  rows.rank = 3;
  return build.data().nodes[node].outputs[out::kLogSumExp] = build.add_like(rows, DType::F32);
}

}  // namespace

bool has_attention_backward(const GraphData& data, const Node& node) {
  int masks = 0;
  for (const size_t i : {in::kAttentionKeyPadding, in::kAttentionMask, in::kAttentionBias})
    masks += node.inputs[i].valid() ? 1 : 0;
  if (node.op != Op::Attention || masks > 2 || node.inputs[in::kLengths].valid() ||
      node.inputs[in::kQueryPositions].valid() || node.as<AttentionAttrs>().softcap > 0.0f ||
      std::abs(node.as<AttentionAttrs>().softmax.masked_fill.value_or(0.0f)) > kLargestFill)
    return false;
  for (const size_t i : {in::kQuery, in::kKey, in::kValue}) {
    const TensorInfo& info = data.tensors[node.inputs[i].id];
    if (info.dtype != data.tensors[node.outputs[0].id].dtype || !data.sizes.is_constant(info.dims[1]) ||
        !data.sizes.is_constant(info.dims[3]) || data.sizes.evaluate(info.dims[3], {}) > kWidestHead)
      return false;
  }
  return true;
}

AttentionBackward attention_backward(GraphData& data, Tensor output, Tensor upstream,
                                     const AttentionBackwardWanted& wanted) {
  Build build(data, "attention_backward");
  const auto found = std::find_if(data.nodes.begin(), data.nodes.end(),
                                  [&](const Node& one) { return one.op == Op::Attention && one.outputs[0] == output; });
  if (found == data.nodes.end()) {
    build.fail(Status::InvalidArgument, "no attention gives the output");
    return {};
  }
  const auto number = static_cast<size_t>(found - data.nodes.begin());
  const Tensor log_sum_exp = log_sum_exp_of(build, number);
  const Node node = data.nodes[number];
  const Tensor query = with_dense_rows(build, node.inputs[in::kQuery]),
               key = with_dense_rows(build, node.inputs[in::kKey]),
               value = with_dense_rows(build, node.inputs[in::kValue]), gradient = laid_as_output(build, upstream);
  const TensorInfo q = build.info(query), k = build.info(key), v = build.info(value);
  AttentionBackward of;
  if (wanted.query) of.query = add_heads(build, q, q.dims[3]);
  if (wanted.key || wanted.value) {
    const Tensor both = add_heads(build, k, data.sizes.add(k.dims[3], v.dims[3]));
    if (wanted.key) of.key = build.add_slice(both, 3, 0, build.dim_of(k.dims[3]));
    if (wanted.value) of.value = build.add_slice(both, 3, build.dim_of(k.dims[3]), build.dim_of(v.dims[3]));
  }
  const Tensor bias = node.inputs[in::kAttentionBias];
  if (wanted.bias && bias.valid()) of.bias = build.add_like(build.info(bias), q.dtype);
  Tensor first = of.bias;
  for (const Tensor made : {of.value, of.key, of.query})
    if (made.valid()) first = made;
  Node& made =
      build.add_node(Op::AttentionBackward,
                     {query, key, value, node.inputs[in::kAttentionKeyPadding], node.inputs[in::kAttentionMask],
                      node.inputs[in::kAttentionBias], node.outputs[0], gradient, log_sum_exp},
                     first, node.as<AttentionAttrs>());
  made.as<AttentionAttrs>().makes_query = wanted.query;
  made.outputs[out::kKeyGradient] = of.key;
  made.outputs[out::kValueGradient] = of.value;
  made.outputs[out::kBiasGradient] = of.bias;
  return of;
}

}  // namespace heed::detail
