// Shared by the graph tests: a schedule straight from a graph, with the messages it logged.
#pragma once

#include <string>
#include <vector>

#include <heed/graph.hpp>

#include "graph/schedule.hpp"

namespace heed::test {

struct Scheduled {
  Status status = Status::Ok;
  Schedule schedule;
  std::string messages;
};

inline Scheduled schedule_of(const Graph& graph, ScheduleOptions options = {}) {
  Scheduled result;
  Log log;
  log.user = &result.messages;
  log.callback = [](void* user, LogLevel, const char* text) {
    static_cast<std::string*>(user)->append(text).append("\n");
  };
  result.status = make_schedule(graph.data(), options, log, &result.schedule);
  return result;
}

inline std::vector<Op> ops_of(const Schedule& schedule) {
  std::vector<Op> ops;
  for (const Node& node : schedule.steps) ops.push_back(node.op);
  return ops;
}

inline bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace heed::test
