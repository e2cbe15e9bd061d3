// The works that profile heed and ggml. tests/gpu/peer/ggml_work.cpp has ggml's graphs of the same names.
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
  bool emulate_f32 = false;  // compiles with CompileOptions::emulate_f32
  bool round_rows = false;   // compiles with CompileOptions::round_rows
  bool no_units = false;     // plans for a device without matrix units
};

// "product TYPE MxNxK [emulated | rounded | rounded to bytes]": x [M, K] times a weight [N, K]. "attention TYPE HEADSxWIDTH TOKENS
// [causal]". "token after N TYPE HEADSxWIDTH": the attention of one token to N others. "smollm2 TYPE": a token of SmolLM2-135M after 512.
// "encoder TYPE TOKENS": 12 layers, 768 wide. "training TYPE TOKENS": gradients and AdamW for two such layers. "whisper window" and
// "whisper token": 30 s of sound, and a token after 100, by Whisper tiny.en. ggml has no graph of the last two, since it has no gradient of
// layernorm and no recognizer.
const std::vector<Work>& works();

}  // namespace heed::gpu_tests
