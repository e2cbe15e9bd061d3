// Made by engine/c/generate.py of the C++ headers: change those, and run it.
//
// Options. Each struct has a function that fills it with C++'s defaults. Calls refuse a struct that it has not filled:
//
//   heed_matmul_options options;
//   heed_matmul_options_init(&options);
//   options.transpose_b = 1;
//
// Calls accept NULL for these defaults. Flags are int32_t: 0 or 1. Tensors that are 0 and texts that are NULL are not
// used. A mask has a second member for its meaning: set both.
// clang-format off
#ifndef HEED_C_OPTIONS_H
#define HEED_C_OPTIONS_H

#include <heed/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// Windows along an axis, as in a convolution. Element i of window w is element w * stride + i * dilation of the padded
// axis, which begins with `before` elements of padding.
typedef struct heed_window_options {
  size_t size;     // set by heed_window_options_init
  int64_t stride;  // distance from one window to the next, in elements
  int64_t before;  // elements of padding at each end
  int64_t behind;
  int64_t dilation;  // distance from one element of a window to the next
} heed_window_options;
HEED_API heed_status heed_window_options_init(heed_window_options* options);

// The windows of conv2d.
typedef struct heed_conv2d_options {
  size_t size;                  // set by heed_conv2d_options_init
  heed_window_options rows;     // down, along axis 1
  heed_window_options columns;  // across, along axis 2
} heed_conv2d_options;
HEED_API heed_status heed_conv2d_options_init(heed_conv2d_options* options);

// How heed_graph_matmul reads its operands.
typedef struct heed_matmul_options {
  size_t size;          // set by heed_matmul_options_init
  int32_t transpose_a;  // a is [..., K, M]
  int32_t transpose_b;  // b is [..., N, K]
  float scale;          // multiplies the result
} heed_matmul_options;
HEED_API heed_status heed_matmul_options_init(heed_matmul_options* options);

// softmax(scale * x + bias) over the visible keys of each row. A row with no visible key gives zeros, unless
// masked_fill is set.
typedef struct heed_softmax_options {
  size_t size;  // set by heed_softmax_options_init
  float scale;
  heed_causal causal;
  heed_tensor key_padding;  // [B, S_k]; x must then be [B, ..., S_k]
  heed_mask_meaning key_padding_meaning;
  heed_tensor mask;  // broadcast to x, e.g. [B, 1 or H, S_q, S_k]
  heed_mask_meaning mask_meaning;
  heed_tensor bias;  // broadcast to x; element type of x; added after the scale
  // If set, masked and causally hidden keys are not left out: their logit becomes this finite value, as in code that
  // fills with -1e9. A row without a visible key then has uniform weights. NaN: not set.
  float masked_fill;
} heed_softmax_options;
HEED_API heed_status heed_softmax_options_init(heed_softmax_options* options);

// A query without a visible key gives zeros, as a row of softmax does. Hidden keys and values do not count, even if
// they are infinite or NaN. Exceptions, where all values must be finite:
// - masked_fill gives every key a weight.
// - return_weights, return_scores and softcap store scores and weights, and the output is a matmul of all weights and
// values, in which 0
//   times infinity is NaN. That matmul also reads keys and values beyond `lengths`.
// - On Vulkan the same matmul runs where no fused kernel does: if d_k or d_v is above 256 or an extent, if the
// innermost dim of an operand
//   is not contiguous, and on drivers whose fused kernels fail the self-test.
//
// The softmax is computed in F32 for every type. Output, scores and weights have the queries' type: cast the queries to
// F32 to get F32 scores and weights of F16 or BF16 keys and values.
typedef struct heed_attention_options {
  size_t size;  // set by heed_attention_options_init
  float scale;  // default 1/sqrt(d_k). NaN: not set
  // If c > 0, each scaled score s becomes c tanh(s / c), which lies within -c .. c, before bias and masks (Gemma Team
  // 2024, arXiv:2408.00118). 0: none.
  float softcap;
  heed_causal causal;
  // A sliding window (Beltagy et al. 2020, arXiv:2004.05150). A query at position p among the keys sees key j only if j
  // + window > p and j < p + window_ahead. 0: no bound on that side. With `causal`, window_ahead is 1 whatever is
  // given, and tiles of keys that no query of a workgroup sees are skipped. Without it, positions are those of
  // HEED_CAUSAL_BOTTOM_RIGHT, or `positions`, and each run writes a mask, U8 [1 or B, 1, S_q, S_kv].
  int64_t window;
  int64_t window_ahead;
  // For batches whose rows differ, such as conversations of different lengths: I32 [B]. Row b uses its first lengths[b]
  // keys only; numbers outside 0 .. S_kv are clamped. Keys and values beyond them are not read, masked_fill does not
  // apply to them, and HEED_CAUSAL_BOTTOM_RIGHT means j <= i + (lengths[b] - S_q).
  heed_tensor lengths;
  // The positions of queries, I32 [B]. Needs `causal` or a window. Query i of row b is at positions[b] + i among the
  // keys. With causal, whose alignment then has no effect, it sees key j if j <= positions[b] + i.
  heed_tensor positions;
  heed_tensor key_padding;  // [B, S_kv]
  heed_mask_meaning key_padding_meaning;
  heed_tensor mask;  // broadcast to [B, H, S_q, S_kv]
  heed_mask_meaning mask_meaning;
  heed_tensor bias;            // broadcast to [B, H, S_q, S_kv]
  float masked_fill;           // NaN: not set
  float dropout;               // on the weights, after softmax, in training plans
  int32_t return_weights;      // otherwise the weights are never stored for the host
  int32_t return_log_sum_exp;  // gives heed_attention_result::log_sum_exp
  heed_scores return_scores;   // gives heed_attention_result::scores
} heed_attention_options;
HEED_API heed_status heed_attention_options_init(heed_attention_options* options);

// Options of heed_graph_pad.
typedef struct heed_pad_options {
  size_t size;        // set by heed_pad_options_init
  heed_padding mode;  // which elements are added
  double value;       // for Constant; rounded to x's type if that is a float, else an integer within its range
} heed_pad_options;
HEED_API heed_status heed_pad_options_init(heed_pad_options* options);

// Makes pairs turn more slowly than in training, for positions beyond those of the training. Linear slows all pairs
// down by `factor`. Llama3 slows a pair down by `factor` if it turns less than `low` times in `trained_length`
// positions, leaves it if it turns more than `high` times, and interpolates linearly in the number of turns in between.
typedef struct heed_rotary_scaling {
  size_t size;  // set by heed_rotary_scaling_init
  heed_rotary_scaling_kind kind;
  float factor;
  float low;
  float high;
  int64_t trained_length;
} heed_rotary_scaling;
HEED_API heed_status heed_rotary_scaling_init(heed_rotary_scaling* options);

// How heed_graph_rotary turns the pairs of a row.
typedef struct heed_rotary_options {
  size_t size;  // set by heed_rotary_options_init
  heed_rotary_pairs pairs;
  int64_t width;  // number of leading elements of a row that turn, even; the others stay. 0: all of them
  float base;     // base of the angles; a larger one makes the last pairs turn more slowly
  heed_rotary_scaling scaling;
  heed_dim first;         // position of index 0 along axis -2 of x: a constant, or from heed_graph_position
  heed_tensor positions;  // instead: I32, broadcast to x's shape without its last axis
} heed_rotary_options;
HEED_API heed_status heed_rotary_options_init(heed_rotary_options* options);

// How heed_graph_sample draws a token. The steps happen in the order of the members; all except the draw cost nothing
// at their defaults. "For each row, or for all" means: the shape of the logits without their last axis, or all ones.
typedef struct heed_sample_options {
  size_t size;  // set by heed_sample_options_init
  // Earlier tokens, for the repetition penalty: I32 [..., P], for each row, or for all. Of a row's P the first
  // `previous_count`, or `previous_counts` (I32, for each row, or for all), count; the default is all. Tokens outside
  // the vocabulary are ignored. The logit of such a token is divided by the penalty if it is positive and multiplied by
  // it otherwise, once however often the token occurs (Keskar et al. 2019, arXiv:1909.05858).
  heed_tensor previous;
  heed_dim previous_count;  // a constant, or from heed_graph_position or sum. -1: not set
  heed_tensor previous_counts;
  float repetition_penalty;
  // Added to the logits: [..., V] of their type, for each row, or for all. Minus infinity forbids a token.
  heed_tensor bias;
  float temperature;  // divides the logits; 0: the largest is taken, with no draw
  int64_t top_k;      // keeps the k largest; 0: all (Fan et al. 2018, arXiv:1805.04833)
  // Keeps the fewest largest tokens whose probabilities sum to at least this share of what top_k kept (Holtzman et al.
  // 2019, arXiv:1904.09751).
  float top_p;
  // Keeps tokens whose probability is at least this share of the largest one (Nguyen et al. 2024, arXiv:2407.01082).
  float min_p;
  // Random bits come from Philox4x32-10 with the key (seed of the run, stream) and the counter (step, row, 0, 1). The
  // row is its index in the logits. With `seeds` (I32, for each row, or for all) a row uses its own seed and counts as
  // row 0, so that a conversation draws the same tokens alone and in any batch. Index of the token in its text: a
  // constant, or from heed_graph_position or sum
  heed_dim step;
  heed_tensor steps;  // instead: I32, for each row, or for all
  heed_tensor seeds;
  int64_t stream;  // default: the number of earlier calls of sample in this graph. -1: not set
  // I32 [..., kSampleWords] from sample_words, for each row, or for all: replaces repetition_penalty, temperature,
  // top_k, top_p and min_p, which may then differ from row to row and from run to run.
  heed_tensor settings;
} heed_sample_options;
HEED_API heed_status heed_sample_options_init(heed_sample_options* options);

// The names of the projections of one attention layer in a checkpoint, and how they are fused. If `qkv` is set, one
// weight holds the rows of queries, then keys, then values. Else `q` holds the queries, and keys and values are
// together in `kv` if that is set, else in `k` and `v`. Fused projections run as one matmul if their inputs are the
// same tensor; heads are views of its result.
typedef struct heed_attention_names {
  size_t size;  // set by heed_attention_names_init
  const char* qkv;
  const char* q;
  const char* kv;
  const char* k;
  const char* v;
  const char* out;  // empty: no output projection
  // Projections other than `out` are [in, out] matrices without bias, whose names have no ".weight": y = x W.
  int32_t in_out;
  // Projections have names and biases as linear layers do, but their matrices are [in, out], as in GPT-2.
  int32_t transposed;
  // If set, an RMSNorm of this name scales each head's queries or keys after the projection, with one weight [d_k] for
  // all heads (Qwen 3).
  const char* q_norm;
  const char* k_norm;
} heed_attention_names;
HEED_API heed_status heed_attention_names_init(heed_attention_names* options);

// Which rows of a cache have a token in a run of S tokens, told by the host in three ways.
typedef struct heed_cache_tokens {
  size_t size;            // set by heed_cache_tokens_init
  heed_tensor rows;       // I32 [1, S]: the row of each token
  heed_tensor of_rows;    // I32 [rows, 1]: which of the run's tokens a row has; -1: none
  heed_tensor positions;  // I32 [rows, 1]: the position of that token; -1: none
} heed_cache_tokens;
HEED_API heed_status heed_cache_tokens_init(heed_cache_tokens* options);

// Keys and values that stay from run to run, so that a run computes those of new tokens only. They lie in two states
// (heed_graph_state), prefix + ".keys" [B, kv_heads, capacity, d_k] and prefix + ".values" [B, kv_heads, capacity,
// d_v], in which the rows of a head are contiguous. If the batch is an extent, B is its maximum.
typedef struct heed_cache {
  size_t size;       // set by heed_cache_init
  int64_t capacity;  // maximum number of tokens of each row of the batch; 0: no cache
  heed_dim past;     // number of tokens in the cache before the run; usually made by heed_graph_position
  // Type of both states: F16 or BF16 beside activations of F32, for half the bytes; default: that of the activations.
  // Rows are rounded when they are written. On the CPU this takes no extra pass; on Vulkan it takes one for each state,
  // and needs a device with 16-bit storage (compile returns Unsupported on others). HEED_DTYPE_DEFAULT: not set.
  heed_dtype dtype;
  // For batches whose rows are conversations of different lengths: the positions of this run's tokens, I32 [B, S].
  // Positions of a row are consecutive from its first token. A row may end with -1 for missing tokens: nothing is
  // stored for these, and their results are undefined. A row of -1 alone stays unchanged. `past` must then be that of
  // the longest conversation, since it determines the number of keys. Needs `causal`, and replaces
  // heed_multi_head_options::positions. A token whose position is beyond the capacity is not stored, and the run
  // returns IndexOutOfRange.
  heed_tensor positions;
  // For conversations that share a State, of which a run has only some: B of both states is then `rows`, and a run uses
  // as many as its batch from `row` on. A run with rows beyond the end returns ExtentOutOfRange. 0: as many as the
  // batch has.
  int64_t rows;
  heed_dim row;  // usually made by heed_graph_position
  // Replaces `row` for arbitrary rows. A run has one token of each of them in a batch of 1, so that only attention
  // works by rows. `positions` is then [1, S].
  heed_cache_tokens tokens;
} heed_cache;
HEED_API heed_status heed_cache_init(heed_cache* options);

// The heads of an attention layer, its weights' names, masks and cache.
typedef struct heed_multi_head_options {
  size_t size;  // set by heed_multi_head_options_init
  int64_t heads;
  int64_t kv_heads;  // number of key and value heads, which divides `heads` (grouped queries); 0: heads
  int64_t d_k;                        // width of one head's queries and keys; 0: width of the query input / heads
  int64_t d_v;                        // width of one head's values; 0: d_k
  int64_t out_width;                  // width of the output projection; 0: width of the query input
  const heed_attention_names* names;  // each function states its default. NULL: not set
  int32_t bias;                       // query, key and value projections have a bias
  int32_t out_bias;                   // the output projection has a bias
  heed_dtype weight_dtype;  // type of the projections' matrices; default: the input's. HEED_DTYPE_DEFAULT: not set
  float scale;                        // default 1/sqrt(d_k); a temperature t is scale = 1/t. NaN: not set
  float softcap;                      // see heed_attention_options
  heed_causal causal;
  int64_t window;  // see heed_attention_options
  int64_t window_ahead;
  heed_tensor lengths;  // I32 [B]; see heed_attention_options
  heed_tensor positions;
  heed_tensor key_padding;  // [B, S_kv]
  heed_mask_meaning key_padding_meaning;
  heed_tensor mask;  // broadcast to [B, heads, S_q, S_kv]
  heed_mask_meaning mask_meaning;
  heed_tensor score_bias;  // broadcast to [B, heads, S_q, S_kv]; added to the scaled scores
  float masked_fill;       // see heed_attention_options. NaN: not set
  // Turns queries and keys by their positions (heed_graph_rotary), after their norms. With a cache, a `first` of 0
  // becomes cache.past. NULL: not set.
  const heed_rotary_options* rotary;
  float head_norm_eps;  // eps of names.q_norm and names.k_norm
  // Keys and values of `key` and `value` are appended to the cache, and queries attend to everything in it. `causal`
  // must be None or HEED_CAUSAL_BOTTOM_RIGHT; masks and key_padding have past + S_kv keys. A run in which that exceeds
  // the capacity returns ExtentOutOfRange.
  heed_cache cache;
  float attention_dropout;  // on the weights, after softmax
  float output_dropout;     // after the output projection
  // If set, receives the weights before dropout, [B, heads, S_q, S_kv] or, without a batch, [heads, S_q, S_kv]. A stack
  // returns those of its last layer. NULL: not wanted.
  heed_tensor* weights;
} heed_multi_head_options;
HEED_API heed_status heed_multi_head_options_init(heed_multi_head_options* options);

// Which norm a block has, and where.
typedef struct heed_norm_options {
  size_t size;  // set by heed_norm_options_init
  heed_norm_placement placement;
  float eps;  // added to the variance
  heed_norm_kind kind;
} heed_norm_options;
HEED_API heed_status heed_norm_options_init(heed_norm_options* options);

// The names of an attention block, which follow the prefix of its layer.
typedef struct heed_attention_block_names {
  size_t size;  // set by heed_attention_block_names_init
  const char* attention;
  const char* norm;  // the layer norm
} heed_attention_block_names;
HEED_API heed_status heed_attention_block_names_init(heed_attention_block_names* options);

// The two linear layers of a feed-forward block, and the activation between them.
typedef struct heed_feed_forward_options {
  size_t size;     // set by heed_feed_forward_options_init
  int64_t hidden;  // 0: four times the width of x
  heed_activation activation;
  const char* first;
  const char* second;
  // If set, the activation acts on a linear layer of this name, which then scales the first one:
  // second(activation(gate(x)) * first(x)), SwiGLU with Silu and GeGLU with Gelu (Shazeer 2020, arXiv:2002.05202).
  const char* gate;
  int32_t transposed;       // matrices are [in, out], as those of GPT-2 are
  int32_t bias;             // all layers have a bias
  heed_dtype weight_dtype;  // type of both matrices; default: that of x. HEED_DTYPE_DEFAULT: not set
  float hidden_dropout;     // after the activation
  float output_dropout;     // after the second layer
} heed_feed_forward_options;
HEED_API heed_status heed_feed_forward_options_init(heed_feed_forward_options* options);

// The names of a feed-forward block, which follow the prefix of its layer.
typedef struct heed_feed_forward_block_names {
  size_t size;               // set by heed_feed_forward_block_names_init
  const char* feed_forward;  // empty: the two linear layers lie directly below the prefix
  const char* norm;          // the layer norm
} heed_feed_forward_block_names;
HEED_API heed_status heed_feed_forward_block_names_init(heed_feed_forward_block_names* options);

// One layer of an encoder: self-attention, then feed-forward.
typedef struct heed_encoder_layer_options {
  size_t size;  // set by heed_encoder_layer_options_init
  heed_multi_head_options attention;
  heed_feed_forward_options feed_forward;
  heed_norm_options norm;
  heed_attention_block_names attention_names;
  heed_feed_forward_block_names feed_forward_names;
} heed_encoder_layer_options;
HEED_API heed_status heed_encoder_layer_options_init(heed_encoder_layer_options* options);

// A decoder layer is causal only if self_attention says so, by `causal` or by a mask.
typedef struct heed_decoder_layer_options {
  size_t size;  // set by heed_decoder_layer_options_init
  heed_multi_head_options self_attention;
  heed_multi_head_options cross_attention;
  heed_feed_forward_options feed_forward;
  heed_norm_options norm;
  heed_attention_block_names self_names;
  heed_attention_block_names cross_names;
  heed_feed_forward_block_names feed_forward_names;
} heed_decoder_layer_options;
HEED_API heed_status heed_decoder_layer_options_init(heed_decoder_layer_options* options);

// How many layers a stack has, and the norm after the last one.
typedef struct heed_stack_options {
  size_t size;     // set by heed_stack_options_init
  int32_t layers;  // at most kMaxLayers
  // If set, a norm of this name, of the layers' kind, follows the last layer, as is usual with pre-norm layers.
  const char* final_norm;
} heed_stack_options;
HEED_API heed_status heed_stack_options_init(heed_stack_options* options);

// Weights of labels in heed_nn_cross_entropy.
typedef struct heed_cross_entropy_options {
  size_t size;                // set by heed_cross_entropy_options_init
  heed_tensor class_weights;  // [V]: multiply the loss of each label; F32, F16 or BF16, computed in F32
  int64_t ignored;  // A label that is left out: its loss and weight are 0, as for all labels outside the vocabulary.
  // This share (0 to 1) of each loss is the mean over all classes, weighted by class_weights (Szegedy et al. 2016,
  // arXiv:1512.00567).
  float label_smoothing;
  heed_loss_reduction reduction;
  int32_t of_log_probabilities;  // `logits` are log-probabilities, used as they are (torch.nn.functional.nll_loss)
} heed_cross_entropy_options;
HEED_API heed_status heed_cross_entropy_options_init(heed_cross_entropy_options* options);

// The parts of an encoder-decoder transformer.
typedef struct heed_transformer_options {
  size_t size;  // set by heed_transformer_options_init
  heed_encoder_layer_options encoder;
  heed_decoder_layer_options decoder;
  heed_stack_options encoder_stack;
  heed_stack_options decoder_stack;
  const char* encoder_prefix;   // prefix of the encoder's layers
  const char* decoder_prefix;   // prefix of the decoder's layers
  int32_t positional_encoding;  // add the sinusoidal encoding to both inputs
  float input_dropout;          // after the positional encoding
  int64_t vocabulary;           // width of the final linear layer
  const char* out;              // its name
  heed_dtype out_weight_dtype;  // the type of its matrix; default: that of `target`. HEED_DTYPE_DEFAULT: not set
} heed_transformer_options;
HEED_API heed_status heed_transformer_options_init(heed_transformer_options* options);

// Which device heed_device_open opens, and how it works.
typedef struct heed_device_options {
  size_t size;  // set by heed_device_options_init
  // "" is the best device: GPUs come first, then the CPU device, then software drivers. "cpu" is the CPU device, a
  // number is an index into heed_device_list, and any other text is a part of DeviceInfo::word or name, in upper or
  // lower case; the first match is opened.
  const char* select;
  const heed_log* log;  // NULL: none; copied
  uint32_t threads;     // CPU device: number of threads with the caller's; 0: one per hardware thread
  // CPU device: the host's threads, used instead of heed's own; copied. NULL: heed's own threads.
  const heed_parallel_for* parallel_for;
  // CPU device: the instruction set to use instead of the best one ("avx2", "neon", "scalar", ...; DeviceInfo::limits
  // lists them). A set that the processor or this build lacks is ignored, with a warning in the log.
  const char* cpu_instructions;
  // Vulkan: a library file instead of the system's Vulkan loader. If it cannot be loaded, there is no GPU.
  const char* vulkan_loader;
  const void* pipeline_cache;  // a blob from heed_device_pipeline_cache; checked, may be stale
  size_t pipeline_cache_bytes;
  int32_t validation;    // Vulkan: enable the Khronos validation layer with synchronization validation
  int32_t debug_labels;  // Vulkan: label passes and name objects if VK_EXT_debug_utils is there
  // Vulkan: asks the system to prefer other programs' work on the GPU to heed's (VK_KHR_global_priority, or
  // VK_EXT_global_priority). Where the driver lacks both or refuses, the queue gets the default priority.
  // DeviceInfo::limits has the priority of an open device ("queue priority"), and DeviceInfo::reason says why it is not
  // low.
  int32_t low_priority;
  // Vulkan: uses a queue of a family with compute and without graphics, which GPUs that draw may run beside their other
  // work. Without such a family heed uses the same queue family as otherwise; DeviceInfo::limits has its index and what
  // it can do ("queue family").
  int32_t async_compute;
  int32_t self_test;  // compare a small graph with the CPU, unless the build lacks it, before a GPU is accepted
  // heed_self_test_report_blob of an earlier start (<heed/self_test.hpp>). If it was made with this device, driver and
  // version of heed, kernels that failed then are not used. If none failed, self_test above has nothing to do.
  const void* self_test_results;
  size_t self_test_results_bytes;
} heed_device_options;
HEED_API heed_status heed_device_options_init(heed_device_options* options);

// The types in which heed_device_upload stores tensors.
typedef struct heed_upload_options {
  size_t size;  // set by heed_upload_options_init
  // Floating-point and quantized tensors are converted to it: F32, F16 or BF16. HEED_DTYPE_DEFAULT: they are not
  // converted.
  heed_dtype dtype;
  // 1: only tensors of rank 2 and more are converted to `dtype`; others (biases, factors of norms) become F32.
  int32_t only_matrices;
  void (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  // Called when upload has read these bytes of a tensor and will not read them again.
  void (*release)(void* user, const void* data, size_t bytes);
  void* release_user;
} heed_upload_options;
HEED_API heed_status heed_upload_options_init(heed_upload_options* options);

// How heed_device_compile compiles a graph. The defaults suit a program that runs a trained network.
typedef struct heed_compile_options {
  size_t size;         // set by heed_compile_options_init
  int32_t training;    // dropout acts; without it, dropout leaves no dispatch in the plan
  int32_t timestamps;  // measure GPU time per pass (heed_plan_timings, vulkan::record_some)
  // Makes it an error (InvalidArgument) that an uploaded weight is declared neither by this graph nor by one that was
  // compiled before with the same Weights. Otherwise it is a warning at the plan's first run.
  int32_t strict;
  // A plan that needs more device memory than this many bytes is refused before anything is allocated:
  // OutOfDeviceMemory, on the CPU OutOfMemory, with both numbers in the log. Weights and States are not counted.
  uint64_t memory_limit;
  // Vulkan: heed allocates no scratch. The host gives it (vulkan::bind_scratch) before the plan is recorded or run;
  // several plans may share one. The CPU device ignores this: its plans share scratch by themselves.
  int32_t host_scratch;
  // How many recordings of this plan may be in flight at once, 1 to 16. They share one scratch, so they must not
  // overlap in time. On one queue record orders them; on several queues the host must, or it compiles one plan for
  // each.
  uint32_t record_slots;
  heed_pipeline_creation pipelines;
  // Lets matmuls with quantized weights round the rows of a to 8 bits, as llama.cpp does. Each 32 neighbours get a
  // scale, the largest magnitude / 127, and sums inside a block of the weight are integers. The error of a result is at
  // most the sum over k of |weight| * scale / 2, beside that of f32 sums; a row with an infinite value or NaN gives
  // NaN. Without this option the dequantized weights and the unrounded rows enter the sums.
  //
  // Where it acts (PassInfo::why says so for each pass, DeviceInfo::reason for the device):
  // - The CPU device, where its instructions make it faster: x86 with AVX2 or AVX-512 (tests/bench/README.md compares
  // both).
  // - Vulkan devices, for many rows of f32, whose drivers have integer matrix units that are deeper than those for f16,
  // whose fragments
  //   have fewer than 16 rows (VK_KHR_cooperative_matrix with shaderInt8, for Q6_K at most 16 deep), or that have no matrix units but fast
  //   dot products of bytes (Vulkan 1.3 with shaderIntegerDotProduct, integerDotProduct4x8BitPackedSignedAccelerated).
  // - Other Vulkan devices with matrix units round many rows of f32 and the weights to f16 instead, for one f16 matmul
  // with sums in f32.
  //   Let A and B be the largest magnitudes of finite elements of rows and weights, but at least 2^-113. The error of a result is then at
  //   most 2^-9 * (1 + 2^-11) * (sum over k of |a| |b|) + 2^-24 * k * A * B, beside that of f32 sums. The first summand is below half of
  //   the CPU's bound. For infinities and NaN, results below 2^-126 and their last bits see emulate_f32.
  //
  // A matmul that both options allow is rounded. All other operations are unchanged.
  int32_t round_rows;
  // Lets Vulkan devices with matrix units (VK_KHR_cooperative_matrix, f16 with sums in f32) use them for matmuls of
  // many rows whose a [.., m, k] is f32 and whose b [.., k, n] is f32 or quantized. Each element is split into two
  // summands of f16, and three f16 matmuls are added up in f32. Let A and B be the largest magnitudes of finite
  // elements of a and b, but at least 2^-113. The error of an element is at most
  //   2^-21 * (sum over k of |a| |b|) + 2^-38 * k * A * B,
  // beside that of sums in f32; results below 2^-126 may be 0. So elements count fully down to 2^-16 of their operand's
  // largest one; an element below 2^-39 of it may count as 0.
  //
  // If the rows of a or columns of b of a tile (32x64 to 128x128 results) hold an infinity or NaN, f32 arithmetic
  // computes the tile, as IEEE 754 defines it, which takes many times as long. The last bits of a result may depend on
  // rows and columns beside its own.
  //
  // It pays where matrix units have more than three times the rate of f32 (tests/gpu/profile/README.md). No driver
  // reports that, but heed::tune measures it: sizes for which f32 arithmetic was clearly faster keep it. All else is
  // unchanged: other types, few rows, devices without matrix units, the CPU device. PassInfo::why says what a pass
  // uses.
  int32_t emulate_f32;
  // Results have the same bits on every device that can promise it, on every instruction set of the CPU, for any number
  // of threads, any batch and any split of the work. Each operation, gradients and optimizers included, sums in one
  // order and rounds in one sequence; tests/reproducible/README.md defines both. What changes:
  // - Two roundings replace a fused multiply-add. exp, tanh and division are made of additions and multiplications.
  // Error bounds stay.
  // - Attention is computed as matmul, softmax and matmul, its gradient likewise.
  // - Tensors of f16 and bf16 are rounded to nearest even by casts and where the host sees them. Between passes they
  // are f32, and take its
  //   memory.
  // - Values of keys with a weight below 2^-51, hidden ones among them, add nothing, even if they are infinite or NaN.
  // - round_rows and emulate_f32 have no effect.
  //
  // Unsupported, with the missing feature: a Vulkan device that does not report shaderRoundingModeRTEFloat32 and
  // shaderSignedZeroInfNanPreserveFloat32; a pass of the host's own.
  int32_t reproducible;
  // Vulkan: notes each finished pass in host-visible memory, so that the last one is known when the device is lost: run
  // names it in the log, and vulkan::last_completed returns it. Each pass then also fills 4 bytes; the fill waits for
  // the passes before it and delays none after it. For finding faults, not for a shipped game.
  int32_t progress;
} heed_compile_options;
HEED_API heed_status heed_compile_options_init(heed_compile_options* options);

// Memory options of gradients.
typedef struct heed_gradient_options {
  size_t size;  // set by heed_gradient_options_init
  // Layers whose activations are recomputed in the backward pass instead of kept (Chen et al. 2016, arXiv:1604.06174).
  // `remat` is a NAME of labels: a layer is everything in the graph from the first to the last operation whose label is
  // NAME.i or begins with "NAME.i.", for one number i. The stacks of heed::nn label their layers by the names of their
  // weights, "model.layers". Results of a layer's forward passes that its backward passes read are recomputed from the
  // layer's inputs, right before they are read, with the same bits and the same dropout. Results that others read, such
  // as the layer's output, are kept. A layer is kept as a whole if it writes a state or reads one that is written
  // later, draws a sample, or has passes of the host's; so are layers within each other. Empty: everything is kept.
  const char* remat;
} heed_gradient_options;
HEED_API heed_status heed_gradient_options_init(heed_gradient_options* options);

// How an Optimizer updates weights.
typedef struct heed_optimizer_options {
  size_t size;  // set by heed_optimizer_options_init
  heed_update_rule rule;
  int32_t momentum;  // for Sgd; without it there are no moments
  int32_t nesterov;  // Nesterov's momentum, for Sgd with momentum
  // Adds up the gradients of several runs until a run with heed_step_numbers::apply takes the step and sets them to
  // zero.
  int32_t accumulate;
  const char* prefix;  // prefix of the names of states and of the input
} heed_optimizer_options;
HEED_API heed_status heed_optimizer_options_init(heed_optimizer_options* options);

// The numbers of one step, for a group of weights. The last five apply to all groups and are read from group 0.
typedef struct heed_step_numbers {
  size_t size;         // set by heed_step_numbers_init
  float rate;          // the learning rate
  float weight_decay;  // a step subtracts rate * weight_decay * weight
  float beta1;         // Sgd: the momentum
  float beta2;         // HEED_UPDATE_ADAMW's decay of the second moment
  float eps;           // HEED_UPDATE_ADAMW adds it to the root of the second moment
  int32_t apply;       // false: the run only adds to the gradients
  int64_t runs;        // number of runs whose gradients were added up; the step uses their mean
  float loss_scale;    // the factor of the loss (heed_optimizer_loss_scale); gradients are divided by it
  float max_norm;      // gradients of a larger norm are scaled to it, as by torch.nn.utils.clip_grad_norm_; 0: off
} heed_step_numbers;
HEED_API heed_status heed_step_numbers_init(heed_step_numbers* options);

// Dynamic loss scale for gradients that pass through f16 (Micikevicius et al. 2018, arXiv:1710.03740). It is halved at
// a skipped step and doubled after `grow_after` consecutive steps that were taken, which `good` counts. It stays within
// `least` and `most`.
typedef struct heed_loss_scale {
  size_t size;  // set by heed_loss_scale_init
  float scale;
  float least;
  float most;
  int64_t grow_after;
  int64_t good;
} heed_loss_scale;
HEED_API heed_status heed_loss_scale_init(heed_loss_scale* options);

// How initial_values draws a weight.
typedef struct heed_initial_options {
  size_t size;  // set by heed_initial_options_init
  heed_initial kind;
  float mean;       // for Normal
  float deviation;  // for Normal
  float gain;       // for Xavier and Kaiming
  uint64_t seed;    // key of the random bits
  uint32_t stream;  // number of the random stream: use a different one for each weight of a model
} heed_initial_options;
HEED_API heed_status heed_initial_options_init(heed_initial_options* options);

// The network as a Hugging Face config.json describes it. Names in brackets are those of the file's fields.
typedef struct heed_bert_config {
  size_t size;                 // set by heed_bert_config_init
  int64_t vocabulary;          // [vocab_size] rows of the word table
  int64_t width;               // [hidden_size]
  int64_t layers;              // [num_hidden_layers] at most nn::kMaxLayers
  int64_t heads;               // [num_attention_heads] must divide width
  int64_t hidden;              // [intermediate_size]
  int64_t positions;           // [max_position_embeddings] the longest input
  int64_t types;               // [type_vocab_size]
  heed_activation activation;  // [hidden_act]
  float eps;                   // [layer_norm_eps]
  int64_t pad_id;              // [pad_token_id]
} heed_bert_config;
HEED_API heed_status heed_bert_config_init(heed_bert_config* options);

// Options of heed_nn_bert: which results it computes, and in which types.
typedef struct heed_bert_options {
  size_t size;       // set by heed_bert_options_init
  heed_dtype dtype;  // F32, F16 or BF16: storage of the weights and of all results
  // Storage of matrices and tables: F16 or BF16 if `dtype` is F32. Default: `dtype`. Upload the weights with
  // {.keep_dtype = false, .dtype = weight_dtype, .only_matrices = true}. HEED_DTYPE_DEFAULT: not set.
  heed_dtype weight_dtype;
  int32_t pooler;      // compute BertResult::pooled
  int32_t attention;   // compute BertResult::attention
  int32_t joined_qkv;  // the weights are those of BertWeights; false: those of the checkpoint
  heed_tensor types;   // token types, I32 [B, S]; if invalid, all are 0
} heed_bert_options;
HEED_API heed_status heed_bert_options_init(heed_bert_options* options);

// The numbers of a checkpoint's config.json, or of a GGUF file's metadata (<heed/decoder_model.hpp> reads both).
// Weights have Hugging Face's names. Factors of norms are complete: Gemma's checkpoints store them minus 1, and loading
// adds it.
typedef struct heed_decoder_config {
  size_t size;         // set by heed_decoder_config_init
  const char* family;  // one of decoder_families(); only read during calls
  int32_t layers;
  int64_t width;       // width of a token's embedding
  int64_t heads;       // number of query heads
  int64_t kv_heads;    // number of key and value heads; 0: heads
  int64_t head_width;  // 0: width / heads
  int64_t hidden;      // width of the feed-forward; 0: four times the width
  int64_t vocabulary;  // rows of the table of tokens
  // The longest text of the training, in tokens. With a table of positions (gpt2): its rows, and the most tokens of a
  // conversation.
  int64_t positions;
  // The sliding window of attention, in tokens ("sliding_window"; heed_attention_options::window). 0: none. It applies
  // to layers from `window_from` on (Qwen's "max_window_layers"), except every `full_every`th layer, which attends to
  // all tokens: layers full_every - 1, 2 full_every - 1, ... (2 where layers alternate; Gemma's
  // "sliding_window_pattern"). full_every 0: no such layers, as in Mistral.
  int64_t window;
  int32_t window_from;
  int32_t full_every;
  float eps;                   // added under the root of the norms
  heed_rotary_options rotary;  // base and scaling; not of gpt2
  // The rotary base of layers with a sliding window, which then have no scaling (Gemma's "rope_local_base_freq"). 0: as
  // in the other layers.
  float window_base;
  // Attention scores are divided by the square root of this (Gemma's "query_pre_attn_scalar"). 0: head_width.
  int64_t score_width;
  int32_t tied;    // true: logits are matmuls with the token table; false: with the matrix "lm_head.weight"
  int32_t in_out;  // gpt2: matrices are stored as [in, out]; false: as [out, in], as in GGUF files
} heed_decoder_config;
HEED_API heed_status heed_decoder_config_init(heed_decoder_config* options);

// What heed_nn_decoder computes, and in which types.
typedef struct heed_decoder_options {
  size_t size;         // set by heed_decoder_options_init
  heed_cache cache;    // capacity 0: every run has all tokens
  int32_t all_logits;  // logits of every token, not only of a run's last one
  // gives the attention weights; attentions then store them (heed_attention_options::return_weights)
  int32_t attention;
  // Which token of each row gives logits, I32 [B, 1], where rows of a batch have different numbers of tokens. 0 is the
  // run's first token; -1 gives logits of a row of zeros. Default: the last token of a run.
  heed_tensor last;
  heed_dtype dtype;
  // Storage of matrices and tables: F16 or BF16 if `dtype` is F32. Default: `dtype`. Upload the weights with
  // {.keep_dtype = false, .dtype = weight_dtype, .only_matrices = true}. A weight that the graph already has keeps its
  // type. HEED_DTYPE_DEFAULT: not set.
  heed_dtype weight_dtype;
  // Precedes all names. States are named after the attentions: "model.layers.0.self_attn.keys" behind the prefix.
  const char* prefix;
} heed_decoder_options;
HEED_API heed_status heed_decoder_options_init(heed_decoder_options* options);

// The types and sizes with which a TextEncoder works.
typedef struct heed_text_encoder_options {
  size_t size;       // set by heed_text_encoder_options_init
  heed_dtype dtype;  // F32, or F16 or BF16 if the device supports them
  // Storage of matrices and tables; default: dtype. If dtype is F32, this may be F16 or BF16, which takes half the
  // memory and half the reads per run; matmuls still sum in F32 (see heed_graph_matmul). HEED_DTYPE_DEFAULT: not set.
  heed_dtype weight_dtype;
  int32_t keep_weight_dtype;  // store them as the checkpoint does (BertWeights::dtype), whatever weight_dtype is
  int64_t max_batch;          // texts that run together
  // The longest input in tokens, with [CLS] and [SEP]. 0: the number in sentence_bert_config.json, or without that file
  // the model's positions.
  int64_t max_tokens;
  int32_t timestamps;    // see heed_compile_options
  int32_t reproducible;  // see heed_compile_options: vectors have the same bits on every device
  void (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  const heed_log* log;  // NULL: none; copied
} heed_text_encoder_options;
HEED_API heed_status heed_text_encoder_options_init(heed_text_encoder_options* options);

// How tokens are drawn; heed_sample_options explains the members. The draws of a conversation depend on its seed and on
// how many there were, not on other conversations.
typedef struct heed_text_sampling {
  size_t size;               // set by heed_text_sampling_init
  float temperature;         // 0: always the most likely token
  int64_t top_k;             // keeps the k most likely tokens; 0: all
  float top_p;               // keeps the fewest of the most likely tokens with this total probability; 1: all
  float min_p;               // keeps tokens with at least this share of the largest probability
  float repetition_penalty;  // for all tokens of the conversation except control tokens
  uint32_t seed;             // seed of the draws
} heed_text_sampling;
HEED_API heed_status heed_text_sampling_init(heed_text_sampling* options);

// The sizes and types of a language model and its conversations.
typedef struct heed_text_generator_options {
  size_t size;  // set by heed_text_generator_options_init
  // The most tokens of a conversation. 0: as many as the model was trained with, at most 4096. A conversation allocates
  // memory for all of them when it begins (TextGenerator::conversation_bytes).
  int64_t context;
  int64_t read;  // the most prompt tokens that one step reads
  // The most conversations, 1 to 64, that decode as one batch, which reads each weight once for all of them. They share
  // a State with one row each; the first conversation in a State allocates memory for all rows: together x
  // conversation_bytes(). Further conversations use another State, whose runs alternate with those of the first.
  // Matmuls of up to eight rows read weights fastest on all devices.
  int64_t together;
  heed_dtype dtype;
  // Storage of matrices and tables: F32, F16 or BF16. Default: as in the file, also if it is quantized; if the device
  // cannot compute with that, F16, with a warning in the log. HEED_DTYPE_DEFAULT: not set.
  heed_dtype weight_dtype;
  // Storage of keys and values (heed_cache::dtype): F16 or BF16 beside a dtype of F32, for half the memory of a
  // conversation, if the device supports it. HEED_DTYPE_DEFAULT: not set.
  heed_dtype cache_dtype;
  // Lets matmuls with quantized weights round their rows where that is faster (heed_compile_options::round_rows). It
  // may change words of answers.
  int32_t round_rows;
  int32_t reproducible;  // Answers have the same tokens on every device (heed_compile_options::reproducible).
  // Replaces the file's chat template: a Jinja template of a family that heed knows. Unsupported: of another family.
  const char* chat_template;
  void (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  const heed_log* log;  // also receives the messages of conversations. NULL: none; copied
} heed_text_generator_options;
HEED_API heed_status heed_text_generator_options_init(heed_text_generator_options* options);

// How a conversation begins, draws tokens and ends its answers.
typedef struct heed_conversation_options {
  size_t size;         // set by heed_conversation_options_init
  const char* system;  // the first message; "": none, or the template's default
  heed_text_sampling sampling;
  const char* const* stop;  // Each of these texts ends an answer and is not part of it. UTF-8, not empty.
  size_t stop_count;
  // A grammar for answers (<heed/grammar.hpp>), of which "root" is the whole answer. Tokens that would violate it are
  // never drawn, and the answer ends only where the root may. The sampling applies to the remaining tokens. "": no
  // grammar. An answer that ends for another reason, such as most_tokens or a stop string, may be incomplete: see
  // TextEnd. The first conversation with a grammar compiles additional plans; conversations without one keep using
  // theirs.
  const char* grammar;
  int64_t most_tokens;  // per answer; 0: as many as fit into the context, or unlimited for HEED_OVERFLOW_DROP_OLDEST
  heed_overflow overflow;
  int64_t keep_tokens;  // number of first tokens of a raw text that are kept; see HEED_OVERFLOW_DROP_OLDEST
  int32_t think;        // see ChatOptions
  const char* date;     // see ChatOptions; read by TextGenerator::begin
} heed_conversation_options;
HEED_API heed_status heed_conversation_options_init(heed_conversation_options* options);

// What is saved of a conversation beside its messages, tokens, settings and number of draws, which take a few KB.
typedef struct heed_text_save_options {
  size_t size;  // set by heed_text_save_options_init
  // Also saves keys and values, so that no token is read again after loading. Each token needs
  // TextGenerator::conversation_bytes() / context() bytes.
  int32_t keys;
} heed_text_save_options;
HEED_API heed_status heed_text_save_options_init(heed_text_save_options* options);

// In which types a recognizer stores weights and caches, and how it computes.
typedef struct heed_speech_recognizer_options {
  size_t size;  // set by heed_speech_recognizer_options_init
  // Storage of matrices: F32, F16, BF16 or Q8_0; values are rounded to it, except those of convolutions and positions.
  // Default: as in the file. HEED_DTYPE_DEFAULT: not set.
  heed_dtype weight_dtype;
  // Storage of keys and values: F16 or BF16, for half the memory of a stream, if the device supports it. Default: F32.
  // HEED_DTYPE_DEFAULT: not set.
  heed_dtype cache_dtype;
  int32_t round_rows;    // see heed_compile_options; may change words
  int32_t reproducible;  // see heed_compile_options: the same tokens on every device
  int32_t timestamps;    // see heed_compile_options: record_step fills its budget by measured times
  void (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  const heed_log* log;  // also receives the messages of streams. NULL: none; copied
} heed_speech_recognizer_options;
HEED_API heed_status heed_speech_recognizer_options_init(heed_speech_recognizer_options* options);

// Options of a stream. Sound is processed in windows of 30 seconds (SpeechRecognizer::window_samples).
typedef struct heed_speech_options {
  size_t size;  // set by heed_speech_options_init
  // The spoken language, for models of several languages: "en", "de", ... Default: the model detects it for each
  // window.
  const char* language;
  heed_speech_task task;
  // The model tells when segments begin and end. A window begins where the last complete segment ended, so that no word
  // is cut. Without it windows follow each other without gaps, and each is one segment.
  int32_t timestamps;
  int64_t most_tokens;  // per window; 0: half of the decoder's capacity
  int32_t words;        // fills SpeechSegment::words, for which each window is decoded once more
  // A window is doubtful if the mean of log(probability) of its tokens is lower than this,
  float least_log_probability;
  float least_entropy;  // or if its ids repeat so much that the entropy of the last 32, in nats, is lower than this.
  // A doubtful window is decoded again by sampling; each time the temperature rises by this much, up to 1. 0: no
  // further attempts.
  float temperature_step;
  uint32_t seed;  // seed of the sampling
  // A window counts as silence, without segments, if the probability of no speech is above this and the mean is below
  // least_log_probability.
  float most_no_speech;
  // Of streams: a window also ends where the sound stays below `pause_level` (root mean square; full scale is 1) for
  // this many seconds, at most half a window, so that text becomes final before 30 seconds are full. The rest of the
  // pause is skipped. 0: windows do not end at pauses.
  float pause_seconds;
  float pause_level;
  // Of streams: the incomplete window is decoded each time this many more seconds have arrived, for
  // SpeechPiece::partial. 0: never.
  float partial_seconds;
} heed_speech_options;
HEED_API heed_status heed_speech_options_init(heed_speech_options* options);

// Results of heed_graph_attention.
typedef struct heed_attention_result {
  heed_tensor output;   // [B, H, S_q, d_v]
  heed_tensor weights;  // [B, H, S_q, S_kv] before dropout; invalid unless return_weights
  // [B, H, S_q] in F32; invalid unless return_log_sum_exp. The natural logarithm of the sum of exp(logit) over the
  // visible keys, where a logit is scale q.k + bias, or masked_fill; -inf for a row without a visible key. The mean of
  // outputs over parts of the keys, weighted by exp(log_sum_exp), is the output over all keys. On Vulkan, without
  // softcap, d_k must be a constant up to 256, and lengths or positions exclude giving all three of key_padding, mask
  // and bias.
  heed_tensor log_sum_exp;
  heed_tensor scores;  // [B, H, S_q, S_kv] of the queries' type; invalid unless return_scores
} heed_attention_result;

// Results of heed_graph_top_k.
typedef struct heed_top_k_result {
  heed_tensor values;   // has x's type and shape, but size k along the axis
  heed_tensor indices;  // I32, of the same shape
} heed_top_k_result;

// Results of heed_nn_cross_entropy.
typedef struct heed_cross_entropy_result {
  heed_tensor loss;               // F32: the labels' shape, or [1] if reduced
  heed_tensor log_probabilities;  // log_softmax of the logits; takes a pass if it is used
} heed_cross_entropy_result;

// Results of heed_nn_transformer.
typedef struct heed_transformer_result {
  heed_tensor encoded;        // [B, S, C]
  heed_tensor decoded;        // [B, T, C]
  heed_tensor logits;         // [B, T, vocabulary]
  heed_tensor probabilities;  // softmax of the logits
} heed_transformer_result;

// One weight holds queries, keys and values: the default names of self_attention.
HEED_API const heed_attention_names* heed_nn_fused_qkv(void);

// One weight holds keys and values: the default names of cross_attention.
HEED_API const heed_attention_names* heed_nn_fused_kv(void);

// Queries, keys and values have a weight each: the default names of attention.
HEED_API const heed_attention_names* heed_nn_separate(void);

// torch.nn.MultiheadAttention with equal widths: in_proj_weight [3C, C], in_proj_bias, out_proj.
HEED_API const heed_attention_names* heed_nn_torch_multihead(void);

#ifdef __cplusplus
}
#endif

#endif
