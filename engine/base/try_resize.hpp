// Memory for as many values as a caller or a file asks for, which may be more than there is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

namespace heed {

// Resizes; false, with nothing changed, where the host has no such memory. A vector cannot say so without exceptions: its memory
// is first asked for by a call that can, and given back for the vector to take.
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
