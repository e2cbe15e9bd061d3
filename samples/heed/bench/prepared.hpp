// A row of the benchmark, compiled for a device and with data to run on.
#pragma once

#include <cstddef>
#include <vector>

#include "bench/cases.hpp"

namespace heed::program {

struct Prepared {
  Plan plan;
  std::vector<BenchGraph::Buffer> tensors;  // `buffers` refers to their names
  std::vector<std::vector<std::byte>> storage;
  std::vector<HostBuffer> buffers;
  std::vector<ExtentValue> extents;
  State state;  // if the row has any
  bool gpu_time = false;
  std::vector<PassTime> times;  // of the last run, if the plan measures its passes
};

// Uploads values for the weights that a row's graph names.
Status upload_for(Device& device, const BenchGraph& graph, Weights* weights);

struct PrepareOptions {
  bool traced = false;  // measures passes on the CPU device, too
  bool reproducible = false;
};
Status prepare(Device& device, const BenchCase& row, Prepared* prepared, const PrepareOptions& options = {});

}  // namespace heed::program
