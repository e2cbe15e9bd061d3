// Graphs: operations on tensors, built with plain calls. A graph holds no device and no memory except its constants.
//
//   heed_graph* g = NULL;
//   heed_graph_create(&g);
//   const heed_dim tokens = heed_graph_extent(g, "tokens", 512);
//   const heed_dim shape[] = {1, tokens, 768}, wide[] = {3072, 768};
//   const heed_tensor x = heed_graph_input(g, "x", shape, 3, HEED_F32);
//   const heed_tensor h = heed_graph_linear(g, x, heed_graph_weight(g, "fc.weight", wide, 2, HEED_F32), 0);
//   heed_graph_output(g, "y", heed_graph_activation(g, h, HEED_ACTIVATION_GELU_ERF));
//
// Calls that add to a graph cannot fail at the call. The graph keeps its first mistake (heed_graph_get_status), such as a shape that
// does not fit, a tensor of another graph or a text that is NULL; later calls return 0 quietly, and heed_device_compile returns
// that mistake. Only a graph that is none is told at once, by 0 and heed_last_message().
//
// Shapes are written [outer, ..., inner]. "Broadcast" means numpy's rule: right-aligned, sizes equal or 1. Axes below 0 count
// from the end. A formula and its paper stand beside the same name in <heed/graph.hpp>.
#ifndef HEED_C_GRAPH_H
#define HEED_C_GRAPH_H

#include <heed/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// One value in one graph. 0 is no tensor: what may be left out is 0.
typedef uint64_t heed_tensor;
// A size: a number from 0 on is a constant; the negative numbers that heed_graph_extent, position and sum return stand for a
// number of their graph that each run gives.
typedef int64_t heed_dim;

HEED_API heed_status heed_graph_create(heed_graph** graph);
// Another graph with the same contents. Tensors and sizes of one are those of the other, too.
HEED_API heed_status heed_graph_clone(heed_graph* graph, heed_graph** copy);
HEED_API heed_status heed_graph_destroy(heed_graph* graph);

// --- Asking ----------------------------------------------------------------------------------------------------

// HEED_OK, or the first mistake; its message is then heed_last_message().
HEED_API heed_status heed_graph_get_status(heed_graph* graph);
// Keeps `message` as the graph's mistake if it is the first, for functions that build graphs.
HEED_API heed_status heed_graph_fail(heed_graph* graph, heed_status status, const char* message);
// *rank sizes of a tensor. HEED_MAX_RANK sizes are always enough for `shape`.
HEED_API heed_status heed_graph_shape(heed_graph* graph, heed_tensor x, heed_dim* shape, size_t capacity, size_t* rank);
HEED_API heed_status heed_graph_dtype(heed_graph* graph, heed_tensor x, heed_dtype* dtype);
// The largest value that a size can take; of a constant, itself.
HEED_API heed_status heed_graph_dim_max(heed_graph* graph, heed_dim dim, int64_t* most);
// The value of a size in a run with these extents, for the memory of outputs. Extents that are not given take their maximum,
// positions 0. ExtentOutOfRange, NotFound: of the extents.
HEED_API heed_status heed_graph_dim_value(heed_graph* graph, heed_dim dim, const heed_extent_value* extents,
                                          size_t extent_count, int64_t* value);

// Labels the passes of later operations, as in "encoder.0.attention". Labels nest: push appends ".name", pop removes the last part.
HEED_API heed_status heed_graph_push_label(heed_graph* graph, const char* name);
HEED_API heed_status heed_graph_pop_label(heed_graph* graph);

// --- Sources and results ---------------------------------------------------------------------------------------

// A size from 1 to `most` that may differ at each run. The same name with the same maximum gives the same size.
HEED_API heed_dim heed_graph_extent(heed_graph* graph, const char* name, int64_t most);
// A number from 0 to `most` that may differ at each run, 0 if the run does not give it: where a slice begins, or how many rows a
// cache holds. It is given as extents are. It is no size of a tensor, but its sum with an extent is.
HEED_API heed_dim heed_graph_position(heed_graph* graph, const char* name, int64_t most);
// a + b, at most `most`: a run that would make it more answers ExtentOutOfRange.
HEED_API heed_dim heed_graph_sum(heed_graph* graph, heed_dim a, heed_dim b, int64_t most);
// A tensor that the host gives at each run, contiguous and row-major.
HEED_API heed_tensor heed_graph_input(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                      heed_dtype dtype);
// A tensor of the weights that compile gets, by its name there; its sizes are constants. A quantized one may only be the weight
// of linear, b of matmul with transpose_b, or the table of embedding.
HEED_API heed_tensor heed_graph_weight(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                       heed_dtype dtype);
// The weight of this name if the graph has it already, else 0; never a mistake.
HEED_API heed_tensor heed_graph_find_weight(heed_graph* graph, const char* name);
// A tensor with these values, F32, I32 or U8, which the graph copies. `bytes` is what shape and dtype need.
HEED_API heed_tensor heed_graph_constant(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                         heed_dtype dtype, const void* values, size_t bytes);
// Gives a tensor to the host at each run, contiguous and row-major. A graph needs an output, or a write to a state. Returns the
// graph's status.
HEED_API heed_status heed_graph_output(heed_graph* graph, const char* name, heed_tensor x);

// --- Tensors that stay from run to run -------------------------------------------------------------------------

// A run finds a state as the last run left it, in the heed_state that it is given. Reads and writes happen in the order of the
// calls. Once a state is written, using the tensors that showed it before is a mistake. Sizes are constants.
HEED_API heed_tensor heed_graph_state(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                      heed_dtype dtype);
// Writes rows to the elements at .. at + (size of rows along the axis) of a state, and returns all of it after the write. A run that
// would write behind the end answers ExtentOutOfRange.
HEED_API heed_tensor heed_graph_append(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis,
                                       heed_dim at);
// The same at places that are known on the device only, I32: [B], or a place for each element along the axis. Below 0: not written.
// Behind the end: not written, and the run answers IndexOutOfRange.
HEED_API heed_tensor heed_graph_append_at(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis,
                                          heed_tensor at);
// Writes all that `state` shows.
HEED_API heed_tensor heed_graph_assign(heed_graph* graph, heed_tensor state, heed_tensor value);

// --- Views: neither dispatch nor copy, wherever the layout allows ----------------------------------------------

HEED_API heed_tensor heed_graph_reshape(heed_graph* graph, heed_tensor x, const heed_dim* shape, size_t rank);
HEED_API heed_tensor heed_graph_permute(heed_graph* graph, heed_tensor x, const int32_t* axes, size_t count);
HEED_API heed_tensor heed_graph_transpose(heed_graph* graph, heed_tensor x, int32_t axis_a, int32_t axis_b);
HEED_API heed_tensor heed_graph_slice(heed_graph* graph, heed_tensor x, int32_t axis, heed_dim begin, heed_dim count);
HEED_API heed_tensor heed_graph_last(heed_graph* graph, heed_tensor x,
                                     int32_t axis);  // the last element, as a slice of 1
// A slice of 1 with the axis removed.
HEED_API heed_tensor heed_graph_select(heed_graph* graph, heed_tensor x, int32_t axis, int64_t index);
// Elements at places, I32, that differ from row to row: x [B, S, C], axis 1 and places [B, N] give [B, N, C]. Zeros where a
// place is below 0 or behind the end; for the latter a run answers IndexOutOfRange.
HEED_API heed_tensor heed_graph_take(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places);

// --- Products --------------------------------------------------------------------------------------------------

typedef struct heed_matmul_options {
  size_t size;
  int32_t transpose_a;  // 1: a is [..., K, M]
  int32_t transpose_b;  // 1: b is [..., N, K]
  float scale;          // multiplies the product; 0: 1
  int32_t reserved;     // 0
} heed_matmul_options;
// a [..., M, K] x b [..., K, N] -> [..., M, N], of a's type, summed in F32. Ranks are 2 to 4; outer sizes broadcast.
HEED_API heed_tensor heed_graph_matmul(heed_graph* graph, heed_tensor a, heed_tensor b,
                                       const heed_matmul_options* options);
// x [..., in] x weight [out, in] -> [..., out], plus bias [out] unless that is 0 (torch.nn.Linear).
HEED_API heed_tensor heed_graph_linear(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias);

// --- Operations on rows, which lie along the last axis ---------------------------------------------------------

// Causal attention. TOP_LEFT: key j is visible to query i if j <= i. BOTTOM_RIGHT: if j <= i + (S_kv - S_q).
enum { HEED_CAUSAL_NONE = 0, HEED_CAUSAL_TOP_LEFT = 1, HEED_CAUSAL_BOTTOM_RIGHT = 2 };
// What a mask of U8 means. A mask without one is a mistake.
enum { HEED_MASK_EXCLUDE = 1, HEED_MASK_KEEP = 2 };  // nonzero leaves the key out; nonzero keeps it

typedef struct heed_softmax_options {
  size_t size;
  heed_tensor key_padding;      // U8 [B, S_k]; x must then be [B, ..., S_k]
  heed_tensor mask;             // U8, broadcast to x
  heed_tensor bias;             // of x's type, broadcast to x; added after the scale
  int32_t key_padding_meaning;  // HEED_MASK_*
  int32_t mask_meaning;         // HEED_MASK_*
  int32_t causal;               // HEED_CAUSAL_*
  float scale;                  // multiplies x; 0: 1
  int32_t has_masked_fill;      // 1: hidden keys are not left out; their logit becomes masked_fill
  float masked_fill;
} heed_softmax_options;
// softmax(scale x + bias) over the visible keys of each row, rank 1 to 4. A row without a visible key gives zeros.
HEED_API heed_tensor heed_graph_softmax(heed_graph* graph, heed_tensor x, const heed_softmax_options* options);
// (x - mean) / sqrt(variance + eps) * gamma + beta; gamma and beta are [C] of x's type, or 0 for 1 and 0.
HEED_API heed_tensor heed_graph_layernorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, heed_tensor beta,
                                          float eps);
// x / sqrt(mean of x^2 + eps) * gamma; gamma is [C] of x's type, or 0 for 1.
HEED_API heed_tensor heed_graph_rmsnorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, float eps);
HEED_API heed_tensor heed_graph_l2_normalize(heed_graph* graph, heed_tensor x, float eps);  // x / max(|x|, eps)

// The two elements that turn together: the same places of a row's halves, or neighbours.
enum { HEED_ROTARY_HALVES = 0, HEED_ROTARY_ADJACENT = 1 };
enum { HEED_ROTARY_SCALING_NONE = 0, HEED_ROTARY_SCALING_LINEAR = 1, HEED_ROTARY_SCALING_LLAMA3 = 2 };

typedef struct heed_rotary_options {
  size_t size;
  int64_t width;           // even; the first elements of a row turn, the others stay. 0: all
  heed_dim first;          // position of index 0 along axis -2: a constant, or made by heed_graph_position
  heed_tensor positions;   // instead: I32, broadcast to x's shape without its last axis
  int64_t trained_length;  // LLAMA3; 0: 8192
  float base;              // 0: 10000
  int32_t pairs;           // HEED_ROTARY_*
  int32_t scaling;  // HEED_ROTARY_SCALING_*: pairs turn more slowly by `factor`: all of them, or those that turn less
                    // than `low` times in trained_length positions (those above `high` stay)
  float factor;     // 0: 1
  float low;        // 0: 1
  float high;       // 0: 4
} heed_rotary_options;
// x [..., S, C], with pair i of each row turned by position * base^(-2i / width) radians.
HEED_API heed_tensor heed_graph_rotary(heed_graph* graph, heed_tensor x, const heed_rotary_options* options);
// logits [..., V] and labels I32 [...]: log(sum of exp(logits)) - logits[label], F32 [...]. label_smoothing, 0 to 1, is the share
// of the mean over all labels. A label that is no index of the vocabulary has the loss 0.
HEED_API heed_tensor heed_graph_cross_entropy(heed_graph* graph, heed_tensor logits, heed_tensor labels,
                                              float label_smoothing);
HEED_API heed_tensor heed_graph_argmax(heed_graph* graph,
                                       heed_tensor x);  // I32, the first of equal ones; removes the axis

// "For each row, or for all": the shape of the logits without their last axis, or all ones. Steps are taken in this order: penalty,
// bias, temperature, top_k, top_p, min_p, draw. The same logits, options and seed give the same token on every device.
typedef struct heed_sample_options {
  size_t size;
  heed_tensor previous;         // I32 [..., P]: tokens that were there before, for each row, or for all
  heed_dim previous_count;      // how many of them count: a constant, or made by heed_graph_position or sum; 0: all
  heed_tensor previous_counts;  // instead: I32, for each row, or for all
  heed_tensor bias;             // [..., V] of the logits' type, added to them; minus infinity forbids a token
  int64_t top_k;                // leaves the k largest; 0: all
  heed_dim step;                // a constant, or made by heed_graph_position or sum: which token of a text it is
  heed_tensor steps;            // instead: I32, for each row, or for all
  heed_tensor seeds;            // I32: rows have seeds of their own
  heed_tensor settings;         // I32 [..., 8] of heed_sample_words: takes the place of the numbers below and top_k
  float repetition_penalty;     // 0: 1
  float temperature;            // divides the logits; 0: 1
  int32_t greedy;               // 1: the largest is taken, with no draw, whatever the temperature
  float top_p;                  // leaves the fewest of the largest whose probabilities sum to this share; 0: 1
  float min_p;                  // leaves those of at least this share of the largest probability
  int32_t has_stream;  // 1: `stream` is the second word of the key; 0: the number of earlier samples in the graph
  uint32_t stream;
  int32_t reserved;  // 0
} heed_sample_options;
// Draws a token for each row of logits [..., V]: I32, the axis is removed. A row that forbids all gives -1.
HEED_API heed_tensor heed_graph_sample(heed_graph* graph, heed_tensor logits, const heed_sample_options* options);
// The row of heed_sample_options::settings that stands for penalty, temperature, top_k, top_p and min_p. InvalidArgument if one
// is outside its range.
enum { HEED_SAMPLE_WORDS = 8 };
HEED_API heed_status heed_sample_words(const heed_sample_options* options, int32_t words[8]);

// --- Attention -------------------------------------------------------------------------------------------------

typedef struct heed_attention_options {
  size_t size;
  int64_t window;               // a sliding window, which needs causal: key j is seen if p - window < j <= p. 0: none
  heed_tensor lengths;          // I32 [B]: row b has the first lengths[b] keys only
  heed_tensor positions;        // I32 [B], needs causal: query i of row b sits at positions[b] + i among the keys
  heed_tensor key_padding;      // U8 [B, S_kv]
  heed_tensor mask;             // U8, broadcast to [B, H, S_q, S_kv]
  heed_tensor bias;             // broadcast to [B, H, S_q, S_kv]; added to scaled products
  int32_t key_padding_meaning;  // HEED_MASK_*
  int32_t mask_meaning;         // HEED_MASK_*
  int32_t causal;               // HEED_CAUSAL_*
  float scale;                  // 0: 1 / sqrt(d_k)
  int32_t has_masked_fill;      // see heed_softmax_options
  float masked_fill;
  float dropout;               // on the weights, after softmax, in training plans
  int32_t return_weights;      // 1: heed_attention_result::weights
  int32_t return_log_sum_exp;  // 1: heed_attention_result::log_sum_exp
  int32_t reserved;            // 0
} heed_attention_options;
typedef struct heed_attention_result {
  heed_tensor output;       // [B, H, S_q, d_v]
  heed_tensor weights;      // [B, H, S_q, S_kv] before dropout; 0 unless asked for
  heed_tensor log_sum_exp;  // F32 [B, H, S_q]; 0 unless asked for
} heed_attention_result;
// softmax(scale q k^T + bias) v: query [B, H, S_q, d_k], key [B, G, S_kv, d_k], value [B, G, S_kv, d_v]; G divides H (grouped queries).
// Returns the output; *result, if not NULL, has the others, too. A query without a visible key gives zeros. Keys and values
// have the queries' type, or F16 or BF16 beside F32.
HEED_API heed_tensor heed_graph_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                          const heed_attention_options* options, heed_attention_result* result);

// --- Everything else -------------------------------------------------------------------------------------------

// In this interface the activations' numbers are from 1 on, so that 0 is the default of the place (ReLU in feed-forwards).
enum {
  HEED_ACTIVATION_DEFAULT = 0,
  HEED_ACTIVATION_NONE = 1,
  HEED_ACTIVATION_RELU = 2,
  HEED_ACTIVATION_GELU_ERF = 3,   // x Phi(x)
  HEED_ACTIVATION_GELU_TANH = 4,  // its approximation by tanh
  HEED_ACTIVATION_SILU = 5,
  HEED_ACTIVATION_TANH = 6
};
HEED_API heed_tensor heed_graph_activation(heed_graph* graph, heed_tensor x, int32_t kind);
// In training plans, zeroes elements with probability p and scales the others by 1 / (1 - p). `stream` below 0: the number of
// earlier dropouts in the graph; else the second word of the key, up to UINT32_MAX.
HEED_API heed_tensor heed_graph_dropout(heed_graph* graph, heed_tensor x, float p, int64_t stream);
// Rows of a table: table [V, C], ids I32 [...] -> [..., C] of `dtype`. HEED_DTYPE_DEFAULT: F32 for a BF16 or quantized table, else the
// table's type.
HEED_API heed_tensor heed_graph_embedding(heed_graph* graph, heed_tensor table, heed_tensor ids, heed_dtype dtype);
HEED_API heed_tensor heed_graph_positional_encoding(heed_graph* graph,
                                                    heed_tensor x);  // x [..., S, C] plus the sinusoidal table
HEED_API heed_tensor heed_graph_add(heed_graph* graph, heed_tensor a, heed_tensor b);  // broadcast; also of I32
HEED_API heed_tensor heed_graph_mul(heed_graph* graph, heed_tensor a, heed_tensor b);  // broadcast
HEED_API heed_tensor heed_graph_scale(heed_graph* graph, heed_tensor x, float factor);
HEED_API heed_tensor heed_graph_cast(heed_graph* graph, heed_tensor x, heed_dtype dtype);  // among F32, F16 and BF16
// The mean over one axis, which is removed. For x [B, S, C] and axis 1, a mask U8 [B, S] leaves tokens out; 0: no mask.
HEED_API heed_tensor heed_graph_mean(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor mask,
                                     int32_t mask_meaning);
// Joins parts of one type along an axis.
HEED_API heed_tensor heed_graph_concat(heed_graph* graph, const heed_tensor* parts, size_t count, int32_t axis);

// --- The host's own passes; <heed/custom.hpp> says what a shader sees --------------------------------------------

// A word of the push constants: `bits`, or with is_size the value of `dim` at each run.
typedef struct heed_custom_word {
  heed_dim dim;
  uint32_t bits;
  int32_t is_size;
} heed_custom_word;
// The number of workgroups along one axis: the product of `sizes`, divided by `each` and rounded up. Without sizes: 1.
typedef struct heed_custom_groups {
  const heed_dim* sizes;
  size_t rank;
  uint32_t each;     // 0: 1
  int32_t reserved;  // 0
} heed_custom_groups;
typedef struct heed_custom_output {
  const heed_dim* shape;
  size_t rank;
  heed_dtype dtype;
  int32_t reserved;  // 0
} heed_custom_output;
// One operand in host memory, contiguous and row-major; only outputs may be written. Valid during the call.
typedef struct heed_custom_buffer {
  void* data;
  size_t bytes;
  const int64_t* shape;
  size_t rank;
  heed_dtype dtype;
  int32_t reserved;
} heed_custom_buffer;
typedef struct heed_custom_call {
  const heed_custom_buffer* inputs;
  size_t input_count;
  const heed_custom_buffer* outputs;
  size_t output_count;
  const uint32_t* push;  // the words of `push` at this run's sizes
  size_t push_count;
} heed_custom_call;

// The operands of a pass, as its gradient sees them. Valid during the call.
typedef struct heed_custom_gradient_call {
  const heed_tensor* inputs;
  size_t input_count;
  const heed_tensor* outputs;
  const heed_tensor* upstream;  // for each output its gradient, of its shape and type; 0: zeros
  size_t output_count;
  const int32_t* wanted;   // for each input: 1 if anybody asked for its gradient
  heed_tensor* gradients;  // for each input its gradient, of its shape, for the function to set; 0: zeros
} heed_custom_gradient_call;

typedef struct heed_custom_pass {
  size_t size;
  const char* name;       // label of the pass
  const uint32_t* spirv;  // SPIR-V 1.0 to 1.3; NULL: compile returns Unsupported on Vulkan
  size_t spirv_words;
  const char* entry_point;    // NULL: "main"
  const uint32_t* constants;  // specialization constants 0, 1, ...; at most 16
  size_t constant_count;
  const heed_custom_word* push;
  size_t push_count;
  const heed_custom_groups* groups;  // of x, y and z: three of them, or NULL for one workgroup
  const heed_custom_output* outputs;
  size_t output_count;  // 1 or 2
  // For the CPU device, on the thread that runs the plan; NULL: compile returns Unsupported there. It must not call heed. What
  // `user` points to must live as long as the graph and its plans.
  void (*cpu)(void* user, const heed_custom_call* call);
  void* user;
  double group_work;  // roughly the operations of one workgroup; 0: the pass is never cut into pieces
  // Adds to the graph what gives the gradients of the inputs. heed_train_gradients calls it on its thread with its graph, which
  // it may use, and keeps its mistakes; NULL: gradients through this pass are Unsupported.
  void (*gradient)(void* user, heed_graph* graph, const heed_custom_gradient_call* call);
} heed_custom_pass;
// Adds the pass, and fills outputs[0 .. output_count - 1], with 0 on a mistake. Returns the graph's status.
HEED_API heed_status heed_graph_custom(heed_graph* graph, const heed_custom_pass* pass, const heed_tensor* inputs,
                                       size_t input_count, heed_tensor* outputs);

#ifdef __cplusplus
}
#endif

#endif
