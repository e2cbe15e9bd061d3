#include "vulkan/memory/memory_types.hpp"

#include <algorithm>

namespace heed::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
constexpr VkMemoryPropertyFlags kCoherent = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;

struct Wish {
  VkMemoryPropertyFlags required = 0;
  // Scores that are added for each property of a type. Among types with equal scores the driver's order decides.
  int local = 0, visible = 0, coherent = 0, cached = 0;
};

Wish wish_for(MemoryUse use) {
  switch (use) {
    // Host-visible video memory is often a window of 256 MiB, which others need more.
    case MemoryUse::Device: return {.required = 0, .local = 8, .visible = -1};
    case MemoryUse::Constants: return {.required = kVisible, .local = 8, .coherent = 2, .cached = -1};
    // Reading uncached memory on the host is an order of magnitude slower than copying to cached memory.
    case MemoryUse::Staging: return {.required = kVisible, .local = -1, .coherent = 4, .cached = 8};
    case MemoryUse::Shared: return {.required = kVisible | kLocal, .coherent = 4, .cached = 8};
  }
  return {};
}

}  // namespace

MemoryProperties properties_for(MemoryUse use) {
  const Wish wish = wish_for(use);
  const auto flag = [](int score, VkMemoryPropertyFlags bit) { return score > 0 ? bit : VkMemoryPropertyFlags{0}; };
  return {wish.required, flag(wish.local, kLocal) | flag(wish.coherent, kCoherent) | flag(wish.cached, kCached)};
}

MemoryTypeOrder order_memory_types(const VkPhysicalDeviceMemoryProperties& memory, uint32_t allowed, MemoryUse use,
                                   uint64_t bytes) {
  const Wish wish = wish_for(use);
  MemoryTypeOrder order;
  std::array<int, VK_MAX_MEMORY_TYPES> scores{};
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    // Types with other properties (protected, lazily allocated, device-coherent) need features.
    if ((flags & ~(kLocal | kVisible | kCoherent | kCached)) != 0) continue;
    if ((allowed >> i & 1u) == 0 || (flags & wish.required) != wish.required) continue;
    if (memory.memoryHeaps[memory.memoryTypes[i].heapIndex].size < bytes) continue;
    scores[i] = ((flags & kLocal) != 0 ? wish.local : 0) + ((flags & kVisible) != 0 ? wish.visible : 0) +
                ((flags & kCoherent) != 0 ? wish.coherent : 0) + ((flags & kCached) != 0 ? wish.cached : 0);
    order.types[order.count++] = i;
  }
  std::stable_sort(order.types.begin(), order.types.begin() + order.count,
                   [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  return order;
}

bool has_shared_memory(const VkPhysicalDeviceMemoryProperties& memory, VkPhysicalDeviceType type) {
  if (type != VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU && type != VK_PHYSICAL_DEVICE_TYPE_CPU) return false;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    constexpr VkMemoryPropertyFlags kAll = kLocal | kVisible | kCached;
    if ((memory.memoryTypes[i].propertyFlags & kAll) == kAll) return true;
  }
  return false;
}

}  // namespace heed::vulkan
