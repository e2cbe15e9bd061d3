// The self-test: every kernel that heed would use on a device, on small inputs, against the CPU.
//
// A driver of a player's machine may compile a shader wrongly or hang in it. Run this once, at installation
// or at the first start with a new driver, and keep the blob:
//
//   heed::SelfTestReport report;
//   heed::Status s = heed::self_test(device, {}, &report);   // disables what failed
//   save(report.blob);
//   ... at later starts: heed::Device::open({.self_test_results = blob}, &device), or
//   HostDevice::self_test_results
//
// compile then does without the kernels that failed: attention falls back to matmul, softmax and matmul; for
// what has no other kernel it returns Unsupported, and the graph runs on the CPU. Device::open leaves a
// device out that can no longer run an attention layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <heed/device.hpp>
#include <heed/status.hpp>
#include <string>
#include <vector>

namespace heed {

enum class SelfTestVerdict : uint8_t {
  Passed,
  Wrong,     // differs from the CPU by more than rounding explains
  Failed,    // the driver refused it, or lost the device
  TimedOut,  // did not end within SelfTestOptions::time_limit_ms
  Unused,    // heed would not use it on this device (16-bit storage that is not there, other vectors); not run
};
HEED_API const char* to_string(SelfTestVerdict verdict);  // "passed", "wrong", ...

struct SelfTestOptions {
  // For one run of one kernel, which takes microseconds on a GPU; on a busy processor a software driver may need
  // seconds to translate one. At least 1.
  uint32_t time_limit_ms = 10000;
};

struct KernelTest {
  std::string kernel;  // as in PassInfo::kernel
  SelfTestVerdict verdict = SelfTestVerdict::Unused;
  uint32_t runs = 0;   // that came out right
  double worst = 0;    // largest error of all runs, as a part of what is allowed: above 1 is wrong
  std::string detail;  // what went wrong, or empty
};

struct SelfTestReport {
  std::vector<KernelTest> kernels;  // all that heed has, by name
  double milliseconds = 0;
  // What was found, to be given at later starts. It names device, driver and heed's kernels; with another of
  // them it is ignored with a warning, and the test wants to be run again.
  std::vector<std::byte> blob;

  HEED_API bool passed() const;  // none is Wrong, Failed or TimedOut
};

// Compiles, runs and compares; a few seconds on a software driver, less on a GPU. The queue is used and
// waited for, and no other thread may compile on the device meanwhile. Ok if all could be tested, whatever
// came out; what failed is disabled on `device` from then on.
//
// A kernel that hangs or loses the device: if heed opened the device it is opened again, `device` becomes the
// new one (plans and weights of the old one stay lost), and the test goes on. An adopted device is the host's
// to make again: DeviceLost; the report says what was found, kernels not yet tested are Unused, and the blob,
// given to the next adoption, keeps heed away from the culprit. What a hanging GPU still uses is never
// destroyed. A driver that crashes while it compiles a shader takes the process with it: a cautious host
// tests in a child process. On the CPU device there is nothing to test: Ok, an empty report.
HEED_API Status self_test(Device& device, const SelfTestOptions& options, SelfTestReport* report);

}  // namespace heed
