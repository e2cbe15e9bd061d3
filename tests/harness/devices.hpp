// The devices that tests run on: every usable one, or those that HEED_TEST_DEVICES names (parts of words,
// separated by commas, e.g. "cpu,llvmpipe"). Vulkan devices are opened with the validation layer. The CPU
// comes once for every set of instructions that it has ("cpu:avx2"), the best one last. "spirv" names the machines of
// interpreter/device.hpp.
#pragma once

#include <functional>
#include <heed/heed.hpp>
#include <string>
#include <vector>

#include "harness/catch.hpp"

namespace heed::ops {

struct TestDevice {
  std::string word;
  Device device;
  bool interpreted = false;  // its kernels run a million times slower than on a GPU
  operator Device() const { return device; }
};

// Whether a software driver is also tried as a device of its own that has no subgroup operations ("vulkan:llvmpipe:no-subgroups").
enum class Subgroups : uint8_t { AsReported, Both };

// Opened once per process, and shared by both lists; fails the test if nothing matches or an expected device does not open.
const std::vector<TestDevice>& test_devices(Subgroups subgroups = Subgroups::AsReported);

// The same for projections by quantized weights, without the Vulkan devices of SwiftShader and Mesa 26's lavapipe: their compilers take
// minutes for kernels that widen eight types in unrolled loops, and are never given one by themselves. May be empty.
std::vector<TestDevice> devices_for_quantized_projections();

// Offers a device that is opened only where HEED_TEST_DEVICES names it, or a part of its word. To be called by the
// initializer of a global, since not every test program has every device and test_devices must know them all.
bool offer_device(const char* word, std::function<Device(const Log&)> open);

// Messages at warning level or above since the last call.
std::vector<std::string> take_messages();
// The same, as one line; fails the test if the validation layer spoke.
std::string take_checked_messages();

// Calls body(device) for each device of the tables, and fails where it leaves unexpected messages.
template <class Body>
void on_each(const Body& body) {
  for (const TestDevice& device : test_devices()) {
    INFO(device.word);
    take_messages();
    body(device);
    CHECK(take_checked_messages() == "");
  }
}

}  // namespace heed::ops
