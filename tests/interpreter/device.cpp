#include "interpreter/device.hpp"

#include <algorithm>

#include "harness/devices.hpp"
#include "interpreter/plan.hpp"
#include "kernels/matmul/planes.hpp"
#include "vulkan/device/device.hpp"

namespace heed::interpreter {
namespace {

using detail::WeightsImpl;

class InterpretedDevice final : public detail::DeviceImpl {
 public:
  InterpretedDevice(const Machine& machine, const Log& log) : machine(machine), log_(log) {
    info_.kind = DeviceKind::OtherGpu;
    info_.word = info_.name = machine.word;
  }

  detail::Backend backend() const override { return detail::Backend::Cpu; }
  const DeviceInfo& info() const override { return info_; }
  const Log& log() const override { return log_; }
  uint64_t weight_alignment() const override { return std::max<uint64_t>(16, machine.capabilities.storage_alignment); }
  uint64_t most_weight_bytes() const override { return machine.capabilities.max_storage_range; }
  std::unique_ptr<const detail::PlanningDevice> planning() const override {
    return std::make_unique<KernelPlanning>(
        machine.capabilities, detail::PlanningTraits{.alignment = weight_alignment(),
                                                     .max_tensor_bytes = machine.capabilities.max_storage_range});
  }
  bool supports(DType type) const override {
    return machine.capabilities.storage_16bit || (type != DType::F16 && type != DType::BF16);
  }

  Status upload(std::span<const HostTensor> tensors, const UploadOptions& options,
                std::shared_ptr<WeightsImpl>* weights) override {
    std::vector<WeightsImpl::Entry> entries;
    std::vector<size_t> order;
    uint64_t bytes = 0;
    const Status status = detail::place_weights(tensors, options, weight_alignment(), most_weight_bytes(), log_,
                                                &entries, &order, &bytes);
    if (status != Status::Ok) return status;
    auto fresh = std::make_shared<InterpretedWeights>(bytes, shared_from_this());
    fresh->entries = std::move(entries);
    for (size_t i = 0; i < fresh->entries.size(); ++i)
      kernels::write_weight(detail::rows_of(tensors[order[i]], fresh->entries[i]), fresh->entries[i],
                            fresh->memory.data() + fresh->entries[i].offset);
    *weights = std::move(fresh);
    return Status::Ok;
  }

  Status compile(Schedule&& schedule, std::shared_ptr<WeightsImpl> weights, const CompileOptions&,
                 std::shared_ptr<detail::PlanImpl>* plan) override {
    const auto entries = detail::find_weights(schedule, weights.get());
    auto fresh = std::make_shared<InterpretedPlan>(shared_from_this(), machine, &trials, std::move(schedule),
                                                   std::static_pointer_cast<InterpretedWeights>(weights));
    const Status status = fresh->build(entries);
    if (status == Status::Ok) *plan = std::move(fresh);
    return status;
  }

  Status pipeline_cache(std::vector<std::byte>* blob) const override {
    blob->clear();
    return Status::Ok;
  }

  Machine machine;
  Trials trials;

 private:
  Log log_;
  DeviceInfo info_;
};

const bool offered = [] {
  for (const Machine& machine : machines())
    ops::offer_device(machine.word.c_str(), [&machine](const Log& log) { return open(machine, log); });
  return true;
}();

}  // namespace

Device open(const Machine& machine, const Log& log) {
  return Device(std::make_shared<InterpretedDevice>(machine, log));
}

Capabilities* capabilities_of(const Device& device) {
  if (device.impl()->backend() == detail::Backend::Vulkan)
    return &static_cast<vulkan::VulkanDevice&>(*device.impl()).context().capabilities;
  const bool mine = std::any_of(machines().begin(), machines().end(),
                                [&](const Machine& machine) { return device.info().word == machine.word; });
  return mine ? &static_cast<InterpretedDevice&>(*device.impl()).machine.capabilities : nullptr;
}

Trials& trials_of(const Device& device) { return static_cast<InterpretedDevice&>(*device.impl()).trials; }

}  // namespace heed::interpreter
