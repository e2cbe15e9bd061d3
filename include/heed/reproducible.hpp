// Fingerprints of reproducible results, by which two machines can compare what CompileOptions::reproducible promises.
//
//   std::vector<heed::OperationBits> operations;
//   s = heed::operation_bits(device, &operations);
//   for (const auto& one : operations) print(one.operation, one.bits);
//
// tests/reproducible/README.md has the rules for the results.
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
  uint64_t bits = 0;      // a fingerprint of all results on fixed inputs
  uint64_t known = 0;     // the fingerprint that every device must give in this version of heed
};

// Runs every operation that reproducible plans may have, on fixed values, and gives a fingerprint for each. Most of the time goes to
// compiling kernels, which takes software drivers seconds. Unsupported: the device cannot run reproducible plans, or a kernel failed its
// self-test, as for compile. InvalidArgument: no device, or null.
HEED_API Status operation_bits(Device& device, std::vector<OperationBits>* operations);

}  // namespace heed
