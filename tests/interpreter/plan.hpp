// A plan of an interpreted device executes at once what plans of Vulkan devices record.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "graph/schedule/backend.hpp"
#include "interpreter/device.hpp"
#include "interpreter/interpreter.hpp"
#include "vulkan/recording/hazards.hpp"

namespace heed::interpreter {

struct InterpretedWeights final : detail::WeightsImpl {
  InterpretedWeights(uint64_t bytes, std::shared_ptr<const detail::DeviceImpl> device)
      : memory(bytes, true), owner(std::move(device)) {}
  uint64_t bytes() const override { return memory.bytes(); }
  const detail::DeviceImpl* device() const override { return owner.get(); }

  Memory memory;
  std::shared_ptr<const detail::DeviceImpl> owner;
};

struct InterpretedState final : detail::StateImpl {
  InterpretedState(std::shared_ptr<const detail::StateLayout> tensors,
                   std::shared_ptr<const detail::DeviceImpl> device);
  const void* home() const override { return owner.get(); }
  const Log& log() const override { return owner->log(); }
  Status clear() override;
  Status copy(const StateImpl& from) override;
  Status copy(const StateImpl& from, std::span<const detail::StateRange> from_ranges,
              std::span<const detail::StateRange> to_ranges) override;
  Status read(std::span<const detail::StateRange> ranges, std::byte* to) override;
  Status write(std::span<const detail::StateRange> ranges, const std::byte* from) override;

  mutable Memory memory;
  std::shared_ptr<const detail::DeviceImpl> owner;
};

class InterpretedPlan final : public detail::PlanImpl {
 public:
  // `machine` and `trials` are the device's, which the plan keeps alive.
  InterpretedPlan(std::shared_ptr<detail::DeviceImpl> device, const Machine& machine, Trials* trials,
                  Schedule&& schedule, std::shared_ptr<InterpretedWeights> weights);
  Status build(const std::vector<const detail::WeightsImpl::Entry*>& entries);

  // There is no Vulkan object behind it.
  detail::Backend backend() const override { return detail::Backend::Cpu; }
  const Log& host_log() const override { return device_->log(); }
  const Schedule& schedule() const override { return schedule_; }
  uint64_t state_bytes() const override { return state_layout_->bytes; }
  Status make_state(const std::span<std::byte>* memory, std::shared_ptr<detail::StateImpl>* state) override;
  uint64_t scratch_bytes() const override { return schedule_.scratch_bytes; }
  uint64_t weight_bytes() const override { return weights_ == nullptr ? 0 : weights_->bytes(); }
  Status timings(std::vector<PassTime>*, uint32_t) const override { return Status::Unsupported; }
  std::vector<PassInfo> passes() const override;
  Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
             const RunOptions& options) override;

 private:
  // The memory of a tensor during a run.
  struct Range {
    Memory* memory = nullptr;
    uint64_t offset = 0, bytes = 0;
  };

  std::unique_ptr<Memory> take(size_t index, const HostBuffer& host, std::span<const int64_t> sizes,
                               std::vector<int64_t>& storage_offsets);
  Binding bind(const Node& pass, const KernelUse& use, uint32_t b, Memory& faults);
  Status run_passes(const RunValues& values);
  void fill_last_words(const Node& pass, const RunValues& values);
  void run_dispatch(const Node& pass, const KernelList& kernels, const Dispatch& dispatch, Memory& faults);
  bool needs_barrier(std::span<const Binding> bindings);
  bool is_constant(const Memory* memory) const;
  void check_limits(const KernelUse& use, const Launch& launch);
  Status tell();

  std::shared_ptr<detail::DeviceImpl> device_;
  const Machine& machine_;
  Trials* trials_;
  Schedule schedule_;
  std::shared_ptr<InterpretedWeights> weights_;
  std::shared_ptr<const detail::StateLayout> state_layout_;
  Memory scratch_;
  std::vector<std::unique_ptr<Memory>> constants_;
  std::vector<Range> storages_;  // by storage id
  std::vector<KernelList> kernels_;
  vulkan::HazardTracker hazards_;
  Interpreter interpreter_;
  Report report_;
};

}  // namespace heed::interpreter
