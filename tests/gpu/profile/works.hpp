// Heed and its peer are profiled with these works. The peer's graphs of the same names are in tests/gpu/peer/ggml_work.cpp.
#pragma once

#include <functional>
#include <heed/heed.hpp>
#include <string>
#include <vector>

namespace heed::gpu_tests {

struct Work {
  std::string name;
  std::function<void(Graph& g)> build;
  std::vector<ExtentValue> extents = {};
  bool emulate_f32 = false;  // heed's plan has CompileOptions::emulate_f32
  bool round_rows = false;   // heed's plan has CompileOptions::round_rows
  bool no_units = false;     // heed's plan is for a device without matrix units
};

// "product TYPE MxNxK [emulated | rounded | rounded to bytes]": x [M, K] by a weight [N, K], "attention TYPE HEADSxWIDTH TOKENS [causal]", "token after N TYPE HEADSxWIDTH": the
// attention of one token to N others, "smollm2 TYPE": a token of SmolLM2-135M after 512, "encoder TYPE TOKENS": 12 layers, 768 wide,
// "training TYPE TOKENS": gradients and AdamW for two such layers. ggml has no gradient of layernorm, and is left out there.
const std::vector<Work>& works();

}  // namespace heed::gpu_tests
