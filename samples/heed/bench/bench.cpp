// `heed bench`: times of every operation and of an encoder, beside the limits of the same device.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/cases.hpp"
#include "bench/limits.hpp"
#include "bench/passes.hpp"
#include "bench/prepared.hpp"
#include "bench/timing.hpp"
#include "bench/trace.hpp"
#include "clock.hpp"
#include "commands.hpp"
#include "golden/run.hpp"
#include "json.hpp"

namespace heed::program {

namespace {

using goldens::Messages;

// The time of a row's reproducible plan divided by that of its ordinary one. Both run in turn, so that clock drift affects both, until the
// budget is used up, but at least 3 times. 0: the device or the row has no reproducible plan.
Status measure_cost(Device& device, const BenchCase& row, Prepared& usual, double budget_ms, double* cost) {
  Prepared reproducible;
  *cost = 0;
  Status status = prepare(device, row, &reproducible, {.reproducible = true});
  if (status == Status::Unsupported) return Status::Ok;
  std::vector<double> of_usual, of_reproducible;
  double unused = 0;
  if (status == Status::Ok) status = run_once(reproducible, &unused);
  const Clock::time_point start = Clock::now();
  while (status == Status::Ok && (of_usual.size() < 3 || milliseconds_since(start) < 2 * budget_ms)) {
    status = run_once(usual, &of_usual.emplace_back());
    if (status == Status::Ok) status = run_once(reproducible, &of_reproducible.emplace_back());
  }
  if (status != Status::Ok) return status;
  std::sort(of_usual.begin(), of_usual.end());
  std::sort(of_reproducible.begin(), of_reproducible.end());
  *cost = of_reproducible[of_reproducible.size() / 2] / std::max(of_usual[of_usual.size() / 2], 1e-9);
  return status;
}

void print(const nlohmann::json& row) {
  char share[16] = "-";
  if (!row["share"].is_null()) std::snprintf(share, sizeof share, "%.0f%%", row["share"].get<double>() * 100);
  std::printf("%-20s %-22s %10.3f ms %8.1f %-8s %5s %6.2f  %4d  ", row["op"].get<std::string>().c_str(),
              row["shape"].get<std::string>().c_str(), row["ms"].get<double>(), row["rate"].get<double>(),
              row["unit"].get<std::string>().c_str(), share,
              row["bytes"].get<double>() / row["fewest_bytes"].get<double>(), row["repeats"].get<int>());
  if (row.contains("reproducible_cost")) {
    char cost[16] = "-";
    if (!row["reproducible_cost"].is_null())
      std::snprintf(cost, sizeof cost, "%.2f", row["reproducible_cost"].get<double>());
    std::printf("%12s  ", cost);
  }
  std::printf("%s\n", row["kernels"].get<std::string>().c_str());
  std::fflush(stdout);
}

void print(const DeviceInfo& info, const Limits& limits, bool reproducible) {
  std::printf("%s  %s\n", info.word.c_str(), info.name.c_str());
  std::printf("limits: %.1f GFLOP/s (%s), %.1f GB/s (%s)\n", limits.gflops, limits.gflops_how, limits.gigabytes,
              limits.gigabytes_how);
  if (!limits.why.empty()) std::printf("not measured: %s\n", limits.why.c_str());
  std::printf("%-20s %-22s %13s %17s %5s %6s  %4s  %s%s\n", "op", "shape", "median", "rate", "share", "moved", "runs",
              reproducible ? "reproducible  " : "", "kernels");
}

bool parse_ops(const std::string& list, std::vector<std::string>* ops) {
  std::istringstream input(list);
  for (std::string op; std::getline(input, op, ',');) {
    const auto same = [&](const BenchCase& row) { return op == row.op; };
    if (std::none_of(bench_cases().begin(), bench_cases().end(), same)) {
      std::string known;
      for (const BenchCase& row : bench_cases())
        if (known.find(row.op) == std::string::npos) known.append(known.empty() ? "" : ", ").append(row.op);
      complain("there is no operation '" + op + "', only " + known);
      return false;
    }
    ops->push_back(op);
  }
  return true;
}

void add_to_trace(const Device& device, const BenchCase& row, Prepared& prepared, Trace* trace) {
  if (prepared.times.empty() && prepared.plan.timings(&prepared.times) != Status::Ok) return;
  trace->add(device.info().word, std::string(row.op) + " " + row.shape, prepared.plan.passes(), prepared.times);
}

void print_passes(const BenchCase& row, const Plan& plan, bool as_json, nlohmann::json* rows) {
  const std::vector<PassInfo> passes = plan.passes();
  nlohmann::json list = nlohmann::json::array();
  for (const PassInfo& pass : passes)
    list.push_back({{"pass", pass.label},
                    {"op", pass.op},
                    {"kernel", pass.kernel},
                    {"dispatches", pass.dispatches},
                    {"bytes", pass.bytes},
                    {"fewest_bytes", pass.fewest_bytes}});
  const PassInfo total = total_of(passes);
  rows->push_back({{"op", row.op},
                   {"shape", row.shape},
                   {"dispatches", total.dispatches},
                   {"bytes", total.bytes},
                   {"fewest_bytes", total.fewest_bytes},
                   {"passes", std::move(list)}});
  if (!as_json) std::printf("%s %s\n%s", row.op, row.shape.c_str(), table_of(passes).c_str());
}

// Benchmarks one device. Returns 0, or the exit code of the worst failure.
int bench_device(const std::string& select, const std::vector<std::string>& ops, const BenchOptions& options,
                 nlohmann::json* report, Trace* trace) {
  Messages messages;
  Device device;
  const auto failed = [&](const std::string& what, Status status) {
    complain(what, messages.take(), status);
    return kFailed;
  };
  Status status = Device::open(device_options(select, messages.log()), &device);
  std::string what = select.empty() ? "device" : "device '" + select + "'";
  if (status == Status::Ok) {
    status = load_tuning(device, options.tuning);
    what = "the tuning " + options.tuning;
  }
  if (status != Status::Ok) {
    static_cast<void>(failed(what, status));
    return kBadInput;
  }
  const double budget_ms = options.seconds * 1e3;
  Limits limits;
  if (!options.passes) limits = device.info().kind == DeviceKind::Cpu ? cpu_limits() : vulkan_limits(device.info());
  if (!options.json && options.passes)
    std::printf("%s  %s\n", device.info().word.c_str(), device.info().name.c_str());
  else if (!options.json)
    print(device.info(), limits, options.reproducible);

  int code = kSuccess;
  nlohmann::json rows = nlohmann::json::array();
  for (const BenchCase& row : bench_cases()) {
    if (!ops.empty() && std::find(ops.begin(), ops.end(), row.op) == ops.end()) continue;
    Prepared prepared;
    Timing timing;
    status = prepare(device, row, &prepared, {.traced = !options.trace.empty()});
    if (status == Status::Unsupported && row.may_be_unsupported) {
      messages.take();
      if (!options.json) std::printf("%-20s %-22s not supported by the device\n", row.op, row.shape.c_str());
      continue;
    }
    if (status == Status::Ok && options.passes) {
      print_passes(row, prepared.plan, options.json, &rows);
      continue;
    }
    if (status == Status::Ok) status = measure(prepared, budget_ms, &timing);
    double cost = 0;
    if (status == Status::Ok && options.reproducible) status = measure_cost(device, row, prepared, budget_ms, &cost);
    if (status == Status::Ok && options.reproducible) messages.take();  // why there is no reproducible plan
    if (status != Status::Ok) {
      code = failed(std::string(row.op) + " " + row.shape + " on " + device.info().word, status);
      continue;
    }
    if (!options.trace.empty()) add_to_trace(device, row, prepared, trace);
    rows.push_back(row_json(row, prepared, timing, limits));
    if (options.reproducible) rows.back()["reproducible_cost"] = cost > 0 ? nlohmann::json(cost) : nlohmann::json();
    if (!options.json) print(rows.back());
  }
  report->push_back({{"device", device.info().word},
                     {"name", device.info().name},
                     {"driver", device.info().driver},
                     {"rows", std::move(rows)}});
  if (!options.passes) {
    report->back()["multiply_add_gflops"] = limits.gflops;
    report->back()["copy_gigabytes_per_second"] = limits.gigabytes;
  }
  return code;
}

}  // namespace

int bench(const BenchOptions& options) {
  std::vector<std::string> ops;
  if (!parse_ops(options.ops, &ops)) return kBadInput;
  nlohmann::json report = nlohmann::json::array();
  int code = kSuccess;
  Trace trace;
  for (const std::string& select : selections(options.device))
    code = std::max(code, bench_device(select, ops, options, &report, &trace));
  if (!options.trace.empty() && !trace.write(options.trace)) {
    complain("cannot write " + options.trace);
    code = kBadInput;
  }
  if (options.json) std::printf("%s\n", text_of({{"devices", report}}).c_str());
  return code;
}

}  // namespace heed::program
