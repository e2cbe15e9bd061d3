// The CPU device, which a build may lack (HEED_CPU=OFF).
#pragma once

#include <heed/device.hpp>

namespace heed {

bool has_cpu_device();
// Unsupported, with a line in the options' log, where this build has none.
Status open_cpu_device(const DeviceOptions& options, Device* device);
// Adds what the CPU device says of itself; nothing where this build has none.
void list_cpu_device(const DeviceOptions& options, std::vector<DeviceInfo>* devices);

}  // namespace heed
