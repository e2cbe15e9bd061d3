// Validates a host's SPIR-V before the driver sees it, since drivers check nothing and may crash.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace heed {

struct SpirvInfo {
  struct Binding {
    uint32_t set = UINT32_MAX;
    bool storage_buffer = false;
    bool readonly = false;
  };
  std::map<uint32_t, Binding> bindings;  // by binding number
  uint32_t push_bytes = 0;               // size of the push constants
  std::array<uint32_t, 3> local_size{};  // 0, 0, 0 if the module does not state it
  bool local_size_id = false;            // the module uses LocalSizeId, which not every device supports
};

// Reads a module with the compute shader `entry_point`, specialized with `constants`. Returns "", or an error.
std::string read_spirv(std::span<const uint32_t> words, std::string_view entry_point,
                       std::span<const uint32_t> constants, SpirvInfo* info);

}  // namespace heed
