// Networks in ONNX files, as graphs. <heed/onnx.hpp> says what a file may hold, and how its dims become extents. A library that was
// built without HEED_ONNX has none of this.
//
//   heed_onnx_model* model = NULL;
//   heed_onnx_model_open("policy.onnx", NULL, &model);
//   heed_onnx_options options = {sizeof options};
//   options.largest = 64;
//   heed_onnx_model_build(model, &options, &graph);
//   heed_onnx_model_upload(model, device, graph, &weights);
//   heed_device_compile(device, graph, weights, NULL, &plan);
#ifndef HEED_C_ONNX_H
#define HEED_C_ONNX_H

#include <heed/c/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

// Opens a file. NotFound: the file, or one in which it stores values, is missing. InvalidFile: it is damaged; the message has the node or
// tensor. Several threads may use a model at the same time.
HEED_API heed_status heed_onnx_model_open(const char* path, const heed_log* log, heed_onnx_model** model);
// Reads bytes that nobody may change or free until the model is destroyed. `name` stands for the file in messages; it may be NULL.
HEED_API heed_status heed_onnx_model_parse(const void* data, size_t bytes, const char* name, const heed_log* log,
                                           heed_onnx_model** model);
HEED_API heed_status heed_onnx_model_destroy(heed_onnx_model* model);

// --- The file's contents; texts and arrays are valid until the model is destroyed ------------------------------------------

// An input or output of the file.
typedef struct heed_onnx_tensor {
  size_t size;  // sizeof(heed_onnx_tensor)
  const char* name;
  const char* const* symbols;  // for each dim, the name of an extent, or "" for a constant
  const int64_t* dims;         // for each dim, a constant's size, or 0 for an extent
  size_t rank;                 // for an output, as the file states it, which may be incomplete
  heed_dtype dtype;            // in the graph: integers of 64 bits are I32, bools U8
  int32_t reserved;
} heed_onnx_tensor;
HEED_API size_t heed_onnx_model_input_count(heed_onnx_model* model);  // 0 if the handle is invalid; other counts
                                                                      // likewise
HEED_API heed_status heed_onnx_model_input(heed_onnx_model* model, size_t index, heed_onnx_tensor* input);
HEED_API size_t heed_onnx_model_output_count(heed_onnx_model* model);
HEED_API heed_status heed_onnx_model_output(heed_onnx_model* model, size_t index, heed_onnx_tensor* output);

// An operator that the file uses, and how often.
typedef struct heed_onnx_operator {
  size_t size;  // sizeof(heed_onnx_operator)
  const char* name;
  int64_t count;
} heed_onnx_operator;
HEED_API size_t heed_onnx_model_operator_count(heed_onnx_model* model);
HEED_API heed_status heed_onnx_model_operator(heed_onnx_model* model, size_t index, heed_onnx_operator* found);

// A state: a run reads the input `past`, and the output `present` is its value at the next run. "": runs leave the input as the host wrote
// it.
typedef struct heed_onnx_state {
  const char* past;
  const char* present;
} heed_onnx_state;
// The caches, recognized by the names that exporters give them.
HEED_API heed_status heed_onnx_model_states(heed_onnx_model* model, heed_onnx_state* states, size_t capacity,
                                            size_t* count);

// --- Graphs ------------------------------------------------------------------------------------------------------------

// The maximum of a dim with this name.
typedef struct heed_onnx_extent {
  const char* symbol;
  int64_t largest;
} heed_onnx_extent;

// The maxima of the file's dims, and the tensors that stay on the device.
typedef struct heed_onnx_options {
  size_t size;  // sizeof(heed_onnx_options)
  const heed_onnx_extent* extents;
  size_t extent_count;
  int64_t largest;                // maximum of all other named dims; 0: each must be among `extents`
  const heed_onnx_state* states;  // inputs and outputs that become states of the graph
  size_t state_count;
} heed_onnx_options;
// Makes a graph with the file's inputs, nodes and outputs under their names. Unsupported: the message has the node, its operator, and what
// would be needed. InvalidArgument: the maximum of a dim is not given, or a state names no input or output.
HEED_API heed_status heed_onnx_model_build(heed_onnx_model* model, const heed_onnx_options* options,
                                           heed_graph** graph);
// A tensor of a graph that replaces an input.
typedef struct heed_onnx_input {
  const char* name;
  heed_tensor tensor;
} heed_onnx_input;
// Adds the file's nodes to an existing graph. `inputs` replace inputs of the file, and their sizes become those of the file's dims; other
// inputs become inputs of the graph. outputs[0 .. count of outputs - 1] become the file's outputs, 0 for states. Returns the graph's
// status.
HEED_API heed_status heed_onnx_model_add(heed_onnx_model* model, heed_graph* graph, const heed_onnx_input* inputs,
                                         size_t input_count, const heed_onnx_options* options, heed_tensor* outputs,
                                         size_t capacity);
// Uploads the weights that such a graph declares.
HEED_API heed_status heed_onnx_model_upload(heed_onnx_model* model, heed_device* device, heed_graph* graph,
                                            heed_weights** weights);

// The dims of an input at a run.
typedef struct heed_onnx_shape {
  const char* name;
  const int64_t* dims;
  size_t rank;
} heed_onnx_shape;
// The extents of a run of such a graph, from the shapes of its inputs; their names are valid until the graph changes. ShapeMismatch: shapes
// do not fit together, or an input is missing.
HEED_API heed_status heed_onnx_model_find_extents(heed_onnx_model* model, heed_graph* graph,
                                                  const heed_onnx_shape* shapes, size_t shape_count,
                                                  heed_extent_value* extents, size_t capacity, size_t* count);

#ifdef __cplusplus
}
#endif

#endif
