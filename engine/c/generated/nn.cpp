// Made by engine/c/generate.py of the C++ headers: change those, and run it.
// clang-format off
#include <heed/c/heed.h>

#include "c/generated/options.hpp"

using namespace heed::c;

heed_tensor heed_nn_linear(heed_graph* graph, heed_tensor x, const char* prefix, int64_t out, int32_t bias,
    heed_dtype weight_dtype) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::linear(g, on.tensor(x, "x"), on.call().text(prefix, "prefix"), out, bias != 0, on.call().dtype_if(weight_dtype)); });
}

heed_tensor heed_nn_layernorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::layernorm(g, on.tensor(x, "x"), on.call().text(prefix, "prefix"), eps); });
}

heed_tensor heed_nn_rmsnorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::rmsnorm(g, on.tensor(x, "x"), on.call().text(prefix, "prefix"), eps); });
}

heed_tensor heed_nn_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
    const char* prefix, const heed_multi_head_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::attention(g, on.tensor(query, "query"), on.tensor(key, "key"), on.tensor(value, "value"), on.call().text(prefix, "prefix"), read(on, options)); });
}

heed_tensor heed_nn_self_attention(heed_graph* graph, heed_tensor x, const char* prefix,
    const heed_multi_head_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::self_attention(g, on.tensor(x, "x"), on.call().text(prefix, "prefix"), read(on, options)); });
}

heed_tensor heed_nn_cross_attention(heed_graph* graph, heed_tensor x, heed_tensor context, const char* prefix,
    const heed_multi_head_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::cross_attention(g, on.tensor(x, "x"), on.tensor(context, "context"), on.call().text(prefix, "prefix"), read(on, options)); });
}

heed_tensor heed_nn_single_head(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
    const heed_attention_options* options, heed_attention_result* result) {
  if (result != nullptr) *result = {};
  Building on(__func__, graph);
  if (!on) return 0;
  const heed::AttentionResult made = heed::nn::single_head(on.graph().it, on.tensor(query, "query"), on.tensor(key, "key"), on.tensor(value, "value"), read(on, options));
  on.give();
  const heed_attention_result named = {on.name(made.output), on.name(made.weights), on.name(made.log_sum_exp), on.name(made.scores)};
  if (result != nullptr) *result = named;
  return named.output;
}

heed_tensor heed_nn_attention_block(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
    const char* prefix, const heed_attention_block_names* names, const heed_multi_head_options* options,
    const heed_norm_options* norm) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::attention_block(g, on.tensor(query, "query"), on.tensor(key, "key"), on.tensor(value, "value"), on.call().text(prefix, "prefix"), read(on.call(), names), read(on, options), read(on.call(), norm)); });
}

heed_tensor heed_nn_feed_forward(heed_graph* graph, heed_tensor x, const char* prefix,
    const heed_feed_forward_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::feed_forward(g, on.tensor(x, "x"), on.call().text(prefix, "prefix"), read(on.call(), options)); });
}

heed_tensor heed_nn_feed_forward_block(heed_graph* graph, heed_tensor x, const char* prefix,
    const heed_feed_forward_block_names* names, const heed_feed_forward_options* options,
    const heed_norm_options* norm) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::feed_forward_block(g, on.tensor(x, "x"), on.call().text(prefix, "prefix"), read(on.call(), names), read(on.call(), options), read(on.call(), norm)); });
}

heed_tensor heed_nn_encoder_layer(heed_graph* graph, heed_tensor x, const char* prefix,
    const heed_encoder_layer_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::encoder_layer(g, on.tensor(x, "x"), on.call().text(prefix, "prefix"), read(on, options)); });
}

heed_tensor heed_nn_decoder_layer(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
    const heed_decoder_layer_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::decoder_layer(g, on.tensor(x, "x"), on.tensor(memory, "memory"), on.call().text(prefix, "prefix"), read(on, options)); });
}

heed_tensor heed_nn_encoder_stack(heed_graph* graph, heed_tensor x, const char* prefix,
    const heed_encoder_layer_options* layer, const heed_stack_options* stack) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::encoder_stack(g, on.tensor(x, "x"), on.call().text(prefix, "prefix"), read(on, layer), read(on.call(), stack)); });
}

heed_tensor heed_nn_decoder_stack(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
    const heed_decoder_layer_options* layer, const heed_stack_options* stack) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::decoder_stack(g, on.tensor(x, "x"), on.tensor(memory, "memory"), on.call().text(prefix, "prefix"), read(on, layer), read(on.call(), stack)); });
}

heed_tensor heed_nn_cross_entropy(heed_graph* graph, heed_tensor logits, heed_tensor labels,
    const heed_cross_entropy_options* options, heed_cross_entropy_result* result) {
  if (result != nullptr) *result = {};
  Building on(__func__, graph);
  if (!on) return 0;
  const heed::nn::CrossEntropyResult made = heed::nn::cross_entropy(on.graph().it, on.tensor(logits, "logits"), on.tensor(labels, "labels"), read(on, options));
  on.give();
  const heed_cross_entropy_result named = {on.name(made.loss), on.name(made.log_probabilities)};
  if (result != nullptr) *result = named;
  return named.loss;
}

heed_tensor heed_nn_transformer(heed_graph* graph, heed_tensor source, heed_tensor target, const char* prefix,
    const heed_transformer_options* options, heed_transformer_result* result) {
  if (result != nullptr) *result = {};
  Building on(__func__, graph);
  if (!on) return 0;
  const heed::nn::TransformerResult made = heed::nn::transformer(on.graph().it, on.tensor(source, "source"), on.tensor(target, "target"), on.call().text(prefix, "prefix"), read(on, options));
  on.give();
  const heed_transformer_result named = {on.name(made.encoded), on.name(made.decoded), on.name(made.logits), on.name(made.probabilities)};
  if (result != nullptr) *result = named;
  return named.encoded;
}

heed_tensor heed_nn_mean_sentence(heed_graph* graph, heed_tensor tokens, heed_tensor padding,
    heed_mask_meaning padding_meaning) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) { return heed::nn::mean_sentence(g, on.tensor(tokens, "tokens"), on.mask(padding, padding_meaning, "padding")); });
}
