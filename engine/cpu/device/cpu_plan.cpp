#include "cpu/device/cpu_plan.hpp"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstring>

#include "base/logging.hpp"
#include "cpu/ops/rows.hpp"

namespace heed::cpu {

CpuPlan::CpuPlan(std::shared_ptr<Shared> shared, Schedule&& schedule, std::shared_ptr<CpuWeights> weights,
                 const CompileOptions& options)
    : shared_(std::move(shared)),
      matmul_(*shared_->kernels.matmul),
      kernels_(shared_->kernels),
      schedule_(std::move(schedule)),
      weights_(std::move(weights)),
      options_(options),
      state_layout_(std::make_shared<detail::StateLayout>(detail::layout_of(schedule_, kAlignment))),
      found_states_(schedule_.states.size()) {
  if (schedule_.asked.reproducible) {
    matmul_ = *kernels_.canon_matmul;
    kernels_.rows = kernels_.canon_rows;
    kernels_.update = kernels_.canon_update;
  }
  if (options.round_rows && matmul_.rounded != nullptr) matmul_.quantized = matmul_.rounded;
  kernels_.matmul = &matmul_;
  const size_t buffers = schedule_.inputs.size() + schedule_.outputs.size();
  found_.resize(buffers);
  copies_.resize(buffers);
  copied_.resize(buffers);
  extent_values_.resize(schedule_.extents.size());
  sizes_.resize(schedule_.sizes.count());
  running_times_.resize(schedule_.passes.size());
  times_.resize(schedule_.passes.size());
  storages_.resize(schedule_.tensors.size());
}

CpuPlan::~CpuPlan() {
  if (scratch_added_) shared_->scratch.remove(scratch_bytes_);
}

Status CpuPlan::no_memory(const char* what, const std::string& name) const {
  return fail(shared_->log, Status::OutOfMemory, format("compile: %s: no memory for the %s", name.c_str(), what));
}

TensorForms& CpuPlan::forms_of(const detail::WeightsImpl::Entry& entry) const {
  return weights_->forms[static_cast<size_t>(&entry - weights_->entries.data())];
}

Status CpuPlan::build(const Entries& entries) {
  Status status = allocate_scratch();
  if (status == Status::Ok) status = bind_weights(entries);
  if (status != Status::Ok) return status;
  for (size_t id = 0; id < schedule_.placements.size(); ++id) {
    const Placement& at = schedule_.placements[id];
    if (at.space == Placement::Space::Constant)  // constants are never written
      storages_[id] = const_cast<std::byte*>(schedule_.constants[at.slot].data.data());
    if (at.space == Placement::Space::Weight && plain_[at.slot] != nullptr) storages_[id] = plain_[at.slot]->data();
  }
  return pack_weights(entries);
}

// Makes the plain form of each weight that some pass reads other than as b of a matmul.
Status CpuPlan::bind_weights(const Entries& entries) {
  plain_.resize(entries.size());
  for (const Node& node : schedule_.passes)
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const Placement& at = schedule_.placement(node.inputs[i]);
      const bool packs = (node.op == Op::Matmul && i == in::kB && has_constant_b(schedule_, node)) ||
                         is_quantized(schedule_.info(node.inputs[i]).dtype);
      if (at.space != Placement::Space::Weight || packs || plain_[at.slot] != nullptr) continue;
      plain_[at.slot] = forms_of(*entries[at.slot]).plain(kernels_, shared_->pool);
      if (plain_[at.slot] == nullptr) return no_memory("weight", entries[at.slot]->name);
      weight_bytes_ += entries[at.slot]->bytes;
    }
  return Status::Ok;
}

// Packs each constant b of a matmul, and keeps the quantized tables of embeddings. Plans that use a weight in the same way share the packed
// form.
Status CpuPlan::pack_weights(const Entries& entries) {
  packed_.resize(schedule_.passes.size());
  for (const detail::ConstantInfo& constant : schedule_.constants) constants_.emplace_back(constant.data.data());
  const RunValues maxima = {.sizes = schedule_.max_values};
  for (size_t i = 0; i < packed_.size(); ++i) {
    const Node& node = schedule_.passes[i];
    const bool gathers = node.op == Op::Embedding && is_quantized(schedule_.info(node.inputs[in::kTable]).dtype);
    if (!gathers && (node.op != Op::Matmul || !has_constant_b(schedule_, node))) continue;
    const Tensor b = node.inputs[gathers ? in::kTable : in::kB];
    const Placement& at = schedule_.placement(b);
    const bool weight = at.space == Placement::Space::Weight;
    TensorForms& forms = weight ? forms_of(*entries[at.slot]) : constants_[at.slot];
    packed_[i] = gathers ? forms.quantized() : forms.packed(resolve(schedule_, b, maxima), kernels_, shared_->pool);
    if (packed_[i] == nullptr) return no_memory("packed weight", node.label);
    if (!weight) continue;
    std::byte*& storage = storages_[schedule_.info(b).storage];
    if (storage == nullptr) storage = packed_[i]->memory.data();
    const auto before = packed_.begin() + static_cast<ptrdiff_t>(i);
    if (std::find(packed_.begin(), before, packed_[i]) == before) weight_bytes_ += packed_[i]->memory.bytes();
  }
  return Status::Ok;
}

Status CpuPlan::allocate_scratch() {
  ScratchNeed need;
  const RunValues maxima = {.sizes = schedule_.max_values};
  for (const Node& node : schedule_.passes) {
    if (node.op == Op::Custom && node.as<CustomAttrs>().cpu.run == nullptr)
      return fail(shared_->log, Status::Unsupported,
                  format("compile: %s: this pass of the host's has no function for the CPU", node.label.c_str()));
    const ScratchNeed own = operation(node.op).scratch({schedule_, node, maxima, kernels_});
    need.shared = std::max(need.shared, own.shared);
    need.per_worker = std::max(need.per_worker, own.per_worker);
  }
  constexpr uint64_t kMost = uint64_t{1} << 50;  // the sums below cannot overflow
  if (need.per_worker > kMost || need.shared > kMost)
    return fail(shared_->log, Status::OutOfMemory, "compile: a pass needs more memory than can be addressed");
  worker_stride_ = align_up(need.per_worker, kAlignment);
  shared_offset_ = align_up(schedule_.scratch_bytes, kAlignment);
  workers_offset_ = shared_offset_ + align_up(need.shared, kAlignment);
  scratch_bytes_ = workers_offset_ + worker_stride_ * shared_->pool.workers();
  if (scratch_bytes_ > options_.memory_limit)
    return fail(shared_->log, Status::OutOfMemory,
                format("compile: the plan needs %" PRIu64 " bytes of memory; its limit is %" PRIu64, scratch_bytes_,
                       options_.memory_limit));
  scratch_added_ = scratch_bytes_ != 0 && shared_->scratch.add(scratch_bytes_);
  if (scratch_added_ || scratch_bytes_ == 0) return Status::Ok;
  return fail(shared_->log, Status::OutOfMemory,
              format("compile: no memory for %" PRIu64 " bytes of scratch", scratch_bytes_));
}

void CpuPlan::place_scratch(std::byte* memory) {
  if (scratch_ == memory) return;  // as in the last run, unless other runs took place at the same time
  scratch_ = memory;
  for (size_t id = 0; id < schedule_.placements.size(); ++id)
    if (schedule_.placements[id].space == Placement::Space::Scratch)
      storages_[id] = memory + schedule_.placements[id].offset;
}

// A host's buffer is used in place if its elements are aligned, it does not overlap the State and, for an output, no other buffer: passes
// still read inputs after the first output was written.
bool CpuPlan::usable_in_place(size_t index, uint64_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(found_[index]->data);
  const auto overlaps = [&](const void* other_data, size_t other_bytes) {
    const auto other = reinterpret_cast<uintptr_t>(other_data);
    return begin < other + other_bytes && other < begin + bytes;
  };
  if (begin % size_of(schedule_.tensors[schedule_.buffer(index).tensor].dtype) != 0) return false;
  if (overlaps(state_memory_.data(), state_memory_.size())) return false;
  if (index < schedule_.inputs.size()) return true;
  for (size_t i = 0; i < found_.size(); ++i)
    if (i != index && overlaps(found_[i]->data, found_[i]->bytes)) return false;
  return true;
}

Status CpuPlan::bind_one(size_t index, uint64_t bytes) {
  const detail::NamedTensor& named = schedule_.buffer(index);
  const uint32_t storage = schedule_.tensors[named.tensor].storage;
  copied_[index] = !usable_in_place(index, bytes);
  if (!copied_[index]) {
    // Inputs are never written; one pointer type serves both.
    storages_[storage] = static_cast<std::byte*>(const_cast<void*>(found_[index]->data));
    return Status::Ok;
  }
  if (copies_[index].bytes() < bytes && !copies_[index].allocate(bytes))
    return fail(shared_->log, Status::OutOfMemory,
                format("run: no memory for a copy of '%s', %" PRIu64 " bytes", named.name.c_str(), bytes));
  storages_[storage] = copies_[index].data();
  if (index < schedule_.inputs.size()) std::memcpy(copies_[index].data(), found_[index]->data, bytes);
  return Status::Ok;
}

Status CpuPlan::bind() {
  for (size_t i = 0; i < found_.size(); ++i) {
    const Status status = bind_one(i, schedule_.buffer_bytes(i, values_.sizes));
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

Status CpuPlan::make_state(const std::span<std::byte>* memory, std::shared_ptr<detail::StateImpl>* state) {
  auto fresh = std::make_shared<CpuState>(state_layout_, shared_);
  const Status status = memory == nullptr ? fresh->allocate() : fresh->use(*memory);
  if (status == Status::Ok) *state = std::move(fresh);
  return status;
}

Status CpuPlan::bind_state(const detail::StateImpl* state) {
  const Status status = detail::match_states(*state_layout_, state, shared_.get(), "run", shared_->log, &found_states_);
  state_memory_ = {};
  if (status != Status::Ok || schedule_.states.empty()) return status;
  // States with this home are CpuStates.
  std::byte* const data = static_cast<const CpuState*>(state)->data();
  state_memory_ = {data, state->layout->bytes};
  for (size_t i = 0; i < found_states_.tensors.size(); ++i)
    storages_[schedule_.states[i].tensor] = data + found_states_.tensors[i]->offset;
  return status;
}

void CpuPlan::copy_back() {
  for (size_t i = schedule_.inputs.size(); i < found_.size(); ++i)
    if (copied_[i])
      std::memcpy(const_cast<void*>(found_[i]->data), copies_[i].data(), schedule_.buffer_bytes(i, values_.sizes));
}

// Checks everything that the host passed; on failure nothing has been written.
Status CpuPlan::take_arguments(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
                               const RunOptions& options) {
  Status status = resolve_extents(schedule_, extents, shared_->log, extent_values_, sizes_);
  if (status != Status::Ok) return status;
  values_ = {};
  values_.sizes = sizes_;
  values_.seed = options.seed;
  status = detail::match_buffers(schedule_, buffers, values_, shared_->log, found_);
  if (status == Status::Ok) status = bind_state(options.state.impl().get());
  if (status == Status::Ok) status = bind();
  return status;
}

Status CpuPlan::execute() {
  ScratchPool::Block* const block = scratch_bytes_ == 0 ? nullptr : shared_->scratch.borrow(scratch_bytes_);
  if (block == nullptr && scratch_bytes_ != 0)
    return fail(shared_->log, Status::OutOfMemory,
                format("run: no memory for %" PRIu64 " bytes of scratch", scratch_bytes_));
  if (block != nullptr) place_scratch(block->memory.data());
  const Status status = run_passes();
  copy_back();
  if (options_.timestamps) {
    const std::lock_guard<std::mutex> lock(times_mutex_);
    times_.swap(running_times_);
    finished_ = true;
  }
  if (block != nullptr) shared_->scratch.give_back(block);
  return status;
}

Status CpuPlan::run(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
                    const RunOptions& options) {
  const Status status = take_arguments(buffers, extents, options);
  return status == Status::Ok ? execute() : status;
}

Status CpuPlan::start(std::span<const HostBuffer> buffers, std::span<const ExtentValue> extents,
                      const RunOptions& options) {
  Status status = take_arguments(buffers, extents, options);
  if (status != Status::Ok) return status;
  job_.argument = this;
  job_.work = [](void* self) {
    auto* plan = static_cast<CpuPlan*>(self);
    plan->status_ = plan->execute();
  };
  status = shared_->queue.add(&job_);
  if (status == Status::Unsupported)
    return fail(shared_->log, status,
                "start: no thread runs started work: the host's ParallelFor has no `start`, or the process was forked");
  return status == Status::Ok ? status : fail(shared_->log, status, "start: the system gives no thread");
}

Status CpuPlan::finish() {
  shared_->queue.finish(&job_);
  return status_;
}

Pass CpuPlan::pass(size_t index, Fault& fault) const {
  return {schedule_,
          schedule_.passes[index],
          values_,
          storages_,
          shared_->pool,
          kernels_,
          packed_[index].get(),
          scratch_ + shared_offset_,
          scratch_ + workers_offset_,
          worker_stride_,
          fault};
}

Status CpuPlan::run_passes() {
  using Clock = std::chrono::steady_clock;
  Status status = Status::Ok;
  for (size_t i = 0; i < schedule_.passes.size(); ++i) {
    const Node& node = schedule_.passes[i];
    Fault fault;
    const Clock::time_point begin = options_.timestamps ? Clock::now() : Clock::time_point{};
    operation(node.op).run(pass(i, fault));
    if (options_.timestamps)
      running_times_[i].milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    const uint64_t position = fault.position.load();
    if (position != Fault::kNone) status = report_fault(node, pass(i, fault), position);
  }
  return status;
}

Status CpuPlan::report_fault(const Node& node, const Pass& pass, uint64_t position) const {
  if (node.op != Op::Embedding)
    return fail(shared_->log, Status::IndexOutOfRange,
                format("run: %s: the index of element %" PRIu64 " is beyond the end; its row is left out",
                       node.label.c_str(), position));
  const Operand ids = pass.input(in::kIds);
  const int32_t id = *ids.at<const int32_t>(row_offset(per_row(ids.view), static_cast<int64_t>(position)));
  return fail(shared_->log, Status::IndexOutOfRange,
              format("run: %s: id %" PRId32 " at position %" PRIu64 " is outside the table of %" PRId64 " rows",
                     node.label.c_str(), id, position, pass.input(in::kTable).view.dim[0]));
}

std::string CpuPlan::why(const Node& node) const {
  const char* name = kernels_.name;
  if (node.op == Op::Matmul) {
    const DType b = schedule_.info(node.inputs[in::kB]).dtype;
    const DType a = schedule_.info(node.inputs[in::kA]).dtype;
    const bool constant_b = has_constant_b(schedule_, node);
    if (is_quantized(b) && constant_b && matmul_.of(b).narrow != nullptr)
      return format("%s sums of whole numbers, a rounded to 8 bits, %s as stored", name, to_string(b));
    if (constant_b && matmul_.of(b).narrow != nullptr)
      return format("%s dot products, a %s bf16, f32 sums", name, a == DType::BF16 ? "stored as" : "rounded to");
    if (is_quantized(b)) return format("%s register tiles, %s widened in registers, f32 sums", name, to_string(b));
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
  for (const Node& node : schedule_.passes) {
    const Cost cost = cost_of(schedule_, node, maxima);
    PassInfo pass;
    pass.label = node.label;
    pass.op = to_string(node.op);
    pass.kernel = "cpu";
    pass.why = why(node);
    if (!node.note.empty()) pass.why += "; " + node.note;
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
  if (running) return fail(shared_->log, Status::InvalidArgument, "timings: the plan is running");
  const std::lock_guard<std::mutex> lock(times_mutex_);  // a run may begin and end during this call
  if (!finished_) return fail(shared_->log, Status::InvalidArgument, "timings: the plan has not run yet");
  *times = times_;
  return Status::Ok;
}

}  // namespace heed::cpu
