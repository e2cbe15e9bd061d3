// The types of tensors in GGUF files.
#pragma once

#include <cstdint>
#include <optional>

#include <heed/types.hpp>

namespace heed {

struct GgufType {
  uint32_t number = 0;  // in the file
  const char* name = "";
  int64_t elements = 1;          // of a block
  uint64_t bytes = 0;            // of a block
  std::optional<DType> storage;  // nothing: heed cannot store it
};

// Null if it is not known.
const GgufType* gguf_type(uint32_t number);

}  // namespace heed
