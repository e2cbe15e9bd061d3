// Factors by which rotary pairs are slowed down, one for each pair, as GGUF files of Llama 3 store them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <heed/graph.hpp>

namespace heed {

// The scaling that gives these factors for a rotary with `base`, within 1e-4; nothing if there is none. `trained_length` is the value for
// Llama3 scaling; low and high follow from it.
std::optional<RotaryScaling> scaling_of(std::span<const float> factors, double base, int64_t trained_length);

}  // namespace heed
