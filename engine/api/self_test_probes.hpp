// The graphs of the self-test: small, of one operation each, with sizes that are no multiple of any tile.
// Together they use every kernel; a test sees to that.
#pragma once

#include <heed/device.hpp>
#include <heed/graph.hpp>
#include <span>

namespace heed {

inline constexpr int64_t kProbeRows = 70, kProbeColumns = 300;  // maxima of the extents "m" and "n"

struct Probe {
  const char* name;
  // May use the extents m and n, and may name outputs freely. Inputs and weights are filled by type: floating-point values in
  // [-1, 1), those of quantized weights in [-1, 2), I32 0 to 6, U8 0 and 1.
  void (*build)(Graph& g, DType storage, Dim m, Dim n);
  bool training = false;
  bool once = false;          // does not depend on `storage`
  bool reproducible = false;  // compiled with CompileOptions::reproducible: not a bit may differ
  bool emulate_f32 = false;   // compiled with CompileOptions::emulate_f32
  bool round_rows = false;    // compiled with CompileOptions::round_rows
};
// Operations that others build on come first, so that a wrong one is found before it makes others look wrong.
std::span<const Probe> self_test_probes();
// Those that are compiled with CompileOptions::reproducible; self_test_probes has them, too.
std::span<const Probe> reproducible_probes();

// One of self_test_probes: a layer of attention, with masks, strided views and a norm.
const Probe& layer_probe();
// Runs that probe alone on a device that is being opened. A device whose results differ from the CPU's by more than rounding
// explains, or that fails, gets a Status other than Ok and a line in the log.
Status test_layer(Device& device, const Log& log);

// Values of m and n for the runs of one probe: each range of sizes has a kernel of its own.
struct ProbeSize {
  int64_t m, n;
};
std::span<const ProbeSize> self_test_sizes();

}  // namespace heed
