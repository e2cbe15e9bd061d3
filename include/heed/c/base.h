// Status, messages, types and blobs. heed.h has the rules for all parts.
#ifndef HEED_C_BASE_H
#define HEED_C_BASE_H

#include <stddef.h>
#include <stdint.h>

#include <heed/c/enums.h>
#include <heed/export.hpp>  // HEED_API; lines of the preprocessor only

#ifdef __cplusplus
extern "C" {
#endif

// The version of these headers. heed_version() gives that of the library, as HEED_VERSION_NUMBER does.
#define HEED_VERSION_MAJOR 0
#define HEED_VERSION_MINOR 1
#define HEED_VERSION_PATCH 0
#define HEED_VERSION_NUMBER (HEED_VERSION_MAJOR * 1000000 + HEED_VERSION_MINOR * 1000 + HEED_VERSION_PATCH)
HEED_API uint32_t heed_version(void);
// 1 if the library was built with its Vulkan device. Without it, calls that need one return HEED_UNSUPPORTED.
HEED_API int32_t heed_has_vulkan(void);

// The name of a status, e.g. "ShapeMismatch"; "?" for other numbers. Static.
HEED_API const char* heed_status_text(heed_status status);

// The message of the last call on this thread that failed: operation, names, both values. "" if none has failed. Never NULL;
// valid until the next failure on this thread.
HEED_API const char* heed_last_message(void);

// Where messages go in addition to heed_last_message(). `message` is valid during the call. The callback must not call heed, and what
// `user` points to must live until everything that was made with this log is destroyed.
typedef struct heed_log {
  void (*callback)(void* user, int32_t level, const char* message);
  void* user;
  int32_t minimum;     // the least HEED_LOG_* that is reported
  int32_t any_thread;  // 1: heed's own threads call, too; 0: only the threads that call heed, within their calls
} heed_log;

// Not a heed_dtype: stands for the default that is documented where it is used, HEED_F32 if none is.
enum { HEED_DTYPE_DEFAULT = -1 };
// "f32", "f16", ..., "q6_k"; "?" for other numbers. Static.
HEED_API const char* heed_dtype_text(heed_dtype dtype);
// Bytes of this many neighbours, a whole number of blocks for quantized types; 0 if `dtype` is not a heed_dtype.
HEED_API uint64_t heed_dtype_bytes(heed_dtype dtype, uint64_t elements);

// The most dimensions of a tensor.
enum { HEED_MAX_RANK = 6 };

// One value in one graph. 0 is no tensor, and stands for an optional one that is not given.
typedef uint64_t heed_tensor;
// A size. Numbers from 0 on are constants. Negative numbers, which heed_graph_extent, position and sum return, stand for a size of their
// graph that each run gives.
typedef int64_t heed_dim;

// The value of an extent or position at a run: see heed_graph_extent.
typedef struct heed_extent_value {
  const char* name;
  int64_t value;
} heed_extent_value;

// Handles.
typedef struct heed_blob heed_blob;                          // bytes that a call returns
typedef struct heed_device heed_device;                      // device.h: where graphs run
typedef struct heed_device_list heed_device_list;            // device.h: the devices of a machine
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
typedef struct heed_onnx_model heed_onnx_model;        // onnx.h: a network in an ONNX file
typedef struct heed_tokenizer heed_tokenizer;          // text.h
typedef struct heed_attention_map heed_attention_map;  // text.h: the attention weights of tokens
typedef struct heed_text_encoder heed_text_encoder;    // text.h: turns texts into vectors
typedef struct heed_text_generator heed_text_generator;        // text.h: a language model on a device
typedef struct heed_conversation heed_conversation;            // text.h: messages or a raw text, with keys and values
typedef struct heed_speech_recognizer heed_speech_recognizer;  // speech.h: a speech model on a device
typedef struct heed_speech_stream heed_speech_stream;          // speech.h: incoming sound and its text
typedef struct heed_speech_text heed_speech_text;              // speech.h: recognized text, with times
typedef struct heed_optimizer heed_optimizer;                  // train.h: updates weights that are stored in a state
typedef struct heed_submitter heed_submitter;                  // vulkan.h: records and submits

// Lets the CPU device use the host's threads. `run` must call task(context, i) once for every i in 0 .. count - 1, from any
// threads, and return when all calls are done. If plans run on several threads at once, so does `run`. For
// heed_plan_start, `start` must return at once and have task(context) called once, now or later, from any thread; NULL: started
// runs are Unsupported. Functions and `user` must live until all that was made with the device is destroyed.
typedef struct heed_parallel_for {
  void (*run)(void* user, uint32_t count, void (*task)(void* context, uint32_t index), void* context);
  void* user;
  void (*start)(void* user, void (*task)(void* context), void* context);
} heed_parallel_for;

// A blob holds a text, or data to keep in a file. A 0 follows its bytes and is not counted in its size.
//
// NULL, with a message, if the handle is invalid. The data is valid until the blob is destroyed.
HEED_API const void* heed_blob_data(heed_blob* blob);
HEED_API size_t heed_blob_size(heed_blob* blob);  // 0 if the handle is invalid
HEED_API heed_status heed_blob_destroy(heed_blob* blob);

#ifdef __cplusplus
}
#endif

#endif
