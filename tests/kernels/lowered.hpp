// A graph lowered without a device: schedule, kernels and dispatches of each step.
#pragma once

#include <heed/heed.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "graph/schedule.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/params.hpp"

namespace heed::kernel_tests {

inline void collect(void* text, LogLevel, const char* message) { *static_cast<std::string*>(text) += message; }

// A GPU with room for every tile, f16 and matrix units of 16x16x16.
inline Capabilities device_with_units() {
  Capabilities device;
  device.storage_16bit = device.subgroup_shuffle = true;
  device.max_invocations = 1024;
  device.shared_bytes = 49152;
  device.matrix = {16, 16, 16};
  device.matrix_subgroup = 32;
  return device;
}

struct Lowered {
  Schedule schedule;
  std::vector<int64_t> sizes;
  std::string messages;
  Capabilities device;

  explicit Lowered(const Graph& graph, bool training = false, const Capabilities& capabilities = {})
      : device(capabilities) {
    const Log log = {collect, &messages, LogLevel::Warning};
    ScheduleOptions options;
    options.training = training;
    plan_for(device, &options);
    const Status status = make_schedule(graph.data(), options, log, &schedule);
    INFO(messages);
    REQUIRE(status == Status::Ok);
    sizes = schedule.max_values;
  }

  void set_extent(std::string_view name, int64_t value) { set_extents({{name, value}}); }
  void set_extents(std::initializer_list<NamedValue> given) {
    std::vector<int64_t> values;
    for (const detail::ExtentInfo& extent : schedule.extents) {
      values.push_back(extent.max);
      for (const NamedValue& one : given)
        if (extent.name == one.name) values.back() = one.value;
    }
    REQUIRE(schedule.sizes.evaluate(values, sizes));
  }

  const Node& step(Op op) const {
    for (const Node& node : schedule.steps)
      if (node.op == op) return node;
    FAIL("no step " << to_string(op));
    return schedule.steps[0];
  }

  Status select(const Node& node, KernelList* kernels) {
    const Log log = {collect, &messages, LogLevel::Warning};
    return select_kernels(schedule, node, device, log, kernels);
  }

  RunValues values() const {
    RunValues run;
    run.sizes = sizes;
    run.seed = 7;
    return run;
  }

  // Kernels and dispatches of one step at the current sizes.
  void lower(const Node& node, KernelList* kernels, DispatchList* dispatches) {
    const Status status = select(node, kernels);
    INFO(messages);
    REQUIRE(status == Status::Ok);
    emit_dispatches(schedule, node, device, *kernels, values(), dispatches);
  }
};

template <class T>
T push_of(const Dispatch& dispatch) {
  T params;
  REQUIRE(dispatch.push_bytes == sizeof(T));
  std::memcpy(&params, dispatch.push.data(), sizeof(T));
  return params;
}

}  // namespace heed::kernel_tests
