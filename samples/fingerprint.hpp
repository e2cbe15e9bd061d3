// Fingerprints of bytes (FNV-1a, 64 bits), which are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace samples {

// `before`: the fingerprint of the preceding bytes.
inline uint64_t fingerprint(std::span<const std::byte> bytes, uint64_t before = 0xcbf29ce484222325u) {
  for (const std::byte byte : bytes) before = (before ^ static_cast<uint64_t>(byte)) * 0x100000001b3u;
  return before;
}

}  // namespace samples
