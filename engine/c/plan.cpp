// Running plans with host memory, and asking them.
#include <heed/plan.hpp>

#include "c/objects.hpp"
#include "c/run_arguments.hpp"

namespace heed::c {

const std::vector<PassInfo>& Plan::passes() {
  const std::lock_guard lock(mutex_);
  if (!has_passes_) passes_ = it.passes();
  has_passes_ = true;
  return passes_;
}

const std::vector<PipelineInfo>& Plan::pipeline_names() {
  const std::lock_guard lock(mutex_);
  if (!has_names_) names_ = it.pipelines();
  has_names_ = true;
  return names_;
}

std::vector<ExtentValue> extents_of(Call& call, const heed_extent_value* extents, size_t count) {
  std::vector<ExtentValue> all;
  if (!call.has_array(extents, count, "extents")) return all;
  for (size_t i = 0; i < count && !call.failed(); ++i)
    all.push_back({call.text(extents[i].name, "an extent's name"), extents[i].value});
  return all;
}

namespace {

// A buffer whose elements have the type that the caller says, or that nobody checks.
HostBuffer buffer_of(Call& call, const char* name, const void* data, size_t bytes, heed_dtype dtype, bool writable) {
  HostBuffer buffer;
  buffer.name = call.text(name, "a buffer's name");
  buffer.data = data;
  buffer.bytes = bytes;
  buffer.element_bytes = 1;
  buffer.raw = true;
  buffer.writable = writable;
  const std::optional<DType> type = call.dtype_if(dtype);
  if (!type) return buffer;
  buffer.raw = false;
  buffer.element_bytes = size_of(*type);
  buffer.is_float = *type == DType::F32;
  buffer.is_integer = !buffer.is_float;
  return buffer;
}

// What heed_run_info says, as the engine takes it.
struct RunArguments {
  RunArguments(Call& call, const heed_run_info* info) : given(call, info, "the run's info") {
    if (!call.has(info, "the run's info")) return;
    if (call.has_array(given->inputs, given->input_count, "inputs"))
      for (size_t i = 0; i < given->input_count && !call.failed(); ++i) {
        const heed_input& from = given->inputs[i];
        buffers.push_back(buffer_of(call, from.name, from.data, from.bytes, from.dtype, false));
      }
    if (call.has_array(given->outputs, given->output_count, "outputs"))
      for (size_t i = 0; i < given->output_count && !call.failed(); ++i) {
        const heed_output& from = given->outputs[i];
        buffers.push_back(buffer_of(call, from.name, from.data, from.bytes, from.dtype, true));
      }
    extents = extents_of(call, given->extents, given->extent_count);
    if (given->state != nullptr) state.emplace(call, given->state);
    options.seed = given->seed;
    options.timeout_ms = given->timeout_ms;
    if (state && *state) options.state = (*state)->it;
  }

  Given<heed_run_info> given;
  std::vector<HostBuffer> buffers;
  std::vector<ExtentValue> extents;
  std::optional<Pin<State>> state;
  RunOptions options;
};

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_plan_destroy(heed_plan* plan) { return destroy<Plan>(__func__, plan); }

heed_status heed_plan_run(heed_plan* handle, const heed_run_info* info) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  const RunArguments arguments(call, info);
  if (call.failed()) return call.status();
  heed::Plan it = plan->it;
  return call.end(it.run(arguments.buffers, arguments.extents, arguments.options), plan->host.get());
}

heed_status heed_plan_start(heed_plan* handle, const heed_run_info* info, heed_run** run) {
  Call call(__func__);
  if (!has_place(call, run, "run")) return call.status();
  const Pin<Plan> plan(call, handle);
  const RunArguments arguments(call, info);
  if (call.failed()) return call.status();
  auto made = std::make_unique<Run>();
  made->host = plan->host;
  made->customs = plan->customs;
  heed::Plan it = plan->it;
  call.end(it.start(arguments.buffers, arguments.extents, arguments.options, &made->it), plan->host.get());
  return give(call, std::move(made), run);
}

heed_status heed_run_done(heed_run* handle, int32_t* done) {
  Call call(__func__);
  const Pin<Run> run(call, handle);
  if (call.has(done, "done") && !call.failed()) *done = run->it.done();
  return call.status();
}

heed_status heed_run_wait(heed_run* handle) {
  Call call(__func__);
  const Pin<Run> run(call, handle);
  return call.failed() ? call.status() : call.end(run->it.wait(), run->host.get());
}

heed_status heed_run_destroy(heed_run* run) { return destroy<Run>(__func__, run); }

heed_status heed_plan_scratch_bytes(heed_plan* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = plan->it.scratch_bytes();
  return call.status();
}

heed_status heed_plan_weight_bytes(heed_plan* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = plan->it.weight_bytes();
  return call.status();
}

heed_status heed_plan_state_bytes(heed_plan* handle, uint64_t* bytes) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = plan->it.state_bytes();
  return call.status();
}

size_t heed_plan_pass_count(heed_plan* handle) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  return plan ? plan->passes().size() : 0;
}

heed_status heed_plan_pass(heed_plan* handle, size_t index, heed_pass_info* info) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  Wanted<heed_pass_info> wanted(call, info, "info");
  if (call.failed() || !call.has_index(index, plan->passes().size())) return call.status();
  const heed::PassInfo& from = plan->passes()[index];
  heed_pass_info to = {};
  to.label = from.label.c_str();
  to.op = from.op.c_str();
  to.kernel = from.kernel.c_str();
  to.why = from.why.c_str();
  to.flops = from.flops;
  to.bytes = from.bytes;
  to.fewest_bytes = from.fewest_bytes;
  to.dtype = to_c(from.dtype);
  to.dispatches = from.dispatches;
  wanted.set(to);
  return call.status();
}

heed_status heed_plan_timings(heed_plan* handle, uint32_t slot, double* milliseconds, size_t capacity, size_t* count) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  if (!call.has(count, "count") || call.failed()) return call.status();
  std::vector<heed::PassTime> times;
  if (call.end(plan->it.timings(&times, slot), plan->host.get()) != HEED_OK) return call.status();
  std::vector<double> values;
  for (const heed::PassTime& time : times) values.push_back(time.milliseconds);
  return fill<double>(call, values, milliseconds, capacity, count);
}

size_t heed_plan_pipeline_count(heed_plan* handle) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  return plan ? plan->pipeline_names().size() : 0;
}

heed_status heed_plan_pipeline(heed_plan* handle, size_t index, heed_pipeline_info* info) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  Wanted<heed_pipeline_info> wanted(call, info, "info");
  if (call.failed() || !call.has_index(index, plan->pipeline_names().size())) return call.status();
  heed_pipeline_info to = {};
  to.name = plan->pipeline_names()[index].name.c_str();
  to.ready = plan->it.pipelines()[index].ready;
  wanted.set(to);
  return call.status();
}

heed_status heed_plan_prepare(heed_plan* handle, uint32_t index) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  if (call.failed()) return call.status();
  heed::Plan it = plan->it;
  return call.end(it.prepare(index), plan->host.get());
}

heed_status heed_plan_ready(heed_plan* handle, int32_t* ready) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  if (call.has(ready, "ready") && !call.failed()) *ready = plan->it.ready();
  return call.status();
}
