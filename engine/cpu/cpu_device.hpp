// The CPU device: runs a Schedule on host memory.
#pragma once

#include <heed/device.hpp>
#include <memory>

#include "graph/backend.hpp"

namespace heed::cpu {

DeviceInfo device_info();
// Never fails for want of features; OutOfMemory or InvalidArgument only.
Status create_device(const DeviceOptions& options, std::shared_ptr<detail::DeviceImpl>* device);

}  // namespace heed::cpu
