#include "cpu/cpu_plan.hpp"

#include <chrono>
#include <cinttypes>
#include <cstring>

#include "base/logging.hpp"
#include "cpu/rows.hpp"

namespace heed::cpu {

CpuPlan::CpuPlan(std::shared_ptr<Shared> shared, Schedule&& schedule, std::shared_ptr<CpuWeights> weights,
                 const CompileOptions& options)
    : shared_(std::move(shared)), schedule_(std::move(schedule)), weights_(std::move(weights)), options_(options) {
  const size_t buffers = schedule_.inputs.size() + schedule_.outputs.size();
  found_.resize(buffers);
  copies_.resize(buffers);
  copied_.resize(buffers);
  extent_values_.resize(schedule_.extents.size());
  sizes_.resize(schedule_.sizes.count());
  times_.resize(schedule_.steps.size());
  storages_.resize(schedule_.tensors.size());
}

Status CpuPlan::build(const std::vector<const detail::WeightsImpl::Entry*>& entries) {
  const Status status = allocate_scratch();
  if (status != Status::Ok) return status;
  for (size_t id = 0; id < schedule_.placements.size(); ++id) {
    const Placement& at = schedule_.placements[id];
    if (at.space == Placement::Space::Scratch) storages_[id] = scratch_.data() + at.offset;
    if (at.space == Placement::Space::Constant)  // never written
      storages_[id] = const_cast<std::byte*>(schedule_.constants[at.slot].data.data());
    if (at.space == Placement::Space::Weight) storages_[id] = weights_->memory.data() + entries[at.slot]->offset;
  }
  for (const detail::WeightsImpl::Entry* entry : entries) weight_bytes_ += entry->bytes;
  return pack_weights();
}

// The b of every matmul that is the same at each run, once. Plans that use the same weights in the same way share it.
Status CpuPlan::pack_weights() {
  packed_.resize(schedule_.steps.size());
  PackedCache constants;  // a constant that several steps use is packed once, too
  Fault unused;
  const RunValues maxima = {.sizes = schedule_.max_values};
  for (size_t i = 0; i < packed_.size(); ++i) {
    const Node& node = schedule_.steps[i];
    if (node.op != Op::Matmul || !has_constant_b(schedule_, node)) continue;
    const bool weight = schedule_.placement(node.inputs[in::kB]).space == Placement::Space::Weight;
    packed_[i] = (weight ? weights_->packed : constants)
                     .get(step(i, maxima, unused).input(in::kB), *shared_->kernels.matmul, shared_->pool);
    if (packed_[i] == nullptr)
      return fail(shared_->log, Status::OutOfMemory,
                  format("compile: %s: no memory for the packed weight", node.label.c_str()));
  }
  return Status::Ok;
}

Status CpuPlan::allocate_scratch() {
  ScratchNeed need;
  const RunValues maxima = {.sizes = schedule_.max_values};
  for (const Node& node : schedule_.steps) {
    if (operation(node.op).run == nullptr)
      return fail(shared_->log, Status::Unsupported,
                  format("compile: %s: the CPU device has no operation %s", node.label.c_str(), to_string(node.op)));
    if (node.op == Op::Custom && node.as<CustomAttrs>().cpu.run == nullptr)
      return fail(shared_->log, Status::Unsupported,
                  format("compile: %s: this pass of the host's has no function for the CPU", node.label.c_str()));
    if (operation(node.op).scratch == nullptr) continue;
    const ScratchNeed own = operation(node.op).scratch({schedule_, node, maxima, shared_->kernels});
    need.shared = std::max(need.shared, own.shared);
    need.per_worker = std::max(need.per_worker, own.per_worker);
  }
  constexpr uint64_t kMost = uint64_t{1} << 50;  // the sums below cannot wrap
  if (need.per_worker > kMost || need.shared > kMost)
    return fail(shared_->log, Status::OutOfMemory, "compile: a step needs more memory than can be addressed");
  worker_stride_ = align_up(need.per_worker, kAlignment);
  const uint64_t workers = worker_stride_ * shared_->pool.workers();
  const uint64_t bytes = schedule_.scratch_bytes + need.shared + workers;
  if (bytes > options_.memory_limit)
    return fail(shared_->log, Status::OutOfMemory,
                format("compile: the plan needs %" PRIu64 " bytes of memory; its limit is %" PRIu64, bytes,
                       options_.memory_limit));
  if (scratch_.allocate(schedule_.scratch_bytes) && shared_scratch_.allocate(need.shared) &&
      worker_scratch_.allocate(workers))
    return Status::Ok;
  return fail(shared_->log, Status::OutOfMemory, format("compile: no memory for %" PRIu64 " bytes of scratch", bytes));
}

const detail::NamedTensor& CpuPlan::named(size_t index) const {
  const size_t inputs = schedule_.inputs.size();
  return index < inputs ? schedule_.inputs[index] : schedule_.outputs[index - inputs];
}

uint64_t CpuPlan::bytes_of(size_t index, const RunValues& values) const {
  const View view = resolve(schedule_, Tensor{named(index).tensor}, values);
  return static_cast<uint64_t>(view.elements()) * size_of(view.dtype);
}

// The host's memory serves when it is aligned for its elements and, for an output, overlaps no other buffer:
// steps still read inputs after the first output was written.
bool CpuPlan::usable_in_place(size_t index, uint64_t bytes) const {
  if (found_[index] == nullptr) return false;
  const auto begin = reinterpret_cast<uintptr_t>(found_[index]->data);
  if (begin % size_of(schedule_.tensors[named(index).tensor].dtype) != 0) return false;
  if (index < schedule_.inputs.size()) return true;
  for (size_t i = 0; i < found_.size(); ++i) {
    if (i == index || found_[i] == nullptr) continue;
    const auto other = reinterpret_cast<uintptr_t>(found_[i]->data);
    if (begin < other + found_[i]->bytes && other < begin + bytes) return false;
  }
  return true;
}

Status CpuPlan::bind_one(size_t index, uint64_t bytes) {
  const uint32_t storage = schedule_.tensors[named(index).tensor].storage;
  copied_[index] = !usable_in_place(index, bytes);
  if (!copied_[index]) {
    // Inputs are never written; one pointer type serves both.
    storages_[storage] = static_cast<std::byte*>(const_cast<void*>(found_[index]->data));
    return Status::Ok;
  }
  if (copies_[index].bytes() < bytes && !copies_[index].allocate(bytes))
    return fail(shared_->log, Status::OutOfMemory,
                format("run: no memory for a copy of '%s', %" PRIu64 " bytes", named(index).name.c_str(), bytes));
  storages_[storage] = copies_[index].data();
  if (index < schedule_.inputs.size()) std::memcpy(copies_[index].data(), found_[index]->data, bytes);
  return Status::Ok;
}

Status CpuPlan::bind(const RunValues& values) {
  for (size_t i = 0; i < found_.size(); ++i) {
    const Status status = bind_one(i, bytes_of(i, values));
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

void CpuPlan::copy_back(const RunValues& values) {
  for (size_t i = schedule_.inputs.size(); i < found_.size(); ++i)
    if (copied_[i] && found_[i] != nullptr)
      std::memcpy(const_cast<void*>(found_[i]->data), copies_[i].data(), bytes_of(i, values));
}

Status CpuPlan::run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
                    const RunOptions& options) {
  Status status = resolve_extents(schedule_, extents, shared_->log, extent_values_, sizes_);
  if (status != Status::Ok) return status;
  RunValues values;
  values.sizes = sizes_;
  values.seed = options.seed;
  status = detail::match_buffers(schedule_, buffers, values, shared_->log, found_);
  if (status == Status::Ok) status = bind(values);
  if (status != Status::Ok) return status;
  finished_ = false;
  status = run_steps(values);
  copy_back(values);
  finished_ = true;
  return status;
}

Step CpuPlan::step(size_t index, const RunValues& values, Fault& fault) const {
  return {schedule_,
          schedule_.steps[index],
          values,
          storages_,
          shared_->pool,
          shared_->kernels,
          packed_[index].get(),
          shared_scratch_.data(),
          worker_scratch_.data(),
          worker_stride_,
          fault};
}

Status CpuPlan::run_steps(const RunValues& values) {
  using Clock = std::chrono::steady_clock;
  Status status = Status::Ok;
  for (size_t i = 0; i < schedule_.steps.size(); ++i) {
    const Node& node = schedule_.steps[i];
    Fault fault;
    const Clock::time_point begin = options_.timestamps ? Clock::now() : Clock::time_point{};
    operation(node.op).run(step(i, values, fault));
    if (options_.timestamps)
      times_[i].milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    const uint64_t position = fault.position.load();
    if (position != Fault::kNone) status = report_fault(node, step(i, values, fault), position);
  }
  return status;
}

Status CpuPlan::report_fault(const Node& node, const Step& step, uint64_t position) const {
  const Operand ids = step.input(in::kIds);
  const auto row = static_cast<int64_t>(position), length = row_length(ids.view);
  const int32_t id = *ids.at<const int32_t>(row_offset(ids.view, row / length) + row % length * row_stride(ids.view));
  return fail(shared_->log, Status::IndexOutOfRange,
              format("run: %s: id %" PRId32 " at position %" PRIu64 " is outside the table of %" PRId64 " rows",
                     node.label.c_str(), id, position, step.input(in::kTable).view.dim[0]));
}

std::string CpuPlan::why(const Node& node) const {
  const char* name = shared_->kernels.name;
  if (node.op == Op::Matmul) {
    const DType b = schedule_.info(node.inputs[in::kB]).dtype;
    const DType a = schedule_.info(node.inputs[in::kA]).dtype;
    if (has_constant_b(schedule_, node) && shared_->kernels.matmul->of(b).narrow != nullptr)
      return format("%s dot products, a %s bf16, f32 sums", name, a == DType::BF16 ? "stored as" : "rounded to");
    return format("%s register tiles, b stored as %s, f32 sums", name, to_string(b));
  }
  if (node.op == Op::Custom) return "a function of the host's";
  if (node.op == Op::Attention) return format("fused, %s register tiles, f32 sums", name);
  return format("%s vectors, f32 arithmetic, row by row", name);
}

std::vector<PassInfo> CpuPlan::passes() const {
  const RunValues maxima = {.sizes = schedule_.max_values};
  const std::vector<double> fewest = fewest_bytes(schedule_, maxima);
  std::vector<PassInfo> passes;
  for (const Node& node : schedule_.steps) {
    const Cost cost = cost_of(schedule_, node, maxima);
    PassInfo pass;
    pass.label = node.label;
    pass.op = to_string(node.op);
    pass.kernel = "cpu";
    pass.why = why(node);
    pass.dtype = schedule_.info(node.outputs[0]).dtype;
    pass.dispatches = 1;
    pass.flops = cost.flops;
    pass.bytes = cost.bytes;
    pass.fewest_bytes = fewest[passes.size()];
    passes.push_back(std::move(pass));
  }
  return passes;
}

Status CpuPlan::timings(std::vector<PassTime>* times, uint32_t) const {
  if (!options_.timestamps)
    return fail(shared_->log, Status::Unsupported, "timings: the plan was compiled without timestamps");
  if (!finished_) return fail(shared_->log, Status::InvalidArgument, "timings: the plan has not run yet");
  *times = times_;
  return Status::Ok;
}

}  // namespace heed::cpu
