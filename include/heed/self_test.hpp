// The self-test runs every kernel that heed would use on a device with small inputs, and compares the results with the CPU's.
//
// The driver of a player's machine may compile a shader wrongly, or hang in it. Run the self-test once, at installation or at the first
// start with a new driver, and keep the blob:
//
//   heed::SelfTestReport report;
//   heed::Status s = heed::self_test(device, {}, &report);   // disables what failed
//   save(report.blob);
//   ... at later starts: heed::Device::open({.self_test_results = blob}, &device), or
//   HostDevice::self_test_results
//
// compile then does not use the kernels that failed. Attention is computed by matmul, softmax and matmul instead. If an operation has no
// kernel left, compile returns Unsupported, and the graph can be compiled for the CPU. Device::open passes over a device that can no longer
// run an attention layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <heed/device.hpp>
#include <heed/status.hpp>

namespace heed {

// The result of testing one kernel.
enum class SelfTestVerdict : uint8_t {
  Passed,
  Wrong,     // differs from the CPU by more than rounding explains
  Failed,    // the driver refused the kernel, or lost the device
  TimedOut,  // did not end within SelfTestOptions::time_limit_ms
  Unused,    // not run, because heed would not use it on this device: for example, it needs 16-bit storage or another
             // subgroup size
};
HEED_API const char* to_string(SelfTestVerdict verdict);  // "passed", "wrong", ...

// Options of self_test.
struct SelfTestOptions {
  // The limit for one run of one kernel. 0: ten seconds on a GPU, where a run takes microseconds, and a minute on a software driver, which
  // may need that long to translate a kernel on a busy processor.
  uint32_t time_limit_ms = 0;
};

// The result for one kernel.
struct KernelTest {
  std::string kernel;  // as in PassInfo::kernel
  SelfTestVerdict verdict = SelfTestVerdict::Unused;
  uint32_t runs = 0;   // number of runs with right results
  double worst = 0;    // the largest error of all runs, divided by the error that is allowed: wrong if above 1
  std::string detail;  // what went wrong, or empty
};

// The results for all kernels of a device.
struct SelfTestReport {
  std::vector<KernelTest> kernels;  // all kernels of heed, sorted by name
  double milliseconds = 0;
  // The results, for later starts. The blob names device, driver and heed's kernels; if one of them has changed, it is
  // ignored with a warning, and the test should be run again.
  std::vector<std::byte> blob;

  HEED_API bool passed() const;  // no kernel is Wrong, Failed or TimedOut
};

// Compiles and runs the kernels and compares their results, which takes a few seconds on a software driver and less on a GPU. It submits to
// the queue and waits; no other thread may compile on the device meanwhile. Returns Ok if all kernels could be tested, even if some failed;
// `device` no longer uses those.
//
// A kernel may hang or lose the device. If heed opened the device, heed opens it again: `device` becomes the new one (plans and weights of
// the old one stay lost) and the test goes on. Only the host can create an adopted device again. The call then returns DeviceLost, and the
// report holds the results so far, with Unused for kernels not yet tested; if its blob is given to the next adoption, heed does not use the
// kernel that hung. heed never destroys objects that a hanging GPU still uses. A driver that crashes while it compiles a shader ends the
// process: a cautious host runs the test in a child process. On the CPU device there is nothing to test: Ok, and an empty report.
// Unsupported in builds without it.
HEED_API Status self_test(Device& device, const SelfTestOptions& options, SelfTestReport* report);

}  // namespace heed
