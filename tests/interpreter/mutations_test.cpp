// The interpreter detects mistakes in heed's own kernels: each barrier is removed in turn, and bindings are a little too short.
//
//   HEED_MUTATIONS=N   tries the kernels of N random graphs; prints the barriers whose removal no run reported

#include "harness/environment.hpp"
#include "harness/kernel_words.hpp"
#include "harness/setup.hpp"
#include "interpreter/device.hpp"
#include "interpreter/opcodes.hpp"
#include "ops/composition.hpp"
#include "ops/random.hpp"

namespace heed::interpreter {
namespace {

constexpr size_t kBarrierWords = 4;

// The positions of a module's barriers.
std::vector<size_t> barriers_of(const std::vector<uint32_t>& words) {
  std::vector<size_t> found;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16)
    if ((words[at] & 0xffffu) == static_cast<uint32_t>(Op::ControlBarrier)) found.push_back(at);
  return found;
}

std::vector<uint32_t> words_of(KernelId id) {
  const std::span<const uint32_t> words = kernel_words(id);
  return {words.begin(), words.end()};
}

// Records for each barrier of each kernel, by name and index, whether a run without it was reported.
class Barriers {
 public:
  explicit Barriers(const Machine& machine) : device_(open(machine, {})), trials_(trials_of(device_)) {}

  void try_on(ops::Trial& trial) {
    trials_ = {};
    REQUIRE(is_right(trial));
    const std::set<KernelId> ran = trials_.ran;
    for (const KernelId id : ran) {
      const std::vector<uint32_t> words = words_of(id);
      const std::vector<size_t> barriers = barriers_of(words);
      for (size_t b = 0; b < barriers.size(); ++b) {
        const std::string name = std::string(kernel_info(id).name) + " barrier " + std::to_string(b);
        if (missed[name]) continue;
        std::vector<uint32_t> changed = words;
        changed[barriers[b]] = kBarrierWords << 16 | 0xfff0u;  // no instruction: an error if it is reached
        trials_.replaced[id] = changed;
        if (!is_right(trial)) {
          reached.insert(name);
          for (size_t k = 0; k < kBarrierWords; ++k) changed[barriers[b] + k] = 1u << 16;  // OpNop
          trials_.replaced[id] = changed;
          missed[name] = !is_right(trial);
        }
        trials_.replaced.clear();
      }
    }
  }

  std::map<std::string, bool> missed;
  std::set<std::string> reached;

 private:
  bool is_right(ops::Trial& trial) {
    ops::Tally tally;
    return check_trial(device_, trial, &tally).difference.empty();
  }

  Device device_;
  Trials& trials_;
};

ops::Trial draw(int64_t number) { return ops::trial_of(ops::random_graph(1, number)); }

}  // namespace

TEST_CASE("interpreter: kernels without one of their barriers are noticed", "[.][interpreter]") {
  const int64_t graphs = test::number_from("HEED_MUTATIONS", 12);
  size_t missed = 0, reached = 0;
  for (const Machine& machine : machines()) {
    if (graphs <= 12 && (machine.word == "spirv:intel" || machine.word.starts_with("drawn"))) continue;
    Barriers barriers(machine);
    for (int64_t number = 0; number < graphs; ++number) {
      ops::Trial trial = draw(number);
      barriers.try_on(trial);
    }
    for (const auto& [name, done] : barriers.missed) {
      missed += done;
      reached += barriers.reached.contains(name);
      if (graphs > 12 && barriers.reached.contains(name) && !done)
        std::printf("%s: nobody missed %s\n", machine.word.c_str(), name.c_str());
    }
  }
  std::printf("barriers taken out: %zu of %zu were missed\n", missed, reached);
  CHECK(missed > 20);
  CHECK(missed * 5 >= reached * 4);  // some barriers matter only with more keys or columns than these graphs have
}

TEST_CASE("interpreter: emulated products without one of their three terms are noticed", "[.][interpreter]") {
  Device device = open(machine_of("spirv:nvidia"), {});
  ops::Trial trial(DType::F32);
  trial.options.emulate_f32 = true;
  trial.graph.output("y", trial.graph.matmul(trial.input("a", {70, 64}), trial.input("b", {64, 72})));
  ops::Run& run = trial.run();
  const ops::Array a = run.input("a", ops::uniform({70, 64}, 1)), b = run.input("b", ops::uniform({64, 72}, 2));
  run.expect_within("y", trial.product(a, b));
  ops::Tally tally;
  CHECK(check_trial(device, trial, &tally).difference.empty());
  const KernelId id = KernelId::MatmulF32Matrix;
  REQUIRE(trials_of(device).ran.contains(id));
  const std::vector<uint32_t> words = words_of(id);
  int products = 0, noticed = 0;
  for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
    if ((words[at] & 0xffffu) != static_cast<uint32_t>(Op::CooperativeMatrixMulAdd)) continue;
    ++products;
    std::vector<uint32_t> changed = words;
    // Replaces the addition of a product by the sum alone.
    changed[at] = 4u << 16 | static_cast<uint32_t>(Op::CopyObject);
    changed[at + 3] = words[at + 5];
    for (size_t k = 4; k < words[at] >> 16; ++k) changed[at + k] = 1u << 16;  // OpNop
    trials_of(device).replaced[id] = changed;
    noticed += check_trial(device, trial, &tally).difference.empty() ? 0 : 1;
  }
  // Three are in the function that the loop over k calls. The other multiplies zeros, for the first value of the sums.
  CHECK(products == 4);
  CHECK(noticed == 3);
}

TEST_CASE("interpreter: dispatches without the barriers between them are noticed", "[.][interpreter]") {
  Device device = open(machine_of("spirv:nvidia"), {});
  for (const bool without : {false, true}) {
    trials_of(device).without_barriers = without;
    int right = 0;
    for (int64_t number = 0; number < 8; ++number) {
      ops::Composition composition = ops::compose(1, number);
      ops::Tally tally;
      right += check_trial(device, *composition.trial, &tally).difference.empty();
    }
    CHECK(right == (without ? 0 : 8));
  }
}

TEST_CASE("interpreter: kernels that need more than the device has are noticed", "[.][interpreter]") {
  Graph g;
  g.output("y", g.softmax(g.input("x", {3, 500})));
  const std::vector<float> x(1500, 1.0f);
  std::vector<float> y(1500);
  for (const bool less_memory : {true, false}) {
    Device device = open(machine_of("spirv:nvidia"), {});
    Plan plan = test::compiled(device, g);
    CHECK(plan.run({{"x", x}, {"y", y}}) == Status::Ok);
    Capabilities& now = *capabilities_of(device);
    (less_memory ? now.shared_bytes : now.max_invocations) = 16;
    CHECK(plan.run({{"x", x}, {"y", y}}) == Status::DriverError);
  }
}

TEST_CASE("interpreter: ranges that end too early are noticed", "[.][interpreter]") {
  Device device = open(machine_of("spirv:nvidia"), {});
  for (const char* what : {"whole", "cut"}) {
    trials_of(device).cut_bytes = what == std::string_view("cut") ? 4 : 0;
    int right = 0;
    for (int64_t number = 0; number < 12; ++number) {
      ops::Trial trial = draw(number);
      ops::Tally tally;
      right += check_trial(device, trial, &tally).difference.empty();
    }
    CHECK(right == (what == std::string_view("cut") ? 0 : 12));
  }
}

}  // namespace heed::interpreter
