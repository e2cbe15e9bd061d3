#include "attention.hpp"

#include <cstdio>
#include <vector>

namespace swarm {
namespace {

void require(heed::Status status, const char* what) {
  if (status != heed::Status::Ok) throw Failure(std::string("heed cannot ") + what + ": " + heed::to_string(status));
}

size_t index_of(Flavour flavour) { return static_cast<size_t>(flavour); }

// The arguments of heed's record calls for a Look. info() refers to this object.
class LookInfo {
 public:
  LookInfo(const Look& look, const LookBuffers& buffers, uint32_t slot)
      : buffers_{{"agents", buffers.agents}, {"look", buffers.look}, {"targets", buffers.targets}},
        extents_{{"agents", look.agents}, {"targets", look.targets}} {
    const bool cross = look.flavour == Flavour::Cross;  // other flavours have no targets
    info_ = {.buffers = std::span(buffers_).first(cross ? 3 : 2),
             .extents = std::span(extents_).first(cross ? 2 : 1),
             .slot = slot};
  }
  LookInfo(const LookInfo&) = delete;
  LookInfo& operator=(const LookInfo&) = delete;
  const heed::vulkan::RecordInfo& info() const { return info_; }

 private:
  heed::vulkan::Buffer buffers_[3];
  heed::ExtentValue extents_[2];
  heed::vulkan::RecordInfo info_;
};

}  // namespace

Attention::Attention(const Gpu& gpu, const LookBuffers& look, const PickBuffers& pick,
                     std::span<const Flavour> flavours, uint32_t slots, bool spread)
    : buffers_(look), picked_buffers_(pick) {
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
  for (const Flavour flavour : flavours) {
    const size_t i = index_of(flavour);
    const heed::Graph look_all = look_graph(flavour);
    std::vector<heed::HostTensor> read;
    for (const heed::HostTensor& tensor : rules.tensors())
      if (look_all.find_weight(tensor.name).valid()) read.push_back(tensor);
    heed::Weights weights;  // plans keep the weights alive
    require(device_.upload(read, &weights), "upload its weights");
    require(device_.compile(look_all, weights, &look_[i], {.timestamps = spread, .record_slots = slots}),
            "compile attention");
    require(device_.compile(weights_graph(flavour), weights, &picked_[i], {.record_slots = slots}),
            "compile the picked agent's attention");
  }
}

void Attention::record_look(VkCommandBuffer commands, const Look& look, uint32_t slot) const {
  const LookInfo given(look, buffers_, slot);
  require(heed::vulkan::record(plan_of(look.flavour), commands, given.info()), "record attention");
}

void Attention::record_part(VkCommandBuffer commands, const Look& look, const LookBuffers& buffers, uint32_t slot,
                            double budget_ms, heed::vulkan::Cursor* cursor) const {
  const LookInfo given(look, buffers, slot);
  require(heed::vulkan::record_some(plan_of(look.flavour), commands, given.info(), budget_ms, cursor),
          "record a part of attention");
}

Side Attention::reads(Flavour flavour) const {
  const heed::vulkan::SyncNeeds needs = heed::vulkan::sync_needs(plan_of(flavour));
  return {needs.before_dst_stages, needs.before_dst_accesses};
}

Side Attention::writes(Flavour flavour) const {
  const heed::vulkan::SyncNeeds needs = heed::vulkan::sync_needs(plan_of(flavour));
  return {needs.after_src_stages, needs.after_src_accesses};
}

void Attention::record_weights(VkCommandBuffer commands, Flavour flavour, uint32_t keys, uint32_t slot) const {
  const heed::vulkan::Buffer buffers[] = {{"row", picked_buffers_.row},
                                          {"keys", flavour == Flavour::Cross ? buffers_.targets : buffers_.agents},
                                          {"weights", picked_buffers_.weights}};
  const heed::ExtentValue extents[] = {{"keys", keys}};
  require(heed::vulkan::record(picked_[index_of(flavour)], commands,
                               {.buffers = buffers, .extents = extents, .slot = slot}),
          "record the picked agent's attention");
}

}  // namespace swarm
