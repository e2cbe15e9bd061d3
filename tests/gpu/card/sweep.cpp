// Times every kernel and tile that can compute a work, and probes whose times show what a kernel waits for.
//   heed_sweep DEVICE MILLISECONDS [--small] [WORK...]
//   DEVICE        as for Device::open; MILLISECONDS: GPU time for each row
//   WORK          prefixes of names (works.cpp, probes below); default: all
//   --small       probes with few workgroups and small k, for software drivers
// Prints lines of CSV: part, work, variant, the kernels of the plan; median, least and most microseconds of a run by the GPU's timestamps;
// the lowest MHz during the run (empty: not known); and the largest difference from the first variant's result, relative to its largest
// element.
//   usual     a work with the kernels that heed chooses
//   variant   the same with one kernel and tile forced
//   stairs    equal workgroups, as many as half of the GPU's cores, as all, as one and a half, ...: steps of the time show how many
//             share a core
//   depth     one workgroup on every second core, and two on each, for several k: the slope is an iteration, the rest launch and
//             epilogue
//   lines     a matmul whose operands are one row each, so that loads hit the first-level cache, beside one with distinct rows
//   launch    a sum of one element
// Operands are uploaded before timing. A row whose clock fell below 95 % of the highest is measured again, and omitted if
// the clock falls again. Exit code 1 if a work fails or a variant's result differs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "gpu/card/resident.hpp"
#include "graph/schedule/schedule.hpp"
#include "kernels/dispatch.hpp"
#include "vulkan/tune/contest.hpp"

namespace heed::gpu_tests {
namespace {

constexpr int kTries = 4;
constexpr double kMostDifference = 0.04;  // rounding rows to bytes changes each summand by up to 2^-8

struct Options {
  double milliseconds = 50;
  bool small = false;
  std::vector<std::string> works;

  bool wants(const std::string& name) const {
    return works.empty() ||
           std::any_of(works.begin(), works.end(), [&](const std::string& word) { return name.starts_with(word); });
  }
};

std::shared_ptr<const Tuning> forcing(const std::string& variant) {
  auto tuning = std::make_shared<Tuning>();
  tuning->choices.push_back({variant, Tuning::kEverywhere});
  return tuning;
}

// An f16 matmul with groups_m x groups_n tiles of 128x128.
Work product(const std::string& name, int64_t groups_m, int64_t groups_n, int64_t k, bool one_row) {
  const int64_t m = 128 * groups_m, n = 128 * groups_n;
  return {name, [=](Graph& g) {
            const auto rows = [&](const char* which, int64_t count) {
              const Tensor x = g.input(which, {one_row ? 1 : count, k}, DType::F16);
              return one_row ? g.expand(x, {count, k}) : x;
            };
            g.output("y", g.matmul(rows("a", m), g.transpose(rows("b", n), 0, 1)));
          }};
}

Work attention(const std::string& name, int64_t heads, int64_t tokens) {
  return {name, [=](Graph& g) {
            const auto input = [&](const char* which) { return g.input(which, {1, heads, tokens, 64}, DType::F16); };
            g.output("y", g.transpose(g.attention(input("q"), input("k"), input("v")).output, 1, 2));
          }};
}

class Sweep {
 public:
  Sweep(Device& device, const Options& options) : device_(device), options_(options) {}

  int run() {
    std::printf("part,work,variant,kernels,us,least,most,clock,difference\n");
    const bool has_units = device_.info().reason.find("matrix units: used") != std::string::npos;
    for (const Work& work : works())
      if (options_.wants(work.name) && !(work.no_units && has_units)) sweep(work);
    probe();
    return good_ ? 0 : 1;
  }

 private:
  // Times a work with the usual kernels, then with each of its variants.
  void sweep(const Work& work) {
    Operands operands(device_, work);
    if (failed(work.name, operands.make())) return;
    std::vector<float> first;
    if (!time("usual", operands, "", &first)) return;
    for (const std::string& variant : variants_of(operands)) time("variant", operands, variant, &first);
  }

  void probe() {
    const auto half = static_cast<int64_t>(std::max(2u, context_of(device_).capabilities.cores / 2));
    int64_t rows = 1;  // number of workgroups, so that operands stay small
    for (int64_t i = 1; i * i <= half; ++i)
      if (half % i == 0) rows = i;
    const int64_t columns = half / rows;
    const std::string big = biggest("matmul_f16");
    const int64_t most = options_.small ? 2 : 10, k = options_.small ? 64 : 992;  // a matmul with larger k is split
    const auto groups = [](int64_t count) { return std::to_string(count) + " workgroups"; };
    for (int64_t i = 1; i <= most; ++i)
      one("stairs", product("stairs f16 " + groups(i * half), rows, columns * i, k, false), big);
    for (int64_t i = 1; i <= most; ++i)
      one("stairs",
          attention("stairs attention f16 " + std::to_string(columns * i) + " heads", columns * i,
                    options_.small ? 64 : 64 * rows),
          "");
    const int64_t step = std::max<int64_t>(32, k / 4 / 32 * 32);
    for (const int64_t each : {1, 4})
      for (int64_t depth = step; depth <= k; depth += step)
        one("depth",
            product("depth f16 " + groups(each * half) + " k " + std::to_string(depth), rows, columns * each, depth,
                    false),
            big);
    for (const int64_t each : {1, 4})
      for (const bool same : {false, true})
        one("lines",
            product("lines f16 " + groups(each * half) + (same ? " of one row" : " of rows"), rows, columns * each, k,
                    same),
            big);
    one("launch", {"launch", [](Graph& g) { g.output("y", g.add(g.input("a", {1}), g.input("b", {1}))); }}, "");
  }

  void one(const char* part, const Work& work, const std::string& variant) {
    if (!options_.wants(work.name)) return;
    Operands operands(device_, work);
    std::vector<float> none;
    if (!failed(work.name, operands.make())) time(part, operands, variant, &none);
  }

  // Names of all kernels that can compute passes of a work.
  std::set<std::string> variants_of(const Operands& operands) {
    auto all = std::make_shared<Tuning>();
    all->lists_all = true;
    auto& vulkan = static_cast<vulkan::VulkanDevice&>(*device_.impl());
    const vulkan::Using listing(vulkan, all);
    const CompileOptions asked = {.round_rows = operands.work().round_rows, .emulate_f32 = operands.work().emulate_f32};
    const auto planning = vulkan.planning();
    Schedule schedule;
    KernelList kernels;
    std::set<std::string> names;
    if (failed(operands.work().name,
               make_schedule(operands.graph().data(), {asked, planning.get(), operands.weights().impl().get()},
                             vulkan.log(), &schedule)))
      return names;
    for (const Node& pass : schedule.passes) {
      if (select_kernels(schedule, pass, vulkan.context().capabilities, vulkan.log(), &kernels) != Status::Ok) continue;
      for (uint32_t i = 0; i < kernels.count; ++i)
        if (const KernelKey& key = kernels.uses[i].key; variant_name(key) != kernel_name(key))
          names.insert(variant_name(key));
    }
    return names;
  }

  // The 128x128 tile of the kernel that heed chooses for f16 matmul, which all probes use. Empty if the kernel has none.
  std::string biggest(const std::string& begin) {
    Operands operands(device_, product_);
    std::string found;
    if (failed(product_.name, operands.make())) return found;
    for (const std::string& name : variants_of(operands))
      if (name.starts_with(begin) && name.ends_with(" 128x128") && name.find("quantized") == name.npos && found < name)
        found = name;
    return found;
  }

  // Measures with one variant forced, or none. If `first` is empty, stores the result there; else compares with it.
  bool time(const char* part, Operands& operands, const std::string& variant, std::vector<float>* first) {
    auto& vulkan = static_cast<vulkan::VulkanDevice&>(*device_.impl());
    const vulkan::Using forced(vulkan, variant.empty() ? nullptr : forcing(variant));
    Resident resident(device_, operands);
    const std::string name = operands.work().name + (variant.empty() ? "" : " by " + variant);
    if (failed(name, resident.prepare())) return false;
    BatchTimes times;
    std::vector<float> y;
    bool held = false;
    for (int i = 0; i < kTries && !held; ++i) {
      if (failed(name, resident.measure(options_.milliseconds, clock_, &times))) return false;
      held = clock_.held(times.clocks);
    }
    if (failed(name, operands.read_output(&y))) return false;
    if (first->empty()) *first = y;
    const double off = difference(y, *first);
    if (!(off <= kMostDifference))
      good_ = false, std::fprintf(stderr, "FAIL %s: %g from the first variant\n", name.c_str(), off);
    if (!held) {
      std::fprintf(stderr, "%s: the clock fell, and the row is left out\n", name.c_str());
      return true;
    }
    const auto [least, most] = std::minmax_element(times.us.begin(), times.us.end());
    const std::string mhz =
        times.clocks.empty() ? "" : std::to_string(*std::min_element(times.clocks.begin(), times.clocks.end()));
    std::printf("%s,%s,%s,%s,%.3f,%.3f,%.3f,%s,%.2g\n", part, operands.work().name.c_str(), variant.c_str(),
                resident.kernels().c_str(), median(times.us), *least, *most, mhz.c_str(), off);
    std::fflush(stdout);
    return true;
  }

  static double difference(const std::vector<float>& a, const std::vector<float>& b) {
    float worst = 0, largest = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!std::isfinite(a[i])) return HUGE_VAL;
      worst = std::max(worst, std::fabs(a[i] - b[i]));
      largest = std::max(largest, std::fabs(b[i]));
    }
    return largest > 0 ? static_cast<double>(worst / largest) : 0.0;
  }

  bool failed(const std::string& what, Status status) {
    if (status == Status::Ok) return false;
    std::fprintf(stderr, "FAIL %s: %s\n", what.c_str(), to_string(status));
    good_ = false;
    return true;
  }

  Device& device_;
  const Options& options_;
  const CoreClock clock_;
  const Work product_ = product("product", 4, 4, 256, false);
  bool good_ = true;
};

int run(int argc, char** argv) {
  Options options;
  if (argc < 3) {
    std::fprintf(stderr, "usage: heed_sweep DEVICE MILLISECONDS [--small] [WORK...]\n");
    return 2;
  }
  options.milliseconds = std::atof(argv[2]);
  for (int i = 3; i < argc; ++i)
    if (std::strcmp(argv[i], "--small") == 0)
      options.small = true;
    else
      options.works.push_back(argv[i]);
  Device device;
  if (Device::open({.select = argv[1], .log = stderr_log()}, &device) != Status::Ok) return 1;
  if (device.info().kind == DeviceKind::Cpu) {
    std::fprintf(stderr, "%s is no Vulkan device\n", device.info().word.c_str());
    return 2;
  }
  if (context_of(device).timestamp_bits() == 0) {
    std::fprintf(stderr, "%s has no timestamps\n", device.info().name.c_str());
    return 1;
  }
  std::fprintf(stderr, "%s, %s\n", device.info().name.c_str(), device.info().driver.c_str());
  return Sweep(device, options).run();
}

}  // namespace
}  // namespace heed::gpu_tests

int main(int argc, char** argv) { return heed::gpu_tests::run(argc, argv); }
