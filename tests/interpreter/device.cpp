#include "interpreter/device.hpp"

#include <algorithm>
#include <cstring>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "graph/backend.hpp"
#include "interpreter/interpreter.hpp"
#include "ops/devices.hpp"

namespace heed::interpreter {
namespace {

using detail::WeightsImpl;

struct InterpretedWeights final : WeightsImpl {
  InterpretedWeights(uint64_t bytes, std::shared_ptr<const detail::DeviceImpl> device)
      : memory(bytes, true), owner(std::move(device)) {}
  uint64_t bytes() const override { return memory.bytes(); }
  const detail::DeviceImpl* device() const override { return owner.get(); }

  Memory memory;
  std::shared_ptr<const detail::DeviceImpl> owner;
};

// Where a storage is during a run.
struct Storage {
  Memory* memory = nullptr;
  uint64_t offset = 0, range = 0;
};

class InterpretedPlan final : public detail::PlanImpl {
 public:
  InterpretedPlan(std::shared_ptr<detail::DeviceImpl> device, const Machine& machine, Trials* trials,
                  Schedule&& schedule, std::shared_ptr<InterpretedWeights> weights)
      : device_(std::move(device)),
        machine_(machine),
        trials_(trials),
        schedule_(std::move(schedule)),
        weights_(std::move(weights)),
        scratch_(schedule_.scratch_bytes, false) {}

  Status build(const std::vector<const WeightsImpl::Entry*>& entries) {
    storages_.resize(schedule_.placements.size());
    for (size_t id = 0; id < storages_.size(); ++id) {
      const Placement& at = schedule_.placements[id];
      if (at.space == Placement::Space::Scratch) storages_[id] = {&scratch_, at.offset, at.bytes};
      if (at.space == Placement::Space::Weight)
        storages_[id] = {&weights_->memory, entries[at.slot]->offset, entries[at.slot]->bytes};
      if (at.space != Placement::Space::Constant) continue;
      const std::vector<std::byte>& data = schedule_.constants[at.slot].data;
      auto& memory =
          constants_.emplace_back(std::make_unique<Memory>(align_up<uint64_t>(data.size(), 4), true));
      std::copy(data.begin(), data.end(), memory->data());
      storages_[id] = {memory.get(), 0, memory->bytes()};
    }
    kernels_.resize(schedule_.steps.size());
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const Node& step = schedule_.steps[i];
      if (step.op == heed::Op::Custom)
        return fail(device_->log(), Status::Unsupported, "compile: the interpreter runs heed's own kernels");
      const Status status =
          select_kernels(schedule_, step, machine_.capabilities, device_->log(), &kernels_[i]);
      if (status != Status::Ok) return status;
    }
    return Status::Ok;
  }

  // No object of Vulkan is behind it.
  detail::Backend backend() const override { return detail::Backend::Cpu; }
  const Log& host_log() const override { return device_->log(); }
  uint64_t scratch_bytes() const override { return schedule_.scratch_bytes; }
  uint64_t weight_bytes() const override { return weights_ == nullptr ? 0 : weights_->bytes(); }
  Status timings(std::vector<PassTime>*, uint32_t) const override { return Status::Unsupported; }

  std::vector<PassInfo> passes() const override {
    std::vector<PassInfo> passes;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      PassInfo& pass = passes.emplace_back();
      pass.label = schedule_.steps[i].label;
      pass.op = to_string(schedule_.steps[i].op);
      if (kernels_[i].count != 0) pass.kernel = kernel_name(kernels_[i].uses[0].key);
    }
    return passes;
  }

  Status run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
             const RunOptions& options) override {
    std::vector<int64_t> extent_values(schedule_.extents.size()), sizes(schedule_.sizes.count()),
        storage_offsets(schedule_.tensors.size());
    Status status = resolve_extents(schedule_, extents, host_log(), extent_values, sizes);
    if (status != Status::Ok) return status;
    RunValues values = {.sizes = sizes, .seed = options.seed, .storage_offsets = storage_offsets};
    std::vector<const HostBuffer*> found(schedule_.inputs.size() + schedule_.outputs.size());
    status = detail::match_buffers(schedule_, buffers, values, host_log(), found);
    if (status != Status::Ok) return status;

    std::vector<std::unique_ptr<Memory>> memories;
    for (size_t i = 0; i < found.size(); ++i) memories.push_back(take(i, *found[i], sizes, storage_offsets));
    scratch_.forget();
    try {
      status = run_steps(values);
    } catch (const std::runtime_error& error) {
      return fail(host_log(), Status::DriverError,
                  format("interpreter: %s: %s", report_.where.c_str(), error.what()));
    }
    if (!report_.wrongs.empty()) return tell();
    for (size_t i = schedule_.inputs.size(); i < found.size(); ++i)
      std::memcpy(const_cast<void*>(found[i]->data), memories[i]->data() + machine_.host_offset,
                  bytes_of(i, sizes));
    return status;
  }

 private:
  const detail::NamedTensor& named(size_t index) const {
    const size_t inputs = schedule_.inputs.size();
    return index < inputs ? schedule_.inputs[index] : schedule_.outputs[index - inputs];
  }

  uint64_t bytes_of(size_t index, std::span<const int64_t> sizes) const {
    const TensorInfo& info = schedule_.tensors[named(index).tensor];
    const SizeId elements = schedule_.placements[info.storage].elements;
    return static_cast<uint64_t>(sizes[static_cast<size_t>(elements)]) * size_of(info.dtype);
  }

  // The buffer of an input or output, in whole words as a host must give it.
  std::unique_ptr<Memory> take(size_t index, const HostBuffer& host, std::span<const int64_t> sizes,
                               std::vector<int64_t>& storage_offsets) {
    const TensorInfo& info = schedule_.tensors[named(index).tensor];
    const bool is_input = index < schedule_.inputs.size();
    const uint64_t bytes = bytes_of(index, sizes);
    // Bytes are written as parts of words, of which the rest stays what it was.
    auto memory = std::make_unique<Memory>(align_up<uint64_t>(machine_.host_offset + bytes, 4),
                                           is_input || info.dtype == DType::U8);
    if (is_input) std::memcpy(memory->data() + machine_.host_offset, host.data, bytes);
    storage_offsets[info.storage] = static_cast<int64_t>(machine_.host_offset / size_of(info.dtype));
    storages_[info.storage] = {memory.get(), 0, memory->bytes()};
    return memory;
  }

  Binding bind(const KernelUse& use, uint32_t b, Memory& faults) {
    const BufferUse& wanted = use.buffers[b];
    if (wanted.kind == BufferUse::Kind::Faults) return {&faults, 0, faults.bytes(), true};
    // As in the plans of Vulkan devices: what a step has no operand for is bound to the first, and only read.
    const bool absent = !wanted.tensor.valid();
    const Tensor tensor = absent ? use.buffers[0].tensor : wanted.tensor;
    const Storage& storage = storages_[schedule_.info(tensor).storage];
    return {storage.memory, storage.offset, storage.range - trials_->cut_bytes, wanted.write && !absent};
  }

  Status run_steps(const RunValues& values) {
    Status status = Status::Ok;
    DispatchList list;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const Node& step = schedule_.steps[i];
      Memory faults(4, true);
      std::memset(faults.data(), 0, 4);
      emit_dispatches(schedule_, step, machine_.capabilities, kernels_[i], values, &list);
      for (uint32_t d = 0; d < list.count; ++d) run_dispatch(step, kernels_[i], list.dispatches[d], faults);
      uint32_t fault = 0;
      std::memcpy(&fault, faults.data(), 4);
      if (fault != 0)
        status = fail(host_log(), Status::IndexOutOfRange,
                      format("%s: an id is outside the table; its row is zero", step.label.c_str()));
    }
    return status;
  }

  void run_dispatch(const Node& step, const KernelList& kernels, const Dispatch& dispatch, Memory& faults) {
    const KernelUse& use = kernels.uses[dispatch.kernel];
    const KernelInfo& info = kernel_info(use.key.id);
    report_.where = format("%s, %s", step.label.c_str(), kernel_name(use.key));
    std::array<Binding, kMaxBindings> bindings;
    for (uint32_t b = 0; b < use.buffer_count; ++b) bindings[b] = bind(use, b, faults);
    Launch launch;
    launch.words = {info.words, info.word_count};
    trials_->ran.insert(use.key.id);
    if (const auto found = trials_->replaced.find(use.key.id); found != trials_->replaced.end())
      launch.words = found->second;
    launch.constants = {use.key.spec.data(), use.key.spec_count};
    launch.subgroup = use.key.subgroup != 0 ? use.key.subgroup : machine_.subgroup;
    launch.bindings = {bindings.data(), use.buffer_count};
    launch.push = {dispatch.push.data(), dispatch.push_bytes};
    launch.groups = dispatch.groups;
    check_limits(use, launch);
    interpreter_.run(launch, &report_);
  }

  void check_limits(const KernelUse& use, const Launch& launch) {
    const Capabilities& device = machine_.capabilities;
    const Module& module = interpreter_.module(launch);
    const auto need = [&](bool fits, const char* what) {
      if (!fits) report_.wrongs.push_back(report_.where + ": " + what);
    };
    need(module.invocations() <= device.max_invocations, "has more invocations than the device allows");
    need(module.shared_bytes() <= device.shared_bytes, "has more shared memory than the device allows");
    for (size_t axis = 0; axis < 3; ++axis) {
      need(module.size()[axis] <= device.max_workgroup_size[axis], "is larger than the device allows");
      need(launch.groups[axis] <= device.max_groups[axis], "has more workgroups than the device allows");
    }
    need(use.key.subgroup == 0 || module.invocations() % use.key.subgroup == 0,
         "has a subgroup that is not full");
    for (const Binding& binding : launch.bindings)
      need(binding.offset % device.storage_alignment == 0, "has a binding that is not aligned");
  }

  Status tell() {
    std::string text;
    for (const std::string& wrong : report_.wrongs) text += (text.empty() ? "" : "\n") + wrong;
    report_ = {};
    return fail(host_log(), Status::DriverError, "interpreter: " + text);
  }

  std::shared_ptr<detail::DeviceImpl> device_;
  const Machine& machine_;
  Trials* trials_;
  Schedule schedule_;
  std::shared_ptr<InterpretedWeights> weights_;
  Memory scratch_;
  std::vector<std::unique_ptr<Memory>> constants_;
  std::vector<Storage> storages_;  // by storage id
  std::vector<KernelList> kernels_;
  Interpreter interpreter_;
  Report report_;
};

class InterpretedDevice final : public detail::DeviceImpl {
 public:
  InterpretedDevice(const Machine& machine, const Log& log) : machine(machine), log_(log) {
    info_.kind = DeviceKind::OtherGpu;
    info_.word = info_.name = machine.word;
  }

  detail::Backend backend() const override { return detail::Backend::Cpu; }
  const DeviceInfo& info() const override { return info_; }
  const Log& log() const override { return log_; }
  uint64_t weight_alignment() const override { return machine.capabilities.storage_alignment; }
  ScheduleOptions schedule_options() const override {
    ScheduleOptions options;
    options.alignment = weight_alignment();
    options.max_tensor_bytes = machine.capabilities.max_storage_range;
    plan_for(machine.capabilities, &options);
    return options;
  }
  bool supports(DType type) const override {
    return machine.capabilities.storage_16bit || (type != DType::F16 && type != DType::BF16);
  }

  Status upload(std::span<const HostTensor> tensors, const UploadOptions& options,
                std::shared_ptr<WeightsImpl>* weights) override {
    std::vector<WeightsImpl::Entry> entries;
    std::vector<size_t> order;
    uint64_t bytes = 0;
    const Status status =
        detail::place_weights(tensors, options, weight_alignment(), log_, &entries, &order, &bytes);
    if (status != Status::Ok) return status;
    auto fresh = std::make_shared<InterpretedWeights>(bytes, shared_from_this());
    fresh->entries = std::move(entries);
    for (size_t i = 0; i < fresh->entries.size(); ++i)
      detail::convert_weight(tensors[order[i]], fresh->entries[i],
                             fresh->memory.data() + fresh->entries[i].offset);
    *weights = std::move(fresh);
    return Status::Ok;
  }

  Status compile(Schedule&& schedule, std::shared_ptr<WeightsImpl> weights, const CompileOptions&,
                 std::shared_ptr<detail::PlanImpl>* plan) override {
    std::vector<const WeightsImpl::Entry*> entries;
    Status status = detail::match_weights(schedule, weights.get(), this, log_, &entries);
    if (status != Status::Ok) return status;
    auto fresh = std::make_shared<InterpretedPlan>(shared_from_this(), machine, &trials, std::move(schedule),
                                                   std::static_pointer_cast<InterpretedWeights>(weights));
    status = fresh->build(entries);
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

}  // namespace

const std::vector<Machine>& machines() {
  static const std::vector<Machine> all = [] {
    std::vector<Machine> list;
    Capabilities floor;  // a phone: no subgroup operations, f32 alone
    list.push_back({"spirv:floor", floor, 16, 4});

    Capabilities subgroups = floor;
    subgroups.subgroup_arithmetic = subgroups.subgroup_ballot = subgroups.subgroup_shuffle = true;
    subgroups.storage_16bit = true;

    Capabilities intel = subgroups;  // 8x16x16 on XMX
    intel.max_invocations = 1024;
    intel.max_workgroup_size = {1024, 1024, 64};
    intel.shared_bytes = 65536;
    intel.storage_alignment = 4;
    intel.subgroup_size = 32;
    intel.matrix = {8, 16, 16};
    intel.matrix_subgroup = 16;
    list.push_back({"spirv:intel", intel, 8, 64});

    Capabilities amd = subgroups;  // 16x16x16 by WMMA
    amd.max_invocations = 1024;
    amd.max_workgroup_size = {1024, 1024, 1024};
    amd.shared_bytes = 65536;
    amd.storage_alignment = 4;
    amd.subgroup_size = 64;
    amd.matrix = {16, 16, 16};
    amd.matrix_subgroup = 64;
    amd.matrix_always = true;
    list.push_back({"spirv:amd", amd, 64, 0});

    Capabilities nvidia = subgroups;
    nvidia.max_invocations = 1024;
    nvidia.max_workgroup_size = {1024, 1024, 64};
    nvidia.shared_bytes = 49152;
    nvidia.storage_alignment = 16;
    nvidia.subgroup_size = 32;
    nvidia.cores = 132;
    nvidia.matrix = {16, 16, 16};
    nvidia.matrix_subgroup = 32;
    nvidia.matrix_always = true;
    nvidia.workgroup_matrix_128 = {16, 16, 16};
    nvidia.workgroup_matrix_256 = {32, 32, 16};
    nvidia.workgroup_matrix_largest = 256;
    list.push_back({"spirv:nvidia", nvidia, 32, 0});
    return list;
  }();
  return all;
}

namespace {

const bool offered = [] {
  for (const Machine& machine : machines())
    ops::offer_device(machine.word, [&machine](const Log& log) { return open(machine, log); });
  return true;
}();

}  // namespace

Device open(const Machine& machine, const Log& log) {
  return Device(std::make_shared<InterpretedDevice>(machine, log));
}

Capabilities* capabilities_of(const Device& device) {
  const bool mine = std::any_of(machines().begin(), machines().end(),
                                [&](const Machine& machine) { return device.info().word == machine.word; });
  return mine ? &static_cast<InterpretedDevice&>(*device.impl()).machine.capabilities : nullptr;
}

Trials& trials_of(const Device& device) { return static_cast<InterpretedDevice&>(*device.impl()).trials; }

}  // namespace heed::interpreter
