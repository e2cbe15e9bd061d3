// A schedule with everything needed to run it on host memory.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cpu/device/pass.hpp"
#include "cpu/device/run_queue.hpp"
#include "cpu/device/scratch_pool.hpp"
#include "cpu/device/state.hpp"
#include "cpu/device/weights.hpp"
#include "cpu/gemm/matmul.hpp"
#include "cpu/gemm/matmul_kernels.hpp"
#include "cpu/simd/kernels.hpp"
#include "graph/schedule/backend.hpp"

namespace heed::cpu {

// Data shared by a device and its plans; each of them keeps it alive.
struct Shared {
  Log log;
  ThreadPool pool;
  const Kernels& kernels;
  ScratchPool scratch;
  RunQueue queue;
  explicit Shared(const DeviceOptions& options)
      : log(options.log),
        pool(options.threads, options.parallel_for),
        kernels(choose_kernels(options.cpu_instructions, options.log)),
        queue(options.parallel_for) {}
};

class CpuPlan final : public detail::PlanImpl {
 public:
  CpuPlan(std::shared_ptr<Shared> shared, Schedule&& schedule, std::shared_ptr<CpuWeights> weights,
          const CompileOptions& options);
  ~CpuPlan() override;

  // Allocates everything that run needs, except copies of host buffers that cannot be used in place, and scratch for a run at the same time
  // as another plan's. `entries[i]` is weight i of the schedule.
  Status build(const std::vector<const detail::WeightsImpl::Entry*>& entries);

  detail::Backend backend() const override { return detail::Backend::Cpu; }
  const Log& host_log() const override { return shared_->log; }
  const Schedule& schedule() const override { return schedule_; }
  Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
             const RunOptions& options) override;
  Status start(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
               const RunOptions& options) override;
  bool ended() override { return job_.state == RunQueue::Job::State::Done; }
  Status finish() override;
  uint64_t state_bytes() const override { return state_layout_->bytes; }
  Status make_state(const std::span<std::byte>* memory, std::shared_ptr<detail::StateImpl>* state) override;
  uint64_t scratch_bytes() const override { return scratch_bytes_; }
  uint64_t weight_bytes() const override { return weight_bytes_; }
  std::vector<PassInfo> passes() const override;
  Status timings(std::vector<PassTime>* times, uint32_t slot) const override;

 private:
  using Entries = std::vector<const detail::WeightsImpl::Entry*>;
  Status allocate_scratch();
  Status bind_weights(const Entries& entries);
  Status pack_weights(const Entries& entries);
  TensorForms& forms_of(const detail::WeightsImpl::Entry& entry) const;
  Status no_memory(const char* what, const std::string& name) const;
  void place_scratch(std::byte* memory);
  std::string why(const Node& node) const;
  Pass pass(size_t index, Fault& fault) const;
  Status bind();
  Status bind_state(const detail::StateImpl* state);
  Status bind_one(size_t index, uint64_t bytes);
  bool usable_in_place(size_t index, uint64_t bytes) const;
  Status take_arguments(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
                        const RunOptions& options);
  Status execute();
  Status run_passes();
  Status report_fault(const Node& node, const Pass& pass, uint64_t position) const;
  void copy_back();

  std::shared_ptr<Shared> shared_;
  MatmulKernels matmul_;  // the device's, with other kernels for rounded rows
  Kernels kernels_;
  Schedule schedule_;
  std::shared_ptr<CpuWeights> weights_;
  CompileOptions options_;
  std::shared_ptr<const detail::StateLayout> state_layout_;
  detail::FoundStates found_states_;
  uint64_t weight_bytes_ = 0;

  // Scratch has the tensors between passes, then memory shared by the workers of a pass, then memory of each worker.
  uint64_t scratch_bytes_ = 0, shared_offset_ = 0, workers_offset_ = 0, worker_stride_ = 0;
  bool scratch_added_ = false;             // to the scratch pool
  std::byte* scratch_ = nullptr;           // scratch of the current run, or of the last one
  std::vector<std::byte*> storages_;       // by tensor id; for a weight that is read only packed, any non-null pointer
  std::vector<TensorForms::Plain> plain_;  // by weight; null if no pass reads the plain form
  std::vector<TensorForms::Packed> packed_;  // by pass; null except for matmuls with a constant b
  std::deque<TensorForms> constants_;        // lets several passes share a packed constant

  // Inputs, then outputs, of the current run.
  std::vector<const HostBuffer*> found_;
  std::span<const std::byte> state_memory_;  // those of the current run
  std::vector<AlignedBuffer> copies_;        // empty if the host's memory is used in place
  std::vector<bool> copied_;
  std::vector<int64_t> extent_values_, sizes_;
  RunValues values_;
  RunQueue::Job job_;                    // the job of a started run
  Status status_ = Status::Ok;           // result of the job
  std::vector<PassTime> running_times_;  // those of the current run
  mutable std::mutex times_mutex_;       // for the members below
  std::vector<PassTime> times_;          // times of the last finished run
  bool finished_ = false;                // there is a finished run
};

}  // namespace heed::cpu
