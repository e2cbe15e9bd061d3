// Attention layers, blocks and stacks.
#include <heed/nn.hpp>

#include "c/graph_object.hpp"

namespace heed::c {
namespace {

nn::StackOptions stack_of(Call& call, int32_t layers, const char* final_norm) {
  return {.layers = layers, .final_norm = call.text_or(final_norm)};
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;
namespace nn = heed::nn;

heed_tensor heed_nn_linear(heed_graph* graph, heed_tensor x, const char* prefix, int64_t out, int32_t no_bias,
                           heed_dtype weight_dtype) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const auto type = b.call().dtype_if(weight_dtype);
    return nn::linear(g, b.in(x), b.call().text(prefix, "prefix"), out, no_bias == 0, type);
  });
}

heed_tensor heed_nn_layernorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    return nn::layernorm(g, b.in(x), b.call().text(prefix, "prefix"), eps != 0 ? eps : 1e-5f);
  });
}

heed_tensor heed_nn_rmsnorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps) {
  Building b(__func__, graph);
  return b.add(
      [&](heed::Graph& g) { return nn::rmsnorm(g, b.in(x), b.call().text(prefix, "prefix"), eps != 0 ? eps : 1e-6f); });
}

heed_tensor heed_nn_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                              const char* prefix, const heed_multi_head_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const nn::MultiHeadOptions to = b.multi_head(options);
    return nn::attention(g, b.in(query), b.in(key), b.in(value), b.call().text(prefix, "prefix"), to);
  });
}

heed_tensor heed_nn_self_attention(heed_graph* graph, heed_tensor x, const char* prefix,
                                   const heed_multi_head_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const nn::MultiHeadOptions to = b.multi_head(options);
    return nn::self_attention(g, b.in(x), b.call().text(prefix, "prefix"), to);
  });
}

heed_tensor heed_nn_cross_attention(heed_graph* graph, heed_tensor x, heed_tensor context, const char* prefix,
                                    const heed_multi_head_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const nn::MultiHeadOptions to = b.multi_head(options);
    return nn::cross_attention(g, b.in(x), b.in(context), b.call().text(prefix, "prefix"), to);
  });
}

heed_tensor heed_nn_attention_heads(heed_graph* graph, heed_tensor x, heed_tensor context, const char* prefix,
                                    const heed_multi_head_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const nn::MultiHeadOptions to = b.multi_head(options);
    return nn::attention_heads(g, b.in(x), b.in(context), b.call().text(prefix, "prefix"), to);
  });
}

heed_tensor heed_nn_single_head(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                const heed_attention_options* options, heed_attention_result* result) {
  Building b(__func__, graph);
  if (result != nullptr) *result = {};
  return b.add([&](heed::Graph& g) {
    const heed::AttentionOptions to = b.attention(options);
    const heed::AttentionResult made = nn::single_head(g, b.in(query), b.in(key), b.in(value), to);
    if (result != nullptr) *result = {b.out(made.output), b.out(made.weights), b.out(made.log_sum_exp)};
    return made.output;
  });
}

heed_status heed_nn_project_streams(heed_graph* graph, heed_tensor streams[3], const char* prefix, int32_t twice,
                                    heed_dtype weight_dtype) {
  Building b(__func__, graph);
  return b.act([&](heed::Graph& g) {
    if (!b.call().has(streams, "streams")) return;
    const auto type = b.call().dtype_if(weight_dtype);
    const nn::Streams from = {b.in(streams[0]), b.in(streams[1]), b.in(streams[2])};
    const nn::Streams to = nn::project_streams(g, from, b.call().text(prefix, "prefix"), twice != 0, type);
    streams[0] = b.out(to.query);
    streams[1] = b.out(to.key);
    streams[2] = b.out(to.value);
  });
}

heed_tensor heed_nn_attention_block(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                    const char* prefix, const heed_attention_block_names* names,
                                    const heed_multi_head_options* options, const heed_norm_options* norm) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    const nn::MultiHeadOptions to = b.multi_head(options);
    return nn::attention_block(g, b.in(query), b.in(key), b.in(value), b.call().text(prefix, "prefix"),
                               b.names(names, nn::AttentionBlockNames()), to, b.norm(norm));
  });
}

heed_tensor heed_nn_feed_forward(heed_graph* graph, heed_tensor x, const char* prefix,
                                 const heed_feed_forward_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    return nn::feed_forward(g, b.in(x), b.call().text(prefix, "prefix"), b.feed_forward(options));
  });
}

heed_tensor heed_nn_feed_forward_block(heed_graph* graph, heed_tensor x, const char* prefix,
                                       const heed_feed_forward_block_names* names,
                                       const heed_feed_forward_options* options, const heed_norm_options* norm) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    return nn::feed_forward_block(g, b.in(x), b.call().text(prefix, "prefix"),
                                  b.names(names, nn::FeedForwardBlockNames()), b.feed_forward(options), b.norm(norm));
  });
}

heed_tensor heed_nn_encoder_layer(heed_graph* graph, heed_tensor x, const char* prefix,
                                  const heed_encoder_layer_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    return nn::encoder_layer(g, b.in(x), b.call().text(prefix, "prefix"), b.encoder_layer(options));
  });
}

heed_tensor heed_nn_decoder_layer(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
                                  const heed_decoder_layer_options* options) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    return nn::decoder_layer(g, b.in(x), b.in(memory), b.call().text(prefix, "prefix"), b.decoder_layer(options));
  });
}

heed_tensor heed_nn_encoder_stack(heed_graph* graph, heed_tensor x, const char* prefix,
                                  const heed_encoder_layer_options* layer, int32_t layers, const char* final_norm) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    return nn::encoder_stack(g, b.in(x), b.call().text(prefix, "prefix"), b.encoder_layer(layer),
                             stack_of(b.call(), layers, final_norm));
  });
}

heed_tensor heed_nn_decoder_stack(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
                                  const heed_decoder_layer_options* layer, int32_t layers, const char* final_norm) {
  Building b(__func__, graph);
  return b.add([&](heed::Graph& g) {
    return nn::decoder_stack(g, b.in(x), b.in(memory), b.call().text(prefix, "prefix"), b.decoder_layer(layer),
                             stack_of(b.call(), layers, final_norm));
  });
}

heed_status heed_nn_transformer(heed_graph* graph, heed_tensor source, heed_tensor target, const char* prefix,
                                const heed_transformer_options* options, heed_transformer_result* result) {
  Building b(__func__, graph);
  return b.act([&](heed::Graph& g) {
    Call& call = b.call();
    if (!call.has(result, "result")) return;
    const Given<heed_transformer_options> from(call, options, "the transformer options");
    nn::TransformerOptions to;
    to.encoder = b.encoder_layer(from->encoder);
    to.decoder = b.decoder_layer(from->decoder);
    to.encoder_stack = stack_of(call, from->encoder_layers != 0 ? from->encoder_layers : 1, from->encoder_final_norm);
    to.decoder_stack = stack_of(call, from->decoder_layers != 0 ? from->decoder_layers : 1, from->decoder_final_norm);
    to.encoder_prefix = call.text_or(from->encoder_prefix, to.encoder_prefix);
    to.decoder_prefix = call.text_or(from->decoder_prefix, to.decoder_prefix);
    to.positional_encoding = from->no_positional_encoding == 0;
    to.input_dropout = from->input_dropout;
    to.vocabulary = from->vocabulary;
    to.out = call.text_or(from->out, to.out);
    to.out_weight_dtype = call.dtype_if(from->out_weight_dtype);
    const nn::TransformerResult made = nn::transformer(g, b.in(source), b.in(target), call.text_or(prefix), to);
    *result = {b.out(made.encoded), b.out(made.decoded), b.out(made.logits), b.out(made.probabilities)};
  });
}
