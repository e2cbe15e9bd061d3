// The CPU device, which a build may lack (HEED_CPU=OFF).
#pragma once

#include <heed/device.hpp>

namespace heed {

bool has_cpu_device();
// Unsupported, with a message in the options' log, if the build lacks the CPU device.
Status open_cpu_device(const DeviceOptions& options, Device* device);
// Adds the description of the CPU device, if the build has it.
void list_cpu_device(const DeviceOptions& options, std::vector<DeviceInfo>* devices);

}  // namespace heed
