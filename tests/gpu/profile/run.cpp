#include "gpu/profile/run.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <random>

#include "base/half.hpp"
#include "graph/given_weights.hpp"
#include "graph/schedule/schedule.hpp"
#include "kernels/dispatch.hpp"
#include "vulkan/recording/hazards.hpp"

namespace heed::gpu_tests {
namespace {

using interpreter::Binding;
using interpreter::Memory;

std::unique_ptr<Memory> make_memory(uint64_t bytes) {
  return std::make_unique<Memory>((bytes + 3) / 4 * 4, true, false);
}

// Values that are neither all equal nor large. Integers are 0, a valid index of every table.
void fill(Memory& memory, DType type) {
  std::minstd_rand random(1);
  const auto next = [&] { return static_cast<float>(random() % 2001) / 1000.0f - 1.0f; };
  if (type == DType::F32)
    for (uint64_t i = 0; i + 4 <= memory.bytes(); i += 4) {
      const float value = next();
      std::memcpy(memory.data() + i, &value, 4);
    }
  if (type == DType::F16)
    for (uint64_t i = 0; i + 2 <= memory.bytes(); i += 2) {
      const uint16_t value = float_to_half(next());
      std::memcpy(memory.data() + i, &value, 2);
    }
}

class HeedWork {
 public:
  HeedWork(const Work& work, Compiler& compiler, Profile* result)
      : work_(work), compiler_(compiler), device_(compiler.capabilities()), result_(result) {
    if (work.no_units) device_.matrix = device_.bfloat_matrix = device_.byte_matrix = {};
  }
  bool run();

 private:
  bool plan();
  void place();
  Binding bind(const Node& pass, const KernelUse& use, uint32_t b, vulkan::Access* access);
  bool measure(const Node& pass, const KernelUse& use, const Dispatch& dispatch);
  Measured* known(const KernelUse& use, const Dispatch& dispatch);

  // Dispatches that differ only in the places of their tensors do the same work.
  struct Same {
    KernelKey key;
    std::array<uint32_t, 3> groups;
    std::vector<std::byte> push;
  };

  const Work& work_;
  Compiler& compiler_;
  Capabilities device_;
  Profile* result_;
  Schedule schedule_;
  std::unique_ptr<test::GivenWeights> weights_;
  std::vector<const detail::WeightsImpl::Entry*> entries_;
  std::vector<int64_t> sizes_;
  std::unique_ptr<Memory> weight_memory_, faults_ = make_memory(4);
  std::vector<std::unique_ptr<Memory>> storages_;  // by storage id; null for a weight
  std::vector<Same> same_;
  vulkan::HazardTracker hazards_;
  interpreter::Interpreter interpreter_;
};

bool HeedWork::plan() {
  Graph graph;
  work_.build(graph);
  weights_ = std::make_unique<test::GivenWeights>(graph);
  const KernelPlanning planning(device_);
  const CompileOptions asked = {.round_rows = work_.round_rows, .emulate_f32 = work_.emulate_f32};
  if (make_schedule(graph.data(), {asked, &planning, weights_.get()}, stderr_log(), &schedule_) != Status::Ok)
    return false;
  for (const detail::NamedTensor& weight : schedule_.weights) entries_.push_back(weights_->find(weight.name));
  std::vector<int64_t> extents(schedule_.extents.size());
  sizes_.resize(schedule_.sizes.count());
  return resolve_extents(schedule_, work_.extents, stderr_log(), extents, sizes_) == Status::Ok;
}

void HeedWork::place() {
  weight_memory_ = make_memory(weights_->bytes());
  storages_.resize(schedule_.placements.size());
  for (size_t id = 0; id < storages_.size(); ++id) {
    const Placement& at = schedule_.placements[id];
    if (at.space == Placement::Space::None || at.space == Placement::Space::Weight) continue;
    storages_[id] = make_memory(at.bytes);
    if (at.space == Placement::Space::Input || at.space == Placement::Space::State)
      fill(*storages_[id], schedule_.tensors[id].dtype);
    if (at.space != Placement::Space::Constant) continue;
    const auto& data = schedule_.constants[at.slot].data;
    std::copy(data.begin(), data.end(), storages_[id]->data());
  }
}

// `access` describes hazards, by the tensor's place in a plan.
Binding HeedWork::bind(const Node& pass, const KernelUse& use, uint32_t b, vulkan::Access* access) {
  const BufferUse& wanted = use.buffers[b];
  *access = {};
  if (wanted.kind == BufferUse::Kind::Faults) return {faults_.get(), 0, 4, true};
  if (wanted.kind == BufferUse::Kind::Weights) {
    const auto [begin, end] = span_of_weights(schedule_, pass);
    return {weight_memory_.get(), begin, end - begin, false};
  }
  const bool absent = !wanted.tensor.valid();
  const uint32_t id = schedule_.info(absent ? use.buffers[0].tensor : wanted.tensor).storage;
  const Placement& at = schedule_.placements[id];
  if (at.space == Placement::Space::Weight)
    return {weight_memory_.get(), entries_[at.slot]->offset, (entries_[at.slot]->bytes + 3) / 4 * 4, false};
  const bool written = wanted.write && !absent;
  if (at.space == Placement::Space::Scratch) *access = {UINT64_MAX, at.offset, at.offset + at.bytes, written};
  if (at.space != Placement::Space::Scratch && at.space != Placement::Space::Constant)
    *access = {id, 0, at.bytes, written};
  return {storages_[id].get(), 0, storages_[id]->bytes(), written};
}

Measured* HeedWork::known(const KernelUse& use, const Dispatch& dispatch) {
  // The push constants begin with the offsets of the bindings' tensors.
  const size_t skip = std::min<size_t>(use.buffer_count * 4, dispatch.push_bytes);
  Same same = {
      use.key,
      dispatch.groups,
      {dispatch.push.begin() + static_cast<std::ptrdiff_t>(skip), dispatch.push.begin() + dispatch.push_bytes}};
  for (size_t i = 0; i < same_.size(); ++i)
    if (same_[i].key == same.key && same_[i].groups == same.groups && same_[i].push == same.push)
      return &result_->kernels[i];
  same_.push_back(std::move(same));
  result_->kernels.emplace_back();
  return nullptr;
}

bool HeedWork::measure(const Node& pass, const KernelUse& use, const Dispatch& dispatch) {
  std::array<Binding, kMaxBindings> bindings;
  std::array<vulkan::Access, kMaxBindings> accesses;
  size_t count = 0;
  for (uint32_t b = 0; b < use.buffer_count; ++b) {
    bindings[b] = bind(pass, use, b, &accesses[count]);
    if (accesses[count].end != 0) ++count;
  }
  if (hazards_.enter({accesses.data(), count})) ++result_->barriers;
  if (Measured* same = known(use, dispatch)) {
    ++same->dispatches;
    return true;
  }
  Measured& fresh = result_->kernels.back();
  fresh.kernel = kernel_info(use.key.id).name;
  for (uint32_t i = 0; i < use.key.spec_count; ++i)
    fresh.constants.append(i == 0 ? "" : " ").append(std::to_string(use.key.spec[i]));
  fresh.groups = dispatch.groups;
  fresh.dispatches = 1;
  fresh.subgroup = use.key.subgroup != 0 ? use.key.subgroup : device_.subgroup_size;
  Compiled compiled;
  if (!compiler_.compile(use.key, &compiled)) return false;
  fresh.figures = figures_of(compiler_.physical().driver, compiled);
  fresh.listing = compiled.listing();
  return interpret(interpreter_,
                   {.words = kernel_words(use.key.id),
                    .constants = {use.key.spec.data(), use.key.spec_count},
                    .subgroup = fresh.subgroup,
                    .bindings = {bindings.data(), use.buffer_count},
                    .push = {dispatch.push.data(), dispatch.push_bytes},
                    .groups = dispatch.groups},
                   &fresh);
}

bool HeedWork::run() {
  if (!plan()) return false;
  place();
  const RunValues values = {.sizes = sizes_};
  for (const double bytes : fewest_bytes(schedule_, values)) result_->fewest_bytes += bytes;
  KernelList kernels;
  DispatchList list;
  for (const Node& pass : schedule_.passes) {
    result_->multiply_adds += cost_of(schedule_, pass, values).flops / 2;
    if (select_kernels(schedule_, pass, device_, stderr_log(), &kernels) != Status::Ok) return false;
    emit_dispatches(schedule_, pass, device_, kernels, values, &list);
    for (uint32_t d = 0; d < list.count; ++d)
      if (!measure(pass, kernels.uses[list.dispatches[d].kernel], list.dispatches[d])) return false;
  }
  return true;
}

// The bytes that must come from memory. Each binding counts the bytes that were accessed, but never more than its size, since whole
// segments are counted.
double bound_bytes(const interpreter::Counts& counts, std::span<const Binding> bindings) {
  std::map<std::pair<const Memory*, uint64_t>, uint64_t> ranges;
  for (const Binding& binding : bindings) {
    uint64_t& range = ranges[{binding.memory, binding.offset}];
    range = std::max(range, binding.range);
  }
  uint64_t bytes = 0;
  for (const auto& [place, segments] : counts.touched_at)
    bytes += std::min(ranges[place], segments[0] * interpreter::kSegments[0]);
  return static_cast<double>(bytes);
}

}  // namespace

bool interpret(interpreter::Interpreter& interpreter, interpreter::Launch launch, Measured* measured) {
  interpreter::Report report;
  report.where = measured->kernel;
  report.counts = &measured->counts;
  launch.sample = kSample;
  const uint64_t all = uint64_t{launch.groups[0]} * launch.groups[1] * launch.groups[2];
  try {
    measured->invocations = interpreter.module(launch).invocations();
    interpreter.run(launch, &report);
    measured->ran = measured->counts.workgroups;
    measured->counts.scale(all, measured->ran);
    measured->bound_bytes = bound_bytes(measured->counts, launch.bindings);
  } catch (const std::runtime_error& error) {
    measured->lacking = error.what();
    measured->counts = {};
  }
  for (const std::string& wrong : report.wrongs) std::fprintf(stderr, "%s\n", wrong.c_str());
  return report.wrongs.empty();
}

bool profile(const Work& work, Compiler& compiler, Profile* result) {
  result->engine = "heed";
  result->work = work.name;
  return HeedWork(work, compiler, result).run();
}

}  // namespace heed::gpu_tests
