// Every kernel variant of the Vulkan devices on graphs drawn at random, against the references in double: first what heed
// chooses itself, then each other variant that could do it, forced.
//
//   HEED_RANDOM_CASES=N   how many cases at least; a case is one size of one graph by one variant on one device
//   HEED_RANDOM_SEED=N    draws others
//   HEED_RANDOM_CASE=N    only this one, on all variants; failures name it
//
// Prints how many cases each variant had; 0: no size that was drawn suited it.
#include "ops/random.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>

#include "catch.hpp"
#include "graph/backend.hpp"
#include "kernels/dispatch.hpp"
#include "vulkan/device.hpp"

namespace heed::ops {
namespace {

// What the tests always run. From kCasesForAll on, a kernel that some plan had and that never ran is a failure.
constexpr int64_t kCases = 600, kCasesForAll = 2000;

int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoll(text, nullptr, 10) : otherwise;
}

// Whether a tuning may choose it: sums over parts come with the kernels that make these.
bool is_choice(const KernelKey& key) { return variant_name(key) != kernel_name(key); }

using Names = std::set<std::string>;

// What the runs of a trial become on a device with these capabilities, without running them.
class Lowered {
 public:
  Lowered(const Trial& trial, const Capabilities& device) : trial_(trial), device_(device) {
    ScheduleOptions options;
    options.training = trial.options.training;
    plan_for(device, &options);
    REQUIRE(make_schedule(trial.graph.data(), options, {}, &schedule_) == Status::Ok);
    kernels_.resize(schedule_.steps.size());
    for (size_t i = 0; i < kernels_.size(); ++i)
      supported_ &= select_kernels(schedule_, schedule_.steps[i], device, {}, &kernels_[i]) == Status::Ok;
  }

  bool supported() const { return supported_; }

  // Of every kernel that a run may ask for.
  Names choices() const {
    Names names;
    for (const KernelList& list : kernels_)
      for (uint32_t i = 0; i < list.count; ++i)
        if (is_choice(list.uses[i].key)) names.insert(variant_name(list.uses[i].key));
    return names;
  }

  Names kernels() const {
    Names names;
    for (const KernelList& list : kernels_)
      for (uint32_t i = 0; i < list.count; ++i) names.insert(kernel_name(list.uses[i].key));
    return names;
  }

  Names used(const Run& run) const {
    std::vector<int64_t> extents, sizes = schedule_.max_values;
    for (const detail::ExtentInfo& extent : schedule_.extents) {
      extents.push_back(extent.max);
      for (const ExtentValue& given : run.extents)
        if (given.name == extent.name) extents.back() = given.value;
    }
    REQUIRE(schedule_.sizes.evaluate(extents, sizes));
    RunValues values;
    values.sizes = sizes;
    Names names;
    DispatchList list;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      emit_dispatches(schedule_, schedule_.steps[i], device_, kernels_[i], values, &list);
      for (uint32_t d = 0; d < list.count; ++d)
        names.insert(variant_name(kernels_[i].uses[list.dispatches[d].kernel].key));
    }
    return names;
  }

 private:
  const Trial& trial_;
  const Capabilities& device_;
  Schedule schedule_;
  std::vector<KernelList> kernels_;
  bool supported_ = true;
};

// Makes a device choose this variant wherever it can.
class Forced {
 public:
  Forced(Capabilities& device, const std::string& variant) : device_(device) {
    auto tuning = std::make_shared<Tuning>();
    tuning->choices.push_back({variant, Tuning::kEverywhere});
    device_.tuning = std::move(tuning);
  }
  ~Forced() { device_.tuning = nullptr; }
  Forced(const Forced&) = delete;

 private:
  Capabilities& device_;
};

class Cases {
 public:
  int64_t count() const { return count_; }

  void run(int64_t number, int64_t only_run) {
    const RandomGraph graph = random_graph(seed_, number);
    Trial trial(graph.dtype);
    Random random(graph.seed);
    graph.build(trial, random);
    for (const TestDevice& device : test_devices(Kernels::All)) {
      if (device.device.impl()->backend() != detail::Backend::Vulkan) continue;
      auto& vulkan = static_cast<vulkan::VulkanDevice&>(*device.device.impl());
      Capabilities& capabilities = vulkan.context().capabilities;
      const Lowered lowered(trial, capabilities);
      if (!lowered.supported()) continue;
      listed_.merge(lowered.kernels());
      std::vector<Names> usual;
      for (const Run& run : trial.runs) usual.push_back(lowered.used(run));
      std::string where = std::string(graph.operation) + " / " + to_string(graph.dtype) + " / " + device.word;
      std::vector<bool> wanted(usual.size(), only_run < 0);
      if (only_run >= 0) wanted[static_cast<size_t>(only_run)] = true;
      check(device.device, trial, where, number, wanted, usual);
      for (const std::string& variant : lowered.choices()) {
        (void)counts_[variant];  // listed, if it never ran
        const Forced forced(capabilities, variant);
        force(device.device, trial, capabilities, where + " / " + variant, variant, number, wanted, usual);
      }
    }
  }

  void print() const {
    std::printf("random cases: %lld, HEED_RANDOM_SEED=%llu, worst error %.2f of its bound\n",
                static_cast<long long>(count_), static_cast<unsigned long long>(seed_), tally_.worst);
    for (const auto& [name, count] : counts_) std::printf("  %6d  %s\n", count, name.c_str());
    std::fflush(stdout);
  }

  // Kernels that some plan had, and no run used.
  Names never_ran() const {
    Names names = listed_;
    for (const auto& [name, count] : counts_)
      if (count > 0) names.erase(name.substr(0, name.find(' ')));
    return names;
  }

 private:
  // The runs that this variant makes and that did not have it anyway.
  void force(const Device& device, Trial& trial, const Capabilities& capabilities, const std::string& where,
             const std::string& variant, int64_t number, std::vector<bool> wanted,
             const std::vector<Names>& usual) {
    const Lowered lowered(trial, capabilities);
    std::vector<Names> used;
    for (const Run& run : trial.runs) {
      const size_t i = used.size();
      used.push_back(lowered.used(run));
      wanted[i] = wanted[i] && used[i].contains(variant) && used[i] != usual[i];
    }
    if (std::find(wanted.begin(), wanted.end(), true) != wanted.end())
      check(device, trial, where, number, wanted, used);
  }

  void check(const Device& device, Trial& trial, const std::string& where, int64_t number,
             const std::vector<bool>& wanted, const std::vector<Names>& used) {
    const Verdict verdict = check_trial(device, trial, &tally_, wanted);
    for (size_t i = 0; i < used.size(); ++i) {
      if (!wanted[i]) continue;
      ++count_;
      for (const std::string& name : used[i]) ++counts_[name];
    }
    if (verdict.difference.empty()) return;
    FAIL_CHECK(where << ": " << verdict.difference << "; repeat it with HEED_RANDOM_SEED=" << seed_
                     << " HEED_RANDOM_CASE=" << number * kRunsPerGraph + static_cast<int64_t>(verdict.run));
  }

  const uint64_t seed_ = random_seed();
  int64_t count_ = 0;
  Tally tally_;
  std::map<std::string, int> counts_;
  Names listed_;
};

bool has_vulkan() {
  const auto& devices = test_devices(Kernels::All);
  return std::any_of(devices.begin(), devices.end(), [](const TestDevice& device) {
    return device.device.impl()->backend() == detail::Backend::Vulkan;
  });
}

}  // namespace

TEST_CASE("random graphs on every kernel variant", "[vulkan][random][drivers]") {
  if (!has_vulkan()) {
    WARN("SKIPPED: no Vulkan device, so no kernel was tested");
    return;
  }
  Cases cases;
  const int64_t wanted = number_from("HEED_RANDOM_CASES", kCases), one = number_from("HEED_RANDOM_CASE", -1);
  if (one >= 0) cases.run(one / kRunsPerGraph, one % kRunsPerGraph);
  for (int64_t number = 0; one < 0 && cases.count() < wanted; ++number) cases.run(number, -1);
  cases.print();
  if (wanted < kCasesForAll || one >= 0) return;
  for (const std::string& name : cases.never_ran()) FAIL_CHECK(name << " never ran");
}

}  // namespace heed::ops
