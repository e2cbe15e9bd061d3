// Made by engine/c/generate.py of the C++ headers: change those, and run it.
//
// heed::nn: attention layers and transformer stacks, written with public Graph calls only.
//
// Layers declare weights by name: `prefix` + "." + a name from a *Names struct (no dot if the prefix is empty). Layouts
// are PyTorch's: a linear layer `name` has `name.weight` [out, in] and `name.bias` [out]. A name that ends in '_'
// continues without a dot ("in_proj_" is in_proj_weight and in_proj_bias). Names and prefixes are only read during the
// call.
//
// Weights have the element type of the layer's input. If that is F32, `weight_dtype` may make matrices F16 or BF16,
// which take half the bytes (see heed_graph_matmul); biases and norms stay F32. heed_upload_options::only_matrices
// uploads a checkpoint in this form. A weight that the graph already has (heed_graph_weight, called before the layer)
// keeps its type, so that matrices may differ in type, as they do in files that mix types.
//
// Activations are [B, S, C] (tokens of width C); attention also takes unbatched [S, C]. B and S may be extents, widths
// are constants. Widths that do not fit are the graph's first mistake (Graph::status), with a message that names the
// layer and both values. Dropouts act in training plans only and cost nothing otherwise.
// clang-format off
#ifndef HEED_C_NN_H
#define HEED_C_NN_H

#include <heed/c/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

// x [..., in] -> [..., out] with the linear layer `prefix`, which has a bias if `bias` is set.
HEED_API heed_tensor heed_nn_linear(heed_graph* graph, heed_tensor x, const char* prefix, int64_t out, int32_t bias,
    heed_dtype weight_dtype);

// LayerNorm over the last axis of x [..., C] with `prefix`.weight and `prefix`.bias.
HEED_API heed_tensor heed_nn_layernorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps);

// RMSNorm over the last axis of x [..., C] with `prefix`.weight.
HEED_API heed_tensor heed_nn_rmsnorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps);

// Multi-head attention of `query` [B, S_q, C] over `key` and `value` [B, S_kv, C_kv], with a projection of each and of
// the output. Returns [B, S_q, out_width], or [B, S_q, heads d_v] without an output projection. All three may lack the
// batch: [S, C]. Default names: heed_nn_separate.
HEED_API heed_tensor heed_nn_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
    const char* prefix, const heed_multi_head_options* options);

// Attention of x [B, S, C] over itself -> [B, S, out_width]. Default names: heed_nn_fused_qkv.
HEED_API heed_tensor heed_nn_self_attention(heed_graph* graph, heed_tensor x, const char* prefix,
    const heed_multi_head_options* options);

// Attention of x [B, S, C] over `context` [B, S_kv, C_kv] -> [B, S, out_width]. Default names: heed_nn_fused_kv.
HEED_API heed_tensor heed_nn_cross_attention(heed_graph* graph, heed_tensor x, heed_tensor context, const char* prefix,
    const heed_multi_head_options* options);

// Attention without projections: query [S_q, d_k], key [S_kv, d_k] and value [S_kv, d_v], or all three with a batch in
// front. The results are output [..., S_q, d_v], weights and scores [..., S_q, S_kv] and log_sum_exp [..., S_q].
// Returns `output`; *result, if not NULL, receives all results.
HEED_API heed_tensor heed_nn_single_head(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
    const heed_attention_options* options, heed_attention_result* result);

// `attention` with its residual connection and norm: query [B, S_q, C] -> [B, S_q, C]. Keys and values are normalized
// if they are the query's tensor.
HEED_API heed_tensor heed_nn_attention_block(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
    const char* prefix, const heed_attention_block_names* names, const heed_multi_head_options* options,
    const heed_norm_options* norm);

// Position-wise feed-forward, second(activation(first(x))), without a residual: x [B, S, C] -> [B, S, C].
HEED_API heed_tensor heed_nn_feed_forward(heed_graph* graph, heed_tensor x, const char* prefix,
    const heed_feed_forward_options* options);

// `feed_forward` with its residual connection and norm: x [B, S, C] -> [B, S, C].
HEED_API heed_tensor heed_nn_feed_forward_block(heed_graph* graph, heed_tensor x, const char* prefix,
    const heed_feed_forward_block_names* names, const heed_feed_forward_options* options,
    const heed_norm_options* norm);

// x [B, S, C] -> [B, S, C]. Weights: self_attn.in_proj_ [3C, C], self_attn.out_proj, linear1, linear2; norm1, norm2.
HEED_API heed_tensor heed_nn_encoder_layer(heed_graph* graph, heed_tensor x, const char* prefix,
    const heed_encoder_layer_options* options);

// x [B, S, C] with `memory` [B, S_kv, C], the encoder's output -> [B, S, C]. Weights: those of an encoder layer,
// multihead_attn.in_proj_, multihead_attn.out_proj; norm3.
HEED_API heed_tensor heed_nn_decoder_layer(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
    const heed_decoder_layer_options* options);

// x [B, S, C] -> [B, S, C]. Layers prefix.0, prefix.1, ... run one after the other. stack.final_norm is a full name:
// the prefix is not put before it.
HEED_API heed_tensor heed_nn_encoder_stack(heed_graph* graph, heed_tensor x, const char* prefix,
    const heed_encoder_layer_options* layer, const heed_stack_options* stack);

// x [B, S, C] -> [B, S, C]. Every layer gets the same `memory` [B, S_kv, C].
HEED_API heed_tensor heed_nn_decoder_stack(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
    const heed_decoder_layer_options* layer, const heed_stack_options* stack);

// The cross entropy of logits [..., V] and labels, I32 [...], as torch.nn.functional.cross_entropy:
// heed_graph_cross_entropy with weights and a reduction. V is a constant. Gradients reach class_weights, too. Returns
// `loss`; *result, if not NULL, receives all results.
HEED_API heed_tensor heed_nn_cross_entropy(heed_graph* graph, heed_tensor logits, heed_tensor labels,
    const heed_cross_entropy_options* options, heed_cross_entropy_result* result);

// source [B, S, C] and target [B, T, C] are embedded tokens. Every decoder layer attends to the output of the last
// encoder layer. Returns `encoded`; *result, if not NULL, receives all results.
HEED_API heed_tensor heed_nn_transformer(heed_graph* graph, heed_tensor source, heed_tensor target, const char* prefix,
    const heed_transformer_options* options, heed_transformer_result* result);

// The mean of the kept tokens, [B, S, C] -> [B, C], with each row scaled to length 1: the sentence embedding of
// sentence-transformers (Reimers & Gurevych 2019, arXiv:1908.10084). A row without tokens gives zeros.
HEED_API heed_tensor heed_nn_mean_sentence(heed_graph* graph, heed_tensor tokens, heed_tensor padding,
    heed_mask_meaning padding_meaning);

#ifdef __cplusplus
}
#endif

#endif
