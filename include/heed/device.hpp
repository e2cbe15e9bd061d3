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

// Lets the CPU device use the host's threads: must call task(context, i) once for every i in 0..count-1, from
// any threads, and return when all are done. Must be callable from several threads at once if plans are.
struct ParallelFor {
  void (*run)(void* user, uint32_t count, void (*task)(void* context, uint32_t index), void* context) = nullptr;
  void* user = nullptr;
};

enum class DeviceKind : uint8_t { Cpu, DiscreteGpu, IntegratedGpu, VirtualGpu, SoftwareGpu, OtherGpu };

struct DeviceInfo {
  DeviceKind kind = DeviceKind::Cpu;
  std::string word;    // one word, unique on this machine: "cpu", "vulkan:llvmpipe", "vulkan:llvmpipe#2"
  std::string name;    // as the driver or CPU reports it
  std::string driver;  // driver name and version; empty for the CPU
  std::string api;     // "Vulkan 1.3.230"; empty for the CPU
  bool usable = true;  // meets the portability floor
  std::string reason;  // why not usable, or what heed will and will not use and why; several lines
  // (name, value) pairs of the limits that heed looks at.
  std::vector<std::pair<std::string, std::string>> limits;
};

struct DeviceOptions {
  // "": the best, where the CPU device comes after GPUs and before software drivers. "cpu": the CPU device. Digits:
  // index into Device::list. Otherwise any part of DeviceInfo::word or name, case-insensitive; the first match counts.
  std::string_view select = {};
  Log log = {};
  uint32_t threads = 0;                            // CPU device: 0 = one per hardware thread
  ParallelFor parallel_for = {};                   // CPU device: the host's threads instead of heed's own
  std::span<const std::byte> pipeline_cache = {};  // a blob from Device::pipeline_cache; checked, may be stale
  bool validation = false;   // Vulkan: enable the Khronos validation layer with synchronization validation
  bool debug_labels = true;  // Vulkan: label passes and name objects if VK_EXT_debug_utils is there
  bool self_test = true;     // compare a small graph with the CPU before a GPU is accepted
  // SelfTestReport::blob of an earlier start (<heed/self_test.hpp>). If it is of this device, driver and version of
  // heed, kernels that failed are not used, and the small graph above is not run again if none did.
  std::span<const std::byte> self_test_results = {};
};

// A tensor in host memory, contiguous, row-major. Owns nothing.
struct HostTensor {
  std::string_view name;
  DType dtype = DType::F32;
  std::span<const int64_t> shape;
  std::span<const std::byte> data;
};

// How far an upload is: `done` of `total` bytes on the device, from 0 at the start to total at the end. Called from
// within upload, on its thread; must not call the device.
struct UploadProgress {
  void (*callback)(void* user, uint64_t done, uint64_t total) = nullptr;
  void* user = nullptr;
};

struct UploadOptions {
  // Floating-point tensors are converted to this storage type, F32, F16 or BF16, on the way, if keep_dtype is false.
  bool keep_dtype = true;
  DType dtype = DType::F32;
  // With keep_dtype false: `dtype` is for tensors of rank 2 and more; the others (biases, factors of norms) become F32.
  bool only_matrices = false;
  UploadProgress progress = {};
};

// Named tensors on one device. A cheap handle; copies share. Plans keep what they use alive.
class HEED_API Weights {
 public:
  bool valid() const { return impl_ != nullptr; }
  uint64_t bytes() const;  // device memory held, without the copies that plans on the CPU make (Plan::weight_bytes)
  const std::shared_ptr<detail::WeightsImpl>& impl() const { return impl_; }
  explicit Weights(std::shared_ptr<detail::WeightsImpl> impl) : impl_(std::move(impl)) {}
  Weights() = default;

 private:
  friend class Device;
  std::shared_ptr<detail::WeightsImpl> impl_;
};

// When a plan's pipelines are made: the driver translates shaders then, which may take seconds at a first start.
//   Now         by compile, which returns when all are there.
//   Deferred    by the host, on its own threads: Plan::prepare for each of Plan::pipelines.
//   Background  by one thread of heed's own that ends with the work; Plan::prepare helps it along.
// Plan::run makes what is missing first; vulkan::record does not: it returns NotReady. A failure is in the log, leaves
// the plan not ready, and is returned by prepare, which tries again.
enum class PipelineCreation : uint8_t { Now, Deferred, Background };

struct CompileOptions {
  bool training = false;    // dropout acts; otherwise it leaves no dispatch in the plan
  bool timestamps = false;  // measure GPU time per pass (Plan::timings, vulkan::record_some)
  // A plan that needs more device memory than this, weights and the CPU's copies of them not counted, is refused with
  // OutOfDeviceMemory (on the CPU: OutOfMemory) and both numbers before anything is allocated.
  uint64_t memory_limit = UINT64_MAX;
  // Vulkan: allocate no scratch; the host gives it (vulkan::bind_scratch) before the plan is recorded or run. The CPU
  // device has its own all the same.
  bool host_scratch = false;
  // How many recordings of this plan may be in flight at once, 1 to 16. Memory for scratch is not multiplied: the host
  // orders them, or compiles several plans.
  uint32_t record_slots = 2;
  PipelineCreation pipelines = PipelineCreation::Now;
  // Vulkan: note each finished pass in host-visible memory, so that the last one can be named when the device is lost
  // (run says it in the log; vulkan::last_completed). Costs a fill of 4 bytes per pass, which waits for the passes
  // before it but holds up none after it: for finding faults, not for the shipped game.
  bool progress = false;
};

// A cheap handle; copies share the device, and plans and weights keep it alive. Calls are thread-safe; upload
// and compile on one device are serialized by heed.
class HEED_API Device {
 public:
  static Status open(const DeviceOptions& options, Device* device);
  // Every device of this machine, the CPU last. Never fails for want of Vulkan.
  static Status list(const DeviceOptions& options, std::vector<DeviceInfo>* devices);

  bool valid() const { return impl_ != nullptr; }
  const DeviceInfo& info() const;  // the device must be valid

  // Copies tensors to the device, all or nothing. Waits until done. Sources: F32, F16, BF16, I32, U8.
  Status upload(std::span<const HostTensor> tensors, Weights* weights, const UploadOptions& options = {});
  // Exact device memory that upload would take.
  uint64_t upload_bytes(std::span<const HostTensor> tensors, const UploadOptions& options = {}) const;

  // Checks the graph, chooses kernels, lays out memory, builds pipelines. `weights` may be empty if the graph
  // names none. On failure *plan is unchanged.
  Status compile(const Graph& graph, const Weights& weights, Plan* plan, const CompileOptions& options = {});

  // The driver's pipeline cache, to be given to DeviceOptions::pipeline_cache at the next start.
  Status pipeline_cache(std::vector<std::byte>* blob) const;

  const std::shared_ptr<detail::DeviceImpl>& impl() const { return impl_; }
  explicit Device(std::shared_ptr<detail::DeviceImpl> impl) : impl_(std::move(impl)) {}
  Device() = default;

 private:
  std::shared_ptr<detail::DeviceImpl> impl_;
};

}  // namespace heed
