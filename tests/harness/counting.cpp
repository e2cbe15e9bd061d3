#include "harness/counting.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t count = 0;
thread_local uint32_t paused = 0;
thread_local size_t limit = SIZE_MAX;

void* count_one(void* memory, bool may_throw) {
  if (paused == 0) ++count;
  if (memory == nullptr && may_throw) throw std::bad_alloc();
  return memory;
}
void* get(size_t size, bool may_throw) {
  return count_one(size > limit ? nullptr : std::malloc(size > 0 ? size : 1), may_throw);
}

// Windows has no aligned memory that free() accepts.
#if defined(_WIN32)
void* allocate(size_t size, size_t alignment) { return _aligned_malloc(size, alignment); }
void release(void* p) { _aligned_free(p); }
#else
void* allocate(size_t size, size_t alignment) { return std::aligned_alloc(alignment, size); }
void release(void* p) { std::free(p); }
#endif
void* get(size_t size, std::align_val_t alignment, bool may_throw) {
  const auto bytes = static_cast<size_t>(alignment);
  return count_one(allocate((size / bytes + (size % bytes != 0 || size == 0)) * bytes, bytes), may_throw);
}

}  // namespace

void* operator new(size_t n) { return get(n, true); }
void* operator new[](size_t n) { return get(n, true); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return get(n, false); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return get(n, false); }
void* operator new(size_t n, std::align_val_t a) { return get(n, a, true); }
void* operator new[](size_t n, std::align_val_t a) { return get(n, a, true); }
void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return get(n, a, false); }
void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return get(n, a, false); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { release(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { release(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { release(p); }

namespace heed::test {

uint64_t news() { return count; }
LimitNews::LimitNews(size_t bytes) { limit = bytes; }
LimitNews::~LimitNews() { limit = SIZE_MAX; }
PauseNews::PauseNews() { ++paused; }
PauseNews::~PauseNews() { --paused; }

}  // namespace heed::test
