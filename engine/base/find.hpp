// Lookup by name.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

namespace heed {

// Returns the element with this name from a list that is sorted by unique names, or null.
template <class T>
const T* find_by_name(std::span<const T> sorted, std::string_view name) {
  const auto found = std::lower_bound(sorted.begin(), sorted.end(), name,
                                      [](const T& one, std::string_view wanted) { return one.name < wanted; });
  return found != sorted.end() && found->name == name ? &*found : nullptr;
}

}  // namespace heed
