// The types of tensors in GGUF files.
#pragma once

#include <cstdint>
#include <optional>

#include <heed/types.hpp>

namespace heed {

struct GgufType {
  uint32_t number = 0;  // the file's number for the type
  const char* name = "";
  int64_t elements = 1;          // per block
  uint64_t bytes = 0;            // per block
  std::optional<DType> storage;  // empty: heed cannot store it
};

// Null if the type is unknown.
const GgufType* gguf_type(uint32_t number);

}  // namespace heed
