// What reading and judging lists of features and extensions has in common.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "vulkan/functions.hpp"

namespace heed::vulkan {

// Whether this extension is among those of a device, or of a host's list.
inline bool contains(std::span<const VkExtensionProperties> extensions, std::string_view name) {
  return std::any_of(extensions.begin(), extensions.end(),
                     [&](const VkExtensionProperties& one) { return one.extensionName == name; });
}
inline bool contains(std::span<const char* const> extensions, std::string_view name) {
  return std::any_of(extensions.begin(), extensions.end(), [&](const char* one) { return one == name; });
}

// Appends `name` to a list in words, unless it is there.
inline void add_missing(std::string* text, bool has, const char* name) {
  if (!has) text->append(text->empty() ? "" : ", ").append(name);
}

// A structure of a chain as what its sType says it is.
template <class T>
const T* as(const VkBaseInStructure* next) {
  return reinterpret_cast<const T*>(next);
}

}  // namespace heed::vulkan
