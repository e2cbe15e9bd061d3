// The instruction sets that the processor and its system support. Highway's headers compile the vector code, and its library would report
// which sets run here; this file does that instead, so that heed does not link Highway.
#pragma once

#include <cstdint>

namespace heed::cpu {

// Bits of Highway's targets. The target of the whole library is always included.
int64_t supported_targets();

}  // namespace heed::cpu
