// Shared by the graph tests: a schedule straight from a graph, with the messages it logged.
#pragma once

#include "graph/schedule/schedule.hpp"
#include "harness/setup.hpp"

namespace heed::test {

struct Scheduled {
  Status status = Status::Ok;
  Schedule schedule;
  std::string messages;
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
