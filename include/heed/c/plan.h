// Plans: graphs compiled for one device, run with host memory. vulkan.h records them into a host's command buffers.
#ifndef HEED_C_PLAN_H
#define HEED_C_PLAN_H

#include <heed/c/base.h>
#include <heed/c/state.h>

#ifdef __cplusplus
extern "C" {
#endif

HEED_API heed_status heed_plan_destroy(heed_plan* plan);

// --- Running ---------------------------------------------------------------------------------------------------

// Host memory of a named input or output, contiguous and row-major; `bytes` may be more than the tensor needs.
typedef struct heed_input {
  const char* name;
  const void* data;
  size_t bytes;
  heed_dtype dtype;  // DTypeMismatch if the graph has another one; HEED_DTYPE_DEFAULT: not checked
  int32_t reserved;  // 0
} heed_input;
// Host memory for a named output; see heed_input.
typedef struct heed_output {
  const char* name;
  void* data;
  size_t bytes;
  heed_dtype dtype;
  int32_t reserved;  // 0
} heed_output;

// The arguments of a run.
typedef struct heed_run_info {
  size_t size;
  const heed_input* inputs;  // every input of the graph once, and nothing else
  size_t input_count;
  const heed_output* outputs;  // every output of the graph once
  size_t output_count;
  const heed_extent_value* extents;  // every extent once; a position that is not given is 0
  size_t extent_count;
  heed_state* state;    // for plans whose graph has states; else NULL
  uint32_t seed;        // the key of sample, and of dropout in training plans
  uint32_t timeout_ms;  // Vulkan: after this time the GPU counts as lost; 0: ten minutes
} heed_run_info;

// Copies inputs in, runs, waits, and copies outputs out; the CPU uses the memory in place where it can. An output may lie in the memory of
// inputs, but not of another output. Results have the same bits at every run.
//
// MissingBuffer, NotFound, DTypeMismatch, BufferTooSmall, ExtentOutOfRange: an input, output or extent is wrong. IndexOutOfRange: an
// embedding id was outside its table, or an index of append or take beyond the end; outputs and states are written. InvalidArgument:
// another run uses the plan or the state.
HEED_API heed_status heed_plan_run(heed_plan* plan, const heed_run_info* info);

// Begins a run and returns at once. Until the run is over, the memory of inputs and outputs must stay where it is, inputs must not change,
// and nobody may read or write outputs; names, extents and `info` itself are read during the call only. Vulkan submits within the call. On
// the CPU, heed's own thread or heed_parallel_for::start runs it.
HEED_API heed_status heed_plan_start(heed_plan* plan, const heed_run_info* info, heed_run** run);
// *done becomes 1 if the run is over; does not wait.
HEED_API heed_status heed_run_done(heed_run* run, int32_t* done);
// Waits until the run is over and outputs are filled. Returns what heed_plan_run would have returned, at every call.
HEED_API heed_status heed_run_wait(heed_run* run);
// Waits as heed_run_wait does.
HEED_API heed_status heed_run_destroy(heed_run* run);

// --- Queries ---------------------------------------------------------------------------------------------------

// Every extent of the plan with its maximum, to run it at its largest. Names are valid until the plan is destroyed.
HEED_API heed_status heed_plan_largest_extents(heed_plan* plan, heed_extent_value* extents, size_t capacity,
                                               size_t* count);

// Bytes that one run needs at the extents' maxima, exact.
HEED_API heed_status heed_plan_scratch_bytes(heed_plan* plan, uint64_t* bytes);
// Bytes of the weights that the plan reads, in the forms in which it reads them; plans of the same weights share them.
HEED_API heed_status heed_plan_weight_bytes(heed_plan* plan, uint64_t* bytes);
HEED_API heed_status heed_plan_state_bytes(heed_plan* plan, uint64_t* bytes);  // exact size of a state

// One pass, with the kernel that was chosen for it, and why. Numbers are for the extents' maxima. Texts are valid until the
// plan is destroyed.
typedef struct heed_pass_info {
  size_t size;
  const char* label;   // "encoder.0.attention.softmax"
  const char* op;      // "matmul", "softmax", ...
  const char* kernel;  // e.g. "matmul_f32" or "cpu"
  const char* why;     // the reason for the kernel and its precision
  double flops;
  double bytes;         // read and written: every operand once
  double fewest_bytes;  // the part of `bytes` that would remain if all passes were fused
  heed_dtype dtype;
  uint32_t dispatches;
} heed_pass_info;
HEED_API size_t heed_plan_pass_count(heed_plan* plan);  // 0 if the handle is invalid
HEED_API heed_status heed_plan_pass(heed_plan* plan, size_t index, heed_pass_info* info);
// The times of the passes in the last finished run, in milliseconds, one for each pass; on Vulkan those of the recording of `slot`.
// Unsupported: the plan was compiled without timestamps. InvalidArgument: no run has finished.
HEED_API heed_status heed_plan_timings(heed_plan* plan, uint32_t slot, double* milliseconds, size_t capacity,
                                       size_t* count);

// The compute pipelines of the plan, known when compile returns even if they are made later. None on the CPU. Any number of threads may
// call these at the same time.
typedef struct heed_pipeline_info {
  size_t size;
  const char* name;  // kernel and constants; valid until the plan is destroyed
  int32_t ready;     // 1: it exists
  int32_t reserved;
} heed_pipeline_info;
HEED_API size_t heed_plan_pipeline_count(heed_plan* plan);  // 0 if the handle is invalid
HEED_API heed_status heed_plan_pipeline(heed_plan* plan, size_t index, heed_pipeline_info* info);
// Makes a pipeline, waits for the thread that is making it, or returns at once if it exists.
HEED_API heed_status heed_plan_prepare(heed_plan* plan, uint32_t index);
// *ready becomes 1 if all pipelines exist.
HEED_API heed_status heed_plan_ready(heed_plan* plan, int32_t* ready);

#ifdef __cplusplus
}
#endif

#endif
