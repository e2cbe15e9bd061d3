#include "bench/timing.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>

#include "bench/passes.hpp"
#include "clock.hpp"

namespace heed::program {

Status run_once(Prepared& prepared, double* milliseconds) {
  const Clock::time_point start = Clock::now();
  const Status status = prepared.plan.run(prepared.buffers, prepared.extents, {.state = prepared.state});
  *milliseconds = milliseconds_since(start);
  std::vector<PassTime>& times = prepared.times;
  if (status != Status::Ok || !prepared.gpu_time || prepared.plan.timings(&times) != Status::Ok) return status;
  *milliseconds = std::accumulate(times.begin(), times.end(), 0.0,
                                  [](double sum, const PassTime& time) { return sum + time.milliseconds; });
  return status;
}

Status measure(Prepared& prepared, double budget_ms, Timing* timing) {
  double first = 0;
  Status status = run_once(prepared, &first);
  std::vector<double> all;
  const Clock::time_point start = Clock::now();
  const auto goes_on = [&] {
    if (all.empty()) return true;
    if (all.front() > 10 * budget_ms || all.size() == 200) return false;
    return all.size() < 3 || milliseconds_since(start) < budget_ms;
  };
  while (status == Status::Ok && goes_on()) status = run_once(prepared, &all.emplace_back());
  if (status != Status::Ok) return status;
  std::sort(all.begin(), all.end());
  *timing = {all[all.size() / 2], all.front(), all.back(), static_cast<int>(all.size())};
  return status;
}

nlohmann::json row_json(const BenchCase& row, const Prepared& prepared, const Timing& timing, const Limits& limits) {
  const std::vector<PassInfo> passes = prepared.plan.passes();
  const PassInfo total = total_of(passes);
  std::set<std::string> names;
  for (const PassInfo& pass : passes) {
    // A pass that chooses its kernel by size lists all as "a + b".
    std::istringstream words(pass.kernel);
    for (std::string word; words >> word;)
      if (word != "+") names.insert(word);
  }
  std::string kernels;
  for (const std::string& name : names) kernels.append(kernels.empty() ? "" : " ").append(name);
  // Matrices are compared with the arithmetic limit if each of their bytes is used often; everything else with the memory limit.
  constexpr std::string_view kOfMatrices[] = {"matmul", "attention", "encoder", "decode"};
  const bool of_matrices = std::find(std::begin(kOfMatrices), std::end(kOfMatrices), row.op) != std::end(kOfMatrices);
  const bool arithmetic = of_matrices && total.flops > 28 * total.bytes;
  const double rate = (arithmetic ? total.flops : total.bytes) / std::max(timing.median, 1e-9) * 1e-6;
  const double limit = arithmetic ? limits.gflops : limits.gigabytes;
  nlohmann::json json = {{"op", row.op},        {"shape", row.shape},
                         {"ms", timing.median}, {"least", timing.least},
                         {"most", timing.most}, {"repeats", timing.repeats},
                         {"rate", rate},        {"unit", arithmetic ? "GFLOP/s" : "GB/s"},
                         {"kernels", kernels},  {"timer", prepared.gpu_time ? "gpu" : "clock"}};
  json["dispatches"] = total.dispatches;
  json["bytes"] = total.bytes, json["fewest_bytes"] = total.fewest_bytes;
  json["share"] = limit > 0 ? nlohmann::json(rate / limit) : nlohmann::json();
  return json;
}

}  // namespace heed::program
