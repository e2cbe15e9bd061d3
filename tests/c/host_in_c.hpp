// A host that owns the GPU and calls the C interface.
#pragma once

#include "c/kept.hpp"
#include "vulkan/host_plan.hpp"

#include "c/vulkan/convert.hpp"

namespace heed::test {

using c::handle_of;
using c::number_of;

// The structs that a host passes through C. They must live as long as the device.
struct HostInC {
  explicit HostInC(const HostVulkan& from) : host(from.host_device()) {
    given.size = sizeof(given);
    given.instance = host.instance;
    given.physical_device = host.physical_device;
    given.device = host.device;
    given.queue = host.queue;
    given.get_instance_proc_addr = reinterpret_cast<void (*)(void)>(host.get_instance_proc_addr);
    given.enabled_features = host.enabled_features;
    given.allocator = host.allocator;
    given.api_version = host.api_version;
    given.queue_family = host.queue_family;
    given.debug_utils = 1;
  }
  vulkan::HostDevice host;
  heed_host_device given = {};
};

// The graph of host_plan.hpp's small plan, built in C: embeddings, a constant, softmax, norm.
inline KeptPlan small_in_c(heed_device* device, const heed_compile_options* options = nullptr) {
  const std::vector<float> table = pattern(20, 1);
  const int64_t sizes[] = {5, 4};
  heed_host_tensor tensor = {"table", sizes, 2, table.data(), 80, HEED_F32, 0};
  KeptWeights weights(heed_device_upload, device, &tensor, 1, nullptr);
  KeptGraph graph(heed_graph_create);
  const heed_dim ids[] = {3}, width[] = {4};
  const float ones[] = {1, 1, 1, 1};
  const heed_tensor rows = heed_graph_embedding(graph, heed_graph_weight(graph, "table", sizes, 2, HEED_F32),
                                                heed_graph_input(graph, "ids", ids, 1, HEED_I32), HEED_DTYPE_DEFAULT);
  const heed_tensor sum =
      heed_graph_add(graph, rows, heed_graph_constant(graph, "ones", width, 1, HEED_F32, ones, sizeof(ones)));
  done(
      heed_graph_output(graph, "y", heed_graph_layernorm(graph, heed_graph_softmax(graph, sum, nullptr), 0, 0, 1e-5f)));
  return KeptPlan(heed_device_compile, device, graph, weights, options);
}

// Three ids at the start of a host's buffer, followed by y.
struct Places {
  explicit Places(HostVulkan& host) : memory(host.allocate(1024)) {
    const int32_t ids[] = {4, 0, 3};
    std::memcpy(memory.mapped, ids, sizeof(ids));
    buffers[0] = {"ids", number_of(memory.buffer), 0, 12};
    buffers[1] = {"y", number_of(memory.buffer), 256, HEED_WHOLE_SIZE};
    info.size = sizeof(info);
    info.buffers = buffers;
    info.buffer_count = 2;
  }
  std::vector<float> y() const {
    std::vector<float> values(12);
    std::memcpy(values.data(), memory.mapped + 256, 48);
    return values;
  }
  void forget() const { std::memset(memory.mapped + 256, 0xff, 48); }

  HostVulkan::Memory memory;
  heed_buffer buffers[2];
  heed_record_info info = {};
};

}  // namespace heed::test
