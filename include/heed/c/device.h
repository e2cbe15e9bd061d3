// Devices, and weights that are resident there.
#ifndef HEED_C_DEVICE_H
#define HEED_C_DEVICE_H

#include <heed/c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- Opening ---------------------------------------------------------------------------------------------------

// Lets the CPU device use the host's threads. `run` must call task(context, i) once for every i in 0 .. count - 1, from any
// threads, and return when all calls are done. If plans run on several threads at once, so does `run`. For
// heed_plan_start, `start` must return at once and have task(context) called once, now or later, from any thread; NULL: started
// runs are Unsupported. Functions and `user` must live until all that was made with the device is destroyed.
typedef struct heed_parallel_for {
  void (*run)(void* user, uint32_t count, void (*task)(void* context, uint32_t index), void* context);
  void* user;
  void (*start)(void* user, void (*task)(void* context), void* context);
} heed_parallel_for;

typedef struct heed_device_options {
  size_t size;
  // NULL or "": the best device: GPUs come first, then the CPU device, then software drivers. "cpu": the CPU device. A number: an
  // index into the list. Any other text: a part of a device's word or name, in upper or lower case.
  const char* select;
  const heed_log* log;           // NULL: none; copied
  const char* cpu_instructions;  // CPU device: "avx2", "neon", "scalar", ... instead of the best
  const char* vulkan_loader;     // a library file instead of the system's Vulkan loader
  const void* pipeline_cache;    // of heed_device_pipeline_cache at an earlier start; checked, may be stale
  size_t pipeline_cache_bytes;
  const void* self_test_results;  // of heed_self_test_report_blob at an earlier start
  size_t self_test_results_bytes;
  const heed_parallel_for* parallel_for;  // CPU device: the host's threads instead of heed's own; copied
  uint32_t threads;                       // CPU device: how many, the caller's included; 0: one per hardware thread
  int32_t validation;                     // Vulkan: enable the Khronos validation layer
  int32_t no_debug_labels;                // Vulkan: do not label passes and name objects
  int32_t no_self_test;                   // accept a GPU without comparing a small graph with the CPU
} heed_device_options;

// NotFound: no device matches. `options` may be NULL.
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

// Texts are valid until the device or the list that told them is destroyed.
typedef struct heed_device_info {
  size_t size;
  const char* word;           // one word, unique on this machine: "cpu", "vulkan:llvmpipe"
  const char* name;           // as the driver or CPU reports it
  const char* driver;         // driver name and version; "" for the CPU
  const char* api;            // "Vulkan 1.3.230"; "" for the CPU
  const char* reason;         // lines: why the device is not usable, or what heed uses of it, what not, and why
  const char* const* limits;  // name, value, name, value, ...: the limits that heed looks at
  size_t limit_count;         // of pairs
  int32_t kind;               // HEED_DEVICE_*
  int32_t usable;             // 1: it meets the portability floor
} heed_device_info;
HEED_API heed_status heed_device_get_info(heed_device* device, heed_device_info* info);

// Every device of this machine, the CPU last. Without Vulkan, that is the CPU alone.
HEED_API heed_status heed_device_list_create(const heed_device_options* options, heed_device_list** list);
HEED_API size_t heed_device_list_count(heed_device_list* list);  // 0 if the handle is none
HEED_API heed_status heed_device_list_get_info(heed_device_list* list, size_t index, heed_device_info* info);
HEED_API heed_status heed_device_list_destroy(heed_device_list* list);

// The driver's pipeline cache, for heed_device_options::pipeline_cache. Empty on the CPU, and where the driver keeps none.
HEED_API heed_status heed_device_pipeline_cache(heed_device* device, heed_blob** blob);
// CPU device: the scratch that its plans share now. 0 on Vulkan, where plans have scratch of their own or the host's.
HEED_API heed_status heed_device_scratch_bytes(heed_device* device, uint64_t* bytes);

// --- Weights ---------------------------------------------------------------------------------------------------

// A tensor in host memory, contiguous, row-major, outermost size first. Quantized types: rows are whole blocks.
typedef struct heed_host_tensor {
  const char* name;
  const int64_t* shape;
  size_t rank;  // 0 to HEED_MAX_RANK
  const void* data;
  size_t bytes;  // exactly what shape and dtype need
  heed_dtype dtype;
  int32_t reserved;  // 0
} heed_host_tensor;

// Callbacks run within the upload, on its thread, and must not call heed.
typedef struct heed_upload_options {
  size_t size;
  // Not HEED_DTYPE_DEFAULT: floating-point and quantized tensors are converted to it: F32, F16 or BF16.
  heed_dtype dtype;
  // 1: only tensors of rank 2 and more are converted to `dtype`; others (biases, factors of norms) become F32.
  int32_t only_matrices;
  // Tells how far the upload is, in bytes, from 0 to `total`.
  void (*progress)(void* user, uint64_t done, uint64_t total);
  void* progress_user;
  // Tells that these bytes of a tensor were read and are not read again.
  void (*release)(void* user, const void* data, size_t bytes);
  void* release_user;
} heed_upload_options;

// Copies tensors to the device, all or none, and waits until they are there. Names must differ. Threads may do this beside each other.
HEED_API heed_status heed_device_upload(heed_device* device, const heed_host_tensor* tensors, size_t count,
                                        const heed_upload_options* options, heed_weights** weights);
// The exact device memory that this would take, before plans on the CPU pack any of it.
HEED_API heed_status heed_device_upload_bytes(heed_device* device, const heed_host_tensor* tensors, size_t count,
                                              const heed_upload_options* options, uint64_t* bytes);
// Memory of the tensors now; on the CPU it changes as plans are compiled, which pack what they read.
HEED_API heed_status heed_weights_bytes(heed_weights* weights, uint64_t* bytes);
HEED_API heed_status heed_weights_destroy(heed_weights* weights);

// --- Compiling -------------------------------------------------------------------------------------------------

// Who makes a plan's pipelines: compile, before it returns; the host's threads by heed_plan_prepare; a thread of heed.
enum { HEED_PIPELINES_NOW = 0, HEED_PIPELINES_DEFERRED = 1, HEED_PIPELINES_BACKGROUND = 2 };

typedef struct heed_compile_options {
  size_t size;
  uint64_t memory_limit;  // bytes of device memory that the plan may need at most; 0: no limit
  int32_t training;       // 1: dropout acts
  int32_t timestamps;     // 1: measure the time of each pass; heed_plan_timings
  int32_t host_scratch;   // Vulkan, 1: the host gives scratch by heed_plan_bind_scratch
  uint32_t record_slots;  // how many recordings may be in flight at once, 1 to 16; 0: 2
  int32_t pipelines;      // HEED_PIPELINES_*
  int32_t round_rows;     // 1: products with quantized weights may round rows, to 8 bits or f16, where that is faster
  int32_t progress;  // Vulkan, 1: note each finished pass, so that the last one can be named when the device is lost
  int32_t reproducible;  // 1: the same bits on every device; HEED_UNSUPPORTED where that cannot be promised
  // Vulkan, 1: products of f32, also by quantized weights, may run on matrix units as three products of f16;
  // <heed/device.hpp> has the bound of their error.
  // It has 64 bits, so that no byte of the struct is without a name.
  int64_t emulate_f32;
} heed_compile_options;

// Checks the graph, chooses kernels, lays out memory, makes pipelines. `weights` may be NULL if the graph names none. The graph
// may be changed or destroyed afterwards. Returns the graph's first mistake, MissingWeight, Unsupported, OutOfDeviceMemory, ...
HEED_API heed_status heed_device_compile(heed_device* device, heed_graph* graph, heed_weights* weights,
                                         const heed_compile_options* options, heed_plan** plan);

// --- Drivers that nobody tested, and measured choice of kernels ------------------------------------------------

// Runs every kernel that heed would use on the device and compares the results with the CPU's, which takes seconds. Kernels that fail
// are not used any more. `time_limit_ms` is for one run of one kernel; 0: ten seconds. No other thread may compile on the
// device meanwhile. HEED_DEVICE_LOST: an adopted device was lost; the report then has the results so far. *report is NULL
// after other failures. On the CPU the report is empty.
HEED_API heed_status heed_device_self_test(heed_device* device, uint32_t time_limit_ms, heed_self_test_report** report);

enum {
  HEED_SELF_TEST_PASSED = 0,
  HEED_SELF_TEST_WRONG = 1,      // differs from the CPU by more than rounding explains
  HEED_SELF_TEST_FAILED = 2,     // the driver refused the kernel, or lost the device
  HEED_SELF_TEST_TIMED_OUT = 3,  // did not end within the limit
  HEED_SELF_TEST_UNUSED = 4      // not run: heed would not use it on this device
};
// Texts are valid until the report is destroyed.
typedef struct heed_kernel_test {
  size_t size;
  const char* kernel;
  const char* detail;  // what went wrong, or ""
  double worst;        // the largest error of all runs, divided by the error that is allowed
  int32_t verdict;     // HEED_SELF_TEST_*
  uint32_t runs;       // number of runs with right results
} heed_kernel_test;
HEED_API size_t heed_self_test_report_count(heed_self_test_report* report);  // of kernels; 0 if the handle is none
HEED_API heed_status heed_self_test_report_kernel(heed_self_test_report* report, size_t index,
                                                  heed_kernel_test* kernel);
// 1: no kernel is wrong, failed or timed out; 0: one is, or the handle is none.
HEED_API int32_t heed_self_test_report_passed(heed_self_test_report* report);
// The results, for heed_device_options::self_test_results and heed_host_device::self_test_results of later starts.
HEED_API heed_status heed_self_test_report_blob(heed_self_test_report* report, heed_blob** blob);
HEED_API heed_status heed_self_test_report_destroy(heed_self_test_report* report);

// Times the kernels that products and attention may use, in at most about `time_limit_ms` (0: ten seconds). What is compiled
// from now on uses the fastest. No other thread may compile on the device meanwhile. Unsupported: the device has no timestamps. On
// the CPU the report is empty.
HEED_API heed_status heed_device_tune(heed_device* device, uint32_t time_limit_ms, heed_tuning_report** report);
// Uses the results of an earlier start. InvalidFile: no tuning, or damaged. Unsupported: of another device, driver or version.
HEED_API heed_status heed_device_use_tuning(heed_device* device, const void* blob, size_t bytes);

// The result for one size: a product [m, k] x [k, n], or an attention. Texts are valid until the report is destroyed.
typedef struct heed_tuned {
  size_t size;
  const char* usual;    // the kernel that estimates choose
  const char* fastest;  // the same as `usual` if nothing is clearly faster
  double usual_ms;      // GPU time, median
  double fastest_ms;
  int64_t m, n, k;                          // of a product
  int64_t queries, keys, heads, head_size;  // of an attention
  heed_dtype dtype;
  int32_t is_attention;  // 1: an attention, 0: a product
  int32_t transpose_b;   // of a product: b lies in memory as [n, k]
  uint32_t variants;     // how many kernels and cuts were timed
} heed_tuned;
HEED_API size_t heed_tuning_report_count(heed_tuning_report* report);  // 0 if the handle is none
HEED_API heed_status heed_tuning_report_get(heed_tuning_report* report, size_t index, heed_tuned* tuned);
HEED_API heed_status heed_tuning_report_blob(heed_tuning_report* report, heed_blob** blob);
HEED_API heed_status heed_tuning_report_destroy(heed_tuning_report* report);

// --- The same bits on every device ------------------------------------------------------------------------------

// Runs every operation that plans with heed_compile_options::reproducible may have, on fixed values, and gives a fingerprint of
// each, which two machines can compare. Most of its time goes to compiling their kernels, which software drivers take seconds for.
// Unsupported: the device cannot promise the bits; the message says what it lacks.
HEED_API heed_status heed_device_operation_bits(heed_device* device, heed_bits_report** report);

// `operation` is valid until the report is destroyed.
typedef struct heed_operation_bits {
  size_t size;
  const char* operation;  // "softmax", ...
  uint64_t bits;          // the fingerprint of the results on this device
  uint64_t known;         // what every device must give in this version of heed
} heed_operation_bits;
HEED_API size_t heed_bits_report_count(heed_bits_report* report);  // of operations; 0 if the handle is none
HEED_API heed_status heed_bits_report_get(heed_bits_report* report, size_t index, heed_operation_bits* bits);
HEED_API heed_status heed_bits_report_destroy(heed_bits_report* report);

#ifdef __cplusplus
}
#endif

#endif
