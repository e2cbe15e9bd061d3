// The works that a report times. The list is part of the format: reports of different machines are compared row by row.
#pragma once

#include <vector>

#include "bench/cases.hpp"

namespace heed::program {

// No work has a dispatch above 5 GFLOP (tests/kernels/report_works_test.cpp): 0.05 s on a GPU of 100 GFLOP/s, far below watchdogs' limits.
const std::vector<BenchCase>& report_works();

// The shape of the encoder among them, which also runs in the frames of a report.
inline constexpr const char* kReportEncoder = "1x128x768-12-layers";

}  // namespace heed::program
