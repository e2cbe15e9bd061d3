#include "counting.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t count = 0;
thread_local uint32_t paused = 0;

void* get(size_t size, size_t alignment, bool may_throw) {
  if (paused == 0) ++count;
  if (size == 0) size = 1;
  void* memory = alignment <= alignof(std::max_align_t)
                     ? std::malloc(size)
                     : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr && may_throw) throw std::bad_alloc();
  return memory;
}

constexpr size_t kPlain = alignof(std::max_align_t);

}  // namespace

void* operator new(size_t n) { return get(n, kPlain, true); }
void* operator new[](size_t n) { return get(n, kPlain, true); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return get(n, kPlain, false); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return get(n, kPlain, false); }
void* operator new(size_t n, std::align_val_t a) { return get(n, static_cast<size_t>(a), true); }
void* operator new[](size_t n, std::align_val_t a) { return get(n, static_cast<size_t>(a), true); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return get(n, static_cast<size_t>(a), false);
}
void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return get(n, static_cast<size_t>(a), false);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { std::free(p); }

namespace heed::test {

uint64_t news() { return count; }
PauseNews::PauseNews() { ++paused; }
PauseNews::~PauseNews() { --paused; }

}  // namespace heed::test
