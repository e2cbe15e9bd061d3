// Attention layers and transformer stacks, made of graph calls.
//
// Weights are asked of the graph by name: `prefix` + "." + a name, with PyTorch's layouts: a linear layer `name` is name.weight
// [out, in] and name.bias [out]; a name that ends in '_' continues without a dot ("in_proj_"). They have the type of the layer's
// input; weight_dtype may make matrices F16 or BF16 beside F32. A weight that the graph has already keeps its type.
//
// Activations are [B, S, C]; attention also takes [S, C]. As all graph calls, these return 0 after a mistake, which the graph keeps.
#ifndef HEED_C_NN_H
#define HEED_C_NN_H

#include <heed/c/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

// x [..., in] -> [..., out] with the linear layer `prefix`.
HEED_API heed_tensor heed_nn_linear(heed_graph* graph, heed_tensor x, const char* prefix, int64_t out, int32_t no_bias,
                                    heed_dtype weight_dtype);
// Over the last axis with prefix.weight and prefix.bias. `eps` 0: 1e-5.
HEED_API heed_tensor heed_nn_layernorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps);
// Over the last axis with prefix.weight. `eps` 0: 1e-6.
HEED_API heed_tensor heed_nn_rmsnorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps);

// --- Attention -------------------------------------------------------------------------------------------------

// Sets of names for the projections of an attention. DEFAULT: what the function says.
enum {
  HEED_NAMES_DEFAULT = 0,
  HEED_NAMES_FUSED_QKV = 1,       // wqkv, wo
  HEED_NAMES_FUSED_KV = 2,        // wq, wkv, wo
  HEED_NAMES_SEPARATE = 3,        // w_q, w_k, w_v, w_o
  HEED_NAMES_TORCH_MULTIHEAD = 4  // in_proj_, out_proj: torch.nn.MultiheadAttention
};
// Or names of one's own; NULL is no such projection. If `qkv` is set, one weight holds the rows of queries, then keys, then values.
// Else `q` holds the queries, and keys and values are together in `kv` if that is set, else in `k` and `v`.
typedef struct heed_attention_names {
  size_t size;
  const char* qkv;
  const char* q;
  const char* kv;
  const char* k;
  const char* v;
  const char* out;     // NULL: no output projection
  const char* q_norm;  // an RMSNorm of each head's queries or keys, [d_k] (Qwen 3)
  const char* k_norm;
  int32_t in_out;      // 1: projections other than `out` are [in, out] without bias and without ".weight"
  int32_t transposed;  // 1: all matrices are [in, out], as those of GPT-2
} heed_attention_names;

// Keys and values that stay from run to run, in the states prefix.keys [B, kv_heads, capacity, d_k] and prefix.values.
typedef struct heed_cache {
  size_t size;
  int64_t capacity;       // tokens that each row of the batch may have; 0: no cache
  heed_dim past;          // tokens that are there before the run; usually made by heed_graph_position
  heed_tensor positions;  // I32 [B, S]: of this run's tokens, for rows of different lengths; -1: no token
  int64_t rows;           // rows of the states, of which a run has those from `row` on; 0: as many as the batch
  heed_dim row;
  heed_tensor token_rows;       // I32 [1, S]: instead of `row`, the row of each token
  heed_tensor token_of_rows;    // I32 [rows, 1]: which of the run's tokens a row has; -1: none
  heed_tensor token_positions;  // I32 [rows, 1]: the position of that token; -1: none
  heed_dtype dtype;             // F16 or BF16 beside F32; default: that of the activations
  int32_t reserved;             // 0
} heed_cache;

typedef struct heed_multi_head_options {
  size_t size;
  int64_t heads;                      // 0: 1
  int64_t kv_heads;                   // of keys and values, divides `heads`; 0: heads
  int64_t d_k;                        // width of one head's queries and keys; 0: width of the query input / heads
  int64_t d_v;                        // width of one head's values; 0: d_k
  int64_t out_width;                  // width of the output projection; 0: width of the query input
  const heed_attention_names* names;  // NULL: those that `naming` says
  int64_t window;                     // see heed_attention_options
  heed_tensor lengths, positions;     // I32 [B]; see heed_attention_options
  heed_tensor key_padding;            // U8 [B, S_kv]
  heed_tensor mask;                   // U8, broadcast to [B, heads, S_q, S_kv]
  heed_tensor score_bias;             // broadcast to [B, heads, S_q, S_kv]; added to the scaled scores
  const heed_rotary_options* rotary;  // NULL: none. With a cache, a `first` of 0 becomes the cache's past
  const heed_cache* cache;            // NULL: none; `causal` must then be NONE or BOTTOM_RIGHT
  // If not NULL, receives the weights before dropout, [B, heads, S_q, S_kv]; of the last layer of a stack.
  heed_tensor* weights;
  int32_t naming;               // HEED_NAMES_*
  int32_t no_bias;              // 1: query, key and value projections have no bias
  int32_t no_out_bias;          // 1: the output projection has no bias
  heed_dtype weight_dtype;      // of the projections' matrices; default: the input's
  int32_t key_padding_meaning;  // HEED_MASK_*
  int32_t mask_meaning;         // HEED_MASK_*
  int32_t causal;               // HEED_CAUSAL_*
  float scale;                  // 0: 1 / sqrt(d_k)
  int32_t has_masked_fill;      // see heed_softmax_options
  float masked_fill;
  float head_norm_eps;      // of q_norm and k_norm; 0: 1e-6
  float attention_dropout;  // on the weights, after softmax
  float output_dropout;     // after the output projection
  int32_t reserved;         // 0
} heed_multi_head_options;

// Attention of query [B, S_q, C] over key and value [B, S_kv, C_kv] -> [B, S_q, out_width]. Names: SEPARATE.
HEED_API heed_tensor heed_nn_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                       const char* prefix, const heed_multi_head_options* options);
// Attention of x over itself. Names: FUSED_QKV.
HEED_API heed_tensor heed_nn_self_attention(heed_graph* graph, heed_tensor x, const char* prefix,
                                            const heed_multi_head_options* options);
// Attention of x over `context`. Names: FUSED_KV.
HEED_API heed_tensor heed_nn_cross_attention(heed_graph* graph, heed_tensor x, heed_tensor context, const char* prefix,
                                             const heed_multi_head_options* options);
// Attention without projections: query [S_q, d_k], key [S_kv, d_k], value [S_kv, d_v], or all with a batch in front.
HEED_API heed_tensor heed_nn_single_head(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                         const heed_attention_options* options, heed_attention_result* result);
// --- Blocks: a sublayer with its residual connection and norm ------------------------------------------------------

enum { HEED_NORM_POST = 0, HEED_NORM_PRE = 1 };  // norm(x + f(x)); x + f(norm(x))
enum { HEED_NORM_LAYER = 0, HEED_NORM_RMS = 1 };
typedef struct heed_norm_options {
  size_t size;
  int32_t placement;  // HEED_NORM_POST or PRE
  int32_t kind;       // HEED_NORM_LAYER or RMS
  float eps;          // 0: 1e-5
  int32_t reserved;   // 0
} heed_norm_options;

// Names that follow the prefix of a layer.
typedef struct heed_attention_block_names {
  size_t size;
  const char* attention;  // NULL: "self_attn"; of a decoder's cross-attention "multihead_attn"
  const char* norm;       // NULL: "norm1"; of a decoder's cross-attention "norm2"
} heed_attention_block_names;
HEED_API heed_tensor heed_nn_attention_block(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                             const char* prefix, const heed_attention_block_names* names,
                                             const heed_multi_head_options* options, const heed_norm_options* norm);

typedef struct heed_feed_forward_options {
  size_t size;
  int64_t hidden;      // 0: four times the width of x
  const char* first;   // NULL: "linear1"
  const char* second;  // NULL: "linear2"
  const char* gate;    // if set: second(activation(gate(x)) * first(x)), as SwiGLU
  int32_t activation;  // HEED_ACTIVATION_*; 0: ReLU
  int32_t transposed;  // 1: matrices are [in, out]
  int32_t no_bias;
  heed_dtype weight_dtype;
  float hidden_dropout;  // after the activation
  float output_dropout;  // after the second layer
} heed_feed_forward_options;
// second(activation(first(x))), without a residual: x [B, S, C] -> [B, S, C].
HEED_API heed_tensor heed_nn_feed_forward(heed_graph* graph, heed_tensor x, const char* prefix,
                                          const heed_feed_forward_options* options);

typedef struct heed_feed_forward_block_names {
  size_t size;
  const char* feed_forward;  // NULL: the linear layers lie directly below the prefix
  const char* norm;          // NULL: "norm2"; in a decoder "norm3"
} heed_feed_forward_block_names;
HEED_API heed_tensor heed_nn_feed_forward_block(heed_graph* graph, heed_tensor x, const char* prefix,
                                                const heed_feed_forward_block_names* names,
                                                const heed_feed_forward_options* options,
                                                const heed_norm_options* norm);

// --- Layers and stacks; names are those of torch.nn.TransformerEncoderLayer and TransformerDecoderLayer ---------------

// NULL stands for defaults. Attentions have the names TORCH_MULTIHEAD.
typedef struct heed_encoder_layer_options {
  size_t size;
  const heed_multi_head_options* attention;
  const heed_feed_forward_options* feed_forward;
  const heed_norm_options* norm;
  const heed_attention_block_names* attention_names;
  const heed_feed_forward_block_names* feed_forward_names;
} heed_encoder_layer_options;
// A decoder layer is causal only if self_attention says so.
typedef struct heed_decoder_layer_options {
  size_t size;
  const heed_multi_head_options* self_attention;
  const heed_multi_head_options* cross_attention;
  const heed_feed_forward_options* feed_forward;
  const heed_norm_options* norm;
  const heed_attention_block_names* self_names;
  const heed_attention_block_names* cross_names;
  const heed_feed_forward_block_names* feed_forward_names;
} heed_decoder_layer_options;
// x [B, S, C] -> [B, S, C].
HEED_API heed_tensor heed_nn_encoder_layer(heed_graph* graph, heed_tensor x, const char* prefix,
                                           const heed_encoder_layer_options* options);
// x [B, S, C] with memory [B, S_kv, C], the encoder's output -> [B, S, C].
HEED_API heed_tensor heed_nn_decoder_layer(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
                                           const heed_decoder_layer_options* options);

// Layers prefix.0, prefix.1, ..., 1 to 1000 of them. final_norm, if not NULL, is the full name of a norm behind the last one.
HEED_API heed_tensor heed_nn_encoder_stack(heed_graph* graph, heed_tensor x, const char* prefix,
                                           const heed_encoder_layer_options* layer, int32_t layers,
                                           const char* final_norm);
HEED_API heed_tensor heed_nn_decoder_stack(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
                                           const heed_decoder_layer_options* layer, int32_t layers,
                                           const char* final_norm);

typedef struct heed_transformer_options {
  size_t size;
  const heed_encoder_layer_options* encoder;
  const heed_decoder_layer_options* decoder;
  const char* encoder_final_norm;  // see heed_nn_encoder_stack
  const char* decoder_final_norm;
  const char* encoder_prefix;      // NULL: "encoder.layers"
  const char* decoder_prefix;      // NULL: "decoder.layers"
  const char* out;                 // the final linear layer; NULL: "out"
  int64_t vocabulary;              // its width
  int32_t encoder_layers;          // 0: 1
  int32_t decoder_layers;          // 0: 1
  int32_t no_positional_encoding;  // 1: do not add the sinusoidal one to both inputs
  float input_dropout;             // after it
  heed_dtype out_weight_dtype;
  int32_t reserved;  // 0
} heed_transformer_options;
typedef struct heed_transformer_result {
  heed_tensor encoded;        // [B, S, C]
  heed_tensor decoded;        // [B, T, C]
  heed_tensor logits;         // [B, T, vocabulary]
  heed_tensor probabilities;  // softmax of the logits
} heed_transformer_result;
// source [B, S, C] and target [B, T, C] are embedded tokens. Returns the graph's status.
HEED_API heed_status heed_nn_transformer(heed_graph* graph, heed_tensor source, heed_tensor target, const char* prefix,
                                         const heed_transformer_options* options, heed_transformer_result* result);

#ifdef __cplusplus
}
#endif

#endif
