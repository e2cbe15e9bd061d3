#pragma once

#include "vulkan.hpp"

namespace swarm {

// Returns vkGetInstanceProcAddr of the machine's Vulkan loader, or null if there is none.
PFN_vkGetInstanceProcAddr find_loader();

}  // namespace swarm
