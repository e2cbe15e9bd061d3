// Devices, and weights that are stored there.
#ifndef HEED_C_DEVICE_H
#define HEED_C_DEVICE_H

#include <heed/c/options.h>

#ifdef __cplusplus
extern "C" {
#endif

// --- Opening ---------------------------------------------------------------------------------------------------

// NotFound: no device matches. `options` may be NULL.
HEED_API heed_status heed_device_open(const heed_device_options* options, heed_device** device);
HEED_API heed_status heed_device_destroy(heed_device* device);

// Texts are valid until the device or list that returned them is destroyed.
typedef struct heed_device_info {
  size_t size;
  const char* word;           // one word, unique on this machine: "cpu", "vulkan:llvmpipe"
  const char* name;           // as the driver or CPU reports it
  const char* driver;         // driver name and version; "" for the CPU
  const char* api;            // "Vulkan 1.3.230"; "" for the CPU
  const char* reason;         // several lines: why the device is not usable, or which features heed uses, which not,
                              // and why
  const char* const* limits;  // name, value, name, value, ...: the limits that heed looks at
  size_t limit_count;         // number of pairs
  int32_t kind;               // HEED_DEVICE_*
  int32_t usable;             // 1: it meets the portability floor
} heed_device_info;
HEED_API heed_status heed_device_get_info(heed_device* device, heed_device_info* info);

// Every device of this machine, the CPU last. Without Vulkan, that is the CPU alone.
HEED_API heed_status heed_device_list_create(const heed_device_options* options, heed_device_list** list);
HEED_API size_t heed_device_list_count(heed_device_list* list);  // 0 if the handle is invalid
HEED_API heed_status heed_device_list_get_info(heed_device_list* list, size_t index, heed_device_info* info);
HEED_API heed_status heed_device_list_destroy(heed_device_list* list);

// The driver's pipeline cache, for heed_device_options::pipeline_cache. Empty on the CPU, and where the driver keeps none.
HEED_API heed_status heed_device_pipeline_cache(heed_device* device, heed_blob** blob);
// CPU device: bytes of the scratch that its plans share now. 0 on Vulkan, where plans have scratch of their own or the host's.
HEED_API heed_status heed_device_scratch_bytes(heed_device* device, uint64_t* bytes);

// --- Weights ---------------------------------------------------------------------------------------------------

// A tensor in host memory, contiguous, row-major, outermost size first. Quantized types: rows are whole blocks.
typedef struct heed_host_tensor {
  const char* name;
  const int64_t* shape;
  size_t rank;  // 0 to HEED_MAX_RANK
  const void* data;
  size_t bytes;  // exactly what shape and dtype require
  heed_dtype dtype;
  int32_t reserved;  // 0
} heed_host_tensor;

// Copies tensors to the device, all or none, and waits until they are there. Names must differ. Callbacks of the options run within the
// call, on its thread, and must not call heed. Several threads may call this at the same time.
HEED_API heed_status heed_device_upload(heed_device* device, const heed_host_tensor* tensors, size_t count,
                                        const heed_upload_options* options, heed_weights** weights);
// The exact device memory that an upload would take, in bytes, before plans on the CPU pack any weights.
HEED_API heed_status heed_device_upload_bytes(heed_device* device, const heed_host_tensor* tensors, size_t count,
                                              const heed_upload_options* options, uint64_t* bytes);
// Current memory of the tensors, in bytes; on the CPU it changes as plans are compiled, which pack what they read.
HEED_API heed_status heed_weights_bytes(heed_weights* weights, uint64_t* bytes);
HEED_API heed_status heed_weights_destroy(heed_weights* weights);

// --- Compiling -------------------------------------------------------------------------------------------------

// Checks the graph, chooses kernels, lays out memory, makes pipelines. `weights` may be NULL if the graph names none. The graph
// may be changed or destroyed afterwards. Returns the graph's first mistake, MissingWeight, Unsupported, OutOfDeviceMemory, ...
HEED_API heed_status heed_device_compile(heed_device* device, heed_graph* graph, heed_weights* weights,
                                         const heed_compile_options* options, heed_plan** plan);

// --- Self-test and tuning ----------------------------------------------------------------------------------------

// Runs every kernel that heed would use on the device and compares the results with the CPU's, which takes seconds. Kernels that fail are
// no longer used. `time_limit_ms` is for one run of one kernel; 0: ten seconds on a GPU, a minute on a software driver. No other thread may
// compile on the device meanwhile.
// HEED_DEVICE_LOST: an adopted device was lost; the report then has the results so far. *report is NULL after other failures. On the CPU
// the report is empty.
HEED_API heed_status heed_device_self_test(heed_device* device, uint32_t time_limit_ms, heed_self_test_report** report);

// Texts are valid until the report is destroyed.
typedef struct heed_kernel_test {
  size_t size;
  const char* kernel;
  const char* detail;  // what went wrong, or ""
  double worst;        // the largest error of all runs, divided by the error that is allowed
  int32_t verdict;     // HEED_SELF_TEST_*
  uint32_t runs;       // number of runs with right results
} heed_kernel_test;
// The number of kernels; 0 if the handle is invalid.
HEED_API size_t heed_self_test_report_count(heed_self_test_report* report);
// Writes the result for kernel number `index` to *kernel. HEED_INDEX_OUT_OF_RANGE: there is none.
HEED_API heed_status heed_self_test_report_kernel(heed_self_test_report* report, size_t index,
                                                  heed_kernel_test* kernel);
// 1: no kernel is wrong, failed or timed out; 0: one is, or the handle is invalid.
HEED_API int32_t heed_self_test_report_passed(heed_self_test_report* report);
// The results, for heed_device_options::self_test_results and heed_host_device::self_test_results of later starts.
HEED_API heed_status heed_self_test_report_blob(heed_self_test_report* report, heed_blob** blob);
HEED_API heed_status heed_self_test_report_destroy(heed_self_test_report* report);

// Times the kernels for matmuls and attention, in at most about `time_limit_ms` (0: ten seconds). Plans that are compiled later use the
// fastest ones. No other thread may compile on the device meanwhile. Unsupported: the device has no timestamps. On the CPU the report is
// empty.
HEED_API heed_status heed_device_tune(heed_device* device, uint32_t time_limit_ms, heed_tuning_report** report);
// Uses the results of an earlier start. InvalidFile: no tuning, or damaged. Unsupported: of another device, driver or version.
HEED_API heed_status heed_device_use_tuning(heed_device* device, const void* blob, size_t bytes);

// The result for one size: a matmul [m, k] x [k, n], or an attention. Texts are valid until the report is destroyed.
typedef struct heed_tuned {
  size_t size;
  const char* usual;    // the kernel that estimates choose
  const char* fastest;  // the same as `usual` if nothing is clearly faster
  double usual_ms;      // GPU time, median
  double fastest_ms;
  int64_t m, n, k;                          // sizes of a matmul
  int64_t queries, keys, heads, head_size;  // sizes of an attention
  heed_dtype dtype;
  int32_t is_attention;  // 1: an attention, 0: a matmul
  int32_t transpose_b;   // 1: b of a matmul is stored as [n, k]
  uint32_t variants;     // how many kernels and tilings were timed
} heed_tuned;
HEED_API size_t heed_tuning_report_count(heed_tuning_report* report);  // 0 if the handle is invalid
HEED_API heed_status heed_tuning_report_get(heed_tuning_report* report, size_t index, heed_tuned* tuned);
HEED_API heed_status heed_tuning_report_blob(heed_tuning_report* report, heed_blob** blob);
HEED_API heed_status heed_tuning_report_destroy(heed_tuning_report* report);

// --- The same bits on every device ------------------------------------------------------------------------------

// Runs every operation that plans with heed_compile_options::reproducible may have, on fixed values, and gives a fingerprint of each, which
// two machines can compare. Most of the time goes to compiling kernels, which takes software drivers seconds. Unsupported: the device
// cannot promise the bits; the message says what it lacks.
HEED_API heed_status heed_device_operation_bits(heed_device* device, heed_bits_report** report);

// `operation` is valid until the report is destroyed.
typedef struct heed_operation_bits {
  size_t size;
  const char* operation;  // "softmax", ...
  uint64_t bits;          // the fingerprint of the results on this device
  uint64_t known;         // the fingerprint that every device must give in this version of heed
} heed_operation_bits;
HEED_API size_t heed_bits_report_count(heed_bits_report* report);  // number of operations; 0 if the handle is invalid
HEED_API heed_status heed_bits_report_get(heed_bits_report* report, size_t index, heed_operation_bits* bits);
HEED_API heed_status heed_bits_report_destroy(heed_bits_report* report);

#ifdef __cplusplus
}
#endif

#endif
