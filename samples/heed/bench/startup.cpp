// `heed bench --startup`: the time of a first start, and of a later start with the first one's cache blob.
//
// A start compiles every row of `heed bench` except the encoder, so that it includes every kernel that a model may need. Drivers also keep
// caches on disk, which would make every start a warm one; they are disabled.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "bench/cases.hpp"
#include "clock.hpp"
#include "commands.hpp"
#include "golden/run.hpp"
#include "json.hpp"

namespace heed::program {

namespace {

using goldens::Messages;

constexpr int kRepeats = 3;

struct Startup {
  double open_ms = 0, compile_ms = 0;
  double prepare_ms = 0;  // Plan::prepare on the host's threads; 0 if heed creates the pipelines
  size_t pipelines = 0;
  uint32_t threads = 1;
  std::vector<std::byte> blob;  // the pipeline cache after this start

  double total() const { return open_ms + compile_ms + prepare_ms; }
};

Status upload_zeros(Device& device, const BenchGraph& graph, Weights* weights) {
  if (graph.weights.empty()) return Status::Ok;
  size_t largest = 0;
  for (const BenchGraph::Buffer& weight : graph.weights) largest = std::max(largest, weight.elements());
  const std::vector<float> zeros(largest);
  std::vector<HostTensor> tensors;
  for (const BenchGraph::Buffer& weight : graph.weights)
    tensors.push_back(
        {weight.name, DType::F32, weight.shape, std::as_bytes(std::span(zeros.data(), weight.elements()))});
  return device.upload(tensors, weights);
}

// Creates all pipelines of all plans on `threads` threads.
Status prepare(std::vector<Plan>& plans, uint32_t threads) {
  std::vector<std::pair<size_t, uint32_t>> work;
  for (size_t i = 0; i < plans.size(); ++i)
    for (uint32_t p = 0; p < plans[i].pipeline_count(); ++p) work.emplace_back(i, p);
  std::atomic<size_t> next{0};
  std::atomic<Status> result{Status::Ok};
  const auto help = [&] {
    for (size_t i = next++; i < work.size() && result.load() == Status::Ok; i = next++)
      if (const Status status = plans[work[i].first].prepare(work[i].second); status != Status::Ok)
        result.store(status);
  };
  std::vector<std::thread> helpers;
  for (uint32_t i = 1; i < threads; ++i) helpers.emplace_back(help);
  help();
  for (std::thread& helper : helpers) helper.join();
  return result.load();
}

Status start(const DeviceOptions& options, uint32_t threads, Startup* startup) {
  Clock::time_point begin = Clock::now();
  Device device;
  Status status = Device::open(options, &device);
  startup->open_ms = milliseconds_since(begin);
  std::vector<Plan> plans;
  std::set<std::string> names;
  for (const BenchCase& row : bench_cases()) {
    if (std::string_view(row.op) == "encoder" || status != Status::Ok) continue;
    BenchGraph graph;
    Weights weights;
    row.build(graph);
    status = upload_zeros(device, graph, &weights);
    begin = Clock::now();
    const auto pipelines = threads > 1 ? PipelineCreation::Deferred : PipelineCreation::Now;
    if (status == Status::Ok)
      status = device.compile(graph.graph, weights, &plans.emplace_back(),
                              {.training = row.training, .pipelines = pipelines});
    startup->compile_ms += milliseconds_since(begin);
    if (status == Status::Ok)
      for (const PipelineInfo& pipeline : plans.back().pipelines()) names.insert(pipeline.name);
  }
  startup->pipelines = names.size();
  startup->threads = threads;
  begin = Clock::now();
  if (threads > 1 && status == Status::Ok) status = prepare(plans, threads);
  startup->prepare_ms = threads > 1 ? milliseconds_since(begin) : 0;
  return status == Status::Ok ? device.pipeline_cache(&startup->blob) : status;
}

// Starts several times, and returns the start with the median total.
Status measure(const DeviceOptions& options, uint32_t threads, Startup* middle) {
  std::vector<Startup> all(kRepeats);
  for (Startup& one : all)
    if (const Status status = start(options, threads, &one); status != Status::Ok) return status;
  std::sort(all.begin(), all.end(), [](const Startup& a, const Startup& b) { return a.total() < b.total(); });
  *middle = all[kRepeats / 2];
  return Status::Ok;
}

nlohmann::json row_json(const char* kind, const Startup& startup, size_t blob_given) {
  return {{"start", kind},
          {"pipelines", startup.pipelines},
          {"threads", startup.threads},
          {"blob_bytes_given", blob_given},
          {"open_ms", startup.open_ms},
          {"compile_ms", startup.compile_ms},
          {"prepare_ms", startup.prepare_ms},
          {"total_ms", startup.total()}};
}

void print_start(const nlohmann::json& row) {
  std::printf("  %-14s %9d %7d %12d %9.1f %11.1f %11.1f %9.1f\n", row["start"].get<std::string>().c_str(),
              row["pipelines"].get<int>(), row["threads"].get<int>(), row["blob_bytes_given"].get<int>(),
              row["open_ms"].get<double>(), row["compile_ms"].get<double>(), row["prepare_ms"].get<double>(),
              row["total_ms"].get<double>());
}

int startup_device(const std::string& select, const BenchOptions& options, nlohmann::json* report) {
  Messages messages;
  Device device;
  DeviceOptions open = device_options(select, messages.log());
  Status status = Device::open(open, &device);
  if (status != Status::Ok) {
    const std::vector<std::string> said = messages.take();
    complain(said.empty() ? to_string(status) : said.front());
    return kBadInput;
  }
  const DeviceInfo info = device.info();
  device = {};
  const uint32_t threads = std::max(2u, std::thread::hardware_concurrency());
  Startup cold, warm, spread;
  status = measure(open, 1, &cold);
  open.pipeline_cache = cold.blob;
  if (status == Status::Ok) status = measure(open, 1, &warm);
  open.pipeline_cache = {};
  if (status == Status::Ok) status = measure(open, threads, &spread);
  if (status != Status::Ok) {
    complain(info.word, messages.take(), status);
    return kFailed;
  }
  const nlohmann::json rows = {row_json("cold", cold, 0), row_json("warm", warm, cold.blob.size()),
                               row_json("cold, spread", spread, 0)};
  report->push_back({{"device", info.word}, {"name", info.name}, {"driver", info.driver}, {"rows", rows}});
  if (options.json) return kSuccess;
  std::printf("%s  %s  %s\n", info.word.c_str(), info.name.c_str(), info.driver.c_str());
  std::printf("  %-14s %9s %7s %12s %9s %11s %11s %9s\n", "start", "pipelines", "threads", "blob bytes", "open ms",
              "compile ms", "prepare ms", "total ms");
  for (const nlohmann::json& row : rows) print_start(row);
  return kSuccess;
}

void switch_off_disk_caches() {
#if !defined(_WIN32)
  setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
  setenv("__GL_SHADER_DISK_CACHE", "0", 1);
#endif
}

}  // namespace

int bench_startup(const BenchOptions& options) {
  switch_off_disk_caches();
  nlohmann::json report = nlohmann::json::array();
  int code = kSuccess;
  for (const std::string& select : selections(options.device))
    code = std::max(code, startup_device(select, options, &report));
  if (options.json) std::printf("%s\n", text_of({{"devices", report}}).c_str());
  return code;
}

}  // namespace heed::program
