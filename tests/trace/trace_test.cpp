// `heed bench --trace` writes JSON in the format of ui.perfetto.dev.
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/trace.hpp"
#include "harness/devices.hpp"
#include "harness/files.hpp"
#include "harness/setup.hpp"

using namespace heed;

TEST_CASE("trace: one complete event per pass, one thread per row, one process per device", "[trace]") {
  program::Trace trace;
  size_t passes = 0, rows = 0, devices = 0;
  for (const ops::TestDevice& tested : ops::test_devices()) {
    Device device = tested.device;
    ++devices;
    for (const char* row : {"softmax \"4x8\"", "again"}) {
      Graph g;
      g.push_label("layer \xff");  // invalid UTF-8, which must not damage the file
      g.output("y", g.layernorm(g.softmax(g.input("x", {4, 8})), {}, {}, 1e-5f));
      Plan plan = test::compiled(device, g, {}, {.timestamps = true});
      const std::vector<float> x(32, 1.0f);
      std::vector<float> y(32);
      REQUIRE(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
      std::vector<PassTime> times;
      REQUIRE(plan.timings(&times) == Status::Ok);
      trace.add(tested.word, row, plan.passes(), times);
      passes += times.size();
      ++rows;
    }
  }
  const test::ScratchFolder folder;
  const std::string path = (folder / "trace.json").string();
  REQUIRE(trace.write(path));
  std::ifstream file(path);
  const nlohmann::json json = nlohmann::json::parse(file);
  std::set<int> processes;
  std::set<std::pair<int, int>> threads;
  std::map<std::pair<int, int>, double> ends;
  size_t complete = 0;
  for (const nlohmann::json& event : json.at("traceEvents")) {
    const auto thread = std::pair(event.at("pid").get<int>(), event.at("tid").get<int>());
    CHECK(event.at("name").is_string());
    if (event.at("ph") == "M") {
      if (event["name"] == "process_name") processes.insert(thread.first);
      if (event["name"] == "thread_name") threads.insert(thread);
      CHECK(event.at("args").at("name").is_string());
      continue;
    }
    REQUIRE(event.at("ph") == "X");
    ++complete;
    CHECK(threads.count(thread) == 1);  // named before
    CHECK(event.at("dur").get<double>() >= 0);
    CHECK(event.at("ts").get<double>() >= ends[thread] - 1e-6);
    ends[thread] = event["ts"].get<double>() + event["dur"].get<double>();
    CHECK((event.at("cat") == "softmax" || event.at("cat") == "layernorm"));
    CHECK(event.at("args").at("kernel").is_string());
  }
  CHECK(complete == passes);
  CHECK(complete > 0);
  CHECK(threads.size() == rows);
  CHECK(processes.size() == devices);
  CHECK_FALSE(trace.write("/nonexistent/folder/trace.json"));
}
