// Devices on a host's VkDevice.
#include "c/vulkan/convert.hpp"

namespace heed::c {
namespace {

VkResult allocate(void* user, const vulkan::MemoryRequest& request, vulkan::MemoryBlock* block) {
  const heed_memory_allocator& to = static_cast<const Host*>(user)->memory;
  heed_memory_request asked = {};
  asked.size = sizeof(asked);
  asked.bytes = request.requirements.size;
  asked.alignment = request.requirements.alignment;
  asked.buffer = number_of(request.buffer);
  asked.name = request.name;
  asked.memory_type_bits = request.requirements.memoryTypeBits;
  asked.required = request.required;
  asked.preferred = request.preferred;
  asked.use = static_cast<int32_t>(request.use);
  heed_memory_block given = {};
  const auto result = static_cast<VkResult>(to.allocate(to.user, &asked, &given));
  if (result == VK_SUCCESS)
    *block = {handle_of<VkDeviceMemory>(given.memory), given.offset, given.memory_type, given.mapped, given.token};
  return result;
}

void free(void* user, const vulkan::MemoryBlock& block) {
  const heed_memory_allocator& to = static_cast<const Host*>(user)->memory;
  heed_memory_block given = {};
  given.memory = number_of(block.memory);
  given.offset = block.offset;
  given.mapped = block.mapped;
  given.token = block.token;
  given.memory_type = block.memory_type;
  to.free(to.user, &given);
}

void lock(void* user) {
  const heed_queue_access& to = static_cast<const Host*>(user)->queue;
  to.lock(to.user);
}
void unlock(void* user) {
  const heed_queue_access& to = static_cast<const Host*>(user)->queue;
  to.unlock(to.user);
}
VkResult submit(void* user, VkQueue queue, const VkSubmitInfo& info, VkFence fence) {
  const heed_queue_access& to = static_cast<const Host*>(user)->queue;
  return static_cast<VkResult>(to.submit(to.user, queue, &info, number_of(fence)));
}

// The engine reports null pointers.
vulkan::HostDevice host_of(Call& call, const Given<heed_host_device>& given, Host* host) {
  vulkan::HostDevice to;
  to.instance = static_cast<VkInstance>(given->instance);
  to.physical_device = static_cast<VkPhysicalDevice>(given->physical_device);
  to.device = static_cast<VkDevice>(given->device);
  to.queue = static_cast<VkQueue>(given->queue);
  to.get_instance_proc_addr = reinterpret_cast<PFN_vkGetInstanceProcAddr>(given->get_instance_proc_addr);
  if (given->api_version != 0) to.api_version = given->api_version;
  to.queue_family = given->queue_family;
  if (call.has_array(given->enabled_extensions, given->enabled_extension_count, "enabled_extensions"))
    to.enabled_extensions = {given->enabled_extensions, given->enabled_extension_count};
  to.enabled_features = static_cast<const VkPhysicalDeviceFeatures2*>(given->enabled_features);
  to.assume_16bit_storage = given->assume_16bit_storage != 0;
  to.debug_utils = given->debug_utils != 0;
  to.allocator = static_cast<const VkAllocationCallbacks*>(given->allocator);
  to.pipeline_cache = handle_of<VkPipelineCache>(given->pipeline_cache);
  if (call.has_array(given->pipeline_cache_blob, given->pipeline_cache_blob_bytes, "pipeline_cache_blob"))
    to.pipeline_cache_blob = {static_cast<const std::byte*>(given->pipeline_cache_blob),
                              given->pipeline_cache_blob_bytes};
  if (call.has_array(given->self_test_results, given->self_test_results_bytes, "the self-test's results"))
    to.self_test_results = {static_cast<const std::byte*>(given->self_test_results), given->self_test_results_bytes};
  if (given->memory != nullptr) {
    host->memory = *given->memory;
    to.memory = {host->memory.allocate == nullptr ? nullptr : allocate, host->memory.free == nullptr ? nullptr : free,
                 host};
  }
  if (given->queue_access != nullptr) {
    host->queue = *given->queue_access;
    to.queue_access = {host, host->queue.lock == nullptr ? nullptr : lock,
                       host->queue.unlock == nullptr ? nullptr : unlock,
                       host->queue.submit == nullptr ? nullptr : submit};
  }
  to.log = host->log();
  return to;
}

static_assert(HEED_MEMORY_SHARED == static_cast<int>(vulkan::MemoryUse::Shared));

}  // namespace
}  // namespace heed::c

using namespace heed::c;

int32_t heed_has_vulkan(void) { return 1; }

heed_status heed_device_adopt(const heed_host_device* host, heed_device** device) {
  Call call(__func__);
  if (!has_place(call, device, "device")) return call.status();
  call.has(host, "host");
  const Given<heed_host_device> given(call, host, "the host's device");
  auto made = std::make_unique<Device>();
  made->host = std::make_shared<Host>(given->log);
  const heed::vulkan::HostDevice from = host_of(call, given, made->host.get());
  if (call.failed()) return call.status();
  heed::Device adopted;
  if (call.end(heed::vulkan::adopt(from, &adopted), made->host.get()) == HEED_OK) made->set(std::move(adopted));
  return give(call, std::move(made), device);
}

heed_status heed_device_gone(heed_device* handle) {
  Call call(__func__);
  const Pin<Device> device(call, handle);
  return call.failed() ? call.status() : call.end(heed::vulkan::device_gone(device->get()), device->host.get());
}
