// Properties of a physical device, and the capabilities that heed derives from them. One function reads the device; another evaluates what
// was read, and needs no device.
#pragma once

#include <cstdint>
#include <heed/device.hpp>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "vulkan/calls/functions.hpp"
#include "vulkan/probe/matrix_units.hpp"

namespace heed::vulkan {

// A physical device as its driver reports it. `api_version` is the lower one of the device's and the instance's; for an adopted device, the
// host's.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  uint32_t api_version = VK_API_VERSION_1_0;
  VkPhysicalDeviceProperties properties = {};
  VkPhysicalDeviceSubgroupProperties subgroup = {};
  VkPhysicalDeviceMaintenance3Properties memory_limits = {};
  VkDriverId driver_id = VkDriverId(0);  // 0: unknown (Vulkan 1.1)
  std::string driver;                    // name and version, if known (Vulkan 1.2)
  VkPhysicalDeviceMemoryProperties memory = {};
  std::vector<VkQueueFamilyProperties> queue_families;
  uint32_t cores = 0;                                     // 0: no extension reports it
  bool rounds_to_even = false, keeps_infinities = false;  // f32 shaders can request round to nearest even; preservation
                                                          // of infinities and NaN
  bool fast_dots = false;                                 // OpSDot of four bytes takes one or few instructions
  Features offered;                                       // supported by the driver
  Features features;                                      // the same, or if adopted, those that the host enabled
  MatrixUnits matrix_units;
  bool adopted = false;                   // from a host
  bool portability_subset = false;        // VK_KHR_portability_subset is present and must be enabled
  bool memory_budget = false;             // VK_EXT_memory_budget; if adopted: the host enabled it
  const char* global_priority = nullptr;  // the driver's extension for priorities of queues, or null
};

PhysicalDevice read_physical_device(const Functions& vk, VkPhysicalDevice handle, uint32_t instance_version,
                                    bool adopted = false);

// A message that this version of Vulkan is needed, and what has a lower one: the driver, the loader, or HostDevice.
std::string needs_version(uint32_t needed, const PhysicalDevice& device);

// The queue family for heed: one with compute, and with timestamps if there is a choice. `async` prefers a family without graphics. Returns
// UINT32_MAX if no family has compute.
uint32_t choose_queue_family(const std::vector<VkQueueFamilyProperties>& families, bool async = false);

// Empty if the device meets heed's requirements; otherwise every limit that is too low, with both values.
std::string below_floor(const PhysicalDevice& device);

// The reasons why matrix units are not used, each empty if they are.
struct WhyNoMatrix {
  std::string f16, bf16, bytes;
};

// The capabilities that lowering may use: those of the driver if heed opens the device, those that the host enabled if it adopts one.
Capabilities capabilities_of(const PhysicalDevice& device, WhyNoMatrix* why = nullptr);

// The reason why kernels do not use dot products of bytes; empty if they do.
std::string why_no_dots(const PhysicalDevice& device);

// Fills DeviceInfo for a device whose queue is of this family. `word` is derived from the name only; see make_unique.
DeviceInfo describe(const PhysicalDevice& device, uint32_t queue_family);
// Adds what became of DeviceOptions::async_compute and low_priority to the description of an open device. `why_not_low` is empty if its
// queue has low priority.
void describe_queue(const PhysicalDevice& device, uint32_t family, const DeviceOptions& options,
                    const std::string& why_not_low, DeviceInfo* info);
// "NVIDIA H200" -> "nvidia-h200", "llvmpipe (LLVM 15.0.6, 256 bits)" -> "llvmpipe",
// "AMD Radeon Graphics (RADV REMBRANDT)" -> "radv-rembrandt".
std::string short_name(const std::string& device_name);
// Appends numbers to equal words: "vulkan:llvmpipe", "vulkan:llvmpipe#2".
void make_unique(std::vector<DeviceInfo>* devices);

}  // namespace heed::vulkan
