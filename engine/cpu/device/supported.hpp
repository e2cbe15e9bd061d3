// The instruction sets that this processor and its system run. Highway's headers make the vector code, and its library would say
// which of it runs here; that answer is here instead, so that heed needs nothing of Highway at run time.
#pragma once

#include <cstdint>

namespace heed::cpu {

// Bits of Highway's targets. That which the whole library is compiled for is always among them.
int64_t supported_targets();

}  // namespace heed::cpu
