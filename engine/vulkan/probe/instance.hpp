// A VkInstance of heed's own, for Device::open and Device::list.
#pragma once

#include <cstdint>
#include <heed/status.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vulkan/calls/functions.hpp"

namespace heed::vulkan {

struct InstanceOptions {
  Log log;
  bool validation = false;   // the Khronos layer with synchronization validation, if installed
  bool debug_utils = false;  // labels and names, if VK_EXT_debug_utils is available
  std::string_view loader = {};
};

// The message of a layer or loader, with the pass that was being recorded, if any.
std::string text_of(const VkDebugUtilsMessengerCallbackDataEXT& data);

class Instance {
 public:
  // Null if there is no loader, the loader is below Vulkan 1.1, or no driver could be started; the reason is logged as Info, since these
  // are common on a machine without a GPU.
  static std::unique_ptr<Instance> create(const InstanceOptions& options);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance handle() const { return instance_; }
  const Functions& functions() const { return functions_; }
  uint32_t api_version() const { return api_version_; }
  bool debug_utils() const { return debug_utils_; }
  std::vector<VkPhysicalDevice> physical_devices() const;

 private:
  Instance() = default;
  static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                   VkDebugUtilsMessageTypeFlagsEXT types,
                                                   const VkDebugUtilsMessengerCallbackDataEXT* data, void* user);
  VkResult create_handle(const InstanceOptions& options);
  void create_messenger();

  Log log_;
  Functions functions_;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  uint32_t api_version_ = VK_API_VERSION_1_1;
  bool debug_utils_ = false;
  bool validation_ = false;
};

}  // namespace heed::vulkan
