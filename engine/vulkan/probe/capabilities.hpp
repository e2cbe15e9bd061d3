// Abilities of a physical device, and what heed makes of them. One function reads the device; another judges what was
// read, and needs no device.
#pragma once

#include <cstdint>
#include <heed/device.hpp>
#include <string>
#include <vector>

#include "kernels/dispatch.hpp"
#include "vulkan/calls/functions.hpp"
#include "vulkan/probe/matrix_units.hpp"

namespace heed::vulkan {

// A physical device as its driver reports it. `api_version` is the lower of the device's and the instance's, which for an
// adopted device is what the host told.
struct PhysicalDevice {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  uint32_t api_version = VK_API_VERSION_1_0;
  VkPhysicalDeviceProperties properties = {};
  VkPhysicalDeviceSubgroupProperties subgroup = {};
  VkPhysicalDeviceMaintenance3Properties memory_limits = {};
  VkDriverId driver_id = VkDriverId(0);  // 0: the driver does not say (Vulkan 1.1)
  std::string driver;                    // name and version, if the driver says so (Vulkan 1.2)
  VkPhysicalDeviceMemoryProperties memory = {};
  std::vector<VkQueueFamilyProperties> queue_families;
  uint32_t cores = 0;                                     // 0: no extension tells
  bool rounds_to_even = false, keeps_infinities = false;  // shaders of f32 may ask for these
  bool fast_dots = false;                                 // OpSDot of four bytes takes one instruction or few
  Features offered;                                       // what the driver has
  Features features;                                      // the same, or if adopted, what the host told
  MatrixUnits matrix_units;
  bool adopted = false;             // from a host
  bool portability_subset = false;  // VK_KHR_portability_subset must be enabled
  bool memory_budget = false;       // VK_EXT_memory_budget; if adopted: the host has enabled it
};

PhysicalDevice read_physical_device(const Functions& vk, VkPhysicalDevice handle, uint32_t instance_version,
                                    bool adopted = false);

// Says that this version of Vulkan is needed, and who has a lower one: the driver, the loader, or HostDevice.
std::string needs_version(uint32_t needed, const PhysicalDevice& device);

// The family heed submits to: with compute, and with timestamps if there is a choice. UINT32_MAX if none.
uint32_t choose_queue_family(const std::vector<VkQueueFamilyProperties>& families);

// Empty if the device meets heed's floor; otherwise every limit that is too low, with both values.
std::string below_floor(const PhysicalDevice& device);

// The reasons why matrix units are not used, each empty if they are.
struct WhyNoMatrix {
  std::string f16, bf16, bytes;
};

// The capabilities that lowering may use: all that a driver offers where heed opens the device, what the host told where
// it adopts one.
Capabilities capabilities_of(const PhysicalDevice& device, WhyNoMatrix* why = nullptr);

// The reason why kernels have no dot products of bytes; empty if they have.
std::string why_no_dots(const PhysicalDevice& device);

// Everything of DeviceInfo. `word` is made from the name alone; see make_unique.
DeviceInfo describe(const PhysicalDevice& device);
// "NVIDIA H200" -> "nvidia-h200", "llvmpipe (LLVM 15.0.6, 256 bits)" -> "llvmpipe",
// "AMD Radeon Graphics (RADV REMBRANDT)" -> "radv-rembrandt".
std::string short_name(const std::string& device_name);
// Numbers equal words: "vulkan:llvmpipe", "vulkan:llvmpipe#2".
void make_unique(std::vector<DeviceInfo>* devices);

}  // namespace heed::vulkan
