// A schedule made ready to run on host memory.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cpu/kernels.hpp"
#include "cpu/matmul.hpp"
#include "cpu/step.hpp"
#include "graph/backend.hpp"

namespace heed::cpu {

// Packed forms of tensors of one upload, for as long as some plan holds them. Thread-safe.
class PackedCache {
 public:
  // b packed for these kernels: the one that some plan holds already, or a new one. Null if there is no memory.
  std::shared_ptr<const PackedB> get(const Operand& b, const MatmulKernels& kernels, ThreadPool& pool);

 private:
  struct Item {
    const std::byte* data;
    View view;
    std::weak_ptr<const PackedB> packed;
  };
  // The one that some plan holds, or null. With the mutex locked.
  std::shared_ptr<const PackedB> held(const Operand& b);

  std::mutex mutex_;
  std::list<Item> items_;
};

struct CpuWeights final : detail::WeightsImpl {
  AlignedBuffer memory;
  std::shared_ptr<const detail::DeviceImpl> owner;
  PackedCache packed;

  uint64_t bytes() const override { return memory.bytes(); }
  const detail::DeviceImpl* device() const override { return owner.get(); }
};

// What plans share with the device they were compiled for; they keep it alive.
struct Shared {
  Log log;
  ThreadPool pool;
  const Kernels& kernels;
  Shared(const Log& device_log, uint32_t threads, ParallelFor parallel_for)
      : log(device_log), pool(threads, parallel_for), kernels(choose_kernels(device_log)) {}
};

class CpuPlan final : public detail::PlanImpl {
 public:
  CpuPlan(std::shared_ptr<Shared> shared, Schedule&& schedule, std::shared_ptr<CpuWeights> weights,
          const CompileOptions& options);

  // Allocates everything that run needs, except copies of host buffers that cannot be used in place.
  // `entries[i]` is weight i of the schedule.
  Status build(const std::vector<const detail::WeightsImpl::Entry*>& entries);

  detail::Backend backend() const override { return detail::Backend::Cpu; }
  const Log& host_log() const override { return shared_->log; }
  Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
             const RunOptions& options) override;
  uint64_t scratch_bytes() const override {
    return scratch_.bytes() + shared_scratch_.bytes() + worker_scratch_.bytes();
  }
  uint64_t weight_bytes() const override { return weight_bytes_; }
  std::vector<PassInfo> passes() const override;
  Status timings(std::vector<PassTime>* times, uint32_t slot) const override;

 private:
  Status allocate_scratch();
  Status pack_weights();
  std::string why(const Node& node) const;
  Step step(size_t index, const RunValues& values, Fault& fault) const;
  Status bind(const RunValues& values);
  Status bind_one(size_t index, uint64_t bytes);
  bool usable_in_place(size_t index, uint64_t bytes) const;
  Status run_steps(const RunValues& values);
  Status report_fault(const Node& node, const Step& step, uint64_t position) const;
  void copy_back(const RunValues& values);
  const detail::NamedTensor& named(size_t index) const;
  uint64_t bytes_of(size_t index, const RunValues& values) const;

  std::shared_ptr<Shared> shared_;
  Schedule schedule_;
  std::shared_ptr<CpuWeights> weights_;
  CompileOptions options_;
  uint64_t weight_bytes_ = 0;

  AlignedBuffer scratch_, shared_scratch_, worker_scratch_;
  uint64_t worker_stride_ = 0;
  std::vector<std::byte*> storages_;                    // by tensor id
  std::vector<std::shared_ptr<const PackedB>> packed_;  // by step; null but for matmuls with a constant b

  // Inputs, then outputs, of the run that is going on.
  std::vector<const HostBuffer*> found_;
  std::vector<AlignedBuffer> copies_;  // empty where the host's memory serves
  std::vector<bool> copied_;
  std::vector<int64_t> extent_values_, sizes_;
  std::vector<PassTime> times_;
  bool finished_ = false;
};

}  // namespace heed::cpu
