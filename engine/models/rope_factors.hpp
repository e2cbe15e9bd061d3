// Factors by which the pairs of a rotation are slowed down, one for each, as GGUF files of Llama 3 store them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <heed/graph.hpp>

namespace heed {

// The scaling that gives these factors for a rotation with `base`, within 1e-4; nothing if none does. `trained_length` is
// the one that Llama3 scaling gets; low and high follow from it.
std::optional<RotaryScaling> scaling_of(std::span<const float> factors, double base, int64_t trained_length);

}  // namespace heed
