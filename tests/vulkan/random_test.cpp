// Every kernel variant of the Vulkan devices on random graphs, against references in double. Each run uses the kernel that heed chooses,
// then, forced, each other variant that supports it. Further graphs are drawn until each variant that a device lists has run there.
//
//   HEED_RANDOM_CASES=N   the least number of cases; a case is one size of one graph by one variant on one device
//                         0: only one for each variant, in graphs that give every operation every storage type
//   HEED_RANDOM_SEED=N    draws other graphs
//   HEED_RANDOM_CASE=N    runs only this case, on all variants; failures name it
//
// Prints how many cases each variant had on all devices.
#include "ops/random.hpp"

#include "harness/catch.hpp"
#include "harness/environment.hpp"
#include "interpreter/device.hpp"
#include "kernels/dispatch.hpp"

namespace heed::ops {
namespace {

// The number of graphs that always run, and the most graphs that are drawn for variants which these do not use.
constexpr int64_t kCases = 600, kGraphsMore = 1000;

using interpreter::capabilities_of;
using test::number_from;
using Names = std::set<std::string>;

// The kernels that a device with these capabilities uses for a trial's runs, found without running them.
class Lowered {
 public:
  Lowered(const Trial& trial, const Capabilities& device) : trial_(trial), device_(device) {
    CompileOptions asked = trial.options;
    asked.reproducible = false;
    const KernelPlanning planning(device);
    REQUIRE(make_schedule(trial.graph.data(), {asked, &planning}, {}, &schedule_) == Status::Ok);
    kernels_.resize(schedule_.passes.size());
    for (size_t i = 0; i < kernels_.size(); ++i)
      supported_ &= select_kernels(schedule_, schedule_.passes[i], device, {}, &kernels_[i]) == Status::Ok;
  }

  bool supported() const { return supported_; }

  // The variants of every kernel that a run may use.
  Names variants() const {
    Names names;
    for (const KernelList& list : kernels_)
      for (uint32_t i = 0; i < list.count; ++i) names.insert(variant_name(list.uses[i].key));
    return names;
  }
  // The variants that tuning may choose. These do not include second dispatches, which come with the kernels that split.
  Names choices() const {
    Names names;
    for (const KernelList& list : kernels_)
      for (uint32_t i = 0; i < list.count; ++i)
        if (const KernelKey& key = list.uses[i].key; variant_name(key) != kernel_name(key))
          names.insert(variant_name(key));
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
      emit_dispatches(schedule_, schedule_.passes[i], device_, kernels_[i], values, &list);
      for (uint32_t d = 0; d < list.count; ++d)
        names.insert(variant_name(kernels_[i].uses[list.dispatches[d].kernel].key));
    }
    return names;
  }
  std::vector<Names> used() const {
    std::vector<Names> all;
    for (const Run& run : trial_.runs) all.push_back(used(run));
    return all;
  }

 private:
  const Trial& trial_;
  const Capabilities& device_;
  Schedule schedule_;
  std::vector<KernelList> kernels_;
  bool supported_ = true;
};

// Capabilities of a device whose plans list every kernel that could run a pass, not only the chosen ones.
Capabilities listing_all(Capabilities device) {
  device.tuning = std::make_shared<Tuning>(Tuning{{}, true});
  return device;
}

// Makes a device choose this variant wherever it is supported.
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

// A trial and its device.
struct Place {
  RandomGraph graph;
  int64_t number;
  Trial& trial;
  const TestDevice& device;
  Capabilities& capabilities;
};

class Cases {
 public:
  int64_t count() const { return count_; }

  // Runs all sizes of this graph, or one.
  void run(int64_t number, int64_t only_run) {
    on_each_device(number, [&](const Place& at) {
      const Lowered lowered(at.trial, at.capabilities);
      if (!lowered.supported()) return;
      const Capabilities lists_all = listing_all(at.capabilities);
      const Lowered all(at.trial, lists_all);
      for (const std::string& name : all.variants()) (void)counts_[at.device.word][name];
      const std::vector<Names> usual = lowered.used();
      std::vector<bool> wanted(usual.size(), only_run < 0);
      if (only_run >= 0) wanted[static_cast<size_t>(only_run)] = true;
      check(at, "", wanted, usual);
      for (const std::string& variant : all.choices()) {
        const Forced forced(at.capabilities, variant);
        const std::vector<Names> used = Lowered(at.trial, at.capabilities).used();
        std::vector<bool> fresh = wanted;  // except those that ran anyway
        for (size_t i = 0; i < used.size(); ++i)
          fresh[i] = wanted[i] && used[i].contains(variant) && used[i] != usual[i];
        check(at, variant, fresh, used);
      }
    });
  }

  // Runs one size of this graph for each variant that a device has listed but not run. With `and_list` this graph's plan adds to the list.
  void run_missing(int64_t number, bool and_list = false) {
    on_each_device(number, [&](const Place& at) {
      const Lowered lowered(at.trial, at.capabilities);
      if (!lowered.supported()) return;
      const Capabilities lists_all = listing_all(at.capabilities);
      const Lowered all(at.trial, lists_all);
      if (and_list)
        for (const std::string& name : all.variants()) (void)counts_[at.device.word][name];
      check_missing(at, "", lowered.used());
      for (const std::string& variant : all.choices()) {
        if (!is_missing(at.device, variant)) continue;
        const Forced forced(at.capabilities, variant);
        check_missing(at, variant, Lowered(at.trial, at.capabilities).used());
      }
    });
  }

  void print() const {
    std::printf("random cases: %lld, HEED_RANDOM_SEED=%llu, worst error %.2f of its bound\n",
                static_cast<long long>(count_), static_cast<unsigned long long>(seed_), tally_.worst);
    std::map<std::string, int> sums;
    for (const auto& [device, counts] : counts_)
      for (const auto& [name, count] : counts) sums[name] += count;
    for (const auto& [name, count] : sums) std::printf("  %6d  %s\n", count, name.c_str());
    std::fflush(stdout);
  }

  // Variants that some plan of a device listed and no run has used.
  Names missing() const {
    Names names;
    for (const auto& [device, counts] : counts_)
      for (const auto& [name, count] : counts)
        if (count == 0) names.insert(name + " on " + device);
    return names;
  }

 private:
  template <class Try>
  void on_each_device(int64_t number, const Try& try_on) {
    const RandomGraph graph = random_graph(seed_, number);
    Trial trial = trial_of(graph);
    for (const TestDevice& device : test_devices(Subgroups::Both)) {
      Capabilities* capabilities = capabilities_of(device.device);
      if (capabilities != nullptr) try_on(Place{graph, number, trial, device, *capabilities});
    }
  }

  bool is_missing(const TestDevice& device, const std::string& name) {
    const auto& counts = counts_[device.word];
    const auto found = counts.find(name);
    return found != counts.end() && found->second == 0;
  }

  // Runs the first size that uses a missing variant.
  void check_missing(const Place& at, const std::string& variant, const std::vector<Names>& used) {
    const auto first = std::find_if(used.begin(), used.end(), [&](const Names& names) {
      return std::any_of(names.begin(), names.end(),
                         [&](const std::string& name) { return is_missing(at.device, name); });
    });
    std::vector<bool> wanted(used.size(), false);
    if (first != used.end()) wanted[static_cast<size_t>(first - used.begin())] = true;
    check(at, variant, wanted, used);
  }

  void check(const Place& at, const std::string& variant, const std::vector<bool>& wanted,
             const std::vector<Names>& used) {
    if (std::find(wanted.begin(), wanted.end(), true) == wanted.end()) return;
    const Verdict verdict = check_trial(at.device.device, at.trial, &tally_, wanted);
    for (size_t i = 0; i < used.size(); ++i) {
      if (!wanted[i]) continue;
      ++count_;
      for (const std::string& name : used[i]) ++counts_[at.device.word][name];
    }
    if (verdict.difference.empty()) return;
    FAIL_CHECK(at.graph.operation << " / " << to_string(at.graph.dtype) << " / " << at.device.word << " / "
                                  << (variant.empty() ? "as chosen" : variant) << ": " << verdict.difference
                                  << "; repeat it with HEED_RANDOM_SEED=" << seed_ << " HEED_RANDOM_CASE="
                                  << at.number * kRunsPerGraph + static_cast<int64_t>(verdict.run));
  }

  const uint64_t seed_ = random_seed();
  int64_t count_ = 0;
  Tally tally_;
  std::map<std::string, std::map<std::string, int>> counts_;  // counts by device and variant
};

bool has_vulkan() {
  const auto& devices = test_devices(Subgroups::Both);
  return std::any_of(devices.begin(), devices.end(),
                     [](const TestDevice& device) { return capabilities_of(device.device) != nullptr; });
}

}  // namespace

TEST_CASE("random graphs on every kernel variant", "[vulkan][random][drivers]") {
  if (!has_vulkan()) {
    WARN("SKIPPED: no Vulkan device, so no kernel was tested");
    return;
  }
  Cases cases;
  const int64_t wanted = number_from("HEED_RANDOM_CASES", kCases), one = number_from("HEED_RANDOM_CASE", -1);
  if (one >= 0) {
    cases.run(one / kRunsPerGraph, one % kRunsPerGraph);
    cases.print();
    return;
  }
  int64_t number = 0;
  while (cases.count() < wanted) cases.run(number++, -1);
  if (wanted == 0)
    while (number < kGraphsOfAll) cases.run_missing(number++, true);
  for (const int64_t end = number + kGraphsMore; number < end && !cases.missing().empty(); ++number)
    cases.run_missing(number);
  cases.print();
  std::printf("graphs drawn: %lld\n", static_cast<long long>(number));
  for (const std::string& name : cases.missing()) FAIL_CHECK(name << " never ran");
}

}  // namespace heed::ops
