// Allocation of as many values as a caller or a file requests, which may exceed the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

namespace heed {

// Resizes a vector; returns false, without a change, if the memory is not available. A vector cannot report that without exceptions, so a
// nothrow allocation tests it first and frees the memory for the vector.
template <class T>
bool try_resize(std::vector<T>* values, uint64_t count) {
  if (count > static_cast<uint64_t>(std::numeric_limits<ptrdiff_t>::max()) / sizeof(T)) return false;
  const auto fits = static_cast<size_t>(count);
  if (fits > values->capacity()) {
    void* const memory = ::operator new(fits * sizeof(T), std::nothrow);
    if (memory == nullptr) return false;
    ::operator delete(memory);
    values->reserve(fits);
  }
  values->resize(fits);
  return true;
}

}  // namespace heed
