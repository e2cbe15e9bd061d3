#include "attention.hpp"

#include <cstdio>

namespace swarm {
namespace {

void require(heed::Status status, const char* what) {
  if (status != heed::Status::Ok)
    throw Failure(std::string("heed cannot ") + what + ": " + heed::to_string(status));
}

size_t index_of(Flavour flavour) { return static_cast<size_t>(flavour); }

}  // namespace

Attention::Attention(const Gpu& gpu, const AttentionBuffers& buffers, uint32_t slots) : buffers_(buffers) {
  require(heed::vulkan::adopt({.instance = gpu.instance,
                               .physical_device = gpu.physical,
                               .device = gpu.device,
                               .get_instance_proc_addr = vkGetInstanceProcAddr,
                               .api_version = Gpu::kApi,
                               .queue_family = gpu.family,
                               .queue = gpu.queue,
                               .enabled_extensions = gpu.extensions,
                               .debug_utils = gpu.debug_utils,
                               .log = heed::stderr_log()},
                              &device_),
          "use this device");
  const MotiveWeights rules;
  require(device_.upload(rules.tensors(), &weights_), "upload its weights");
  for (const Flavour flavour : kFlavours) {
    const size_t i = index_of(flavour);
    require(device_.compile(look_graph(flavour), weights_, &look_[i], {.record_slots = slots}),
            "compile attention");
    require(device_.compile(weights_graph(flavour), weights_, &picked_[i], {.record_slots = slots}),
            "compile the picked agent's attention");
  }
}

void Attention::record_look(VkCommandBuffer commands, Flavour flavour, uint32_t agents, uint32_t targets,
                            uint32_t slot) const {
  const heed::vulkan::Buffer self[] = {{"agents", buffers_.agents}, {"look", buffers_.look}};
  const heed::vulkan::Buffer cross[] = {
      {"agents", buffers_.agents}, {"targets", buffers_.targets}, {"look", buffers_.look}};
  const heed::ExtentValue extents[] = {{"agents", agents}, {"targets", targets}};
  heed::vulkan::RecordInfo info = {.buffers = self, .extents = std::span(extents).first(1), .slot = slot};
  if (flavour == Flavour::Cross) info = {.buffers = cross, .extents = extents, .slot = slot};
  require(heed::vulkan::record(look_[index_of(flavour)], commands, info), "record attention");
}

void Attention::record_weights(VkCommandBuffer commands, Flavour flavour, uint32_t keys,
                               uint32_t slot) const {
  const heed::vulkan::Buffer buffers[] = {
      {"row", buffers_.row},
      {"keys", flavour == Flavour::Cross ? buffers_.targets : buffers_.agents},
      {"weights", buffers_.weights}};
  const heed::ExtentValue extents[] = {{"keys", keys}};
  require(heed::vulkan::record(picked_[index_of(flavour)], commands,
                               {.buffers = buffers, .extents = extents, .slot = slot}),
          "record the picked agent's attention");
}

}  // namespace swarm
