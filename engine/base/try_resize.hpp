// Allocation of as many values as a caller or a file requests, which may exceed the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

namespace heed {

// Whether memory for so many values is available. Containers cannot report that without exceptions, so a nothrow allocation tests it first
// and frees the memory for the container.
template <class T>
bool has_memory(uint64_t count) {
  if (count > static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max()) / sizeof(T)) return false;
  void* const memory = ::operator new(static_cast<size_t>(count) * sizeof(T), std::nothrow);
  ::operator delete(memory);
  return memory != nullptr;
}

// Resizes a vector; returns false, without a change, if the memory is not available.
template <class T>
bool try_resize(std::vector<T>* values, uint64_t count) {
  if (count > values->capacity()) {
    if (!has_memory<T>(count)) return false;
    values->reserve(static_cast<size_t>(count));
  }
  values->resize(static_cast<size_t>(count));
  return true;
}

}  // namespace heed
