// Lists and opens Vulkan devices for engine/api.
#pragma once

#include <heed/device.hpp>
#include <memory>
#include <vector>

#include "graph/schedule/backend.hpp"

namespace heed::vulkan {

// Every physical device, usable or not, in the driver's order, with unique words. Empty without a Vulkan loader or driver, which is not an
// error.
std::vector<DeviceInfo> list_devices(const DeviceOptions& options);
// Opens the device at `index` of list_devices.
Status open_device(const DeviceOptions& options, uint32_t index, std::shared_ptr<detail::DeviceImpl>* device);

}  // namespace heed::vulkan
