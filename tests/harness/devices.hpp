// The devices that tests run on: every usable one, or those that HEED_TEST_DEVICES names (parts of names, separated by commas, e.g.
// "cpu,llvmpipe"). Vulkan devices are opened with the validation layer. The CPU is listed once for every instruction set that it supports
// ("cpu:avx2"), the best one last. "spirv" selects the machines of interpreter/device.hpp.
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

// Whether a software driver is also listed as a device without subgroup operations ("vulkan:llvmpipe:no-subgroups").
enum class Subgroups : uint8_t { AsReported, Both };

// Devices are opened once for each process, and both lists share them. Fails the test if nothing matches or an expected device does not
// open.
const std::vector<TestDevice>& test_devices(Subgroups subgroups = Subgroups::AsReported);

// The same for projections by quantized weights, without the Vulkan devices of SwiftShader and Mesa 26's lavapipe: their compilers need
// minutes for kernels that dequantize eight types in unrolled loops. heed never chooses such a kernel there by itself. May be empty.
std::vector<TestDevice> devices_for_quantized_projections();

// Registers a device that is opened only if HEED_TEST_DEVICES has a part of its name. Call this from the initializer of a global, since not
// every test program has every device, and test_devices must know all of them.
bool offer_device(const char* word, std::function<Device(const Log&)> open);

// Messages at warning level or above since the last call.
std::vector<std::string> take_messages();
// The same as one line. Fails the test if the validation layer reported anything.
std::string take_checked_messages();

// Calls body(device) for each device of the tables, and fails if unexpected messages remain.
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
