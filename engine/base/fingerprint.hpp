// A 64-bit fingerprint that distinguishes values, but does not protect against malice. Mixes whole words (multiply and fold, as in wyhash),
// unlike FNV-1a, which reads single bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace heed {

class Fingerprint {
 public:
  void add(uint64_t word) {
    value_ = (value_ ^ word) * 0x9E3779B97F4A7C15u;
    value_ ^= value_ >> 32;
  }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
      uint64_t word;
      std::memcpy(&word, bytes.data() + i, 8);
      add(word);
    }
    for (; i < bytes.size(); ++i) add(static_cast<uint64_t>(bytes[i]));
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0x243F6A8885A308D3u;
};

}  // namespace heed
