// Attention in two situations: one workgroup would take too long over all keys, or the partial results of key splits exceed the workspace.
// The devices report to be slow and to bind little memory, so that small problems reach both.
#include <algorithm>
#include <memory>

#include "harness/catch.hpp"
#include "interpreter/device.hpp"
#include "kernels/attention/attention.hpp"
#include "kernels/lowered.hpp"
#include "ops/attention_cases.hpp"

namespace heed::ops {
namespace {

class Slow {
 public:
  explicit Slow(Capabilities* device) : device_(*device), before_(*device) {
    device->invocation_work = 1;
    device->max_storage_range = kLargestOfBlocks;
  }
  ~Slow() { device_ = before_; }
  Slow(const Slow&) = delete;

 private:
  Capabilities &device_, before_;
};

kernel_tests::LoweredPass lower(const Case& one, const Capabilities& device) {
  Trial trial(DType::F32);
  one.build(trial);
  return kernel_tests::Lowered(trial.graph, trial.options.training, device).lower(Op::Attention);
}

// Whether ranges of queries run one after the other in each case.
bool take_turns(const std::vector<Case>& cases, const Capabilities& device) {
  return std::all_of(cases.begin(), cases.end(),
                     [&](const Case& one) { return lower(one, device).dispatches.count > 2; });
}

}  // namespace

TEST_CASE("attention cut for time on every device", "[ops]") {
  Operation operation{"attention", attention_over_blocks()};
  std::vector<TestDevice> devices;
  std::vector<std::unique_ptr<Slow>> slow;
  for (const TestDevice& device : test_devices()) {
    Capabilities* capabilities = interpreter::capabilities_of(device.device);
    if (capabilities == nullptr) continue;
    const kernel_tests::LoweredPass pass = lower(operation.cases[0], *capabilities);
    slow.push_back(std::make_unique<Slow>(capabilities));
    devices.push_back(device);
    INFO(device.word);
    CHECK(take_turns(operation.cases, *capabilities));
  }
  check(operation, devices);
}

}  // namespace heed::ops
