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
// Calls that add to a graph cannot fail at the call. The graph keeps its first mistake (heed_graph_get_status), such as a shape that does
// not fit, a tensor of another graph or a text that is NULL; later calls return 0 silently, and heed_device_compile returns that mistake.
// Only an invalid graph handle is reported at once, by 0 and heed_last_message().
//
// Shapes are written [outer, ..., inner]. "Broadcast" means numpy's rule: right-aligned, sizes equal or 1. Axes below 0 count from the end.
// Formulas and their sources are beside the same names in <heed/graph.hpp>.
#ifndef HEED_C_GRAPH_H
#define HEED_C_GRAPH_H

#include <heed/c/operations.h>
#include <heed/c/options.h>

#ifdef __cplusplus
extern "C" {
#endif

// An empty graph.
HEED_API heed_status heed_graph_create(heed_graph** graph);
// A copy of the graph. Tensors and sizes of one are valid for the other, too.
HEED_API heed_status heed_graph_clone(heed_graph* graph, heed_graph** copy);
HEED_API heed_status heed_graph_destroy(heed_graph* graph);

// --- Queries ---------------------------------------------------------------------------------------------------

// HEED_OK, or the first mistake; its message is then heed_last_message().
HEED_API heed_status heed_graph_get_status(heed_graph* graph);
// Clears the graph's mistake, and removes everything that the failed call added. Tensors and sizes of earlier calls stay valid, so that
// building can go on. HEED_OK if there is no mistake.
HEED_API heed_status heed_graph_roll_back(heed_graph* graph);
// For functions that build graphs: keeps `message` as the graph's mistake if it is the first.
HEED_API heed_status heed_graph_fail(heed_graph* graph, heed_status status, const char* message);
// The *rank sizes of a tensor. A capacity of HEED_MAX_RANK is always enough.
HEED_API heed_status heed_graph_shape(heed_graph* graph, heed_tensor x, heed_dim* shape, size_t capacity, size_t* rank);
HEED_API heed_status heed_graph_dtype(heed_graph* graph, heed_tensor x, heed_dtype* dtype);
// A weight that the graph has declared, in the order of the declarations; `index` is below heed_graph_weight_count.
typedef struct heed_weight_info {
  size_t size;       // sizeof(heed_weight_info)
  const char* name;  // this and shape: valid until the graph changes
  const int64_t* shape;
  size_t rank;
  heed_dtype dtype;
  int32_t reserved;
} heed_weight_info;
HEED_API size_t heed_graph_weight_count(heed_graph* graph);
HEED_API heed_status heed_graph_get_weight(heed_graph* graph, size_t index, heed_weight_info* info);
// Inputs, outputs and states of the graph by their names, in the order of the calls. Names are valid until the graph changes.
enum { HEED_GRAPH_INPUTS = 0, HEED_GRAPH_OUTPUTS = 1, HEED_GRAPH_STATES = 2 };
HEED_API size_t heed_graph_named_count(heed_graph* graph, int32_t kind);  // 0, too, if there is no such kind
HEED_API heed_status heed_graph_get_named(heed_graph* graph, int32_t kind, size_t index, const char** name,
                                          heed_tensor* tensor);
// Extents and positions, likewise.
HEED_API size_t heed_graph_extent_count(heed_graph* graph);
HEED_API heed_status heed_graph_get_extent(heed_graph* graph, size_t index, const char** name, heed_dim* dim);
// The largest value that a size can have; that of a constant is its value.
HEED_API heed_status heed_graph_dim_max(heed_graph* graph, heed_dim dim, int64_t* most);
// The value of a size in a run with these extents, to allocate outputs. Positions that are not given are 0. ExtentOutOfRange, NotFound: an
// extent is wrong; ExtentOutOfRange, too, if the size depends on an extent that is not given.
HEED_API heed_status heed_graph_dim_value(heed_graph* graph, heed_dim dim, const heed_extent_value* extents,
                                          size_t extent_count, int64_t* value);

// A tensor with these values, F32, I32 or U8, which the graph copies. `bytes` is what shape and dtype require.
HEED_API heed_tensor heed_graph_constant(heed_graph* graph, const char* name, const heed_dim* shape, size_t rank,
                                         heed_dtype dtype, const void* values, size_t bytes);

// Makes the row of heed_sample_options::settings for penalty, temperature, top_k, top_p and min_p. InvalidArgument if one is outside its
// range.
enum { HEED_SAMPLE_WORDS = 8 };
HEED_API heed_status heed_sample_words(const heed_sample_options* options, int32_t words[8]);

// --- The host's own passes; <heed/custom.hpp> describes the shader's interface -------------------------------------

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
// The shape and type of an output of a pass.
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
// The arguments of a pass on the CPU device. Valid during the call.
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
  const int32_t* wanted;   // for each input: 1 if its gradient is needed
  heed_tensor* gradients;  // for each input its gradient, of its shape, for the function to set; 0: zeros
} heed_custom_gradient_call;

// A pass of the host's own; <heed/custom.hpp> describes the members in more detail.
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
  const heed_custom_groups* groups;  // three, for x, y and z; or NULL for one workgroup
  const heed_custom_output* outputs;
  size_t output_count;  // 1 or 2
  // For the CPU device, on the thread that runs the plan; NULL: compile returns Unsupported there. It must not call heed. What
  // `user` points to must live as long as the graph and its plans.
  void (*cpu)(void* user, const heed_custom_call* call);
  void* user;
  double group_work;  // rough number of operations of one workgroup; 0: the pass is never split into pieces
  // Adds operations to the graph that compute the gradients of the inputs. heed_train_gradients calls it on its thread with its graph,
  // which it may use, and keeps its mistakes; NULL: gradients through this pass are Unsupported.
  void (*gradient)(void* user, heed_graph* graph, const heed_custom_gradient_call* call);
} heed_custom_pass;
// Adds the pass, and fills outputs[0 .. output_count - 1], with 0 on a mistake. Returns the graph's status.
HEED_API heed_status heed_graph_custom(heed_graph* graph, const heed_custom_pass* pass, const heed_tensor* inputs,
                                       size_t input_count, heed_tensor* outputs);

#ifdef __cplusplus
}
#endif

#endif
