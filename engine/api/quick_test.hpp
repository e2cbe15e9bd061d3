#pragma once

#include <heed/device.hpp>

namespace heed {

// Runs one small masked attention layer on `device` and on the CPU and compares. A device whose answer differs by
// more than rounding explains, or that fails, gets a Status other than Ok and a line in the log.
Status quick_test(Device& device, const Log& log);

}  // namespace heed
