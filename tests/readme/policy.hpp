// The crowd policy of samples/godot, exported by PyTorch, and PyTorch's results for it.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/source_path.hpp"

namespace heed::test {

inline const std::string kPolicy = source_path("samples/godot/demo/policy.onnx");

struct Crowd {
  std::vector<float> agents, velocity;  // [count, 6] and [count, 2]

  float largest_difference(const float* from) const {
    float worst = 0;
    for (size_t i = 0; i < velocity.size(); ++i) worst = std::max(worst, std::fabs(from[i] - velocity[i]));
    return worst;
  }
};

inline Crowd read_crowd() {
  std::ifstream file(source_path("samples/godot/tests/policy.json"));
  const nlohmann::json told = nlohmann::json::parse(file);
  return {told.at("agents"), told.at("velocity")};
}

}  // namespace heed::test
