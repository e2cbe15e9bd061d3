// Huge pages for buffers that are smaller than a huge page.
#pragma once

#include <memory>
#include <mutex>

#include "base/arith.hpp"
#include "cpu/device/memory.hpp"

namespace heed::cpu {

class PagePool;

// Memory of its own, or a part of a shared block, which lives as long as any of its parts.
class PooledBuffer {
 public:
  // Replaces the content by uninitialised memory. `pool` may be null. Returns false if there is not enough memory.
  bool allocate(uint64_t bytes, PagePool* pool);
  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::shared_ptr<const AlignedBuffer> block_;
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
};

// Places buffers consecutively in blocks of huge pages. The weights of a small language model are hundreds of tensors smaller than a huge
// page, and each token reads all of them: with small pages it takes up to a fourth longer. Thread-safe.
class PagePool {
 public:
  // Null if there is not enough memory, or if a block is not worthwhile: for buffers large enough for their own huge pages, and for the
  // first ones, which may be the only ones.
  std::shared_ptr<const AlignedBuffer> place(uint64_t bytes, std::byte** data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    seen_ += bytes;
    if (bytes >= kHugePage || seen_ < kHugePage) return nullptr;
    const uint64_t size = align_up(bytes, kAlignment);
    if (block_ == nullptr || block_->bytes() - used_ < size) {
      auto fresh = std::make_shared<AlignedBuffer>();
      if (!fresh->allocate(kBlock)) return nullptr;
      block_ = std::move(fresh);
      used_ = 0;
    }
    *data = block_->data() + used_;
    used_ += size;
    return block_;
  }

 private:
  static constexpr uint64_t kBlock = 4 * kHugePage;
  std::mutex mutex_;
  std::shared_ptr<const AlignedBuffer> block_;  // the last one
  uint64_t used_ = 0, seen_ = 0;
};

inline bool PooledBuffer::allocate(uint64_t bytes, PagePool* pool) {
  std::byte* data = nullptr;
  std::shared_ptr<const AlignedBuffer> block = pool == nullptr ? nullptr : pool->place(bytes, &data);
  if (block == nullptr) {
    auto own = std::make_shared<AlignedBuffer>();
    if (!own->allocate(bytes)) return false;
    data = own->data();
    block = std::move(own);
  }
  block_ = std::move(block);
  data_ = data;
  bytes_ = bytes;
  return true;
}

}  // namespace heed::cpu
