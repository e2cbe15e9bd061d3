// Memory for as many values as a caller or a file asks for, which may be more than there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

namespace heed {

// Whether the host has memory for so many values. Containers cannot say so without exceptions: the memory is asked for by a call that
// can, and given back for a container to take.
template <class T>
bool has_memory(uint64_t count) {
  if (count > static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max()) / sizeof(T)) return false;
  void* const memory = ::operator new(static_cast<size_t>(count) * sizeof(T), std::nothrow);
  ::operator delete(memory);
  return memory != nullptr;
}

// Resizes; false, with nothing changed, where the host has no such memory.
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
