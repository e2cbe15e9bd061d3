// Scratch, states and weights in a host's buffers.
#include "c/vulkan/convert.hpp"

namespace heed::c {
namespace {

// Describes the host's buffer for a plan's scratch or State.
heed_status needs_of(const char* function, heed_plan* handle, heed_buffer_needs* needs,
                     Status (*ask)(const heed::Plan&, vulkan::BufferNeeds*)) {
  Call call(function);
  const Pin<Plan> plan(call, handle);
  Wanted<heed_buffer_needs> wanted(call, needs, "needs");
  if (call.failed()) return call.status();
  vulkan::BufferNeeds found;
  if (call.end(ask(plan->it, &found), plan->host.get()) == HEED_OK) wanted.set(to_c(found));
  return call.status();
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_status heed_plan_scratch_needs(heed_plan* plan, heed_buffer_needs* needs) {
  return needs_of(__func__, plan, needs, heed::vulkan::scratch_needs);
}

heed_status heed_plan_state_needs(heed_plan* plan, heed_buffer_needs* needs) {
  return needs_of(__func__, plan, needs, heed::vulkan::state_needs);
}

heed_status heed_plan_bind_scratch(heed_plan* handle, const heed_buffer_range* range) {
  Call call(__func__);
  const Pin<Plan> plan(call, handle);
  const heed::vulkan::BufferRange at = range_of(call, range);
  return call.failed() ? call.status() : call.end(heed::vulkan::bind_scratch(plan->it, at), plan->host.get());
}

heed_status heed_plan_make_state_at(heed_plan* handle, const heed_buffer_range* range, heed_state** state) {
  Call call(__func__);
  if (!has_place(call, state, "state")) return call.status();
  const Pin<Plan> plan(call, handle);
  const heed::vulkan::BufferRange at = range_of(call, range);
  if (call.failed()) return call.status();
  auto made = std::make_unique<State>();
  made->host = plan->host;
  call.end(heed::vulkan::make_state(plan->it, at, &made->it), plan->host.get());
  return give(call, std::move(made), state);
}

heed_status heed_device_upload_needs(heed_device* handle, const heed_host_tensor* tensors, size_t count,
                                     const heed_upload_options* options, heed_buffer_needs* needs) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  const Upload upload(call, options);
  const std::vector<heed::HostTensor> all = tensors_of(call, tensors, count);
  Wanted<heed_buffer_needs> wanted(call, needs, "needs");
  if (call.failed()) return call.status();
  heed::vulkan::BufferNeeds found;
  call.end(heed::vulkan::upload_needs(device->get(), all, &found, upload.options()), device->host.get());
  if (!call.failed()) wanted.set(to_c(found));
  return call.status();
}

heed_status heed_device_upload_at(heed_device* handle, const heed_host_tensor* tensors, size_t count,
                                  const heed_upload_options* options, const heed_buffer_range* range, void* mapped,
                                  heed_weights** weights) {
  Call call(__func__);
  if (!has_place(call, weights, "weights")) return call.status();
  const Pin<Device> device(call, handle);
  const Upload upload(call, options);
  const std::vector<heed::HostTensor> all = tensors_of(call, tensors, count);
  const heed::vulkan::WeightTarget target = {range_of(call, range), static_cast<std::byte*>(mapped)};
  if (call.failed()) return call.status();
  auto made = std::make_unique<Weights>();
  made->host = device->host;
  call.end(heed::vulkan::upload(device->get(), all, target, &made->it, upload.options()), device->host.get());
  return give(call, std::move(made), weights);
}

heed_status heed_device_memory_budget(heed_device* handle, heed_heap_budget* heaps, size_t capacity, size_t* count) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  if (call.failed()) return call.status();
  std::vector<heed::vulkan::HeapBudget> found;
  if (call.end(heed::vulkan::memory_budget(device->get(), &found), device->host.get()) != HEED_OK) return call.status();
  std::vector<heed_heap_budget> all;
  for (const heed::vulkan::HeapBudget& heap : found)
    all.push_back({heap.bytes, heap.budget, heap.used, heap.device_local, 0});
  return fill<heed_heap_budget>(call, all, heaps, capacity, count);
}
