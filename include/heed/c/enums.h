// Made by engine/c/generate.py of the C++ headers: change those, and run it.
//
// Enums of the interface. Their numbers are those of C++ and of the shaders.
// clang-format off
#ifndef HEED_C_ENUMS_H
#define HEED_C_ENUMS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Storage types. Arithmetic on F16 and BF16 is always done in F32.
//
// The types from Q8_0 on are quantized: blocks of 32 or 256 neighbours along the innermost axis share their scales,
// byte for byte as in a GGUF file. Each value is a small integer times a scale, plus an offset in some types, rounded
// once to F32 (as gguf.quants.dequantize of PyPI's `gguf` computes it); all arithmetic on it is F32. Only a
// heed_graph_weight has such a type, and only as the weight of linear, as matmul's b [..., N, K] with transpose_b, or
// as embedding's table.
typedef int32_t heed_dtype;
enum {
  HEED_F32 = 0,
  HEED_F16 = 1,
  HEED_BF16 = 2,
  HEED_I32 = 3,
  HEED_U8 = 4,
  HEED_Q8_0 = 5,
  HEED_Q4_0 = 6,
  HEED_Q4_1 = 7,
  HEED_Q5_0 = 8,
  HEED_Q5_1 = 9,
  HEED_Q4_K = 10,
  HEED_Q5_K = 11,
  HEED_Q6_K = 12,
};

// The result of a call. last_message() has the text of a failure.
typedef int32_t heed_status;
enum {
  HEED_OK = 0,
  HEED_INVALID_ARGUMENT = 1,     // a parameter is outside its documented range
  HEED_INVALID_GRAPH = 2,        // the graph carries a mistake made while it was built
  HEED_SHAPE_MISMATCH = 3,       // shapes that must agree do not
  HEED_DTYPE_MISMATCH = 4,       // element types that must agree do not
  HEED_MISSING_WEIGHT = 5,       // the graph names a weight that the Weights do not hold
  HEED_MISSING_BUFFER = 6,       // an input or output of the plan was not bound
  HEED_EXTENT_OUT_OF_RANGE = 7,  // an extent is below 1, above the maximum it was declared with, or not given
  HEED_BUFFER_TOO_SMALL = 8,     // a bound buffer holds fewer bytes than the tensor needs
  HEED_INDEX_OUT_OF_RANGE = 9,   // an embedding id lies outside its table, or an index of append or take beyond the end
  HEED_NOT_FOUND = 10,           // no device, file or name matches
  HEED_UNSUPPORTED = 11,         // valid, but this device or this version cannot do it
  HEED_OUT_OF_MEMORY = 12,       // host memory
  HEED_OUT_OF_DEVICE_MEMORY = 13,
  HEED_DEVICE_LOST = 14,   // the GPU stopped; the same graph can be compiled for the CPU
  HEED_INVALID_FILE = 15,  // damaged or hostile file content
  HEED_DRIVER_ERROR = 16,  // Vulkan returned an error that has no closer name here
  HEED_NOT_READY = 17,     // some pipelines of the plan were not made yet; see heed_plan_prepare
  HEED_FILE_ERROR = 18,    // a file cannot be written: the disk is full, or the folder is not there
};

// The severity of a message.
typedef int32_t heed_log_level;
enum {
  HEED_LOG_DEBUG = 0,
  HEED_LOG_INFO = 1,
  HEED_LOG_WARNING = 2,
  HEED_LOG_ERROR = 3,
};

// HEED_ACTIVATION_GELU_ERF: x Phi(x). HEED_ACTIVATION_GELU_TANH: its tanh approximation (Hendrycks & Gimpel 2016,
// arXiv:1606.08415).
typedef int32_t heed_activation;
enum {
  HEED_ACTIVATION_NONE = 0,
  HEED_ACTIVATION_RELU = 1,
  HEED_ACTIVATION_GELU_ERF = 2,
  HEED_ACTIVATION_GELU_TANH = 3,
  HEED_ACTIVATION_SILU = 4,
  HEED_ACTIVATION_TANH = 5,
};

// Which keys a query sees. HEED_CAUSAL_TOP_LEFT: key j is visible to query i if j <= i. HEED_CAUSAL_BOTTOM_RIGHT: if j
// <= i + (S_kv - S_q), for decoding with a cache. Both are the same if S_q == S_kv.
typedef int32_t heed_causal;
enum {
  HEED_CAUSAL_NONE = 0,
  HEED_CAUSAL_TOP_LEFT = 1,
  HEED_CAUSAL_BOTTOM_RIGHT = 2,
};

// Exclude: a nonzero element leaves its key out. Keep: it keeps it.
typedef int32_t heed_mask_meaning;
enum {
  HEED_MASK_EXCLUDE = 0,
  HEED_MASK_KEEP = 1,
};

// How heed_graph_reduce combines the elements along axes. HEED_REDUCTION_LOG_SUM_EXP: log(sum of e^x). L2: sqrt(sum of
// x^2).
typedef int32_t heed_reduction;
enum {
  HEED_REDUCTION_SUM = 0,
  HEED_REDUCTION_MEAN = 1,
  HEED_REDUCTION_PRODUCT = 2,
  HEED_REDUCTION_MAX = 3,
  HEED_REDUCTION_MIN = 4,
  HEED_REDUCTION_LOG_SUM_EXP = 5,
  HEED_REDUCTION_L2 = 6,
};

// Which step of the computation gives heed_attention_result::scores. Scaled: scale q.k, for hidden keys, too. Capped:
// after softcap; without one, as Scaled. Masked: after adding the bias, and with minus infinity or masked_fill for
// hidden keys. The next step gives the weights (return_weights).
typedef int32_t heed_scores;
enum {
  HEED_SCORES_NONE = 0,
  HEED_SCORES_SCALED = 1,
  HEED_SCORES_CAPPED = 2,
  HEED_SCORES_MASKED = 3,
};

// The elements that heed_graph_pad adds along an axis. Constant: a number. Reflect: the axis mirrored at its edge,
// without repeating the edge. Edge: the edge element. Wrap: elements from the other end.
typedef int32_t heed_padding;
enum {
  HEED_PADDING_CONSTANT = 0,
  HEED_PADDING_REFLECT = 1,
  HEED_PADDING_EDGE = 2,
  HEED_PADDING_WRAP = 3,
};

// Which two elements of a row form a pair: neighbours (2i and 2i + 1), or the same position in the two halves (i and i
// + width / 2), as in Hugging Face's checkpoints of Llama, Qwen and GPT-NeoX.
typedef int32_t heed_rotary_pairs;
enum {
  HEED_ROTARY_ADJACENT = 0,
  HEED_ROTARY_HALVES = 1,
};

// See heed_rotary_scaling.
typedef int32_t heed_rotary_scaling_kind;
enum {
  HEED_ROTARY_SCALING_NONE = 0,
  HEED_ROTARY_SCALING_LINEAR = 1,
  HEED_ROTARY_SCALING_LLAMA3 = 2,
};

// Post is norm(x + f(x)) (Vaswani et al. 2017, arXiv:1706.03762). Pre is x + f(norm(x)) (Xiong et al. 2020,
// arXiv:2002.04745); it does not normalize keys and values that are not the query's tensor.
typedef int32_t heed_norm_placement;
enum {
  HEED_NORM_POST = 0,
  HEED_NORM_PRE = 1,
};

// LayerNorm subtracts the mean and has a bias; RmsNorm does neither.
typedef int32_t heed_norm_kind;
enum {
  HEED_NORM_LAYER = 0,
  HEED_NORM_RMS = 1,
};

// How the losses of rows become one. Mean: their sum divided by the sum of weights of the labels that count; 0 if none
// does.
typedef int32_t heed_loss_reduction;
enum {
  HEED_LOSS_REDUCTION_NONE = 0,
  HEED_LOSS_REDUCTION_SUM = 1,
  HEED_LOSS_REDUCTION_MEAN = 2,
};

// The kind of a device, as its driver reports it.
typedef int32_t heed_device_kind;
enum {
  HEED_DEVICE_CPU = 0,
  HEED_DEVICE_DISCRETE_GPU = 1,
  HEED_DEVICE_INTEGRATED_GPU = 2,
  HEED_DEVICE_VIRTUAL_GPU = 3,
  HEED_DEVICE_SOFTWARE_GPU = 4,
  HEED_DEVICE_OTHER_GPU = 5,
};

// Who creates a plan's pipelines, and when. The driver compiles the shaders then, which may take seconds at a first
// start.
//   Now         compile makes them, and returns when all are there.
//   Deferred    The host makes them on its own threads, by Plan::prepare for each of Plan::pipelines.
//   Background  A thread of heed makes them, and ends when they are done. Plan::prepare helps it.
// heed_plan_run first makes missing pipelines; vulkan::record returns NotReady if some are missing. If a pipeline
// cannot be made, the log says why and the plan is not ready; prepare returns the failure, and tries again when it is
// called again.
typedef int32_t heed_pipeline_creation;
enum {
  HEED_PIPELINES_NOW = 0,
  HEED_PIPELINES_DEFERRED = 1,
  HEED_PIPELINES_BACKGROUND = 2,
};

// The result of testing one kernel.
typedef int32_t heed_self_test_verdict;
enum {
  HEED_SELF_TEST_PASSED = 0,
  HEED_SELF_TEST_WRONG = 1,      // differs from the CPU by more than rounding explains
  HEED_SELF_TEST_FAILED = 2,     // the driver refused the kernel, or lost the device
  HEED_SELF_TEST_TIMED_OUT = 3,  // did not end within SelfTestOptions::time_limit_ms
  // not run, because heed would not use it on this device: for example, it needs 16-bit storage or another subgroup
  // size
  HEED_SELF_TEST_UNUSED = 4,
};

// HEED_UPDATE_ADAMW: decoupled weight decay (Loshchilov & Hutter 2019, arXiv:1711.05101), as torch.optim.AdamW. Sgd:
// with momentum and weight decay as torch.optim.SGD has them.
typedef int32_t heed_update_rule;
enum {
  HEED_UPDATE_ADAMW = 0,
  HEED_UPDATE_SGD = 1,
};

// For a weight [out, in, ...], fan_in is in times the sizes of the further axes, fan_out is out times these.
//   Normal          mean + deviation * normal
//   XavierUniform   up to gain * sqrt(6 / (fan_in + fan_out)) on either side of 0 (Glorot & Bengio 2010)
//   XavierNormal    the deviation is gain * sqrt(2 / (fan_in + fan_out))
//   KaimingUniform  up to gain * sqrt(6 / fan_in) on either side of 0 (He et al. 2015, arXiv:1502.01852)
//   KaimingNormal   the deviation is gain * sqrt(2 / fan_in)
// They match torch.nn.init; Kaiming assumes Relu. Linear layers of PyTorch begin with HEED_INITIAL_KAIMING_UNIFORM and
// a gain of sqrt(1/6).
typedef int32_t heed_initial;
enum {
  HEED_INITIAL_ZEROS = 0,
  HEED_INITIAL_ONES = 1,
  HEED_INITIAL_NORMAL = 2,
  HEED_INITIAL_XAVIER_UNIFORM = 3,
  HEED_INITIAL_XAVIER_NORMAL = 4,
  HEED_INITIAL_KAIMING_UNIFORM = 5,
  HEED_INITIAL_KAIMING_NORMAL = 6,
};

// What happens when the tokens of a conversation fill the context.
typedef int32_t heed_overflow;
enum {
  // Drops the oldest tokens and reads the rest again, which takes as long as a prompt of that length. Of messages, the
  // oldest after the system message are dropped, a user's together with its answer, but never the one that is being
  // answered. Of a raw text, the first `keep_tokens` and the last half of the context stay (Xiao et al. 2023,
  // arXiv:2309.17453).
  HEED_OVERFLOW_DROP_OLDEST = 0,
  HEED_OVERFLOW_STOP = 1,  // the answer ends, with HEED_END_CONTEXT_FULL
};

// Why an answer ended.
typedef int32_t heed_text_end;
enum {
  HEED_END_NONE = 0,          // the answer goes on
  HEED_END_OF_TURN = 1,       // the model ended it
  HEED_END_STOP_STRING = 2,   // one of heed_conversation_options::stop occurred
  HEED_END_MOST_TOKENS = 3,   // it has heed_conversation_options::most_tokens
  HEED_END_CONTEXT_FULL = 4,  // no more tokens fit, and nothing may be dropped
  HEED_END_CANCELLED = 5,     // by cancel()
  HEED_END_COMPLETE = 6,      // the grammar allows nothing more; no token was drawn for the end
  HEED_END_NO_TOKEN = 7,      // no token satisfies the grammar, and the answer is incomplete
};

// Whether speech is transcribed or translated.
typedef int32_t heed_speech_task;
enum {
  HEED_SPEECH_TASK_TRANSCRIBE = 0,
  HEED_SPEECH_TASK_TRANSLATE = 1,  // to English; needs a model of several languages
};

// The use of a block of memory.
typedef int32_t heed_memory_use;
enum {
  HEED_MEMORY_DEVICE = 0,     // read and written by the GPU only
  HEED_MEMORY_CONSTANTS = 1,  // written once by the host, read by the GPU
  HEED_MEMORY_STAGING = 2,    // written and read by the host, copied by the GPU
  HEED_MEMORY_SHARED = 3,     // device-local and cached, used in place by GPU and host; only where that saves a copy
};

#ifdef __cplusplus
}
#endif

#endif
