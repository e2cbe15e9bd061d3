// FNV-1a, 64 bits: detects damage and distinguishes values, but does not protect against malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heed {

inline constexpr uint64_t kFnvStart = 0xcbf29ce484222325u;

inline uint64_t fnv1a(std::span<const std::byte> data, uint64_t hash = kFnvStart) {
  for (const std::byte b : data) hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001b3u;
  return hash;
}

}  // namespace heed
