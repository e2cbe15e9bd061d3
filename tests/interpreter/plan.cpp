#include "interpreter/plan.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "harness/kernel_words.hpp"
#include "kernels/loops.hpp"

namespace heed::interpreter {

InterpretedState::InterpretedState(std::shared_ptr<const detail::StateLayout> tensors,
                                   std::shared_ptr<const detail::DeviceImpl> device)
    : StateImpl(std::move(tensors)), memory(layout->bytes, true), owner(std::move(device)) {
  (void)clear();
}

Status InterpretedState::clear() {
  std::fill_n(memory.data(), memory.bytes(), std::byte{0});
  return Status::Ok;
}

Status InterpretedState::copy(const StateImpl& from) {
  std::copy_n(static_cast<const InterpretedState&>(from).memory.data(), memory.bytes(), memory.data());
  return Status::Ok;
}

Status InterpretedState::copy(const StateImpl& from, std::span<const detail::StateRange> from_ranges,
                              std::span<const detail::StateRange> to_ranges) {
  std::byte* const source = static_cast<const InterpretedState&>(from).memory.data();
  for (size_t i = 0; i < to_ranges.size(); ++i)
    std::copy_n(source + from_ranges[i].offset, to_ranges[i].bytes, memory.data() + to_ranges[i].offset);
  return Status::Ok;
}

Status InterpretedState::read(std::span<const detail::StateRange> ranges, std::byte* to) {
  for (const detail::StateRange& range : ranges) to = std::copy_n(memory.data() + range.offset, range.bytes, to);
  return Status::Ok;
}

Status InterpretedState::write(std::span<const detail::StateRange> ranges, const std::byte* from) {
  for (const detail::StateRange& range : ranges) {
    std::copy_n(from, range.bytes, memory.data() + range.offset);
    from += range.bytes;
  }
  return Status::Ok;
}

InterpretedPlan::InterpretedPlan(std::shared_ptr<detail::DeviceImpl> device, const Machine& machine, Trials* trials,
                                 Schedule&& schedule, std::shared_ptr<InterpretedWeights> weights)
    : device_(std::move(device)),
      machine_(machine),
      trials_(trials),
      schedule_(std::move(schedule)),
      weights_(std::move(weights)),
      state_layout_(std::make_shared<detail::StateLayout>(detail::layout_of(schedule_, device_->weight_alignment()))),
      scratch_(schedule_.scratch_bytes, false) {}

Status InterpretedPlan::build(const std::vector<const detail::WeightsImpl::Entry*>& entries) {
  storages_.resize(schedule_.placements.size());
  for (size_t id = 0; id < storages_.size(); ++id) {
    const Placement& at = schedule_.placements[id];
    if (at.space == Placement::Space::Scratch) storages_[id] = {&scratch_, at.offset, at.bytes};
    if (at.space == Placement::Space::Weight)
      storages_[id] = {&weights_->memory, entries[at.slot]->offset, entries[at.slot]->bytes};
    if (at.space != Placement::Space::Constant) continue;
    const std::span<const std::byte> data = schedule_.constants[at.slot].data;
    auto& memory = constants_.emplace_back(std::make_unique<Memory>(align_up<uint64_t>(data.size(), 4), true));
    std::copy(data.begin(), data.end(), memory->data());
    storages_[id] = {memory.get(), 0, memory->bytes()};
  }
  kernels_.resize(schedule_.passes.size());
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const Node& pass = schedule_.passes[i];
    if (pass.op == heed::Op::Custom)
      return fail(device_->log(), Status::Unsupported, "compile: the interpreter runs heed's own kernels");
    const Status status = select_kernels(schedule_, pass, machine_.capabilities, device_->log(), &kernels_[i]);
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

std::vector<PassInfo> InterpretedPlan::passes() const {
  std::vector<PassInfo> passes;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    PassInfo& pass = passes.emplace_back();
    pass.label = schedule_.passes[i].label;
    pass.op = to_string(schedule_.passes[i].op);
    if (kernels_[i].count != 0) pass.kernel = kernel_name(kernels_[i].uses[0].key);
  }
  return passes;
}

Status InterpretedPlan::make_state(const std::span<std::byte>* memory, std::shared_ptr<detail::StateImpl>* state) {
  if (memory != nullptr) return fail(host_log(), Status::Unsupported, "make_state: this device has memory of its own");
  *state = std::make_shared<InterpretedState>(state_layout_, device_);
  return Status::Ok;
}

Status InterpretedPlan::run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
                            const RunOptions& options) {
  std::vector<int64_t> extent_values(schedule_.extents.size()), sizes(schedule_.sizes.count()),
      storage_offsets(schedule_.tensors.size());
  Status status = resolve_extents(schedule_, extents, host_log(), extent_values, sizes);
  if (status != Status::Ok) return status;
  RunValues values = {.sizes = sizes, .seed = options.seed, .storage_offsets = storage_offsets};
  std::vector<const HostBuffer*> found(schedule_.inputs.size() + schedule_.outputs.size());
  status = detail::match_buffers(schedule_, buffers, values, host_log(), found);
  if (status != Status::Ok) return status;
  detail::FoundStates states(schedule_.states.size());
  status = detail::match_states(*state_layout_, options.state.impl().get(), device_.get(), "run", host_log(), &states);
  if (status != Status::Ok) return status;
  if (!states.tensors.empty()) {
    Memory& memory = static_cast<InterpretedState&>(*options.state.impl()).memory;
    memory.mark_written(0, memory.bytes());  // may be unsupported by this interpreter only
    for (size_t i = 0; i < states.tensors.size(); ++i) {
      const detail::StateTensor& tensor = *states.tensors[i];
      storages_[schedule_.states[i].tensor] = {&memory, tensor.offset, align_up<uint64_t>(tensor.bytes, 4)};
    }
  }

  std::vector<std::unique_ptr<Memory>> memories;
  for (size_t i = 0; i < found.size(); ++i) memories.push_back(take(i, *found[i], sizes, storage_offsets));
  scratch_.forget();
  hazards_.reset();
  try {
    status = run_passes(values);
  } catch (const std::runtime_error& error) {
    return fail(host_log(), Status::DriverError, format("interpreter: %s: %s", report_.where.c_str(), error.what()));
  }
  if (!report_.wrongs.empty()) return tell();
  for (size_t i = schedule_.inputs.size(); i < found.size(); ++i)
    std::memcpy(const_cast<void*>(found[i]->data), memories[i]->data() + machine_.host_offset,
                schedule_.buffer_bytes(i, sizes));
  return status;
}

// The buffer of an input or output, in whole words as a host must provide it.
std::unique_ptr<Memory> InterpretedPlan::take(size_t index, const HostBuffer& host, std::span<const int64_t> sizes,
                                              std::vector<int64_t>& storage_offsets) {
  const TensorInfo& info = schedule_.tensors[schedule_.buffer(index).tensor];
  const bool is_input = index < schedule_.inputs.size();
  const uint64_t bytes = schedule_.buffer_bytes(index, sizes);
  // Kernels write a byte by writing its word, whose other bytes must not change.
  auto memory = std::make_unique<Memory>(align_up<uint64_t>(machine_.host_offset + bytes, 4),
                                         is_input || info.dtype == DType::U8);
  if (is_input) std::memcpy(memory->data() + machine_.host_offset, host.data, bytes);
  storage_offsets[info.storage] = static_cast<int64_t>(machine_.host_offset / size_of(info.dtype));
  storages_[info.storage] = {memory.get(), 0, memory->bytes()};
  return memory;
}

Binding InterpretedPlan::bind(const Node& pass, const KernelUse& use, uint32_t b, Memory& faults) {
  const BufferUse& wanted = use.buffers[b];
  if (wanted.kind == BufferUse::Kind::Faults) return {&faults, 0, faults.bytes(), true};
  if (wanted.kind == BufferUse::Kind::Weights) {
    const auto [begin, end] = span_of_weights(schedule_, pass);
    return {&weights_->memory, begin, end - begin - trials_->cut_bytes, false};
  }
  // As in plans of Vulkan devices, an absent operand is bound to the first operand's memory, and is only read.
  const bool absent = !wanted.tensor.valid();
  const Tensor tensor = absent ? use.buffers[0].tensor : wanted.tensor;
  const Range& storage = storages_[schedule_.info(tensor).storage];
  return {storage.memory, storage.offset, storage.bytes - trials_->cut_bytes, wanted.write && !absent};
}

Status InterpretedPlan::run_passes(const RunValues& values) {
  Status status = Status::Ok;
  DispatchList list;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const Node& pass = schedule_.passes[i];
    Memory faults(4, true);
    std::memset(faults.data(), 0, 4);
    emit_dispatches(schedule_, pass, machine_.capabilities, kernels_[i], values, &list);
    for (uint32_t d = 0; d < list.count; ++d) {
      run_dispatch(pass, kernels_[i], list.dispatches[d], faults);
      fill_last_words(pass, values);  // a second dispatch may read what the first has written
    }
    uint32_t fault = 0;
    std::memcpy(&fault, faults.data(), 4);
    if (fault != 0)
      status = fail(host_log(), Status::IndexOutOfRange,
                    format("%s: an id is outside the table; its row is zero", pass.label.c_str()));
  }
  return status;
}

// Kernels that read 8- and 16-bit elements by words read the whole last word. Its other bytes belong to no tensor, since memory is
// allocated in whole words, and do not affect results.
void InterpretedPlan::fill_last_words(const Node& pass, const RunValues& values) {
  for (const Tensor out : pass.outputs) {
    if (!out.valid()) continue;
    const uint32_t id = schedule_.info(out).storage;
    const auto elements = static_cast<uint64_t>(values.sizes[static_cast<size_t>(schedule_.placements[id].elements)]);
    const uint64_t bytes = align_up<uint64_t>(bytes_of(schedule_.tensors[id].dtype, elements), 2);
    const Range& storage = storages_[id];
    if (bytes % 4 == 2 && bytes + 2 <= storage.bytes) storage.memory->mark_written(storage.offset + bytes, 2);
  }
}

void InterpretedPlan::run_dispatch(const Node& pass, const KernelList& kernels, const Dispatch& dispatch,
                                   Memory& faults) {
  const KernelUse& use = kernels.uses[dispatch.kernel];
  report_.where = format("%s, %s", pass.label.c_str(), kernel_name(use.key));
  std::array<Binding, kMaxBindings> bindings;
  for (uint32_t b = 0; b < use.buffer_count; ++b) bindings[b] = bind(pass, use, b, faults);
  Launch launch;
  launch.words = kernel_words(use.key.id);
  trials_->ran.insert(use.key.id);
  if (const auto found = trials_->replaced.find(use.key.id); found != trials_->replaced.end())
    launch.words = found->second;
  launch.constants = {use.key.spec.data(), use.key.spec_count};
  launch.subgroup = use.key.subgroup != 0 ? use.key.subgroup : machine_.subgroup;
  launch.regroups = machine_.regroups;
  launch.bindings = {bindings.data(), use.buffer_count};
  launch.push = {dispatch.push.data(), dispatch.push_bytes};
  launch.groups = dispatch.groups;
  launch.after_barrier = needs_barrier(launch.bindings);
  check_limits(use, launch);
  report_.counts = trials_->counts == nullptr ? nullptr : &(*trials_->counts)[variant_name(use.key)];
  report_.rounds = 0;
  interpreter_.run(launch, &report_);
  // Kernels for matrix units leave out infinities and NaN, which they multiply by plain arithmetic.
  const bool is_known = std::string_view(kernel_name(use.key)).find("_matrix") == std::string_view::npos &&
                        std::string_view(kernel_name(use.key)).find("_bytes") == std::string_view::npos;
  if (const int64_t known = kernels::rounds_of(use.key, dispatch); is_known && std::cmp_greater(report_.rounds, known))
    report_.wrongs.push_back(
        format("%s: an invocation goes through loops %llu times, and kernels/loops.cpp knows of %lld",
               report_.where.c_str(), static_cast<unsigned long long>(report_.rounds), static_cast<long long>(known)));
}

// Weights and constants are never written, and so never a hazard.
bool InterpretedPlan::is_constant(const Memory* memory) const {
  return (weights_ != nullptr && memory == &weights_->memory) ||
         std::any_of(constants_.begin(), constants_.end(),
                     [&](const std::unique_ptr<Memory>& constant) { return memory == constant.get(); });
}

// Decides like the recorder of Vulkan plans.
bool InterpretedPlan::needs_barrier(std::span<const Binding> bindings) {
  std::array<vulkan::Access, kMaxBindings> accesses;
  size_t count = 0;
  for (const Binding& binding : bindings)
    if (!is_constant(binding.memory))
      accesses[count++] = {reinterpret_cast<uintptr_t>(binding.memory), binding.offset, binding.offset + binding.range,
                           binding.written};
  return hazards_.enter({accesses.data(), count}) && !trials_->without_barriers;
}

void InterpretedPlan::check_limits(const KernelUse& use, const Launch& launch) {
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
  need(use.key.subgroup == 0 || module.invocations() % use.key.subgroup == 0, "has a subgroup that is not full");
  for (const Binding& binding : launch.bindings)
    need(binding.offset % device.storage_alignment == 0, "has a binding that is not aligned");
}

Status InterpretedPlan::tell() {
  std::string text;
  for (const std::string& wrong : report_.wrongs) text += (text.empty() ? "" : "\n") + wrong;
  report_ = {};
  return fail(host_log(), Status::DriverError, "interpreter: " + text);
}

}  // namespace heed::interpreter
