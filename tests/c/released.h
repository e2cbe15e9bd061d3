// The C interface of the last release, as tests/c/interface.py declarations wrote it then.
#include <stddef.h>
#include <stdint.h>
#define HEED_API
HEED_API uint32_t heed_version(void);
HEED_API int32_t heed_has_vulkan(void);
typedef int32_t heed_status;
enum {
  HEED_OK = 0,
  HEED_INVALID_ARGUMENT = 1,
  HEED_INVALID_GRAPH = 2,
  HEED_SHAPE_MISMATCH = 3,
  HEED_DTYPE_MISMATCH = 4,
  HEED_MISSING_WEIGHT = 5,
  HEED_MISSING_BUFFER = 6,
  HEED_EXTENT_OUT_OF_RANGE = 7,
  HEED_BUFFER_TOO_SMALL = 8,
  HEED_INDEX_OUT_OF_RANGE = 9,
  HEED_NOT_FOUND = 10,
  HEED_UNSUPPORTED = 11,
  HEED_OUT_OF_MEMORY = 12,
  HEED_OUT_OF_DEVICE_MEMORY = 13,
  HEED_DEVICE_LOST = 14,
  HEED_INVALID_FILE = 15,
  HEED_DRIVER_ERROR = 16,
  HEED_NOT_READY = 17
};
HEED_API const char* heed_status_text(heed_status status);
HEED_API const char* heed_last_message(void);
enum { HEED_LOG_DEBUG = 0, HEED_LOG_INFO = 1, HEED_LOG_WARNING = 2, HEED_LOG_ERROR = 3 };
typedef struct heed_log {
  void (*callback)(void* user, int32_t level, const char* message);
  void* user;
  int32_t minimum;
  int32_t any_thread;
} heed_log;
typedef int32_t heed_dtype;
enum {
  HEED_DTYPE_DEFAULT = 0,
  HEED_F32 = 1,
  HEED_F16 = 2,
  HEED_BF16 = 3,
  HEED_I32 = 4,
  HEED_U8 = 5,
  HEED_Q8_0 = 6,
  HEED_Q4_0 = 7,
  HEED_Q4_1 = 8,
  HEED_Q5_0 = 9,
  HEED_Q5_1 = 10,
  HEED_Q4_K = 11,
  HEED_Q5_K = 12,
  HEED_Q6_K = 13
};
HEED_API const char* heed_dtype_text(heed_dtype dtype);
HEED_API uint64_t heed_dtype_bytes(heed_dtype dtype, uint64_t elements);
enum { HEED_MAX_RANK = 5 };
typedef struct heed_extent_value {
  const char* name;
  int64_t value;
} heed_extent_value;
typedef struct heed_blob heed_blob;
typedef struct heed_device heed_device;
typedef struct heed_device_list heed_device_list;
typedef struct heed_weights heed_weights;
typedef struct heed_self_test_report heed_self_test_report;
typedef struct heed_tuning_report heed_tuning_report;
typedef struct heed_graph heed_graph;
typedef struct heed_plan heed_plan;
typedef struct heed_run heed_run;
typedef struct heed_state heed_state;
typedef struct heed_checkpoint heed_checkpoint;
typedef struct heed_decoder_model heed_decoder_model;
typedef struct heed_tokenizer heed_tokenizer;
typedef struct heed_attention_map heed_attention_map;
typedef struct heed_text_encoder heed_text_encoder;
typedef struct heed_text_generator heed_text_generator;
typedef struct heed_conversation heed_conversation;
typedef struct heed_submitter heed_submitter;
HEED_API const void* heed_blob_data(heed_blob* blob);
HEED_API size_t heed_blob_size(heed_blob* blob);
HEED_API heed_status heed_blob_destroy(heed_blob* blob);
typedef struct heed_parallel_for {
  void (*run)(void* user, uint32_t count, void (*task)(void* context, uint32_t index), void* context);
  void* user;
  void (*start)(void* user, void (*task)(void* context), void* context);
} heed_parallel_for;
typedef struct heed_device_options {
  size_t size;
  const char* select;
  const heed_log* log;
  const char* cpu_instructions;
  const char* vulkan_loader;
  const void* pipeline_cache;
  size_t pipeline_cache_bytes;
  const void* self_test_results;
  size_t self_test_results_bytes;
  const heed_parallel_for* parallel_for;
  uint32_t threads;
  int32_t validation;
  int32_t no_debug_labels;
  int32_t no_self_test;
} heed_device_options;
HEED_API heed_status heed_device_open(const heed_device_options* options, heed_device** device);
HEED_API heed_status heed_device_destroy(heed_device* device);
enum {
  HEED_DEVICE_CPU = 0,
  HEED_DEVICE_DISCRETE_GPU = 1,
  HEED_DEVICE_INTEGRATED_GPU = 2,
  HEED_DEVICE_VIRTUAL_GPU = 3,
  HEED_DEVICE_SOFTWARE_GPU = 4,
  HEED_DEVICE_OTHER_GPU = 5
};
typedef struct heed_device_info {
  size_t size;
  const char* word;
  const char* name;
  const char* driver;
  const char* api;
  const char* reason;
  const char* const* limits;
  size_t limit_count;
  int32_t kind;
  int32_t usable;
} heed_device_info;
HEED_API heed_status heed_device_get_info(heed_device* device, heed_device_info* info);
HEED_API heed_status heed_device_list_create(const heed_device_options* options, heed_device_list** list);
HEED_API size_t heed_device_list_count(heed_device_list* list);
HEED_API heed_status heed_device_list_get_info(heed_device_list* list, size_t index, heed_device_info* info);
HEED_API heed_status heed_device_list_destroy(heed_device_list* list);
HEED_API heed_status heed_device_pipeline_cache(heed_device* device, heed_blob** blob);
HEED_API heed_status heed_device_scratch_bytes(heed_device* device, uint64_t* bytes);
typedef struct heed_host_tensor {
  const char* name;
  const int64_t* shape;
  size_t rank;
  const void* data;
  size_t bytes;
  heed_dtype dtype;
  int32_t reserved;
} heed_host_tensor;
typedef struct heed_upload_options {
  size_t size;
  heed_dtype dtype;
  int32_t only_matrices;
  void (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  void (*release)(void* user, const void* data, size_t bytes);
  void* release_user;
} heed_upload_options;
HEED_API heed_status heed_device_upload(heed_device* device, const heed_host_tensor* tensors, size_t count,
                                        const heed_upload_options* options, heed_weights** weights);
HEED_API heed_status heed_device_upload_bytes(heed_device* device, const heed_host_tensor* tensors, size_t count,
                                              const heed_upload_options* options, uint64_t* bytes);
HEED_API heed_status heed_weights_bytes(heed_weights* weights, uint64_t* bytes);
HEED_API heed_status heed_weights_destroy(heed_weights* weights);
enum { HEED_PIPELINES_NOW = 0, HEED_PIPELINES_DEFERRED = 1, HEED_PIPELINES_BACKGROUND = 2 };
typedef struct heed_compile_options {
  size_t size;
  uint64_t memory_limit;
  int32_t training;
  int32_t timestamps;
  int32_t host_scratch;
  uint32_t record_slots;
  int32_t pipelines;
  int32_t round_rows;
  int32_t progress;
  int32_t reserved;
} heed_compile_options;
HEED_API heed_status heed_device_compile(heed_device* device, heed_graph* graph, heed_weights* weights,
                                         const heed_compile_options* options, heed_plan** plan);
HEED_API heed_status heed_device_self_test(heed_device* device, uint32_t time_limit_ms, heed_self_test_report** report);
enum {
  HEED_SELF_TEST_PASSED = 0,
  HEED_SELF_TEST_WRONG = 1,
  HEED_SELF_TEST_FAILED = 2,
  HEED_SELF_TEST_TIMED_OUT = 3,
  HEED_SELF_TEST_UNUSED = 4
};
typedef struct heed_kernel_test {
  size_t size;
  const char* kernel;
  const char* detail;
  double worst;
  int32_t verdict;
  uint32_t runs;
} heed_kernel_test;
HEED_API size_t heed_self_test_report_count(heed_self_test_report* report);
HEED_API heed_status heed_self_test_report_kernel(heed_self_test_report* report, size_t index,
                                                  heed_kernel_test* kernel);
HEED_API int32_t heed_self_test_report_passed(heed_self_test_report* report);
HEED_API heed_status heed_self_test_report_blob(heed_self_test_report* report, heed_blob** blob);
HEED_API heed_status heed_self_test_report_destroy(heed_self_test_report* report);
HEED_API heed_status heed_device_tune(heed_device* device, uint32_t time_limit_ms, heed_tuning_report** report);
HEED_API heed_status heed_device_use_tuning(heed_device* device, const void* blob, size_t bytes);
typedef struct heed_tuned {
  size_t size;
  const char* usual;
  const char* fastest;
  double usual_ms;
  double fastest_ms;
  int64_t m, n, k;
  int64_t queries, keys, heads, head_size;
  heed_dtype dtype;
  int32_t is_attention;
  int32_t transpose_b;
  uint32_t variants;
} heed_tuned;
HEED_API size_t heed_tuning_report_count(heed_tuning_report* report);
HEED_API heed_status heed_tuning_report_get(heed_tuning_report* report, size_t index, heed_tuned* tuned);
HEED_API heed_status heed_tuning_report_blob(heed_tuning_report* report, heed_blob** blob);
HEED_API heed_status heed_tuning_report_destroy(heed_tuning_report* report);
typedef uint64_t heed_tensor;
typedef int64_t heed_dim;
HEED_API heed_status heed_graph_create(heed_graph** graph);
HEED_API heed_status heed_graph_clone(heed_graph* graph, heed_graph** copy);
HEED_API heed_status heed_graph_destroy(heed_graph* graph);
HEED_API heed_status heed_graph_get_status(heed_graph* graph);
HEED_API heed_status heed_graph_fail(heed_graph* graph, heed_status status, const char* message);
HEED_API heed_status heed_graph_shape(heed_graph* graph, heed_tensor x, heed_dim* shape, size_t capacity, size_t* rank);
HEED_API heed_status heed_graph_dtype(heed_graph* graph, heed_tensor x, heed_dtype* dtype);
HEED_API heed_status heed_graph_dim_max(heed_graph* graph, heed_dim dim, int64_t* most);
HEED_API heed_status heed_graph_push_label(heed_graph* graph, const char* name);
HEED_API heed_status heed_graph_pop_label(heed_graph* graph);
HEED_API heed_dim heed_graph_extent(heed_graph* graph, const char* name, int64_t most);
HEED_API heed_dim heed_graph_position(heed_graph* graph, const char* name, int64_t most);
HEED_API heed_dim heed_graph_sum(heed_graph* graph, heed_dim a, heed_dim b, int64_t most);
HEED_API heed_tensor heed_graph_input(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                      heed_dtype dtype);
HEED_API heed_tensor heed_graph_weight(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                       heed_dtype dtype);
HEED_API heed_tensor heed_graph_find_weight(heed_graph* graph, const char* name);
HEED_API heed_tensor heed_graph_constant(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                         heed_dtype dtype, const void* values, size_t bytes);
HEED_API heed_status heed_graph_output(heed_graph* graph, const char* name, heed_tensor x);
HEED_API heed_tensor heed_graph_state(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                      heed_dtype dtype);
HEED_API heed_tensor heed_graph_append(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis,
                                       heed_dim at);
HEED_API heed_tensor heed_graph_append_at(heed_graph* graph, heed_tensor state, heed_tensor rows, int32_t axis,
                                          heed_tensor at);
HEED_API heed_tensor heed_graph_assign(heed_graph* graph, heed_tensor state, heed_tensor value);
HEED_API heed_tensor heed_graph_reshape(heed_graph* graph, heed_tensor x, const heed_dim* shape, size_t rank);
HEED_API heed_tensor heed_graph_permute(heed_graph* graph, heed_tensor x, const int32_t* axes, size_t count);
HEED_API heed_tensor heed_graph_transpose(heed_graph* graph, heed_tensor x, int32_t axis_a, int32_t axis_b);
HEED_API heed_tensor heed_graph_slice(heed_graph* graph, heed_tensor x, int32_t axis, heed_dim begin, heed_dim count);
HEED_API heed_tensor heed_graph_last(heed_graph* graph, heed_tensor x, int32_t axis);
HEED_API heed_tensor heed_graph_select(heed_graph* graph, heed_tensor x, int32_t axis, int64_t index);
HEED_API heed_tensor heed_graph_take(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor places);
typedef struct heed_matmul_options {
  size_t size;
  int32_t transpose_a;
  int32_t transpose_b;
  float scale;
  int32_t reserved;
} heed_matmul_options;
HEED_API heed_tensor heed_graph_matmul(heed_graph* graph, heed_tensor a, heed_tensor b,
                                       const heed_matmul_options* options);
HEED_API heed_tensor heed_graph_linear(heed_graph* graph, heed_tensor x, heed_tensor weight, heed_tensor bias);
enum { HEED_CAUSAL_NONE = 0, HEED_CAUSAL_TOP_LEFT = 1, HEED_CAUSAL_BOTTOM_RIGHT = 2 };
enum { HEED_MASK_EXCLUDE = 1, HEED_MASK_KEEP = 2 };
typedef struct heed_softmax_options {
  size_t size;
  heed_tensor key_padding;
  heed_tensor mask;
  heed_tensor bias;
  int32_t key_padding_meaning;
  int32_t mask_meaning;
  int32_t causal;
  float scale;
  int32_t has_masked_fill;
  float masked_fill;
} heed_softmax_options;
HEED_API heed_tensor heed_graph_softmax(heed_graph* graph, heed_tensor x, const heed_softmax_options* options);
HEED_API heed_tensor heed_graph_layernorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, heed_tensor beta,
                                          float eps);
HEED_API heed_tensor heed_graph_rmsnorm(heed_graph* graph, heed_tensor x, heed_tensor gamma, float eps);
HEED_API heed_tensor heed_graph_l2_normalize(heed_graph* graph, heed_tensor x, float eps);
enum { HEED_ROTARY_HALVES = 0, HEED_ROTARY_ADJACENT = 1 };
enum { HEED_ROTARY_SCALING_NONE = 0, HEED_ROTARY_SCALING_LINEAR = 1, HEED_ROTARY_SCALING_LLAMA3 = 2 };
typedef struct heed_rotary_options {
  size_t size;
  int64_t width;
  heed_dim first;
  heed_tensor positions;
  int64_t trained_length;
  float base;
  int32_t pairs;
  int32_t scaling;
  float factor;
  float low;
  float high;
} heed_rotary_options;
HEED_API heed_tensor heed_graph_rotary(heed_graph* graph, heed_tensor x, const heed_rotary_options* options);
HEED_API heed_tensor heed_graph_cross_entropy(heed_graph* graph, heed_tensor logits, heed_tensor labels,
                                              float label_smoothing);
HEED_API heed_tensor heed_graph_argmax(heed_graph* graph, heed_tensor x);
typedef struct heed_sample_options {
  size_t size;
  heed_tensor previous;
  heed_dim previous_count;
  heed_tensor previous_counts;
  heed_tensor bias;
  int64_t top_k;
  heed_dim step;
  heed_tensor steps;
  heed_tensor seeds;
  heed_tensor settings;
  float repetition_penalty;
  float temperature;
  int32_t greedy;
  float top_p;
  float min_p;
  int32_t has_stream;
  uint32_t stream;
  int32_t reserved;
} heed_sample_options;
HEED_API heed_tensor heed_graph_sample(heed_graph* graph, heed_tensor logits, const heed_sample_options* options);
enum { HEED_SAMPLE_WORDS = 8 };
HEED_API heed_status heed_sample_words(const heed_sample_options* options, int32_t words[8]);
typedef struct heed_attention_options {
  size_t size;
  int64_t window;
  heed_tensor lengths;
  heed_tensor positions;
  heed_tensor key_padding;
  heed_tensor mask;
  heed_tensor bias;
  int32_t key_padding_meaning;
  int32_t mask_meaning;
  int32_t causal;
  float scale;
  int32_t has_masked_fill;
  float masked_fill;
  float dropout;
  int32_t return_weights;
  int32_t return_log_sum_exp;
  int32_t reserved;
} heed_attention_options;
typedef struct heed_attention_result {
  heed_tensor output;
  heed_tensor weights;
  heed_tensor log_sum_exp;
} heed_attention_result;
HEED_API heed_tensor heed_graph_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                          const heed_attention_options* options, heed_attention_result* result);
enum {
  HEED_ACTIVATION_DEFAULT = 0,
  HEED_ACTIVATION_NONE = 1,
  HEED_ACTIVATION_RELU = 2,
  HEED_ACTIVATION_GELU_ERF = 3,
  HEED_ACTIVATION_GELU_TANH = 4,
  HEED_ACTIVATION_SILU = 5,
  HEED_ACTIVATION_TANH = 6
};
HEED_API heed_tensor heed_graph_activation(heed_graph* graph, heed_tensor x, int32_t kind);
HEED_API heed_tensor heed_graph_dropout(heed_graph* graph, heed_tensor x, float p, int64_t stream);
HEED_API heed_tensor heed_graph_embedding(heed_graph* graph, heed_tensor table, heed_tensor ids, heed_dtype dtype);
HEED_API heed_tensor heed_graph_positional_encoding(heed_graph* graph, heed_tensor x);
HEED_API heed_tensor heed_graph_add(heed_graph* graph, heed_tensor a, heed_tensor b);
HEED_API heed_tensor heed_graph_mul(heed_graph* graph, heed_tensor a, heed_tensor b);
HEED_API heed_tensor heed_graph_scale(heed_graph* graph, heed_tensor x, float factor);
HEED_API heed_tensor heed_graph_cast(heed_graph* graph, heed_tensor x, heed_dtype dtype);
HEED_API heed_tensor heed_graph_mean(heed_graph* graph, heed_tensor x, int32_t axis, heed_tensor mask,
                                     int32_t mask_meaning);
HEED_API heed_tensor heed_graph_concat(heed_graph* graph, const heed_tensor* parts, size_t count, int32_t axis);
typedef struct heed_custom_word {
  heed_dim dim;
  uint32_t bits;
  int32_t is_size;
} heed_custom_word;
typedef struct heed_custom_groups {
  const heed_dim* sizes;
  size_t rank;
  uint32_t each;
  int32_t reserved;
} heed_custom_groups;
typedef struct heed_custom_output {
  const heed_dim* shape;
  size_t rank;
  heed_dtype dtype;
  int32_t reserved;
} heed_custom_output;
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
  const uint32_t* push;
  size_t push_count;
} heed_custom_call;
typedef struct heed_custom_pass {
  size_t size;
  const char* name;
  const uint32_t* spirv;
  size_t spirv_words;
  const char* entry_point;
  const uint32_t* constants;
  size_t constant_count;
  const heed_custom_word* push;
  size_t push_count;
  const heed_custom_groups* groups;
  const heed_custom_output* outputs;
  size_t output_count;
  void (*cpu)(void* user, const heed_custom_call* call);
  void* user;
  double group_work;
} heed_custom_pass;
HEED_API heed_status heed_graph_custom(heed_graph* graph, const heed_custom_pass* pass, const heed_tensor* inputs,
                                       size_t input_count, heed_tensor* outputs);
HEED_API heed_tensor heed_nn_linear(heed_graph* graph, heed_tensor x, const char* prefix, int64_t out, int32_t no_bias,
                                    heed_dtype weight_dtype);
HEED_API heed_tensor heed_nn_layernorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps);
HEED_API heed_tensor heed_nn_rmsnorm(heed_graph* graph, heed_tensor x, const char* prefix, float eps);
enum {
  HEED_NAMES_DEFAULT = 0,
  HEED_NAMES_FUSED_QKV = 1,
  HEED_NAMES_FUSED_KV = 2,
  HEED_NAMES_SEPARATE = 3,
  HEED_NAMES_TORCH_MULTIHEAD = 4
};
typedef struct heed_attention_names {
  size_t size;
  const char* qkv;
  const char* q;
  const char* kv;
  const char* k;
  const char* v;
  const char* out;
  const char* q_norm;
  const char* k_norm;
  int32_t in_out;
  int32_t transposed;
} heed_attention_names;
typedef struct heed_cache {
  size_t size;
  int64_t capacity;
  heed_dim past;
  heed_tensor positions;
  int64_t rows;
  heed_dim row;
  heed_tensor token_rows;
  heed_tensor token_of_rows;
  heed_tensor token_positions;
  heed_dtype dtype;
  int32_t reserved;
} heed_cache;
typedef struct heed_multi_head_options {
  size_t size;
  int64_t heads;
  int64_t kv_heads;
  int64_t d_k;
  int64_t d_v;
  int64_t out_width;
  const heed_attention_names* names;
  int64_t window;
  heed_tensor lengths, positions;
  heed_tensor key_padding;
  heed_tensor mask;
  heed_tensor score_bias;
  const heed_rotary_options* rotary;
  const heed_cache* cache;
  heed_tensor* weights;
  int32_t naming;
  int32_t no_bias;
  int32_t no_out_bias;
  heed_dtype weight_dtype;
  int32_t key_padding_meaning;
  int32_t mask_meaning;
  int32_t causal;
  float scale;
  int32_t has_masked_fill;
  float masked_fill;
  float head_norm_eps;
  float attention_dropout;
  float output_dropout;
  int32_t reserved;
} heed_multi_head_options;
HEED_API heed_tensor heed_nn_attention(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                       const char* prefix, const heed_multi_head_options* options);
HEED_API heed_tensor heed_nn_self_attention(heed_graph* graph, heed_tensor x, const char* prefix,
                                            const heed_multi_head_options* options);
HEED_API heed_tensor heed_nn_cross_attention(heed_graph* graph, heed_tensor x, heed_tensor context, const char* prefix,
                                             const heed_multi_head_options* options);
HEED_API heed_tensor heed_nn_attention_heads(heed_graph* graph, heed_tensor x, heed_tensor context, const char* prefix,
                                             const heed_multi_head_options* options);
HEED_API heed_tensor heed_nn_single_head(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                         const heed_attention_options* options, heed_attention_result* result);
HEED_API heed_status heed_nn_project_streams(heed_graph* graph, heed_tensor streams[3], const char* prefix,
                                             int32_t twice, heed_dtype weight_dtype);
enum { HEED_NORM_POST = 0, HEED_NORM_PRE = 1 };
enum { HEED_NORM_LAYER = 0, HEED_NORM_RMS = 1 };
typedef struct heed_norm_options {
  size_t size;
  int32_t placement;
  int32_t kind;
  float eps;
  int32_t reserved;
} heed_norm_options;
typedef struct heed_attention_block_names {
  size_t size;
  const char* attention;
  const char* norm;
  const char* streams;
  int32_t streams_twice;
  int32_t reserved;
} heed_attention_block_names;
HEED_API heed_tensor heed_nn_attention_block(heed_graph* graph, heed_tensor query, heed_tensor key, heed_tensor value,
                                             const char* prefix, const heed_attention_block_names* names,
                                             const heed_multi_head_options* options, const heed_norm_options* norm);
typedef struct heed_feed_forward_options {
  size_t size;
  int64_t hidden;
  const char* first;
  const char* second;
  const char* gate;
  int32_t activation;
  int32_t transposed;
  int32_t no_bias;
  heed_dtype weight_dtype;
  float hidden_dropout;
  float output_dropout;
} heed_feed_forward_options;
HEED_API heed_tensor heed_nn_feed_forward(heed_graph* graph, heed_tensor x, const char* prefix,
                                          const heed_feed_forward_options* options);
typedef struct heed_feed_forward_block_names {
  size_t size;
  const char* feed_forward;
  const char* norm;
} heed_feed_forward_block_names;
HEED_API heed_tensor heed_nn_feed_forward_block(heed_graph* graph, heed_tensor x, const char* prefix,
                                                const heed_feed_forward_block_names* names,
                                                const heed_feed_forward_options* options,
                                                const heed_norm_options* norm);
typedef struct heed_encoder_layer_options {
  size_t size;
  const heed_multi_head_options* attention;
  const heed_feed_forward_options* feed_forward;
  const heed_norm_options* norm;
  const heed_attention_block_names* attention_names;
  const heed_feed_forward_block_names* feed_forward_names;
} heed_encoder_layer_options;
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
HEED_API heed_tensor heed_nn_encoder_layer(heed_graph* graph, heed_tensor x, const char* prefix,
                                           const heed_encoder_layer_options* options);
HEED_API heed_tensor heed_nn_decoder_layer(heed_graph* graph, heed_tensor x, heed_tensor memory, const char* prefix,
                                           const heed_decoder_layer_options* options);
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
  const char* encoder_final_norm;
  const char* decoder_final_norm;
  const char* encoder_prefix;
  const char* decoder_prefix;
  const char* out;
  int64_t vocabulary;
  int32_t encoder_layers;
  int32_t decoder_layers;
  int32_t no_positional_encoding;
  float input_dropout;
  heed_dtype out_weight_dtype;
  int32_t reserved;
} heed_transformer_options;
typedef struct heed_transformer_result {
  heed_tensor encoded;
  heed_tensor decoded;
  heed_tensor logits;
  heed_tensor probabilities;
} heed_transformer_result;
HEED_API heed_status heed_nn_transformer(heed_graph* graph, heed_tensor source, heed_tensor target, const char* prefix,
                                         const heed_transformer_options* options, heed_transformer_result* result);
HEED_API heed_status heed_plan_make_state(heed_plan* plan, heed_state** state);
HEED_API heed_status heed_plan_make_state_in(heed_plan* plan, void* memory, size_t bytes, heed_state** state);
HEED_API heed_status heed_plan_fork_state(heed_plan* plan, heed_state* from, heed_state** state);
HEED_API heed_status heed_state_destroy(heed_state* state);
HEED_API heed_status heed_state_bytes(heed_state* state, uint64_t* bytes);
HEED_API heed_status heed_state_clear(heed_state* state);
HEED_API heed_status heed_state_copy(heed_state* state, heed_state* from);
HEED_API heed_status heed_state_copy_row(heed_state* state, heed_state* from, int64_t from_row, int64_t to_row);
HEED_API heed_status heed_state_save(heed_state* state, heed_blob** blob);
HEED_API heed_status heed_state_load(heed_state* state, const void* data, size_t bytes);
typedef struct heed_state_part {
  int64_t begin, count;
  int32_t axis;
  int32_t reserved;
} heed_state_part;
HEED_API heed_status heed_state_read(heed_state* state, const char* name, const heed_state_part* part, void* to,
                                     size_t bytes);
HEED_API heed_status heed_state_write(heed_state* state, const char* name, const heed_state_part* part,
                                      const void* from, size_t bytes);
HEED_API heed_status heed_plan_destroy(heed_plan* plan);
typedef struct heed_input {
  const char* name;
  const void* data;
  size_t bytes;
  heed_dtype dtype;
  int32_t reserved;
} heed_input;
typedef struct heed_output {
  const char* name;
  void* data;
  size_t bytes;
  heed_dtype dtype;
  int32_t reserved;
} heed_output;
typedef struct heed_run_info {
  size_t size;
  const heed_input* inputs;
  size_t input_count;
  const heed_output* outputs;
  size_t output_count;
  const heed_extent_value* extents;
  size_t extent_count;
  heed_state* state;
  uint32_t seed;
  uint32_t timeout_ms;
} heed_run_info;
HEED_API heed_status heed_plan_run(heed_plan* plan, const heed_run_info* info);
HEED_API heed_status heed_plan_start(heed_plan* plan, const heed_run_info* info, heed_run** run);
HEED_API heed_status heed_run_done(heed_run* run, int32_t* done);
HEED_API heed_status heed_run_wait(heed_run* run);
HEED_API heed_status heed_run_destroy(heed_run* run);
HEED_API heed_status heed_plan_scratch_bytes(heed_plan* plan, uint64_t* bytes);
HEED_API heed_status heed_plan_weight_bytes(heed_plan* plan, uint64_t* bytes);
HEED_API heed_status heed_plan_state_bytes(heed_plan* plan, uint64_t* bytes);
typedef struct heed_pass_info {
  size_t size;
  const char* label;
  const char* op;
  const char* kernel;
  const char* why;
  double flops;
  double bytes;
  double fewest_bytes;
  heed_dtype dtype;
  uint32_t dispatches;
} heed_pass_info;
HEED_API size_t heed_plan_pass_count(heed_plan* plan);
HEED_API heed_status heed_plan_pass(heed_plan* plan, size_t index, heed_pass_info* info);
HEED_API heed_status heed_plan_timings(heed_plan* plan, uint32_t slot, double* milliseconds, size_t capacity,
                                       size_t* count);
typedef struct heed_pipeline_info {
  size_t size;
  const char* name;
  int32_t ready;
  int32_t reserved;
} heed_pipeline_info;
HEED_API size_t heed_plan_pipeline_count(heed_plan* plan);
HEED_API heed_status heed_plan_pipeline(heed_plan* plan, size_t index, heed_pipeline_info* info);
HEED_API heed_status heed_plan_prepare(heed_plan* plan, uint32_t index);
HEED_API heed_status heed_plan_ready(heed_plan* plan, int32_t* ready);
HEED_API heed_status heed_checkpoint_open(const char* path, const heed_log* log, heed_checkpoint** checkpoint);
HEED_API heed_status heed_checkpoint_parse(const void* data, size_t bytes, const char* name, const heed_log* log,
                                           heed_checkpoint** checkpoint);
HEED_API heed_status heed_checkpoint_destroy(heed_checkpoint* checkpoint);
HEED_API heed_status heed_checkpoint_bytes(heed_checkpoint* checkpoint, uint64_t* bytes);
typedef struct heed_file_tensor {
  size_t size;
  const char* name;
  const char* type;
  const int64_t* shape;
  size_t rank;
  const void* data;
  size_t bytes;
  heed_dtype dtype;
  int32_t loadable;
} heed_file_tensor;
HEED_API size_t heed_checkpoint_count(heed_checkpoint* checkpoint);
HEED_API heed_status heed_checkpoint_tensor(heed_checkpoint* checkpoint, size_t index, heed_file_tensor* tensor);
HEED_API heed_status heed_checkpoint_find(heed_checkpoint* checkpoint, const char* name, heed_file_tensor* tensor);
HEED_API heed_status heed_checkpoint_upload(heed_checkpoint* checkpoint, heed_device* device,
                                            const heed_upload_options* options, heed_weights** weights);
enum {
  HEED_META_NONE = 0,
  HEED_META_INTEGER = 1,
  HEED_META_NUMBER = 2,
  HEED_META_BOOLEAN = 3,
  HEED_META_TEXT = 4,
  HEED_META_ARRAY = 5
};
typedef struct heed_meta {
  size_t size;
  const char* name;
  int64_t integer;
  double number;
  const char* text;
  size_t text_bytes;
  size_t count;
  int32_t kind;
  int32_t element_kind;
} heed_meta;
HEED_API size_t heed_checkpoint_meta_count(heed_checkpoint* checkpoint);
HEED_API heed_status heed_checkpoint_meta(heed_checkpoint* checkpoint, size_t index, heed_meta* meta);
HEED_API heed_status heed_checkpoint_find_meta(heed_checkpoint* checkpoint, const char* name, heed_meta* meta);
HEED_API heed_status heed_checkpoint_meta_integers(heed_checkpoint* checkpoint, const char* name, int64_t* values,
                                                   size_t capacity, size_t* count);
HEED_API heed_status heed_checkpoint_meta_numbers(heed_checkpoint* checkpoint, const char* name, float* values,
                                                  size_t capacity, size_t* count);
HEED_API heed_status heed_checkpoint_meta_texts(heed_checkpoint* checkpoint, const char* name, const char** values,
                                                size_t capacity, size_t* count);
enum { HEED_DECODER_LLAMA = 0, HEED_DECODER_QWEN2 = 1, HEED_DECODER_QWEN3 = 2, HEED_DECODER_GPT2 = 3 };
typedef struct heed_decoder_config {
  size_t size;
  int64_t width;
  int64_t heads;
  int64_t kv_heads;
  int64_t head_width;
  int64_t hidden;
  int64_t vocabulary;
  int64_t positions;
  int64_t window;
  int64_t rotary_width;
  int64_t trained_length;
  int32_t family;
  int32_t layers;
  int32_t window_from;
  int32_t full_every;
  float eps;
  float rotary_base;
  int32_t rotary_pairs;
  int32_t scaling;
  float factor;
  float low;
  float high;
  int32_t untied;
  int32_t out_in;
  int32_t reserved;
} heed_decoder_config;
HEED_API heed_status heed_decoder_config_read(heed_checkpoint* checkpoint, heed_decoder_config* config);
HEED_API heed_status heed_decoder_config_parse(const char* json, const char* name, const heed_log* log,
                                               heed_decoder_config* config);
typedef struct heed_decoder_options {
  size_t size;
  const heed_cache* cache;
  heed_tensor last;
  const char* prefix;
  int32_t all_logits;
  int32_t attention;
  heed_dtype dtype;
  heed_dtype weight_dtype;
} heed_decoder_options;
typedef struct heed_decoder_result {
  heed_tensor hidden;
  heed_tensor logits;
} heed_decoder_result;
HEED_API heed_status heed_nn_decoder(heed_graph* graph, heed_tensor ids, const heed_decoder_config* config,
                                     const heed_decoder_options* options, heed_decoder_result* result,
                                     heed_tensor* attention, size_t attention_capacity);
HEED_API heed_status heed_decoder_model_open(const char* path, const heed_log* log, heed_decoder_model** model);
HEED_API heed_status heed_decoder_model_destroy(heed_decoder_model* model);
HEED_API heed_status heed_decoder_model_get_config(heed_decoder_model* model, heed_decoder_config* config);
HEED_API heed_status heed_decoder_model_bytes(heed_decoder_model* model, uint64_t* bytes);
HEED_API heed_status heed_decoder_model_upload(heed_decoder_model* model, heed_device* device,
                                               const heed_decoder_options* options, const heed_upload_options* upload,
                                               heed_weights** weights);
HEED_API heed_status heed_decoder_model_build(heed_decoder_model* model, heed_graph* graph, heed_tensor ids,
                                              const heed_decoder_options* options, heed_decoder_result* result,
                                              heed_tensor* attention, size_t attention_capacity);
typedef struct heed_bert_config {
  size_t size;
  int64_t vocabulary;
  int64_t width;
  int64_t layers;
  int64_t heads;
  int64_t hidden;
  int64_t positions;
  int64_t types;
  int64_t pad_id;
  int32_t activation;
  float eps;
} heed_bert_config;
HEED_API heed_status heed_bert_config_read(const char* path, const heed_log* log, heed_bert_config* config);
HEED_API heed_status heed_bert_config_parse(const char* json, const char* name, const heed_log* log,
                                            heed_bert_config* config);
HEED_API heed_status heed_bert_upload(heed_checkpoint* checkpoint, const heed_bert_config* config, heed_device* device,
                                      const heed_upload_options* options, heed_weights** weights);
typedef struct heed_bert_options {
  size_t size;
  heed_tensor types;
  heed_dtype dtype;
  heed_dtype weight_dtype;
  int32_t pooler;
  int32_t attention;
  int32_t separate_qkv;
  int32_t reserved;
} heed_bert_options;
typedef struct heed_bert_result {
  heed_tensor tokens;
  heed_tensor pooled;
} heed_bert_result;
HEED_API heed_status heed_nn_bert(heed_graph* graph, heed_tensor ids, heed_tensor padding, int32_t padding_meaning,
                                  const heed_bert_config* config, const heed_bert_options* options,
                                  heed_bert_result* result, heed_tensor* attention, size_t attention_capacity);
HEED_API heed_tensor heed_nn_mean_sentence(heed_graph* graph, heed_tensor tokens, heed_tensor padding,
                                           int32_t padding_meaning);
HEED_API heed_status heed_tokenizer_open(const char* path, const heed_log* log, heed_tokenizer** tokenizer);
HEED_API heed_status heed_tokenizer_destroy(heed_tokenizer* tokenizer);
HEED_API size_t heed_tokenizer_size(heed_tokenizer* tokenizer);
HEED_API heed_status heed_tokenizer_id(heed_tokenizer* tokenizer, const char* token, int32_t* id);
HEED_API heed_status heed_tokenizer_token(heed_tokenizer* tokenizer, int32_t id, const char** token);
HEED_API heed_status heed_tokenizer_encode(heed_tokenizer* tokenizer, const char* text, size_t bytes,
                                           int32_t read_special, int32_t add_special, int32_t* ids, size_t capacity,
                                           size_t* count);
HEED_API heed_status heed_tokenizer_decode(heed_tokenizer* tokenizer, const int32_t* ids, size_t count,
                                           int32_t show_special, heed_blob** text);
typedef struct heed_attention_map_info {
  size_t size;
  int64_t layers, heads, queries, tokens;
  const float* weights;
  size_t weight_count;
  const char* const* token_texts;
} heed_attention_map_info;
HEED_API heed_status heed_attention_map_get_info(heed_attention_map* map, heed_attention_map_info* info);
HEED_API heed_status heed_attention_map_destroy(heed_attention_map* map);
typedef struct heed_text_encoder_options {
  size_t size;
  const heed_log* log;
  int64_t max_batch;
  int64_t max_tokens;
  void (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  heed_dtype dtype;
  heed_dtype weight_dtype;
  int32_t keep_weight_dtype;
  int32_t timestamps;
} heed_text_encoder_options;
HEED_API heed_status heed_text_encoder_open(heed_device* device, const char* folder,
                                            const heed_text_encoder_options* options, heed_text_encoder** encoder);
HEED_API heed_status heed_text_encoder_destroy(heed_text_encoder* encoder);
typedef struct heed_text_encoder_info {
  size_t size;
  int64_t width;
  int64_t max_tokens;
  int64_t max_batch;
  uint64_t fingerprint;
  heed_dtype weight_dtype;
  int32_t reserved;
} heed_text_encoder_info;
HEED_API heed_status heed_text_encoder_get_info(heed_text_encoder* encoder, heed_text_encoder_info* info);
HEED_API heed_status heed_text_encoder_plan(heed_text_encoder* encoder, heed_plan** plan);
HEED_API heed_status heed_text_encoder_weights(heed_text_encoder* encoder, heed_weights** weights);
typedef struct heed_encode_options {
  size_t size;
  int32_t (*progress)(void* user, size_t done, size_t total);
  void* progress_user;
  size_t* truncated;
  size_t* done;
} heed_encode_options;
HEED_API heed_status heed_text_encoder_encode(heed_text_encoder* encoder, const char* const* texts, size_t count,
                                              float* vectors, size_t capacity, const heed_encode_options* options);
HEED_API heed_status heed_text_encoder_tokens(heed_text_encoder* encoder, const char* text, int32_t* ids,
                                              size_t capacity, size_t* count);
HEED_API heed_status heed_text_encoder_attention(heed_text_encoder* encoder, const char* text,
                                                 heed_attention_map** map);
typedef struct heed_text_generator_options {
  size_t size;
  const heed_log* log;
  int64_t context;
  int64_t read;
  int64_t together;
  void (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  heed_dtype dtype;
  heed_dtype weight_dtype;
  heed_dtype cache_dtype;
  int32_t round_rows;
} heed_text_generator_options;
HEED_API heed_status heed_text_generator_open(heed_device* device, const char* path,
                                              const heed_text_generator_options* options,
                                              heed_text_generator** generator);
HEED_API heed_status heed_text_generator_destroy(heed_text_generator* generator);
typedef struct heed_text_generator_info {
  size_t size;
  int64_t context;
  uint64_t conversation_bytes;
  heed_dtype weight_dtype;
  int32_t has_chat;
} heed_text_generator_info;
HEED_API heed_status heed_text_generator_get_info(heed_text_generator* generator, heed_text_generator_info* info);
HEED_API heed_status heed_text_generator_config(heed_text_generator* generator, heed_decoder_config* config);
HEED_API heed_status heed_text_generator_tokenizer(heed_text_generator* generator, heed_tokenizer** tokenizer);
HEED_API heed_status heed_text_generator_plan(heed_text_generator* generator, heed_plan** plan);
HEED_API heed_status heed_text_generator_weights(heed_text_generator* generator, heed_weights** weights);
HEED_API heed_status heed_text_generator_loss(heed_text_generator* generator, const int32_t* ids, size_t id_count,
                                              double* mean, size_t* count);
HEED_API heed_status heed_text_generator_attention(heed_text_generator* generator, const int32_t* ids, size_t count,
                                                   heed_attention_map** map);
typedef struct heed_text_sampling {
  size_t size;
  int64_t top_k;
  float temperature;
  int32_t greedy;
  float top_p;
  float min_p;
  float repetition_penalty;
  uint32_t seed;
} heed_text_sampling;
enum { HEED_OVERFLOW_DROP_OLDEST = 0, HEED_OVERFLOW_STOP = 1 };
typedef struct heed_conversation_options {
  size_t size;
  const char* system;
  const heed_text_sampling* sampling;
  const char* const* stop;
  size_t stop_count;
  const char* grammar;
  const char* date;
  int64_t most_tokens;
  int64_t keep_tokens;
  int32_t overflow;
  int32_t no_think;
} heed_conversation_options;
HEED_API heed_status heed_conversation_begin(heed_text_generator* generator, const heed_conversation_options* options,
                                             heed_conversation** conversation);
HEED_API heed_status heed_conversation_fork(heed_conversation* conversation, heed_conversation** other);
HEED_API heed_status heed_conversation_destroy(heed_conversation* conversation);
HEED_API heed_status heed_conversation_say(heed_conversation* conversation, const char* text);
HEED_API heed_status heed_conversation_add(heed_conversation* conversation, const char* role, const char* text);
HEED_API heed_status heed_conversation_prompt(heed_conversation* conversation, const char* text, int32_t no_special);
HEED_API heed_status heed_conversation_prompt_ids(heed_conversation* conversation, const int32_t* ids, size_t count);
HEED_API heed_status heed_conversation_answer_now(heed_conversation* conversation);
HEED_API heed_status heed_conversation_read_ahead(heed_conversation* conversation);
enum {
  HEED_END_NONE = 0,
  HEED_END_OF_TURN = 1,
  HEED_END_STOP_STRING = 2,
  HEED_END_MOST_TOKENS = 3,
  HEED_END_CONTEXT_FULL = 4,
  HEED_END_CANCELLED = 5,
  HEED_END_COMPLETE = 6,
  HEED_END_NO_TOKEN = 7
};
typedef struct heed_text_piece {
  size_t size;
  const char* text;
  size_t text_bytes;
  int64_t read;
  int32_t token;
  int32_t done;
  int32_t end;
  int32_t reserved;
} heed_text_piece;
HEED_API heed_status heed_conversation_step(heed_conversation* conversation, heed_text_piece* piece);
HEED_API heed_status heed_conversation_poll(heed_conversation* conversation, heed_text_piece* piece);
HEED_API heed_status heed_conversation_answer(heed_conversation* conversation,
                                              int32_t (*callback)(void* user, const char* text, size_t bytes),
                                              void* user);
HEED_API heed_status heed_conversation_cancel(heed_conversation* conversation);
HEED_API heed_status heed_conversation_answering(heed_conversation* conversation, int32_t* answering);
HEED_API heed_status heed_conversation_text(heed_conversation* conversation, heed_blob** text, int32_t* end);
HEED_API heed_status heed_conversation_reset(heed_conversation* conversation);
HEED_API heed_status heed_conversation_set_sampling(heed_conversation* conversation,
                                                    const heed_text_sampling* sampling);
HEED_API heed_status heed_conversation_ids(heed_conversation* conversation, int32_t* ids, size_t capacity,
                                           size_t* count, int64_t* unread);
HEED_API heed_status heed_conversation_state(heed_conversation* conversation, heed_state** state, int64_t* row);
HEED_API heed_status heed_grammar_of_json_schema(const char* schema, const heed_log* log, heed_blob** grammar);
enum { HEED_MEMORY_DEVICE = 0, HEED_MEMORY_CONSTANTS = 1, HEED_MEMORY_STAGING = 2, HEED_MEMORY_SHARED = 3 };
typedef struct heed_memory_request {
  size_t size;
  uint64_t bytes;
  uint64_t alignment;
  uint64_t buffer;
  const char* name;
  uint32_t memory_type_bits;
  uint32_t required, preferred;
  int32_t use;
} heed_memory_request;
typedef struct heed_memory_block {
  uint64_t memory;
  uint64_t offset;
  void* mapped;
  void* token;
  uint32_t memory_type;
  int32_t reserved;
} heed_memory_block;
typedef struct heed_memory_allocator {
  int32_t (*allocate)(void* user, const heed_memory_request* request, heed_memory_block* block);
  void (*free)(void* user, const heed_memory_block* block);
  void* user;
} heed_memory_allocator;
typedef struct heed_queue_access {
  void (*lock)(void* user);
  void (*unlock)(void* user);
  int32_t (*submit)(void* user, void* queue, const void* submit_info, uint64_t fence);
  void* user;
} heed_queue_access;
typedef struct heed_host_device {
  size_t size;
  void* instance;
  void* physical_device;
  void* device;
  void* queue;
  void (*get_instance_proc_addr)(void);
  const char* const* enabled_extensions;
  size_t enabled_extension_count;
  const void* enabled_features;
  const void* allocator;
  const heed_memory_allocator* memory;
  uint64_t pipeline_cache;
  const void* self_test_results;
  size_t self_test_results_bytes;
  const heed_log* log;
  uint32_t api_version;
  uint32_t queue_family;
  int32_t debug_utils;
  int32_t assume_16bit_storage;
  const void* pipeline_cache_blob;
  size_t pipeline_cache_blob_bytes;
  const heed_queue_access* queue_access;
} heed_host_device;
HEED_API heed_status heed_device_adopt(const heed_host_device* host, heed_device** device);
HEED_API heed_status heed_device_gone(heed_device* device);
typedef struct heed_buffer_needs {
  size_t size;
  uint64_t bytes;
  uint64_t alignment;
  uint32_t usage;
  uint32_t memory_type_bits;
  uint32_t preferred;
  uint32_t reserved;
} heed_buffer_needs;
typedef struct heed_buffer_range {
  uint64_t buffer;
  uint64_t offset;
  uint64_t bytes;
} heed_buffer_range;
HEED_API heed_status heed_plan_scratch_needs(heed_plan* plan, heed_buffer_needs* needs);
HEED_API heed_status heed_plan_bind_scratch(heed_plan* plan, const heed_buffer_range* range);
HEED_API heed_status heed_plan_state_needs(heed_plan* plan, heed_buffer_needs* needs);
HEED_API heed_status heed_plan_make_state_at(heed_plan* plan, const heed_buffer_range* range, heed_state** state);
HEED_API heed_status heed_device_upload_needs(heed_device* device, const heed_host_tensor* tensors, size_t count,
                                              const heed_upload_options* options, heed_buffer_needs* needs);
HEED_API heed_status heed_device_upload_at(heed_device* device, const heed_host_tensor* tensors, size_t count,
                                           const heed_upload_options* options, const heed_buffer_range* range,
                                           void* mapped, heed_weights** weights);
typedef struct heed_heap_budget {
  uint64_t bytes;
  uint64_t budget;
  uint64_t used;
  int32_t device_local;
  int32_t reserved;
} heed_heap_budget;
HEED_API heed_status heed_device_memory_budget(heed_device* device, heed_heap_budget* heaps, size_t capacity,
                                               size_t* count);
typedef struct heed_buffer {
  const char* name;
  uint64_t buffer;
  uint64_t offset;
  uint64_t bytes;
} heed_buffer;
typedef struct heed_record_info {
  size_t size;
  const heed_buffer* buffers;
  size_t buffer_count;
  const heed_extent_value* extents;
  size_t extent_count;
  heed_state* state;
  uint32_t seed;
  uint32_t slot;
} heed_record_info;
HEED_API heed_status heed_plan_record(heed_plan* plan, void* command_buffer, const heed_record_info* info);
typedef struct heed_sync_needs {
  size_t size;
  uint64_t before_dst_stages2, before_dst_accesses2;
  uint64_t after_src_stages2, after_src_accesses2;
  uint32_t before_dst_stages, before_dst_accesses;
  uint32_t after_src_stages, after_src_accesses;
} heed_sync_needs;
HEED_API heed_status heed_plan_sync_needs(heed_plan* plan, heed_sync_needs* needs);
HEED_API heed_status heed_plan_take_faults(heed_plan* plan, uint32_t slot);
HEED_API heed_status heed_plan_last_completed(heed_plan* plan, uint32_t slot, int32_t* pass);
typedef struct heed_cursor {
  double milliseconds;
  int32_t done;
  uint32_t pass;
  uint32_t dispatch, piece;
  uint32_t slot, seed;
  uint64_t run;
  uint64_t extents, buffers;
} heed_cursor;
HEED_API heed_status heed_plan_record_some(heed_plan* plan, void* command_buffer, const heed_record_info* info,
                                           double budget_ms, heed_cursor* cursor);
typedef struct heed_estimate {
  size_t size;
  double milliseconds;
  double measured;
  double longest;
  uint32_t dispatches;
  int32_t reserved;
} heed_estimate;
HEED_API heed_status heed_plan_estimate(heed_plan* plan, const heed_extent_value* extents, size_t extent_count,
                                        const heed_cursor* cursor, heed_estimate* estimate);
HEED_API heed_status heed_state_record_clear(heed_state* state, void* command_buffer);
HEED_API heed_status heed_state_record_copy(heed_state* state, heed_state* from, void* command_buffer);
typedef struct heed_submitter_options {
  size_t size;
  uint32_t slots;
  uint32_t timeout_ms;
  uint32_t stages_before, accesses_before;
  uint32_t stages_after, accesses_after;
} heed_submitter_options;
HEED_API heed_status heed_submitter_create(heed_device* device, const heed_submitter_options* options,
                                           heed_submitter** submitter);
HEED_API heed_status heed_submitter_destroy(heed_submitter* submitter);
HEED_API heed_status heed_submitter_submit(heed_submitter* submitter, heed_plan* plan, const heed_record_info* info,
                                           uint32_t* slot);
HEED_API heed_status heed_submitter_poll(heed_submitter* submitter, uint32_t slot);
HEED_API heed_status heed_submitter_wait(heed_submitter* submitter, uint32_t slot);
HEED_API heed_status heed_text_generator_memory_bytes(heed_text_generator* generator, uint64_t* bytes);
typedef struct heed_text_part {
  size_t size;
  double milliseconds;
  int32_t recorded;
  int32_t complete;
} heed_text_part;
HEED_API heed_status heed_text_generator_record_step(heed_text_generator* generator, void* command_buffer,
                                                     const heed_buffer_range* range, void* mapped, double budget_ms,
                                                     heed_text_part* part);
HEED_API heed_status heed_text_generator_finish_step(heed_text_generator* generator);
