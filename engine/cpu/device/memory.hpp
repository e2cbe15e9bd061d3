// Aligned host memory whose allocation can fail without an exception.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace heed::cpu {

inline constexpr uint64_t kAlignment = 64;  // a cache line, and the widest vector register

// Rows at a multiple of this distance map to the same sets of the first-level cache and evict each other.
inline constexpr int64_t kWayBytes = 4096;

// Buffers of at least this size use huge pages if the system provides them: they are read sequentially, and each page boundary costs a TLB
// look-up and stops the hardware prefetcher.
inline constexpr uint64_t kHugePage = 2u << 20;

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept { *this = std::move(other); }
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~AlignedBuffer() { ::operator delete(data_, std::align_val_t{alignment_of(bytes_)}); }

  // Replaces the content by uninitialised memory. Returns false if there is not enough memory.
  bool allocate(uint64_t bytes) {
    AlignedBuffer fresh;
    if (bytes > static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max()) - kHugePage) return false;
    if (bytes > 0) {
      fresh.data_ = static_cast<std::byte*>(
          ::operator new(static_cast<size_t>(bytes), std::align_val_t{alignment_of(bytes)}, std::nothrow));
      if (fresh.data_ == nullptr) return false;
#if defined(MADV_HUGEPAGE)
      // This is only a hint: if the system refuses it, the memory is still usable.
      if (bytes >= kHugePage)
        (void)madvise(fresh.data_, static_cast<size_t>(bytes / kHugePage * kHugePage), MADV_HUGEPAGE);
#endif
    }
    fresh.bytes_ = bytes;
    *this = std::move(fresh);
    return true;
  }

  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  static constexpr size_t alignment_of(uint64_t bytes) { return bytes >= kHugePage ? kHugePage : kAlignment; }

  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

}  // namespace heed::cpu
