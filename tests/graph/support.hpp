// Helpers for the graph tests: makes a schedule directly from a graph, with the messages it logged.
#pragma once

#include "graph/schedule/schedule.hpp"
#include "harness/setup.hpp"

namespace heed::test {

struct Scheduled {
  Status status = Status::Ok;
  Schedule schedule;
  std::string messages;
};

// A device that fuses and joins everything.
struct FusingDevice final : detail::PlanningDevice {
  using PlanningDevice::PlanningDevice;
  bool narrows = true;  // projections may write another type than the rows'
  bool fuses_attention(const detail::GraphData&, const Node&) const override { return true; }
  bool projects(DType rows, DType, DType results) const override { return narrows || rows == results; }
  bool binds_together(std::span<const detail::WeightEntry* const> weights) const override {
    uint64_t begin = UINT64_MAX, end = 0;
    for (const detail::WeightEntry* entry : weights) {
      begin = std::min(begin, entry->offset);
      end = std::max(end, entry->offset + entry->bytes);
    }
    return end - begin <= traits.max_tensor_bytes;
  }
};

inline Scheduled schedule_of(const Graph& graph, ScheduleOptions options = {}) {
  Scheduled result;
  Messages messages;
  result.status = make_schedule(graph.data(), options, messages.log(), &result.schedule);
  result.messages = messages.text;
  return result;
}

inline std::vector<Op> ops_of(const Schedule& schedule) {
  std::vector<Op> ops;
  for (const Node& node : schedule.passes) ops.push_back(node.op);
  return ops;
}

}  // namespace heed::test
