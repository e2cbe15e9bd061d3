// The renderer's own instance, device and queue, which heed adopts later.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "vulkan.hpp"

namespace swarm {

struct GpuOptions {
  std::string device;     // part of a device's name, or its index; "": the fastest kind of device
  bool validate = false;  // the Khronos layer with synchronization validation
  std::vector<const char*> instance_extensions;  // extensions that the window system needs
  // If set, the device must present to this surface. The Gpu destroys it.
  std::function<VkSurfaceKHR(VkInstance)> make_surface;
};

class Gpu {
 public:
  explicit Gpu(const GpuOptions& options);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  static constexpr uint32_t kApi = VK_API_VERSION_1_1;

  VkInstance instance = VK_NULL_HANDLE;
  VkSurfaceKHR surface = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceMemoryProperties memory{};
  VkDevice device = VK_NULL_HANDLE;
  uint32_t family = 0;  // graphics, compute and, with a surface, presentation
  VkQueue queue = VK_NULL_HANDLE;
  std::vector<const char*> extensions;  // enabled on the device
  bool debug_utils = false;
  bool timestamps = false;

  // The number of messages from the validation layer so far. Each was printed.
  uint32_t complaints() const { return complaints_; }

 private:
  void create_instance(const GpuOptions& options);
  void choose_device(const std::string& wanted);
  void create_device();
  bool find_family(VkPhysicalDevice candidate, uint32_t* found) const;
  void release();

  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  uint32_t complaints_ = 0;
};

}  // namespace swarm
