// The runs of the self-test: cases (cases/op_case.hpp), small, of one operation each, with sizes that are no multiple of any tile.
#pragma once

#include <heed/device.hpp>
#include <span>
#include <vector>

#include "cases/op_case.hpp"

namespace heed {

struct Probe {
  const OpCase* of;
  CaseSizes sizes;
  bool reproducible = false;  // compiled with CompileOptions::reproducible: not a bit may differ
};
// Reproducible ones are the last.
std::vector<Probe> self_test_probes();
std::vector<Probe> reproducible_probes();

// One of self_test_probes: a layer of attention, with masks, strided views and a norm.
Probe layer_probe();
// Runs that probe alone on a device that is being opened. A device whose results differ from the CPU's by more than rounding
// explains, or that fails, gets a Status other than Ok and a line in the log.
Status test_layer(Device& device, const Log& log);

// Values of m and n for the runs of one probe: each range of sizes has a kernel of its own.
struct ProbeSize {
  int64_t m, n;
};
std::span<const ProbeSize> self_test_sizes();

}  // namespace heed
