// Conversion of Vulkan handles and of the caller's structs.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <type_traits>

#include <heed/vulkan.hpp>
#include <heed/vulkan_memory.hpp>

#include "c/objects.hpp"

namespace heed::c {

// Converts VkBuffer and the like: pointers on 64-bit platforms, integers on others.
template <class T>
T handle_of(uint64_t number) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<T>(static_cast<uintptr_t>(number));
  } else {
    return static_cast<T>(number);
  }
}
template <class T>
uint64_t number_of(T handle) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uintptr_t>(handle);
  } else {
    return static_cast<uint64_t>(handle);
  }
}

inline vulkan::BufferRange range_of(Call& call, const heed_buffer_range* range) {
  if (!call.has(range, "range")) return {};
  return {handle_of<VkBuffer>(range->buffer), range->offset, range->bytes};
}

inline heed_buffer_needs to_c(const vulkan::BufferNeeds& from) {
  heed_buffer_needs to = {};
  to.bytes = from.bytes;
  to.alignment = from.alignment;
  to.usage = from.usage;
  to.memory_type_bits = from.memory_type_bits;
  to.preferred = from.preferred;
  return to;
}

// Up to 16 elements are stored in the object itself, so that recordings allocate nothing.
template <class T>
class Few {
 public:
  explicit Few(size_t count) : count_(count) {
    if (count > kInside) outside_.resize(count);
  }
  T& operator[](size_t i) { return data()[i]; }
  std::span<const T> all() const { return {count_ > kInside ? outside_.data() : inside_, count_}; }

 private:
  static constexpr size_t kInside = 16;
  T* data() { return count_ > kInside ? outside_.data() : inside_; }
  size_t count_;
  T inside_[kInside] = {};
  std::vector<T> outside_;
};

// The caller's extents, and its arguments of a recording. The call fails if a part is invalid.
class Extents {
 public:
  Extents(Call& call, const heed_extent_value* extents, size_t count);
  std::span<const ExtentValue> all() const { return values_.all(); }

 private:
  Few<ExtentValue> values_;
};
class Recording {
 public:
  Recording(Call& call, const heed_record_info* info);
  vulkan::RecordInfo info() const;

 private:
  const Given<heed_record_info> given_;
  Few<vulkan::Buffer> buffers_;
  Extents extents_;
  std::optional<Pin<State>> state_;
};

}  // namespace heed::c
