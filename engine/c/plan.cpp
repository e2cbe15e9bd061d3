// Plans: runs, memory needs, passes and pipelines.
#include <heed/plan.hpp>

#include "c/objects.hpp"

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

namespace {

// Converts a heed_run_info for the engine; the call fails if a part of it is invalid.
struct Arguments {
  Arguments(Call& call, const heed_run_info* info);
  std::optional<Pin<State>> state;
  std::vector<HostBuffer> buffers;
  std::vector<ExtentValue> extents;
  RunOptions options;

 private:
  void add(Call& call, const char* name, void* data, size_t bytes, heed_dtype dtype, bool writable);
};

void Arguments::add(Call& call, const char* name, void* data, size_t bytes, heed_dtype dtype, bool writable) {
  HostBuffer buffer;
  buffer.name = call.text(name, "the name of an input or output");
  buffer.data = data;
  buffer.bytes = bytes;
  buffer.element_bytes = 1;
  buffer.raw = true;
  buffer.writable = writable;
  buffer.dtype = call.dtype_if(dtype);
  buffers.push_back(buffer);
}

Arguments::Arguments(Call& call, const heed_run_info* info) {
  const Given<heed_run_info> given(call, info, "the run info");
  if (!call.has_array(given->inputs, given->input_count, "inputs") ||
      !call.has_array(given->outputs, given->output_count, "outputs") ||
      !call.has_array(given->extents, given->extent_count, "extents"))
    return;
  for (size_t i = 0; i < given->input_count && !call.failed(); ++i) {
    const heed_input& input = given->inputs[i];
    add(call, input.name, const_cast<void*>(input.data), input.bytes, input.dtype, false);
  }
  for (size_t i = 0; i < given->output_count && !call.failed(); ++i) {
    const heed_output& output = given->outputs[i];
    add(call, output.name, output.data, output.bytes, output.dtype, true);
  }
  for (size_t i = 0; i < given->extent_count && !call.failed(); ++i) {
    const heed_extent_value& extent = given->extents[i];
    extents.push_back({call.text(extent.name, "the name of an extent"), extent.value});
  }
  options.seed = given->seed;
  options.timeout_ms = given->timeout_ms;
  if (given->state == nullptr) return;
  state.emplace(call, given->state);
  if (*state) options.state = (*state)->it;
}

// Returns a number of bytes of a plan.
heed_status tell(const char* function, heed_plan* handle, uint64_t* bytes, uint64_t (heed::Plan::*ask)() const) {
  Call call(function);
  const Pin<Plan> plan(call, handle);
  if (call.has(bytes, "bytes") && !call.failed()) *bytes = (plan->it.*ask)();
  return call.status();
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_plan_destroy(heed_plan* plan) { return destroy<Plan>(__func__, plan); }

heed_status heed_plan_run(heed_plan* handle, const heed_run_info* info) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  const Arguments arguments(call, info);
  if (call.failed()) return call.status();
  heed::Plan it = plan->it;
  return call.end(it.run(arguments.buffers, arguments.extents, arguments.options), plan->host.get());
}

heed_status heed_plan_start(heed_plan* handle, const heed_run_info* info, heed_run** run) {
  Call call(__func__);
  if (!has_place(call, run, "run")) return call.status();
  const Pin<Plan> plan(call, handle);
  const Arguments arguments(call, info);
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
  if (call.has(done, "done") && !call.failed()) *done = run->it.done() ? 1 : 0;
  return call.status();
}

heed_status heed_run_wait(heed_run* handle) {
  Call call(__func__);
  const Pin<Run> run(call, handle);
  if (call.failed()) return call.status();
  return call.end(run->it.wait(), run->host.get());
}

heed_status heed_run_destroy(heed_run* run) { return destroy<Run>(__func__, run); }

heed_status heed_plan_largest_extents(heed_plan* handle, heed_extent_value* extents, size_t capacity, size_t* count) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  if (call.failed()) return call.status();
  std::vector<heed_extent_value> all;
  // Zero-terminated, since they are the plan's strings.
  for (const heed::ExtentValue& extent : plan->it.largest_extents()) all.push_back({extent.name.data(), extent.value});
  return fill(call, std::span<const heed_extent_value>(all), extents, capacity, count);
}

heed_status heed_plan_scratch_bytes(heed_plan* plan, uint64_t* bytes) {
  return tell(__func__, plan, bytes, &heed::Plan::scratch_bytes);
}

heed_status heed_plan_weight_bytes(heed_plan* plan, uint64_t* bytes) {
  return tell(__func__, plan, bytes, &heed::Plan::weight_bytes);
}

heed_status heed_plan_state_bytes(heed_plan* plan, uint64_t* bytes) {
  return tell(__func__, plan, bytes, &heed::Plan::state_bytes);
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
  if (call.failed() || !call.has(count, "count")) return call.status();
  std::vector<heed::PassTime> times;
  if (call.end(plan->it.timings(&times, slot), plan->host.get()) != HEED_OK) return call.status();
  std::vector<double> values;
  for (const heed::PassTime& time : times) values.push_back(time.milliseconds);
  return fill(call, std::span<const double>(values), milliseconds, capacity, count);
}

size_t heed_plan_pipeline_count(heed_plan* handle) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  return plan ? plan->it.pipeline_count() : 0;
}

heed_status heed_plan_pipeline(heed_plan* handle, size_t index, heed_pipeline_info* info) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  Wanted<heed_pipeline_info> wanted(call, info, "info");
  if (call.failed() || !call.has_index(index, plan->pipeline_names().size())) return call.status();
  heed_pipeline_info to = {};
  to.name = plan->pipeline_names()[index].name.c_str();
  to.ready = plan->it.pipelines()[index].ready ? 1 : 0;
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
  if (call.has(ready, "ready") && !call.failed()) *ready = plan->it.ready() ? 1 : 0;
  return call.status();
}
