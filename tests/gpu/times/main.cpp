// Times the works of tests/gpu/profile/works.cpp on a device, by GPU timestamps before and after each pass.
//   heed_times DEVICE SECONDS [WORK...]      DEVICE as for Device::open; SECONDS for each work; WORK: prefixes of names; default: all
// Prints lines of CSV in microseconds: median, least and most of all passes together; the median by the host's clock for a plan without
// timestamps, with uploads and downloads; and each kernel's share of the median. tests/gpu/peer/ggml_work.cpp prints ggml's lines.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <heed/heed.hpp>
#include <map>
#include <string>

#include "gpu/card/operands.hpp"
#include "gpu/profile/works.hpp"
#include "graph/graph_data.hpp"

namespace heed::gpu_tests {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kFewest = 5;
// A GPU lowers its clock while it has little to do, as between two works, and raises it slowly.
constexpr double kWarmUp = 0.3;  // seconds

class Timed {
 public:
  Timed(Device& device, const Work& work) : device_(device), work_(work) {}

  Status prepare() {
    work_.build(graph_);
    const detail::GraphData& data = graph_.data();
    const std::vector<int64_t> extents = values_of(data, work_);
    std::vector<Given> weights;
    for (const auto& named : data.weights) weights.push_back(make_given(data, named, {}, true));
    for (const auto& named : data.inputs) buffers_.push_back(make_given(data, named, extents, true));
    for (const auto& named : data.outputs) buffers_.push_back(make_given(data, named, extents, false));
    std::vector<HostTensor> tensors;
    for (const Given& weight : weights) tensors.push_back({weight.name, weight.type, weight.shape, weight.bytes});
    Weights uploaded;
    Status status = tensors.empty() ? Status::Ok : device_.upload(tensors, &uploaded);
    for (Ready* one : {&stamped_, &plain_}) {
      const CompileOptions options = {
          .timestamps = one == &stamped_, .round_rows = work_.round_rows, .emulate_f32 = work_.emulate_f32};
      if (status == Status::Ok) status = device_.compile(graph_, uploaded, &one->plan, options);
      if (status == Status::Ok && !data.states.empty()) status = one->plan.make_state(&one->state);
    }
    return status;
  }

  Status measure(double seconds) {
    const Clock::time_point start = Clock::now();
    std::vector<PassTime> times;
    for (size_t i = 0;; ++i) {
      const Clock::time_point begin = Clock::now();
      const double spent = std::chrono::duration<double>(begin - start).count();
      if (all_.size() >= kFewest && spent > kWarmUp + seconds) break;
      std::vector<HostBuffer> buffers;
      for (Given& given : buffers_) buffers.emplace_back(given.name, given.bytes);
      Status status = plain_.plan.run(buffers, work_.extents, {.state = plain_.state});
      const double wall = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
      if (status == Status::Ok) status = stamped_.plan.run(buffers, work_.extents, {.state = stamped_.state});
      if (status == Status::Ok) status = stamped_.plan.timings(&times);
      if (status != Status::Ok) return status;
      if (i < 2 || spent < kWarmUp) continue;  // the first run creates pipelines
      walls_.push_back(wall);
      double all = 0;
      passes_.resize(times.size());
      for (size_t pass = 0; pass < times.size(); ++pass) {
        passes_[pass].push_back(1e3 * times[pass].milliseconds);
        all += passes_[pass].back();
      }
      all_.push_back(all);
    }
    return Status::Ok;
  }

  void print() const {
    std::map<std::string, std::pair<int, double>> kernels;
    const std::vector<PassInfo> infos = stamped_.plan.passes();
    for (size_t i = 0; i < passes_.size(); ++i) {
      auto& [count, sum] = kernels[infos[i].kernel];
      ++count;
      sum += median(passes_[i]);
    }
    const auto [least, most] = std::minmax_element(all_.begin(), all_.end());
    std::printf("heed,%s,%.2f,%.2f,%.2f,%.1f,%zu,", work_.name.c_str(), median(all_), *least, *most, median(walls_),
                passes_.size());
    const char* between = "";
    for (const auto& [name, kernel] : kernels) {
      std::printf("%s%s x%d %.1f", between, name.c_str(), kernel.first, kernel.second);
      between = "; ";
    }
    std::printf("\n");
    std::fflush(stdout);
  }

 private:
  struct Ready {
    Plan plan;
    State state = {};
  };

  Device& device_;
  const Work& work_;
  Graph graph_;
  Ready stamped_, plain_;
  std::vector<Given> buffers_;
  std::vector<double> all_, walls_;
  std::vector<std::vector<double>> passes_;
};

bool is_wanted(const std::string& name, int count, char** words) {
  return count == 0 || std::any_of(words, words + count, [&](const char* word) { return name.starts_with(word); });
}

int run(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: heed_times DEVICE SECONDS [WORK...]\n");
    return 2;
  }
  Device device;
  if (Device::open({.select = argv[1], .log = stderr_log()}, &device) != Status::Ok) return 1;
  std::fprintf(stderr, "%s, %s\n", device.info().name.c_str(), device.info().driver.c_str());
  std::printf("engine,work,us,least,most,wall,passes,kernels\n");
  int failed = 0;
  const bool has_units = device.info().reason.find("matrix units: used") != std::string::npos;
  for (const Work& work : works()) {
    if (!is_wanted(work.name, argc - 3, argv + 3) || (work.no_units && has_units)) continue;
    Timed timed(device, work);
    Status status = timed.prepare();
    if (status == Status::Ok) status = timed.measure(std::atof(argv[2]));
    if (status == Status::Ok)
      timed.print();
    else
      ++failed, std::fprintf(stderr, "%s: %s\n", work.name.c_str(), to_string(status));
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace heed::gpu_tests

int main(int argc, char** argv) { return heed::gpu_tests::run(argc, argv); }
