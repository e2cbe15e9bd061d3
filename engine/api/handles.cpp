// The calls of the public handles. Each checks that the handle holds something and passes the call on.
#include <heed/device.hpp>
#include <heed/plan.hpp>

#include "base/logging.hpp"
#include "graph/schedule/backend.hpp"

namespace heed {

uint64_t Weights::bytes() const { return impl_ == nullptr ? 0 : impl_->bytes(); }

const DeviceInfo& Device::info() const { return impl_->info(); }

Status Device::upload(std::span<const HostTensor> tensors, Weights* weights, const UploadOptions& options) {
  if (impl_ == nullptr || weights == nullptr) return refuse("Device::upload: the Device is empty, or weights is null");
  for (const HostTensor& tensor : tensors)
    if (tensor.data.data() == nullptr && !tensor.data.empty())
      return fail(impl_->log(), Status::InvalidArgument, "upload: '" + std::string(tensor.name) + "' is null");
  std::shared_ptr<detail::WeightsImpl> uploaded;
  const Status status = impl_->upload(tensors, options, &uploaded);
  if (status == Status::Ok) weights->impl_ = std::move(uploaded);
  return status;
}

uint64_t Device::upload_bytes(std::span<const HostTensor> tensors, const UploadOptions& options) const {
  std::vector<detail::WeightsImpl::Entry> entries;
  std::vector<size_t> order;
  uint64_t bytes = 0;
  if (impl_ == nullptr) return 0;
  const Status status = detail::place_weights(tensors, options, impl_->weight_alignment(), impl_->most_weight_bytes(),
                                              impl_->log(), &entries, &order, &bytes);
  return status == Status::Ok ? bytes : 0;
}

uint64_t Device::scratch_bytes() const { return impl_ == nullptr ? 0 : impl_->scratch_bytes(); }

Status Device::compile(const Graph& graph, const Weights& weights, Plan* plan, const CompileOptions& options) {
  if (impl_ == nullptr || plan == nullptr) return refuse("Device::compile: the Device is empty, or plan is null");
  if (options.record_slots < 1 || options.record_slots > 16)
    return fail(impl_->log(), Status::InvalidArgument,
                format("compile: record_slots is %u; it must be 1 to 16", options.record_slots));
  Schedule schedule;
  const std::unique_ptr<const detail::PlanningDevice> planning = impl_->planning();
  Status status = make_schedule(graph.data(), {options, planning.get(), weights.impl().get()}, impl_->log(), &schedule);
  if (status == Status::Ok && options.reproducible) status = check_reproducible(schedule, impl_->log());
  if (status == Status::Ok)
    status = check_weights(graph.data(), schedule, weights.impl().get(), impl_.get(), options.strict, impl_->log());
  if (status != Status::Ok) return status;
  std::shared_ptr<detail::PlanImpl> compiled;
  status = impl_->compile(std::move(schedule), weights.impl(), options, &compiled);
  if (status != Status::Ok) return status;
  if (weights.impl() != nullptr) compiled->unused.watch(weights.impl()->uses);
  *plan = Plan(std::move(compiled));
  return status;
}

Status Device::pipeline_cache(std::vector<std::byte>* blob) const {
  return impl_ == nullptr || blob == nullptr ? refuse("Device::pipeline_cache: the Device is empty, or blob is null")
                                             : impl_->pipeline_cache(blob);
}

namespace {

Status make_state(detail::PlanImpl* plan, const std::span<std::byte>* memory, State* state) {
  if (plan == nullptr || state == nullptr) return refuse("Plan::make_state: the Plan is empty, or state is null");
  std::shared_ptr<detail::StateImpl> made;
  const Status status = plan->make_state(memory, &made);
  if (status == Status::Ok) *state = State(std::move(made));
  return status;
}

}  // namespace

Status Plan::make_state(State* state) { return heed::make_state(impl_.get(), nullptr, state); }
Status Plan::make_state(std::span<std::byte> memory, State* state) {
  return heed::make_state(impl_.get(), &memory, state);
}
uint64_t Plan::state_bytes() const { return impl_ == nullptr ? 0 : impl_->state_bytes(); }

uint64_t Plan::scratch_bytes() const { return impl_ == nullptr ? 0 : impl_->scratch_bytes(); }
uint64_t Plan::weight_bytes() const { return impl_ == nullptr ? 0 : impl_->weight_bytes(); }
uint32_t Plan::pipeline_count() const { return impl_ == nullptr ? 0 : impl_->pipeline_count(); }
std::vector<PipelineInfo> Plan::pipelines() const {
  return impl_ == nullptr ? std::vector<PipelineInfo>() : impl_->pipelines();
}
Status Plan::prepare(uint32_t index) {
  return impl_ == nullptr ? refuse("Plan::prepare: the Plan is empty") : impl_->prepare(index);
}
bool Plan::ready() const { return impl_ != nullptr && impl_->ready(); }
std::vector<ExtentValue> Plan::largest_extents() const {
  return impl_ == nullptr ? std::vector<ExtentValue>() : heed::largest_extents(impl_->schedule());
}
Status Plan::find_dims(std::string_view name, std::span<const ExtentValue> extents, std::vector<int64_t>* dims) const {
  if (impl_ == nullptr || dims == nullptr) return refuse("Plan::find_dims: the Plan is empty, or dims is null");
  const Schedule& schedule = impl_->schedule();
  const size_t count = schedule.inputs.size() + schedule.outputs.size();
  size_t i = 0;
  while (i < count && schedule.buffer(i).name != name) ++i;
  if (i == count)
    return fail(impl_->host_log(), Status::NotFound,
                format("the plan has no input or output '%.*s'", static_cast<int>(name.size()), name.data()));
  std::vector<int64_t> values(schedule.extents.size()), sizes(schedule.sizes.count());
  const Status status = resolve_extents(schedule, extents, impl_->host_log(), values, sizes);
  if (status != Status::Ok) return status;
  const View view = resolve(schedule, {schedule.buffer(i).tensor}, {.sizes = sizes});
  dims->assign(view.dim, view.dim + view.rank);
  return Status::Ok;
}
std::vector<PassInfo> Plan::passes() const { return impl_ == nullptr ? std::vector<PassInfo>() : impl_->passes(); }
Status Plan::timings(std::vector<PassTime>* times, uint32_t slot) const {
  return impl_ == nullptr || times == nullptr ? refuse("Plan::timings: the Plan is empty, or times is null")
                                              : impl_->timings(times, slot);
}

}  // namespace heed
