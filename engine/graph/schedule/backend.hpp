// Internal interfaces of devices, plans and weights behind the public handles. engine/vulkan and engine/cpu implement them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include <heed/device.hpp>
#include <heed/plan.hpp>

#include "base/logging.hpp"
#include "graph/schedule/schedule.hpp"
#include "graph/schedule/state.hpp"

namespace heed::detail {

// Whether a compiled graph has declared an uploaded tensor, or a message has reported it as unused.
struct WeightUse {
  std::string name;
  std::atomic<bool> declared{false}, told{false};
};
using WeightUses = std::vector<WeightUse>;

class WeightsImpl {
 public:
  virtual ~WeightsImpl() = default;
  virtual uint64_t bytes() const = 0;
  virtual const DeviceImpl* device() const = 0;

  using Entry = WeightEntry;
  // Null if there is no such tensor.
  const Entry* find(std::string_view name) const;

  std::vector<Entry> entries;  // sorted by name

  // The entries that compiled graphs have declared. All plans share this list; the first compile with these weights creates it.
  std::mutex uses_mutex;
  std::shared_ptr<WeightUses> uses;
};

// Validates an upload (duplicate names, sizes that do not match the data, dtypes that cannot be stored) and assigns offsets to its tensors;
// shared by all devices. Fills `entries`, sorted by name, and `order` (entry -> source). Matrices of more than `most_bytes` become one
// entry for each part.
Status place_weights(std::span<const HostTensor> tensors, const UploadOptions& options, uint64_t alignment,
                     uint64_t most_bytes, const Log& log, std::vector<WeightsImpl::Entry>* entries,
                     std::vector<size_t>* order, uint64_t* bytes);
// The rows of a source tensor that an entry holds, as a view of both.
HostTensor rows_of(const HostTensor& source, const WeightsImpl::Entry& entry);
// Writes one source tensor in its entry's dtype.
void convert_weight(const HostTensor& from, const WeightsImpl::Entry& to, std::byte* target);

// Compares the weights that a graph declares with the uploaded ones. One message names all weights of the schedule that are missing or have
// another shape. If `strict`, it also names uploaded weights that no graph has declared; otherwise the plan's first run warns of them,
// since a later graph may still declare them.
Status check_weights(const GraphData& graph, const Schedule& schedule, WeightsImpl* weights, const DeviceImpl* device,
                     bool strict, const Log& log);
// Warns once, at a plan's first run, of weights that no graph has declared by then and no message has named.
class UnusedWeights {
 public:
  void watch(std::shared_ptr<WeightUses> uses);  // at compile
  // Takes no lock and allocates nothing, since recording calls it.
  void tell(const char* call, const Log& log);

 private:
  std::shared_ptr<WeightUses> uses_;
  std::string text_;  // has capacity for all names
  std::atomic<bool> is_due_{false};
};
// The weights of a schedule that passed check_weights; element i belongs to schedule.weights[i].
std::vector<const WeightsImpl::Entry*> find_weights(const Schedule& schedule, const WeightsImpl* weights);

// Finds the host's buffer of every input and output of a schedule and checks names, types and sizes for a run with these sizes. `found` has
// the inputs, then the outputs; every one must be given. Allocates only to log a failure.
Status match_buffers(const Schedule& schedule, std::span<const HostBuffer> buffers, const RunValues& values,
                     const Log& log, std::span<const HostBuffer*> found);

class PlanImpl {
 public:
  virtual ~PlanImpl() = default;
  virtual Backend backend() const = 0;
  virtual const Log& host_log() const = 0;
  virtual const Schedule& schedule() const = 0;
  virtual Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
                     const RunOptions& options) = 0;
  // Does the work of run up to the point where it would wait. `buffers` and their memory must stay valid until finish.
  virtual Status start(std::span<const HostBuffer>, std::span<const ExtentValue>, const RunOptions&) {
    return Status::Unsupported;
  }
  // Whether finish would return without waiting for the started run. After the run's time limit it does not wait long either.
  virtual bool ended() { return true; }
  // Waits for the started run and completes it.
  virtual Status finish() { return Status::Ok; }
  // For tests: later runs fill outputs and scratch with ones before their passes. Otherwise memory may still hold the right results of an
  // earlier plan, which would hide a kernel that writes nothing.
  virtual void spoil_before_runs() {}
  virtual uint64_t state_bytes() const = 0;
  // If `memory` is null, the device allocates the State's memory; otherwise it is *memory.
  virtual Status make_state(const std::span<std::byte>* memory, std::shared_ptr<StateImpl>* state) = 0;
  virtual uint64_t scratch_bytes() const = 0;
  virtual uint64_t weight_bytes() const = 0;
  // Devices without pipelines are always ready.
  virtual uint32_t pipeline_count() const { return 0; }
  virtual std::vector<PipelineInfo> pipelines() const { return {}; }
  virtual Status prepare(uint32_t) { return refuse("prepare: the plan has no pipelines"); }
  virtual bool ready() const { return true; }
  virtual std::vector<PassInfo> passes() const = 0;
  virtual Status timings(std::vector<PassTime>* times, uint32_t slot) const = 0;

  std::atomic<bool> running{false};  // set during Plan::run, and from Plan::start until the run is done
  UnusedWeights unused;
};

class DeviceImpl : public std::enable_shared_from_this<DeviceImpl> {
 public:
  virtual ~DeviceImpl() = default;
  virtual Backend backend() const = 0;
  virtual const DeviceInfo& info() const = 0;
  virtual const Log& log() const = 0;
  virtual uint64_t weight_alignment() const = 0;
  // Larger matrices of an upload are divided into parts.
  virtual uint64_t most_weight_bytes() const { return UINT64_MAX; }
  virtual std::unique_ptr<const PlanningDevice> planning() const = 0;
  // Bytes of scratch shared by the plans of this device.
  virtual uint64_t scratch_bytes() const { return 0; }
  virtual Status upload(std::span<const HostTensor> tensors, const UploadOptions& options,
                        std::shared_ptr<WeightsImpl>* weights) = 0;
  virtual Status compile(Schedule&& schedule, std::shared_ptr<WeightsImpl> weights, const CompileOptions& options,
                         std::shared_ptr<PlanImpl>* plan) = 0;
  // Devices without pipelines return an empty blob.
  virtual Status pipeline_cache(std::vector<std::byte>* blob) const {
    blob->clear();
    return Status::Ok;
  }

  // A key for self-test results. Devices without kernels have nothing to test.
  virtual uint64_t self_test_key() const { return 0; }  // differs if device, driver or a kernel differs
  virtual std::vector<std::string> kernel_names() const { return {}; }
  virtual std::vector<std::string> disabled_kernels() const { return {}; }
  // Excludes these kernels from later compiles. No other thread may compile meanwhile.
  virtual void disable_kernels(std::span<const std::string>) {}
  // Opens the same device again after it was lost. Unsupported if heed did not open it.
  virtual Status reopen(std::shared_ptr<DeviceImpl>*) const { return Status::Unsupported; }
  // Whether passes can store results of this type.
  virtual bool supports(DType) const { return true; }
  enum class Tested : uint8_t { Unknown, Passed, Failed };
  // The verdict of an earlier self-test.
  virtual Tested tested() const { return Tested::Unknown; }
  // Whether the device was lost because a run exceeded its time limit.
  virtual bool timed_out() const { return false; }
};

}  // namespace heed::detail
