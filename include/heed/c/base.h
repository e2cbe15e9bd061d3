// Status, messages, types and blobs. heed.h says what holds for all parts.
#ifndef HEED_C_BASE_H
#define HEED_C_BASE_H

#include <stddef.h>
#include <stdint.h>

#include <heed/export.hpp>  // HEED_API; lines of the preprocessor only

#ifdef __cplusplus
extern "C" {
#endif

// The version of these headers. heed_version() tells that of the library, as HEED_VERSION_NUMBER does.
#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 1
#define HEED_VERSION_PATCH 0
#define HEED_VERSION_NUMBER (HEED_VERSION_MAJOR * 1000000 + HEED_VERSION_MINOR * 1000 + HEED_VERSION_PATCH)
HEED_API uint32_t heed_version(void);
// 1 if the library was built with its Vulkan device. Without it, calls that need one return HEED_UNSUPPORTED.
HEED_API int32_t heed_has_vulkan(void);

// What a call returns. Numbers never change; later versions may add some.
typedef int32_t heed_status;
enum {
  HEED_OK = 0,
  HEED_INVALID_ARGUMENT = 1,     // a parameter is outside its documented range, or a handle is none
  HEED_INVALID_GRAPH = 2,        // the graph carries a mistake made while it was built
  HEED_SHAPE_MISMATCH = 3,       // shapes that must agree do not
  HEED_DTYPE_MISMATCH = 4,       // element types that must agree do not
  HEED_MISSING_WEIGHT = 5,       // the graph names a weight that the weights do not hold
  HEED_MISSING_BUFFER = 6,       // an input or output of the plan was not given
  HEED_EXTENT_OUT_OF_RANGE = 7,  // an extent is below 1 or above the maximum it was declared with
  HEED_BUFFER_TOO_SMALL = 8,     // a buffer holds fewer bytes or elements than are needed
  HEED_INDEX_OUT_OF_RANGE =
      9,                // an embedding id lies outside its table, a place of append or take behind the end, or an index
                        // of this interface is too large
  HEED_NOT_FOUND = 10,  // no device, file or name matches
  HEED_UNSUPPORTED = 11,    // valid, but this device or this version cannot do it
  HEED_OUT_OF_MEMORY = 12,  // host memory
  HEED_OUT_OF_DEVICE_MEMORY = 13,
  HEED_DEVICE_LOST = 14,   // the GPU stopped; the same graph can be compiled for the CPU
  HEED_INVALID_FILE = 15,  // damaged or hostile file content
  HEED_DRIVER_ERROR = 16,  // Vulkan returned an error that has no closer name here
  HEED_NOT_READY = 17,     // some pipelines of the plan were not made yet; see heed_plan_prepare
  HEED_FILE_ERROR = 18     // a file cannot be written: the disk is full, or the folder is not there
};
// The name, e.g. "ShapeMismatch"; "?" for other numbers. Static.
HEED_API const char* heed_status_text(heed_status status);

// The message of the last call on this thread that failed: operation, names, both values. "" if none has failed. Never NULL;
// valid until the next failure on this thread.
HEED_API const char* heed_last_message(void);

enum { HEED_LOG_DEBUG = 0, HEED_LOG_INFO = 1, HEED_LOG_WARNING = 2, HEED_LOG_ERROR = 3 };

// Where messages go, beside heed_last_message(). `message` is valid during the call. The callback must not call heed, and
// what `user` points to must live until everything that was made with this log is destroyed.
typedef struct heed_log {
  void (*callback)(void* user, int32_t level, const char* message);
  void* user;
  int32_t minimum;     // the least HEED_LOG_* that is told
  int32_t any_thread;  // 1: heed's own threads call, too; 0: only the threads that call heed, within their calls
} heed_log;

// Storage types. Arithmetic on F16 and BF16 is always done in F32. Those from Q8_0 on are quantized, byte for byte as in GGUF
// files: 32 or 256 neighbours along the innermost axis share their scales. Only weights have such types.
typedef int32_t heed_dtype;
enum {
  HEED_DTYPE_DEFAULT = 0,  // what the place says; HEED_F32 where it says nothing
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
// "f32", "f16", ..., "q6_k"; "?" for other numbers. Static.
HEED_API const char* heed_dtype_text(heed_dtype dtype);
// Bytes of so many neighbours, a whole number of blocks of quantized types; 0 if `dtype` is none.
HEED_API uint64_t heed_dtype_bytes(heed_dtype dtype, uint64_t elements);

// The most dimensions of a tensor.
enum { HEED_MAX_RANK = 5 };

// A number of one graph that each run gives: see heed_graph_extent.
typedef struct heed_extent_value {
  const char* name;
  int64_t value;
} heed_extent_value;

// Handles.
typedef struct heed_blob heed_blob;                          // bytes that a call gives
typedef struct heed_device heed_device;                      // device.h: where graphs run
typedef struct heed_device_list heed_device_list;            // device.h: what devices a machine has
typedef struct heed_weights heed_weights;                    // device.h: named tensors on a device
typedef struct heed_self_test_report heed_self_test_report;  // device.h
typedef struct heed_tuning_report heed_tuning_report;        // device.h
typedef struct heed_bits_report heed_bits_report;            // device.h
typedef struct heed_graph heed_graph;                        // graph.h: operations on tensors
typedef struct heed_plan heed_plan;                          // plan.h: a graph compiled for one device
typedef struct heed_run heed_run;                      // plan.h: a run that goes on while the host does something else
typedef struct heed_state heed_state;                  // state.h: tensors that stay from run to run
typedef struct heed_checkpoint heed_checkpoint;        // files.h: named tensors in files
typedef struct heed_decoder_model heed_decoder_model;  // models.h: a language model's network and weights in files
typedef struct heed_tokenizer heed_tokenizer;          // text.h
typedef struct heed_attention_map heed_attention_map;  // text.h: what tokens looked at
typedef struct heed_text_encoder heed_text_encoder;    // text.h: texts become vectors
typedef struct heed_text_generator heed_text_generator;  // text.h: a language model on a device
typedef struct heed_conversation heed_conversation;      // text.h: messages or a raw text, with keys and values
typedef struct heed_optimizer heed_optimizer;            // train.h: changes weights that live in a state
typedef struct heed_submitter heed_submitter;            // vulkan.h: records and submits

// A blob holds a text, or something to keep in a file. Behind its bytes lies a 0 that does not count.
//
// NULL, with a message, if the handle is none. Valid until the blob is destroyed.
HEED_API const void* heed_blob_data(heed_blob* blob);
HEED_API size_t heed_blob_size(heed_blob* blob);  // 0 if the handle is none
HEED_API heed_status heed_blob_destroy(heed_blob* blob);

#ifdef __cplusplus
}
#endif

#endif
