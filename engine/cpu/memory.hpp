// Aligned host memory whose allocation can fail without an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

namespace heed::cpu {

inline constexpr uint64_t kAlignment = 64;  // one cache line, and the widest vector register

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~AlignedBuffer() { ::operator delete (data_, std::align_val_t{kAlignment}); }

  // Replaces the content, which is not initialised. False when the host has no such memory.
  bool allocate(uint64_t bytes) {
    AlignedBuffer fresh;
    if (bytes > static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max()) - kAlignment) return false;
    if (bytes > 0) {
      fresh.data_ = static_cast<std::byte*>(
          ::operator new (static_cast<size_t>(bytes), std::align_val_t{kAlignment}, std::nothrow));
      if (fresh.data_ == nullptr) return false;
    }
    fresh.bytes_ = bytes;
    *this = std::move(fresh);
    return true;
  }

  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace heed::cpu
