// The calls by which engine/api finds and opens Vulkan devices.
#pragma once

#include <heed/device.hpp>
#include <memory>
#include <vector>

#include "graph/schedule/backend.hpp"

namespace heed::vulkan {

// Every physical device, usable or not, in the driver's order with words made unique. Empty without a Vulkan
// loader or driver; that is no error.
std::vector<DeviceInfo> list_devices(const DeviceOptions& options);
// Opens the device at `index` of list_devices.
Status open_device(const DeviceOptions& options, uint32_t index, std::shared_ptr<detail::DeviceImpl>* device);

}  // namespace heed::vulkan
