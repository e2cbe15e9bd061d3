// A plan of an interpreted device: what plans of Vulkan devices record, run at once.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "graph/backend.hpp"
#include "interpreter/device.hpp"
#include "interpreter/interpreter.hpp"
#include "vulkan/hazards.hpp"

namespace heed::interpreter {

struct InterpretedWeights final : detail::WeightsImpl {
  InterpretedWeights(uint64_t bytes, std::shared_ptr<const detail::DeviceImpl> device)
      : memory(bytes, true), owner(std::move(device)) {}
  uint64_t bytes() const override { return memory.bytes(); }
  const detail::DeviceImpl* device() const override { return owner.get(); }

  Memory memory;
  std::shared_ptr<const detail::DeviceImpl> owner;
};

class InterpretedPlan final : public detail::PlanImpl {
 public:
  // `machine` and `trials` are the device's, which the plan keeps alive.
  InterpretedPlan(std::shared_ptr<detail::DeviceImpl> device, const Machine& machine, Trials* trials,
                  Schedule&& schedule, std::shared_ptr<InterpretedWeights> weights);
  Status build(const std::vector<const detail::WeightsImpl::Entry*>& entries);

  // No object of Vulkan is behind it.
  detail::Backend backend() const override { return detail::Backend::Cpu; }
  const Log& host_log() const override { return device_->log(); }
  uint64_t scratch_bytes() const override { return schedule_.scratch_bytes; }
  uint64_t weight_bytes() const override { return weights_ == nullptr ? 0 : weights_->bytes(); }
  Status timings(std::vector<PassTime>*, uint32_t) const override { return Status::Unsupported; }
  std::vector<PassInfo> passes() const override;
  Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
             const RunOptions& options) override;

 private:
  // Where a tensor's memory is during a run.
  struct Range {
    Memory* memory = nullptr;
    uint64_t offset = 0, bytes = 0;
  };

  const detail::NamedTensor& named(size_t index) const;
  uint64_t bytes_of(size_t index, std::span<const int64_t> sizes) const;
  std::unique_ptr<Memory> take(size_t index, const HostBuffer& host, std::span<const int64_t> sizes,
                               std::vector<int64_t>& storage_offsets);
  Binding bind(const KernelUse& use, uint32_t b, Memory& faults);
  Status run_steps(const RunValues& values);
  void run_dispatch(const Node& step, const KernelList& kernels, const Dispatch& dispatch, Memory& faults);
  bool needs_barrier(std::span<const Binding> bindings);
  bool is_constant(const Memory* memory) const;
  void check_limits(const KernelUse& use, const Launch& launch);
  Status tell();

  std::shared_ptr<detail::DeviceImpl> device_;
  const Machine& machine_;
  Trials* trials_;
  Schedule schedule_;
  std::shared_ptr<InterpretedWeights> weights_;
  Memory scratch_;
  std::vector<std::unique_ptr<Memory>> constants_;
  std::vector<Range> storages_;  // by storage id
  std::vector<KernelList> kernels_;
  vulkan::HazardTracker hazards_;
  Interpreter interpreter_;
  Report report_;
};

}  // namespace heed::interpreter
