// Encoder and decoder layers, and stacks of them.
#include "nn/parts.hpp"

namespace heed::nn {

namespace {

MultiHeadOptions with_layer_names(const MultiHeadOptions& options) {
  MultiHeadOptions named = options;
  named.names = options.names.value_or(kTorchMultihead);
  return named;
}

template <class Layer>
Tensor stack_layers(Graph& g, Tensor x, std::string_view prefix, const StackOptions& stack, const NormOptions& norm,
                    Layer&& layer) {
  if (!may_repeat(g, prefix, stack.layers, "layers")) return {};
  for (int i = 0; i < stack.layers && g.status() == Status::Ok; ++i) x = layer(x, join(prefix, int64_t{i}));
  return stack.final_norm.empty() ? x : apply_norm(g, x, stack.final_norm, norm);
}

}  // namespace

Tensor encoder_layer(Graph& g, Tensor x, std::string_view prefix, const EncoderLayerOptions& options) {
  const Tensor attended =
      attention_block(g, x, x, x, prefix, options.attention_names, with_layer_names(options.attention), options.norm);
  return feed_forward_block(g, attended, prefix, options.feed_forward_names, options.feed_forward, options.norm);
}

Tensor decoder_layer(Graph& g, Tensor x, Tensor memory, std::string_view prefix, const DecoderLayerOptions& options) {
  const Tensor own =
      attention_block(g, x, x, x, prefix, options.self_names, with_layer_names(options.self_attention), options.norm);
  const Tensor both = attention_block(g, own, memory, memory, prefix, options.cross_names,
                                      with_layer_names(options.cross_attention), options.norm);
  return feed_forward_block(g, both, prefix, options.feed_forward_names, options.feed_forward, options.norm);
}

Tensor encoder_stack(Graph& g, Tensor x, std::string_view prefix, const EncoderLayerOptions& layer,
                     const StackOptions& stack) {
  return stack_layers(g, x, prefix, stack, layer.norm,
                      [&](Tensor input, const std::string& name) { return encoder_layer(g, input, name, layer); });
}

Tensor decoder_stack(Graph& g, Tensor x, Tensor memory, std::string_view prefix, const DecoderLayerOptions& layer,
                     const StackOptions& stack) {
  return stack_layers(g, x, prefix, stack, layer.norm, [&](Tensor input, const std::string& name) {
    return decoder_layer(g, input, memory, name, layer);
  });
}

}  // namespace heed::nn
