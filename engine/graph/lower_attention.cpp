#include <utility>

#include "graph/build.hpp"
#include "graph/passes.hpp"

namespace heed::detail {
namespace {

void swap_last_two(TensorInfo* info) {
  std::swap(info->dims[2], info->dims[3]);
  std::swap(info->strides[2], info->strides[3]);
}

// softmax(scale q k^T) v. The scale goes into the product, before it is stored, so that f16 scores keep in range.
void expand(GraphData* graph, const Node& attention, std::vector<Node>* out) {
  Build build(*graph, "attention");
  const auto& attrs = attention.as<AttentionAttrs>();
  const Tensor query = attention.inputs[in::kQuery], value = attention.inputs[in::kValue];
  TensorInfo key_transposed = build.info(attention.inputs[in::kKey]);
  swap_last_two(&key_transposed);
  TensorInfo shape = build.info(query);
  shape.dims[3] = key_transposed.dims[3];
  const Tensor key = build.add_view(key_transposed, key_transposed.storage);
  const Tensor scores = build.add_like(shape, shape.dtype);
  const bool keeps_weights = attention.outputs[1].valid();
  const Tensor weights = keeps_weights ? attention.outputs[1] : build.add_like(shape, shape.dtype);

  Node product;
  product.op = Op::Matmul;
  product.inputs = {query, key};
  product.outputs[0] = scores;
  product.attrs = MatmulAttrs{attrs.softmax.scale, Activation::None, {}};
  product.label = attention.label + ".scores";
  out->push_back(product);

  Node softmax;
  softmax.op = Op::Softmax;
  softmax.inputs = {scores, attention.inputs[in::kAttentionKeyPadding], attention.inputs[in::kAttentionMask],
                    attention.inputs[in::kAttentionBias]};
  softmax.outputs[0] = weights;
  SoftmaxAttrs softmax_attrs = attrs.softmax;
  softmax_attrs.scale = 1.0f;
  softmax.attrs = softmax_attrs;
  softmax.label = attention.label + ".softmax";
  out->push_back(softmax);

  Tensor used = weights;
  if (attrs.dropout.p > 0.0f) {
    used = build.add_like(shape, shape.dtype);
    Node dropout;
    dropout.op = Op::Dropout;
    dropout.inputs = {weights};
    dropout.outputs[0] = used;
    dropout.attrs = attrs.dropout;
    dropout.label = attention.label + ".dropout";
    out->push_back(dropout);
  }

  Node mix;
  mix.op = Op::Matmul;
  mix.inputs = {used, value};
  mix.outputs[0] = attention.outputs[0];
  mix.attrs = MatmulAttrs{};
  mix.label = attention.label + ".values";
  out->push_back(mix);
}

}  // namespace

void lower_attention(GraphData* graph, const ScheduleOptions& options) {
  std::vector<Node> nodes;
  nodes.reserve(graph->nodes.size());
  for (const Node& node : graph->nodes) {
    const bool keep = node.op != Op::Attention ||
                      (options.keeps_attention != nullptr && options.keeps_attention(options.context, *graph, node));
    if (keep) nodes.push_back(node);
    else expand(graph, node, &nodes);
  }
  graph->nodes = std::move(nodes);
}

}  // namespace heed::detail
