// Lowers a graph without a device: schedule, kernels and dispatches of each pass.
#pragma once

#include "graph/schedule/schedule.hpp"
#include "harness/kernel_words.hpp"
#include "harness/setup.hpp"
#include "interpreter/module.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/params.hpp"

namespace heed::kernel_tests {

// A GPU with memory for every tile, with f16 and matrix units of 16x16x16.
inline Capabilities device_with_units() {
  Capabilities device;
  device.storage_16bit = device.subgroup_shuffle = true;
  device.max_invocations = 1024;
  device.shared_bytes = 49152;
  device.matrix = {16, 16, 16};
  device.matrix_subgroup = 32;
  return device;
}

struct LoweredPass {
  KernelList kernels;
  DispatchList dispatches;
  const KernelUse& use(uint32_t dispatch) const { return kernels.uses[dispatches.dispatches[dispatch].kernel]; }
};

struct Lowered {
  Schedule schedule;
  std::vector<int64_t> sizes;
  test::Messages messages;
  Capabilities device;

  explicit Lowered(const Graph& graph, bool training = false, const Capabilities& capabilities = {})
      : device(capabilities) {
    const KernelPlanning planning(device);
    const Status status = make_schedule(graph.data(), {{.training = training}, &planning}, messages.log(), &schedule);
    INFO(messages.text);
    REQUIRE(status == Status::Ok);
    for (const Node& node : schedule.passes) REQUIRE(fits_sheet(node));
    sizes = schedule.max_values;
  }

  void set_extent(std::string_view name, int64_t value) { set_extents({{name, value}}); }
  void set_extents(std::initializer_list<ExtentValue> given) {
    std::vector<int64_t> values;
    for (const detail::ExtentInfo& extent : schedule.extents) {
      values.push_back(extent.max);
      for (const ExtentValue& one : given)
        if (extent.name == one.name) values.back() = one.value;
    }
    REQUIRE(schedule.sizes.evaluate(values, sizes));
  }

  const Node& pass(Op op) const {
    for (const Node& node : schedule.passes)
      if (node.op == op) return node;
    FAIL("no pass " << to_string(op));
    return schedule.passes[0];
  }

  Status select(const Node& node, KernelList* kernels) {
    return select_kernels(schedule, node, device, messages.log(), kernels);
  }

  RunValues values() const {
    RunValues run;
    run.sizes = sizes;
    run.seed = 7;
    return run;
  }

  KernelList selected(const Node& node) {
    KernelList kernels;
    const Status status = select(node, &kernels);
    INFO(messages.text);
    REQUIRE(status == Status::Ok);
    return kernels;
  }
  KernelList selected(Op op) { return selected(pass(op)); }

  // One pass with the current sizes.
  LoweredPass lower(const Node& node) {
    LoweredPass lowered = {selected(node), {}};
    emit_dispatches(schedule, node, device, lowered.kernels, values(), &lowered.dispatches);
    return lowered;
  }
  LoweredPass lower(Op op) { return lower(pass(op)); }
};

// Bytes of shared memory that the kernel's SPIR-V declares.
inline uint32_t shared_bytes(const KernelKey& key) {
  const uint32_t subgroup = key.subgroup != 0 ? key.subgroup : 32;
  return interpreter::Module(kernel_words(key.id), {key.spec.data(), key.spec_count}, subgroup).shared_bytes();
}

template <class T>
T push_of(const Dispatch& dispatch) {
  T params;
  REQUIRE(dispatch.push_bytes == sizeof(T));
  std::memcpy(&params, dispatch.push.data(), sizeof(T));
  return params;
}

}  // namespace heed::kernel_tests
