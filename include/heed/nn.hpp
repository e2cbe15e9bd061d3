// heed::nn: attention layers and transformer stacks, written with public Graph calls only.
//
//   heed::Graph g;
//   heed::Dim tokens = g.extent("tokens", 512);
//   heed::Tensor x = g.input("x", {1, tokens, 768});
//   heed::Tensor y = heed::nn::self_attention(g, x, "encoder.layer.0.attention",
//                                             {.heads = 12, .causal = heed::Causal::TopLeft});
//   g.output("y", y);
//
// Layers declare weights by name: `prefix` + "." + a name from a *Names struct (no dot if the prefix is empty). Layouts are PyTorch's: a
// linear layer `name` has `name.weight` [out, in] and `name.bias` [out]. A name that ends in '_' continues without a dot ("in_proj_" is
// in_proj_weight and in_proj_bias). Names and prefixes are only read during the call.
//
// Weights have the element type of the layer's input. If that is F32, `weight_dtype` may make matrices F16 or BF16, which take half the
// bytes (see Graph::matmul); biases and norms stay F32. UploadOptions::only_matrices uploads a checkpoint in this form. A weight that the
// graph already has (Graph::weight, called before the layer) keeps its type, so that matrices may differ in type, as they do in files that
// mix types.
//
// Activations are [B, S, C] (tokens of width C); attention also takes unbatched [S, C]. B and S may be extents, widths are constants.
// Widths that do not fit are the graph's first mistake (Graph::status), with a message that names the layer and both values. Dropouts act
// in training plans only and cost nothing otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <heed/export.hpp>
#include <heed/graph.hpp>

namespace heed::nn {

// The most layers of a stack. Larger numbers are refused, because building such graphs would take minutes.
inline constexpr int kMaxLayers = 1000;

// --- Small layers --------------------------------------------------------------------------------------------

// x [..., in] -> [..., out] with the linear layer `prefix`, which has a bias if `bias` is set.
HEED_API Tensor linear(Graph& g, Tensor x, std::string_view prefix, int64_t out, bool bias = true,
                       std::optional<DType> weight_dtype = {});

// LayerNorm over the last axis of x [..., C] with `prefix`.weight and `prefix`.bias.
HEED_API Tensor layernorm(Graph& g, Tensor x, std::string_view prefix, float eps = 1e-5f);

// RMSNorm over the last axis of x [..., C] with `prefix`.weight.
HEED_API Tensor rmsnorm(Graph& g, Tensor x, std::string_view prefix, float eps = 1e-6f);

// --- Attention -----------------------------------------------------------------------------------------------

// The names of the projections of one attention layer in a checkpoint, and how they are fused. If `qkv` is set, one weight holds the rows
// of queries, then keys, then values. Else `q` holds the queries, and keys and values are together in `kv` if that is set, else in `k` and
// `v`. Fused projections run as one matmul if their inputs are the same tensor; heads are views of its result.
struct AttentionNames {
  std::string_view qkv = {};
  std::string_view q = {};
  std::string_view kv = {};
  std::string_view k = {};
  std::string_view v = {};
  std::string_view out = {};  // empty: no output projection
  // Projections other than `out` are [in, out] matrices without bias, whose names have no ".weight": y = x W.
  bool in_out = false;
  // Projections have names and biases as linear layers do, but their matrices are [in, out], as in GPT-2.
  bool transposed = false;
  // If set, an RMSNorm of this name scales each head's queries or keys after the projection, with one weight [d_k] for
  // all heads (Qwen 3).
  std::string_view q_norm = {}, k_norm = {};
};

// One weight holds queries, keys and values: the default names of self_attention.
inline constexpr AttentionNames kFusedQkv = {.qkv = "wqkv", .out = "wo"};
// One weight holds keys and values: the default names of cross_attention.
inline constexpr AttentionNames kFusedKv = {.q = "wq", .kv = "wkv", .out = "wo"};
// Queries, keys and values have a weight each: the default names of attention.
inline constexpr AttentionNames kSeparate = {.q = "w_q", .k = "w_k", .v = "w_v", .out = "w_o"};
// torch.nn.MultiheadAttention with equal widths: in_proj_weight [3C, C], in_proj_bias, out_proj.
inline constexpr AttentionNames kTorchMultihead = {.qkv = "in_proj_", .out = "out_proj"};

// Which rows of a cache have a token in a run of S tokens, told by the host in three ways.
struct CacheTokens {
  Tensor rows;       // I32 [1, S]: the row of each token
  Tensor of_rows;    // I32 [rows, 1]: which of the run's tokens a row has; -1: none
  Tensor positions;  // I32 [rows, 1]: the position of that token; -1: none
};

// Keys and values that stay from run to run, so that a run computes those of new tokens only. They lie in two states (Graph::state), prefix
// + ".keys" [B, kv_heads, capacity, d_k] and prefix + ".values" [B, kv_heads, capacity, d_v], in which the rows of a head are contiguous.
// If the batch is an extent, B is its maximum.
struct Cache {
  int64_t capacity = 0;  // maximum number of tokens of each row of the batch; 0: no cache
  Dim past = 0;          // number of tokens in the cache before the run; usually made by Graph::position
  // Type of both states: F16 or BF16 beside activations of F32, for half the bytes; default: that of the activations. Rows are rounded when
  // they are written. On the CPU this takes no extra pass; on Vulkan it takes one for each state, and needs a device with 16-bit storage
  // (compile returns Unsupported on others).
  std::optional<DType> dtype = {};
  // For batches whose rows are conversations of different lengths: the positions of this run's tokens, I32 [B, S]. Positions of a row are
  // consecutive from its first token. A row may end with -1 for missing tokens: nothing is stored for these, and their results are
  // undefined. A row of -1 alone stays unchanged. `past` must then be that of the longest conversation, since it determines the number of
  // keys. Needs `causal`, and replaces MultiHeadOptions::positions. A token whose position is beyond the capacity is not stored, and the
  // run returns IndexOutOfRange.
  Tensor positions = {};
  // For conversations that share a State, of which a run has only some: B of both states is then `rows`, and a run uses as many as its
  // batch from `row` on. A run with rows beyond the end returns ExtentOutOfRange. 0: as many as the batch has.
  int64_t rows = 0;
  Dim row = 0;  // usually made by Graph::position
  // Replaces `row` for arbitrary rows. A run has one token of each of them in a batch of 1, so that only attention works by rows.
  // `positions` is then [1, S].
  CacheTokens tokens = {};
};

// The heads of an attention layer, its weights' names, masks and cache.
struct MultiHeadOptions {
  int64_t heads = 1;
  int64_t kv_heads = 0;   // number of key and value heads, which divides `heads` (grouped queries); 0: heads
  int64_t d_k = 0;        // width of one head's queries and keys; 0: width of the query input / heads
  int64_t d_v = 0;        // width of one head's values; 0: d_k
  int64_t out_width = 0;  // width of the output projection; 0: width of the query input
  std::optional<AttentionNames> names = {};  // each function states its default
  bool bias = true;                          // query, key and value projections have a bias
  bool out_bias = true;                      // the output projection has a bias
  std::optional<DType> weight_dtype = {};    // type of the projections' matrices; default: the input's

  std::optional<float> scale = {};  // default 1/sqrt(d_k); a temperature t is scale = 1/t
  float softcap = 0.0f;             // see AttentionOptions
  Causal causal = Causal::None;
  int64_t window = 0, window_ahead = 0;   // see AttentionOptions
  Tensor lengths = {}, positions = {};    // I32 [B]; see AttentionOptions
  Mask key_padding = {};                  // [B, S_kv]
  Mask mask = {};                         // broadcast to [B, heads, S_q, S_kv]
  Tensor score_bias = {};                 // broadcast to [B, heads, S_q, S_kv]; added to the scaled scores
  std::optional<float> masked_fill = {};  // see AttentionOptions

  // Turns queries and keys by their positions (Graph::rotary), after their norms. With a cache, a `first` of 0 becomes cache.past.
  std::optional<RotaryOptions> rotary = {};
  float head_norm_eps = 1e-6f;  // eps of names.q_norm and names.k_norm
  // Keys and values of `key` and `value` are appended to the cache, and queries attend to everything in it. `causal` must be None or
  // BottomRight; masks and key_padding have past + S_kv keys. A run in which that exceeds the capacity returns ExtentOutOfRange.
  Cache cache = {};

  float attention_dropout = 0.0f;  // on the weights, after softmax
  float output_dropout = 0.0f;     // after the output projection

  // If set, receives the weights before dropout, [B, heads, S_q, S_kv] or, without a batch, [heads, S_q, S_kv]. A stack returns those of
  // its last layer.
  Tensor* weights = nullptr;
};

// Multi-head attention of `query` [B, S_q, C] over `key` and `value` [B, S_kv, C_kv], with a projection of each and of
// the output. Returns [B, S_q, out_width], or [B, S_q, heads d_v] without an output projection. All three may lack the
// batch: [S, C]. Default names: kSeparate.
HEED_API Tensor attention(Graph& g, Tensor query, Tensor key, Tensor value, std::string_view prefix,
                          const MultiHeadOptions& options = {});

// Attention of x [B, S, C] over itself -> [B, S, out_width]. Default names: kFusedQkv.
HEED_API Tensor self_attention(Graph& g, Tensor x, std::string_view prefix, const MultiHeadOptions& options = {});

// Attention of x [B, S, C] over `context` [B, S_kv, C_kv] -> [B, S, out_width]. Default names: kFusedKv.
HEED_API Tensor cross_attention(Graph& g, Tensor x, Tensor context, std::string_view prefix,
                                const MultiHeadOptions& options = {});

// Attention without projections: query [S_q, d_k], key [S_kv, d_k] and value [S_kv, d_v], or all three with a batch in
// front. The results are output [..., S_q, d_v], weights and scores [..., S_q, S_kv] and log_sum_exp [..., S_q].
HEED_API AttentionResult single_head(Graph& g, Tensor query, Tensor key, Tensor value,
                                     const AttentionOptions& options = {});

// --- Blocks: a sublayer with its residual connection and layer norm -----------------------------------------

// Post is norm(x + f(x)) (Vaswani et al. 2017, arXiv:1706.03762). Pre is x + f(norm(x)) (Xiong et al. 2020, arXiv:2002.04745); it does not
// normalize keys and values that are not the query's tensor.
enum class NormPlacement : uint8_t { Post, Pre };

// LayerNorm subtracts the mean and has a bias; RmsNorm does neither.
enum class NormKind : uint8_t { Layer, Rms };

// Which norm a block has, and where.
struct NormOptions {
  NormPlacement placement = NormPlacement::Post;
  float eps = 1e-5f;  // added to the variance
  NormKind kind = NormKind::Layer;
};

// The names of an attention block, which follow the prefix of its layer.
struct AttentionBlockNames {
  std::string_view attention = "self_attn";
  std::string_view norm = "norm1";  // the layer norm
};

// `attention` with its residual connection and norm: query [B, S_q, C] -> [B, S_q, C]. Keys and values are normalized if they are the
// query's tensor.
HEED_API Tensor attention_block(Graph& g, Tensor query, Tensor key, Tensor value, std::string_view prefix,
                                const AttentionBlockNames& names, const MultiHeadOptions& options,
                                const NormOptions& norm = {});

// The two linear layers of a feed-forward block, and the activation between them.
struct FeedForwardOptions {
  int64_t hidden = 0;  // 0: four times the width of x
  Activation activation = Activation::Relu;
  std::string_view first = "linear1";
  std::string_view second = "linear2";
  // If set, the activation acts on a linear layer of this name, which then scales the first one: second(activation(gate(x))
  // * first(x)), SwiGLU with Silu and GeGLU with Gelu (Shazeer 2020, arXiv:2002.05202).
  std::string_view gate = {};
  bool transposed = false;                 // matrices are [in, out], as those of GPT-2 are
  bool bias = true;                        // all layers have a bias
  std::optional<DType> weight_dtype = {};  // type of both matrices; default: that of x
  float hidden_dropout = 0.0f;             // after the activation
  float output_dropout = 0.0f;             // after the second layer
};

// Position-wise feed-forward, second(activation(first(x))), without a residual: x [B, S, C] -> [B, S, C].
HEED_API Tensor feed_forward(Graph& g, Tensor x, std::string_view prefix, const FeedForwardOptions& options = {});

// The names of a feed-forward block, which follow the prefix of its layer.
struct FeedForwardBlockNames {
  std::string_view feed_forward = {};  // empty: the two linear layers lie directly below the prefix
  std::string_view norm = "norm2";     // the layer norm
};

// `feed_forward` with its residual connection and norm: x [B, S, C] -> [B, S, C].
HEED_API Tensor feed_forward_block(Graph& g, Tensor x, std::string_view prefix, const FeedForwardBlockNames& names,
                                   const FeedForwardOptions& options, const NormOptions& norm = {});

// --- Layers and stacks ------------------------------------------------------------------------------------------
// Default names are those of torch.nn.TransformerEncoderLayer and torch.nn.TransformerDecoderLayer. Attentions inside
// layers have the default names kTorchMultihead.

// One layer of an encoder: self-attention, then feed-forward.
struct EncoderLayerOptions {
  MultiHeadOptions attention = {};
  FeedForwardOptions feed_forward = {};
  NormOptions norm = {};
  AttentionBlockNames attention_names = {};
  FeedForwardBlockNames feed_forward_names = {};
};

// A decoder layer is causal only if self_attention says so, by `causal` or by a mask.
struct DecoderLayerOptions {
  MultiHeadOptions self_attention = {};
  MultiHeadOptions cross_attention = {};
  FeedForwardOptions feed_forward = {};
  NormOptions norm = {};
  AttentionBlockNames self_names = {};
  AttentionBlockNames cross_names = {.attention = "multihead_attn", .norm = "norm2"};
  FeedForwardBlockNames feed_forward_names = {.norm = "norm3"};
};

// x [B, S, C] -> [B, S, C]. Weights: self_attn.in_proj_ [3C, C], self_attn.out_proj, linear1, linear2; norm1, norm2.
HEED_API Tensor encoder_layer(Graph& g, Tensor x, std::string_view prefix, const EncoderLayerOptions& options);
// x [B, S, C] with `memory` [B, S_kv, C], the encoder's output -> [B, S, C]. Weights: those of an encoder layer,
// multihead_attn.in_proj_, multihead_attn.out_proj; norm3.
HEED_API Tensor decoder_layer(Graph& g, Tensor x, Tensor memory, std::string_view prefix,
                              const DecoderLayerOptions& options);

// How many layers a stack has, and the norm after the last one.
struct StackOptions {
  int layers = 1;  // at most kMaxLayers
  // If set, a norm of this name, of the layers' kind, follows the last layer, as is usual with pre-norm layers.
  std::string_view final_norm = {};
};

// x [B, S, C] -> [B, S, C]. Layers prefix.0, prefix.1, ... run one after the other. stack.final_norm is a full name: the prefix is not put
// before it.
HEED_API Tensor encoder_stack(Graph& g, Tensor x, std::string_view prefix, const EncoderLayerOptions& layer,
                              const StackOptions& stack);
// x [B, S, C] -> [B, S, C]. Every layer gets the same `memory` [B, S_kv, C].
HEED_API Tensor decoder_stack(Graph& g, Tensor x, Tensor memory, std::string_view prefix,
                              const DecoderLayerOptions& layer, const StackOptions& stack);

// --- Losses ------------------------------------------------------------------------------------------------------

// How the losses of rows become one. Mean: their sum divided by the sum of weights of the labels that count; 0 if none does.
enum class LossReduction : uint8_t { None, Sum, Mean };

// Weights of labels in nn::cross_entropy.
struct CrossEntropyOptions {
  Tensor class_weights = {};  // [V]: multiply the loss of each label; F32, F16 or BF16, computed in F32
  // A label that is left out: its loss and weight are 0, as for all labels outside the vocabulary.
  int64_t ignored = -100;
  // This share (0 to 1) of each loss is the mean over all classes, weighted by class_weights (Szegedy et al. 2016, arXiv:1512.00567).
  float label_smoothing = 0.0f;
  LossReduction reduction = LossReduction::Mean;
  bool of_log_probabilities = false;  // `logits` are log-probabilities, used as they are (torch.nn.functional.nll_loss)
};

// Results of nn::cross_entropy.
struct CrossEntropyResult {
  Tensor loss;               // F32: the labels' shape, or [1] if reduced
  Tensor log_probabilities;  // log_softmax of the logits; takes a pass if it is used
};

// The cross entropy of logits [..., V] and labels, I32 [...], as torch.nn.functional.cross_entropy: Graph::cross_entropy with weights and a
// reduction. V is a constant. Gradients reach class_weights, too.
HEED_API CrossEntropyResult cross_entropy(Graph& g, Tensor logits, Tensor labels,
                                          const CrossEntropyOptions& options = {});

// --- Encoder-decoder transformer --------------------------------------------------------------------------------

// The parts of an encoder-decoder transformer.
struct TransformerOptions {
  EncoderLayerOptions encoder = {};
  DecoderLayerOptions decoder = {};
  StackOptions encoder_stack = {};
  StackOptions decoder_stack = {};
  std::string_view encoder_prefix = "encoder.layers";  // prefix of the encoder's layers
  std::string_view decoder_prefix = "decoder.layers";  // prefix of the decoder's layers
  bool positional_encoding = true;                     // add the sinusoidal encoding to both inputs
  float input_dropout = 0.0f;                          // after the positional encoding
  int64_t vocabulary = 0;                              // width of the final linear layer
  std::string_view out = "out";                        // its name
  std::optional<DType> out_weight_dtype = {};          // the type of its matrix; default: that of `target`
};

// Results of nn::transformer.
struct TransformerResult {
  Tensor encoded;        // [B, S, C]
  Tensor decoded;        // [B, T, C]
  Tensor logits;         // [B, T, vocabulary]
  Tensor probabilities;  // softmax of the logits
};

// source [B, S, C] and target [B, T, C] are embedded tokens. Every decoder layer attends to the output of the last encoder layer.
HEED_API TransformerResult transformer(Graph& g, Tensor source, Tensor target, std::string_view prefix,
                                       const TransformerOptions& options);

}  // namespace heed::nn
