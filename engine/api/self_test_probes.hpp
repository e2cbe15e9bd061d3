// The runs of the self-test: small cases of one operation each (cases/op_case.hpp), with sizes that are no multiple of any tile.
#pragma once

#include <heed/device.hpp>
#include <span>
#include <vector>

#include "cases/op_case.hpp"

namespace heed {

struct Probe {
  const OpCase* of;
  CaseSizes sizes;
  bool reproducible = false;  // compiled with CompileOptions::reproducible: results must be equal bit for bit
};
// All probes, reproducible ones last.
std::vector<Probe> self_test_probes();
std::vector<Probe> reproducible_probes();

// One of self_test_probes: a layer of attention, with masks, strided views and a norm.
Probe layer_probe();
// Runs only that probe on a device that is being opened. Returns a failure, with a line in the log, if the probe fails or its results
// differ from the CPU's by more than rounding explains.
Status test_layer(Device& device, const Log& log);

// Values of m and n for the runs of one probe: each range of sizes may use a different kernel.
struct ProbeSize {
  int64_t m, n;
};
std::span<const ProbeSize> self_test_sizes();

}  // namespace heed
