// Reads a host's SPIR-V before a driver sees it, since drivers check nothing and crash.
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
  uint32_t push_bytes = 0;               // where the push constants end
  std::array<uint32_t, 3> local_size{};  // 0, 0, 0 if the module does not tell
  bool local_size_id = false;            // whether it has LocalSizeId, which not every device may take
};

// Reads a module with the compute shader `entry_point`, specialized with `constants`. Returns "", or what is wrong.
std::string read_spirv(std::span<const uint32_t> words, std::string_view entry_point,
                       std::span<const uint32_t> constants, SpirvInfo* info);

}  // namespace heed
