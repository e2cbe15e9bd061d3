// Layers and stacks.
#include "c/nn_options.hpp"

using namespace heed::c;
namespace nn = heed::nn;
using heed::Tensor;

heed_tensor heed_nn_linear(heed_graph* graph, heed_tensor x, const char* prefix, int64_t out, int32_t no_bias,
                           heed_dtype weight_dtype) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) {
    return nn::linear(g, on.tensor(x), on.call().text(prefix, "prefix"), out, no_bias == 0,
                      on.call().dtype_if(weight_dtype));
  });
}

heed_tensor heed_nn_layernorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) {
    return nn::layernorm(g, on.tensor(x), on.call().text(prefix, "prefix"), eps != 0 ? eps : 1e-5f);
  });
}

heed_tensor heed_nn_rmsnorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) {
    return nn::rmsnorm(g, on.tensor(x), on.call().text(prefix, "prefix"), eps != 0 ? eps : 1e-6f);
  });
}

// --- Attention -------------------------------------------------------------------------------------------------

heed_tensor heed_nn_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                              const char* prefix, const heed_multi_head_options* options) {
  Building on(__func__, graph);
  const MultiHead made(on, options);
  return on.add_with(made, [&](heed::Graph& g) {
    return nn::attention(g, on.tensor(query, "the query"), on.tensor(key, "the key"), on.tensor(value, "the value"),
                         on.call().text(prefix, "prefix"), made.options());
  });
}

heed_tensor heed_nn_self_attention(heed_graph* graph, heed_tensor x, const char* prefix,
                                   const heed_multi_head_options* options) {
  Building on(__func__, graph);
  const MultiHead made(on, options);
  return on.add_with(made, [&](heed::Graph& g) {
    return nn::self_attention(g, on.tensor(x), on.call().text(prefix, "prefix"), made.options());
  });
}

heed_tensor heed_nn_cross_attention(heed_graph* graph, heed_tensor x, heed_tensor context, const char* prefix,
                                    const heed_multi_head_options* options) {
  Building on(__func__, graph);
  const MultiHead made(on, options);
  return on.add_with(made, [&](heed::Graph& g) {
    return nn::cross_attention(g, on.tensor(x), on.tensor(context, "the context"), on.call().text(prefix, "prefix"),
                               made.options());
  });
}

heed_tensor heed_nn_single_head(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                const heed_attention_options* options, heed_attention_result* result) {
  if (result != nullptr) *result = {};
  Building on(__func__, graph);
  if (!on) return 0;
  const heed::AttentionResult made =
      nn::single_head(on.graph().it, on.tensor(query, "the query"), on.tensor(key, "the key"),
                      on.tensor(value, "the value"), attention_of(on, options));
  return write(on, made, result);
}

// --- Blocks ----------------------------------------------------------------------------------------------------

heed_tensor heed_nn_attention_block(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                    const char* prefix, const heed_attention_block_names* names,
                                    const heed_multi_head_options* options, const heed_norm_options* norm) {
  Building on(__func__, graph);
  const MultiHead made(on, options);
  return on.add_with(made, [&](heed::Graph& g) {
    return nn::attention_block(g, on.tensor(query, "the query"), on.tensor(key, "the key"),
                               on.tensor(value, "the value"), on.call().text(prefix, "prefix"), names_of(on, names, {}),
                               made.options(), norm_of(on, norm));
  });
}

heed_tensor heed_nn_feed_forward(heed_graph* graph, heed_tensor x, const char* prefix,
                                 const heed_feed_forward_options* options) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) {
    return nn::feed_forward(g, on.tensor(x), on.call().text(prefix, "prefix"), feed_forward_of(on, options));
  });
}

heed_tensor heed_nn_feed_forward_block(heed_graph* graph, heed_tensor x, const char* prefix,
                                       const heed_feed_forward_block_names* names,
                                       const heed_feed_forward_options* options, const heed_norm_options* norm) {
  Building on(__func__, graph);
  return on.add([&](heed::Graph& g) {
    return nn::feed_forward_block(g, on.tensor(x), on.call().text(prefix, "prefix"), names_of(on, names, {}),
                                  feed_forward_of(on, options), norm_of(on, norm));
  });
}

// --- Layers and stacks -----------------------------------------------------------------------------------------

heed_tensor heed_nn_encoder_layer(heed_graph* graph, heed_tensor x, const char* prefix,
                                  const heed_encoder_layer_options* options) {
  Building on(__func__, graph);
  const EncoderLayer made(on, options);
  return on.add_with(made, [&](heed::Graph& g) {
    return nn::encoder_layer(g, on.tensor(x), on.call().text(prefix, "prefix"), made.options());
  });
}

heed_tensor heed_nn_decoder_layer(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
                                  const heed_decoder_layer_options* options) {
  Building on(__func__, graph);
  const DecoderLayer made(on, options);
  return on.add_with(made, [&](heed::Graph& g) {
    return nn::decoder_layer(g, on.tensor(x), on.tensor(memory, "the memory"), on.call().text(prefix, "prefix"),
                             made.options());
  });
}

heed_tensor heed_nn_encoder_stack(heed_graph* graph, heed_tensor x, const char* prefix,
                                  const heed_encoder_layer_options* layer, int32_t layers, const char* final_norm) {
  Building on(__func__, graph);
  const EncoderLayer made(on, layer);
  return on.add_with(made, [&](heed::Graph& g) {
    return nn::encoder_stack(g, on.tensor(x), on.call().text(prefix, "prefix"), made.options(),
                             {layers, on.call().text_or(final_norm)});
  });
}

heed_tensor heed_nn_decoder_stack(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
                                  const heed_decoder_layer_options* layer, int32_t layers, const char* final_norm) {
  Building on(__func__, graph);
  const DecoderLayer made(on, layer);
  return on.add_with(made, [&](heed::Graph& g) {
    return nn::decoder_stack(g, on.tensor(x), on.tensor(memory, "the memory"), on.call().text(prefix, "prefix"),
                             made.options(), {layers, on.call().text_or(final_norm)});
  });
}

heed_status heed_nn_transformer(heed_graph* graph, heed_tensor source, heed_tensor target, const char* prefix,
                                const heed_transformer_options* options, heed_transformer_result* result) {
  if (result != nullptr) *result = {};
  Building on(__func__, graph);
  Call& call = on.call();
  if (!call.has(result, "result")) return on.end();
  const Given<heed_transformer_options> given(call, options, "the transformer's options");
  const EncoderLayer encoder(on, given->encoder);
  const DecoderLayer decoder(on, given->decoder);
  if (!on) return on.end();
  nn::TransformerOptions made;
  made.encoder = encoder.options();
  made.decoder = decoder.options();
  made.encoder_stack = {given->encoder_layers != 0 ? given->encoder_layers : 1,
                        call.text_or(given->encoder_final_norm)};
  made.decoder_stack = {given->decoder_layers != 0 ? given->decoder_layers : 1,
                        call.text_or(given->decoder_final_norm)};
  made.encoder_prefix = call.text_or(given->encoder_prefix, made.encoder_prefix);
  made.decoder_prefix = call.text_or(given->decoder_prefix, made.decoder_prefix);
  made.positional_encoding = given->no_positional_encoding == 0;
  made.input_dropout = given->input_dropout;
  made.vocabulary = given->vocabulary;
  made.out = call.text_or(given->out, made.out);
  made.out_weight_dtype = call.dtype_if(given->out_weight_dtype);
  const nn::TransformerResult built =
      nn::transformer(on.graph().it, on.tensor(source, "the source"), on.tensor(target, "the target"),
                      call.text(prefix, "prefix"), made);
  encoder.give(on);
  decoder.give(on);
  if (!on) return on.end();
  const Graph& g = on.graph();
  *result = {g.name(built.encoded), g.name(built.decoded), g.name(built.logits), g.name(built.probabilities)};
  return on.end();
}
