// The JSON header of a safetensors file: structure and types are checked, values are not.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <heed/safetensors.hpp>

namespace heed {

struct RawTensor {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;    // at most SafeTensors::kMaxDims
  std::vector<uint64_t> offsets;  // exactly 2, relative to the end of the header
};

struct RawHeader {
  std::vector<RawTensor> tensors;
  std::vector<std::pair<std::string, std::string>> metadata;
};

// `json` is the header's text, `file` its name for messages. InvalidFile with one message otherwise.
Status parse_header(std::string_view json, const std::string& file, const Log& log, RawHeader* header);

// A name from a file, safe for one line of a message: control characters are replaced, long names are truncated.
std::string printable(std::string_view text);

// Shared by SafeTensors and Checkpoint.
std::vector<HostTensor> host_tensors_of(std::span<const SafeTensors::Entry> entries);

}  // namespace heed
