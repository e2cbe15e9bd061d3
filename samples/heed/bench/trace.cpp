#include "bench/trace.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "json.hpp"

namespace heed::program {

void Trace::add(const std::string& device, const std::string& row, const std::vector<PassInfo>& passes,
                const std::vector<PassTime>& times) {
  const auto found = std::find(processes_.begin(), processes_.end(), device);
  const auto process = static_cast<size_t>(found - processes_.begin());
  if (found == processes_.end()) processes_.push_back(device);
  const size_t thread = threads_.size();
  threads_.push_back(row);
  process_of_thread_.push_back(process);
  double now = 0;
  for (size_t i = 0; i < std::min(passes.size(), times.size()); ++i) {
    const PassInfo& pass = passes[i];
    const double duration = times[i].milliseconds * 1e3;
    events_.push_back({process, thread, pass.label, pass.op, pass.kernel, pass.why, now, duration, pass.flops,
                       pass.bytes, pass.dispatches});
    now += duration;
  }
}

std::string Trace::json() const {
  nlohmann::json events = nlohmann::json::array();
  const auto name = [&](const char* what, size_t process, size_t thread, const std::string& text) {
    events.push_back(
        {{"ph", "M"}, {"name", what}, {"pid", process + 1}, {"tid", thread + 1}, {"args", {{"name", text}}}});
  };
  for (size_t i = 0; i < processes_.size(); ++i) name("process_name", i, 0, processes_[i]);
  for (size_t i = 0; i < threads_.size(); ++i) name("thread_name", process_of_thread_[i], i, threads_[i]);
  for (const Event& event : events_)
    events.push_back({{"ph", "X"},
                      {"name", event.name},
                      {"cat", event.op},
                      {"pid", event.process + 1},
                      {"tid", event.thread + 1},
                      {"ts", event.begin_us},
                      {"dur", event.duration_us},
                      {"args",
                       {{"kernel", event.kernel},
                        {"why", event.why},
                        {"dispatches", event.dispatches},
                        {"flops", event.flops},
                        {"bytes", event.bytes}}}});
  return text_of({{"traceEvents", events}, {"displayTimeUnit", "ms"}}, 1);
}

bool Trace::write(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  file << json() << '\n';
  file.close();
  return !file.fail();
}

}  // namespace heed::program
