// heed::tune and heed::use_tuning on a Vulkan device.
#pragma once

#include <heed/tuning.hpp>

namespace heed::vulkan {

Status tune(Device& device, const TuningOptions& options, TuningReport* report);
Status use_tuning(Device& device, std::span<const std::byte> blob);

}  // namespace heed::vulkan
