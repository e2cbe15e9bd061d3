// Times of a row of the benchmark.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/limits.hpp"
#include "bench/prepared.hpp"

namespace heed::program {

// Milliseconds of one run, by the GPU's timestamps if there are any, else by the host's clock.
Status run_once(Prepared& prepared, double* milliseconds);

// Milliseconds of several runs.
struct Timing {
  double median = 0, least = 0, most = 0;
  int repeats = 0;
};

// Repeats until the budget is used up, but at least 3 times; only once if that run takes ten times the budget. A run before these does not
// count, since software drivers compile kernels in it.
Status measure(Prepared& prepared, double budget_ms, Timing* timing);

// The row with its rate and its share of the device's limit.
nlohmann::json row_json(const BenchCase& row, const Prepared& prepared, const Timing& timing, const Limits& limits);

}  // namespace heed::program
