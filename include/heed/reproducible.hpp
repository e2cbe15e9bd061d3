// What CompileOptions::reproducible promises, as numbers that two machines can compare.
//
//   std::vector<heed::OperationBits> operations;
//   s = heed::operation_bits(device, &operations);
//   for (const auto& one : operations) print(one.operation, one.bits);
//
// tests/reproducible/README.md has the rules that these numbers stand for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/device.hpp>
#include <heed/status.hpp>

namespace heed {

// The fingerprint of an operation's results on a device.
struct OperationBits {
  std::string operation;  // "softmax", ...
  uint64_t bits = 0;      // a fingerprint of all results of its probes
  uint64_t known = 0;     // what every device must give in this version of heed
};

// Runs every operation that reproducible plans may have, on fixed values, and gives a fingerprint for each. Most of its time
// goes to compiling their kernels, which software drivers take seconds for. Unsupported: the device cannot promise what such plans need, or
// a kernel failed its self-test, as compile would say. InvalidArgument: no device, or null.
HEED_API Status operation_bits(Device& device, std::vector<OperationBits>* operations);

}  // namespace heed
