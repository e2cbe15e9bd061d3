// The dropout rule of one run; shared by dropout, matmul's epilogue and attention.
#pragma once

#include <cstdint>

#include "base/philox.hpp"

namespace heed::cpu {

struct DropoutRule {
  DropoutWords words;
  uint32_t seed = 0;
  uint32_t stream = 0;
};

}  // namespace heed::cpu
