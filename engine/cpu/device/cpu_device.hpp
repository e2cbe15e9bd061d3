// The CPU device: runs a Schedule on host memory.
#pragma once

#include <heed/device.hpp>
#include <memory>

#include "graph/schedule/backend.hpp"

namespace heed::cpu {

DeviceInfo device_info(const DeviceOptions& options);
std::shared_ptr<detail::DeviceImpl> create_device(const DeviceOptions& options);

}  // namespace heed::cpu
