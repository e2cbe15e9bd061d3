// Device: where a graph runs. Weights: named tensors resident there.
//
//   heed::Device device;                              // the best GPU that passes its self-test, else the CPU
//   heed::Status s = heed::Device::open({}, &device);
//   heed::Weights weights;
//   s = device.upload(tensors, &weights);
//   heed::Plan plan;
//   s = device.compile(graph, weights, &plan);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/export.hpp>
#include <heed/graph.hpp>
#include <heed/plan.hpp>
#include <heed/status.hpp>

namespace heed {

namespace detail {
class DeviceImpl;
class WeightsImpl;
}  // namespace detail

// Lets the CPU device use the host's threads. `run` must call task(context, i) once for every i in 0..count-1, from any
// threads, and return when all calls are done. If plans run on several threads at once, so does `run`.
struct ParallelFor {
  void (*run)(void* user, uint32_t count, void (*task)(void* context, uint32_t index), void* context) = nullptr;
  void* user = nullptr;
  // For Plan::start, which returns Unsupported if this is null. It must return at once, and have task(context) called once, now or later,
  // from any thread. The task does a whole run, and calls `run` for its parts. It may begin after all handles of the device were dropped,
  // and then does nothing.
  void (*start)(void* user, void (*task)(void* context), void* context) = nullptr;
};

// The kind of a device, as its driver reports it.
enum class DeviceKind : uint8_t { Cpu, DiscreteGpu, IntegratedGpu, VirtualGpu, SoftwareGpu, OtherGpu };

// One device of this machine, and what heed can do with it.
struct DeviceInfo {
  DeviceKind kind = DeviceKind::Cpu;
  std::string word;    // one word, unique on this machine: "cpu", "vulkan:llvmpipe", "vulkan:llvmpipe#2"
  std::string name;    // as the driver or CPU reports it
  std::string driver;  // driver name and version; empty for the CPU
  std::string api;     // "Vulkan 1.3.230"; empty for the CPU
  bool usable = true;  // meets the portability floor
  std::string reason;  // several lines: why the device is not usable, or which features heed uses, which not, and why
  // (name, value) pairs of the limits that heed looks at.
  std::vector<std::pair<std::string, std::string>> limits;
};

// Which device Device::open opens, and how it works.
struct DeviceOptions {
  // "" is the best device: GPUs come first, then the CPU device, then software drivers. "cpu" is the CPU device, a number is an index into
  // Device::list, and any other text is a part of DeviceInfo::word or name, in upper or lower case; the first match is opened.
  std::string_view select = {};
  Log log = {};
  uint32_t threads = 0;           // CPU device: number of threads with the caller's; 0: one per hardware thread
  ParallelFor parallel_for = {};  // CPU device: the host's threads instead of heed's own
  // CPU device: the instruction set to use instead of the best one ("avx2", "neon", "scalar", ...; DeviceInfo::limits lists them). A set
  // that the processor or this build lacks is ignored, with a warning in the log.
  std::string_view cpu_instructions = {};
  // Vulkan: a library file instead of the system's Vulkan loader. If it cannot be loaded, there is no GPU.
  std::string_view vulkan_loader = {};
  std::span<const std::byte> pipeline_cache = {};  // a blob from Device::pipeline_cache; checked, may be stale
  bool validation = false;   // Vulkan: enable the Khronos validation layer with synchronization validation
  bool debug_labels = true;  // Vulkan: label passes and name objects if VK_EXT_debug_utils is there
  // Vulkan: asks the system to prefer other programs' work on the GPU to heed's (VK_KHR_global_priority, or VK_EXT_global_priority). Where
  // the driver lacks both or refuses, the queue gets the default priority. DeviceInfo::limits has the priority of an open device ("queue
  // priority"), and DeviceInfo::reason says why it is not low.
  bool low_priority = false;
  // Vulkan: uses a queue of a family with compute and without graphics, which GPUs that draw may run beside their other work. Without such
  // a family heed uses the same queue family as otherwise; DeviceInfo::limits has its index and what it can do ("queue family").
  bool async_compute = false;
  bool self_test = true;  // compare a small graph with the CPU, unless the build lacks it, before a GPU is accepted
  // SelfTestReport::blob of an earlier start (<heed/self_test.hpp>). If it was made with this device, driver and version of heed, kernels
  // that failed then are not used. If none failed, self_test above has nothing to do.
  std::span<const std::byte> self_test_results = {};
};

// A tensor in host memory, contiguous, row-major. Owns nothing.
struct HostTensor {
  std::string_view name;
  DType dtype = DType::F32;
  std::span<const int64_t> shape;
  std::span<const std::byte> data;
};

// Reports the progress of an upload: `done` of `total` bytes, from 0 at the start to `total` at the end. The callback runs within upload,
// on its thread, and must not call the device.
struct UploadProgress {
  void (*callback)(void* user, uint64_t done, uint64_t total) = nullptr;
  void* user = nullptr;
};

// Reports that upload has read the data of a HostTensor and will not read it again, so that the host may release it. A large file and its
// copy on the device then take little more memory than the copy. Runs as UploadProgress does.
struct UploadRelease {
  void (*callback)(void* user, std::span<const std::byte> data) = nullptr;
  void* user = nullptr;
  // Calls the callback, if there is one.
  void operator()(const HostTensor& tensor) const {
    if (callback != nullptr) callback(user, tensor.data);
  }
};

// The types in which Device::upload stores tensors.
struct UploadOptions {
  // If keep_dtype is false, floating-point and quantized tensors are converted to `dtype`: F32, F16 or BF16.
  bool keep_dtype = true;
  DType dtype = DType::F32;
  // Only tensors of rank 2 and more are converted to `dtype`; others (biases, factors of norms) become F32. Needs
  // keep_dtype to be false.
  bool only_matrices = false;
  UploadProgress progress = {};
  UploadRelease release = {};
};

// Named tensors on one device. A cheap handle: copies share the tensors, and plans keep alive those that they use.
class HEED_API Weights {
 public:
  bool valid() const { return impl_ != nullptr; }
  // Current memory of the tensors, in bytes. On Vulkan it stays as uploaded. On the CPU it counts each tensor in the forms that plans read
  // (Plan::weight_bytes), and changes as plans are compiled and destroyed.
  uint64_t bytes() const;
  const std::shared_ptr<detail::WeightsImpl>& impl() const { return impl_; }
  explicit Weights(std::shared_ptr<detail::WeightsImpl> impl) : impl_(std::move(impl)) {}
  Weights() = default;

 private:
  friend class Device;
  std::shared_ptr<detail::WeightsImpl> impl_;
};

// Who creates a plan's pipelines, and when. The driver compiles the shaders then, which may take seconds at a first start.
//   Now         compile makes them, and returns when all are there.
//   Deferred    The host makes them on its own threads, by Plan::prepare for each of Plan::pipelines.
//   Background  A thread of heed makes them, and ends when they are done. Plan::prepare helps it.
// Plan::run first makes missing pipelines; vulkan::record returns NotReady if some are missing. If a pipeline cannot be made, the log says
// why and the plan is not ready; prepare returns the failure, and tries again when it is called again.
enum class PipelineCreation : uint8_t { Now, Deferred, Background };

// How Device::compile compiles a graph. The defaults suit a program that runs a trained network.
struct CompileOptions {
  bool training = false;    // dropout acts; without it, dropout leaves no dispatch in the plan
  bool timestamps = false;  // measure GPU time per pass (Plan::timings, vulkan::record_some)
  // Makes it an error (InvalidArgument) that an uploaded weight is declared neither by this graph nor by one that was compiled before with
  // the same Weights. Otherwise it is a warning at the plan's first run.
  bool strict = false;
  // A plan that needs more device memory than this many bytes is refused before anything is allocated: OutOfDeviceMemory, on the CPU
  // OutOfMemory, with both numbers in the log. Weights and States are not counted.
  uint64_t memory_limit = UINT64_MAX;
  // Vulkan: heed allocates no scratch. The host gives it (vulkan::bind_scratch) before the plan is recorded or run; several plans may share
  // one. The CPU device ignores this: its plans share scratch by themselves.
  bool host_scratch = false;
  // How many recordings of this plan may be in flight at once, 1 to 16. They share one scratch, so they must not overlap in time. On one
  // queue record orders them; on several queues the host must, or it compiles one plan for each.
  uint32_t record_slots = 2;
  PipelineCreation pipelines = PipelineCreation::Now;
  // Lets matmuls with quantized weights round the rows of a to 8 bits, as llama.cpp does. Each 32 neighbours get a scale, the largest
  // magnitude / 127, and sums inside a block of the weight are integers. The error of a result is at most the sum over k of |weight| *
  // scale / 2, beside that of f32 sums; a row with an infinite value or NaN gives NaN. Without this option the dequantized weights and the
  // unrounded rows enter the sums.
  //
  // Where it acts (PassInfo::why says so for each pass, DeviceInfo::reason for the device):
  // - The CPU device, where its instructions make it faster: x86 with AVX2 or AVX-512 (tests/bench/README.md compares both).
  // - Vulkan devices, for many rows of f32, whose drivers have integer matrix units that are deeper than those for f16, whose fragments
  //   have fewer than 16 rows (VK_KHR_cooperative_matrix with shaderInt8, for Q6_K at most 16 deep), or that have no matrix units but fast
  //   dot products of bytes (Vulkan 1.3 with shaderIntegerDotProduct, integerDotProduct4x8BitPackedSignedAccelerated).
  // - Other Vulkan devices with matrix units round many rows of f32 and the weights to f16 instead, for one f16 matmul with sums in f32.
  //   Let A and B be the largest magnitudes of finite elements of rows and weights, but at least 2^-113. The error of a result is then at
  //   most 2^-9 * (1 + 2^-11) * (sum over k of |a| |b|) + 2^-24 * k * A * B, beside that of f32 sums. The first summand is below half of
  //   the CPU's bound. For infinities and NaN, results below 2^-126 and their last bits see emulate_f32.
  //
  // A matmul that both options allow is rounded. All other operations are unchanged.
  bool round_rows = false;
  // Lets Vulkan devices with matrix units (VK_KHR_cooperative_matrix, f16 with sums in f32) use them for matmuls of many rows whose a [..,
  // m, k] is f32 and whose b [.., k, n] is f32 or quantized. Each element is split into two summands of f16, and three f16 matmuls are
  // added up in f32. Let A and B be the largest magnitudes of finite elements of a and b, but at least 2^-113. The error of an element is
  // at most
  //   2^-21 * (sum over k of |a| |b|) + 2^-38 * k * A * B,
  // beside that of sums in f32; results below 2^-126 may be 0. So elements count fully down to 2^-16 of their operand's largest one; an
  // element below 2^-39 of it may count as 0.
  //
  // If the rows of a or columns of b of a tile (32x64 to 128x128 results) hold an infinity or NaN, f32 arithmetic computes the tile, as
  // IEEE 754 defines it, which takes many times as long. The last bits of a result may depend on rows and columns beside its own.
  //
  // It pays where matrix units have more than three times the rate of f32 (tests/gpu/profile/README.md). No driver reports that, but
  // heed::tune measures it: sizes for which f32 arithmetic was clearly faster keep it. All else is unchanged: other types, few rows,
  // devices without matrix units, the CPU device. PassInfo::why says what a pass uses.
  bool emulate_f32 = false;
  // Results have the same bits on every device that can promise it, on every instruction set of the CPU, for any number of threads, any
  // batch and any split of the work. Each operation, gradients and optimizers included, sums in one order and rounds in one sequence;
  // tests/reproducible/README.md defines both. What changes:
  // - Two roundings replace a fused multiply-add. exp, tanh and division are made of additions and multiplications. Error bounds stay.
  // - Attention is computed as matmul, softmax and matmul, its gradient likewise.
  // - Tensors of f16 and bf16 are rounded to nearest even by casts and where the host sees them. Between passes they are f32, and take its
  //   memory.
  // - Values of keys with a weight below 2^-51, hidden ones among them, add nothing, even if they are infinite or NaN.
  // - round_rows and emulate_f32 have no effect.
  //
  // Unsupported, with the missing feature: a Vulkan device that does not report shaderRoundingModeRTEFloat32 and
  // shaderSignedZeroInfNanPreserveFloat32; a pass of the host's own.
  bool reproducible = false;
  // Vulkan: notes each finished pass in host-visible memory, so that the last one is known when the device is lost: run names it in the
  // log, and vulkan::last_completed returns it. Each pass then also fills 4 bytes; the fill waits for the passes before it and delays none
  // after it. For finding faults, not for a shipped game.
  bool progress = false;
};

// A cheap handle: copies share the device, and plans and weights keep it alive. Calls are thread-safe; uploads and compiles may run at the
// same time.
class HEED_API Device {
 public:
  // Opens the device that the options select, the best one by default. NotFound: none matches. Unsupported: it cannot be used; the
  // message has DeviceInfo::reason. On failure *device is unchanged.
  static Status open(const DeviceOptions& options, Device* device);
  // Lists every device of this machine, the CPU last. Without Vulkan, that is the CPU alone.
  static Status list(const DeviceOptions& options, std::vector<DeviceInfo>* devices);

  bool valid() const { return impl_ != nullptr; }
  const DeviceInfo& info() const;  // the device must be valid

  // Copies tensors of any DType to the device, all or none, and waits until they are there. A matrix that exceeds what a Vulkan device
  // binds (maxStorageBufferRange) is split into parts of some rows each. Plans can read it only as the table of Graph::embedding and the
  // weight of Graph::linear; other plans are refused (Unsupported).
  Status upload(std::span<const HostTensor> tensors, Weights* weights, const UploadOptions& options = {});
  // The exact device memory that upload would take, in bytes, before plans on the CPU pack any weights.
  uint64_t upload_bytes(std::span<const HostTensor> tensors, const UploadOptions& options = {}) const;

  // Checks the graph, chooses kernels, lays out memory, builds pipelines. `weights` may be empty if the graph names none. On failure *plan
  // is unchanged.
  //
  // One message names every weight that is missing (MissingWeight) or has another shape or type than the graph says (ShapeMismatch,
  // DTypeMismatch). At the plan's first run a warning names the uploaded weights that no graph has declared by then; see
  // CompileOptions::strict.
  Status compile(const Graph& graph, const Weights& weights, Plan* plan, const CompileOptions& options = {});

  // CPU device: bytes of the scratch that its plans share now. That is what the largest plan needs (Plan::scratch_bytes), or more if
  // several plans have run at the same time, since each of them had its own. 0 on Vulkan, where plans have scratch of their own or the
  // host's.
  uint64_t scratch_bytes() const;

  // Returns the driver's pipeline cache, for DeviceOptions::pipeline_cache of the next start. Empty on the CPU, and where
  // the driver keeps none.
  Status pipeline_cache(std::vector<std::byte>* blob) const;

  const std::shared_ptr<detail::DeviceImpl>& impl() const { return impl_; }
  explicit Device(std::shared_ptr<detail::DeviceImpl> impl) : impl_(std::move(impl)) {}
  Device() = default;

 private:
  std::shared_ptr<detail::DeviceImpl> impl_;
};

}  // namespace heed
