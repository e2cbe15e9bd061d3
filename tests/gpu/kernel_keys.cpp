#include "gpu/kernel_keys.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>

#include "cases/op_case.hpp"
#include "graph/given_weights.hpp"
#include "graph/schedule/schedule.hpp"

namespace heed::gpu_tests {
namespace {

enum class Plans : uint8_t { Usual, Reproducible, Emulated, Rounded };

struct Example {
  const OpCase& of;
  CaseSizes sizes;
};

bool plan(const Example& example, DType type, Plans plans, const Capabilities& device, Schedule* schedule) {
  CaseGraph made(type, example.sizes);
  example.of.build(made);
  const Graph& graph = made.graph;
  const test::GivenWeights weights(graph);
  const KernelPlanning planning(device);
  const CompileOptions asked = {.training = example.of.training,
                                .round_rows = plans == Plans::Rounded,
                                .emulate_f32 = plans == Plans::Emulated,
                                .reproducible = plans == Plans::Reproducible};
  return make_schedule(graph.data(), {asked, &planning, &weights}, stderr_log(), schedule) == Status::Ok;
}

std::string family_of(std::string_view name) {
  std::string family;
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find('_'));
    name.remove_prefix(std::min(name.size(), word.size() + 1));
    constexpr std::string_view kTypes[] = {"f32", "f16", "bf16", "narrow", "i32", "u16", "u8"};
    if (std::find(std::begin(kTypes), std::end(kTypes), word) == std::end(kTypes))
      family.append(family.empty() ? "" : "_").append(word);
  }
  return family;
}

void remember(const KernelUse& use, const std::string& example, std::vector<ChosenKernel>* chosen) {
  const auto same = [&](const ChosenKernel& other) { return other.key == use.key; };
  if (std::any_of(chosen->begin(), chosen->end(), same)) return;
  chosen->push_back({use.key, use.buffer_count, example, use.traits, family_of(kernel_info(use.key.id).name), false});
}

void sample(size_t each, std::vector<ChosenKernel>* chosen) {
  std::map<std::string, size_t> groups;  // index of each family's last group so far
  const ChosenKernel* before = nullptr;
  for (ChosenKernel& kernel : *chosen) {
    const bool begins = before == nullptr || before->key.id != kernel.key.id || before->example != kernel.example;
    kernel.sampled = (begins ? groups[kernel.family]++ : groups[kernel.family] - 1) % each == 0;
    before = &kernel;
  }
}

// Leaves out operations that reproducible plans do not support.
bool choose(const Example& example, DType type, Plans plans, const Capabilities& device,
            std::vector<ChosenKernel>* chosen) {
  Schedule schedule;
  KernelList kernels;
  bool planned = plan(example, type, plans, device, &schedule);
  if (planned && plans == Plans::Reproducible && check_reproducible(schedule, {}) != Status::Ok) return true;
  for (size_t i = 0; planned && i < schedule.passes.size(); ++i) {
    planned = select_kernels(schedule, schedule.passes[i], device, stderr_log(), &kernels) == Status::Ok;
    for (uint32_t k = 0; planned && k < kernels.count; ++k)
      remember(kernels.uses[k], example.of.name(example.sizes), chosen);
  }
  if (!planned) std::fprintf(stderr, "no plan for %s %s\n", example.of.name(example.sizes).c_str(), to_string(type));
  return planned;
}

std::vector<Example> examples() {
  std::vector<Example> all;
  for (const OpCase* one : all_cases())
    for (const CaseSizes& sizes : one->compilers) all.push_back({*one, sizes});
  return all;
}

}  // namespace

bool choose_kernels(const Capabilities& device_alone, size_t each, std::vector<ChosenKernel>* chosen) {
  const auto all = std::make_shared<Tuning>();
  all->lists_all = true;  // includes kernels that no plan keeps, so that costs can be compared with compilers' figures
  Capabilities device = device_alone;
  device.tuning = all;
  for (const Example& example : examples()) {
    if (!choose(example, DType::F32, Plans::Usual, device, chosen)) return false;
    if (device.irreproducible == nullptr && !choose(example, DType::F32, Plans::Reproducible, device, chosen))
      return false;
    for (const Plans plans : {Plans::Emulated, Plans::Rounded})
      if ((device.matrix.m != 0 || device.integer_dots) && !choose(example, DType::F32, plans, device, chosen))
        return false;
    if (example.of.one_type || !device.storage_16bit) continue;
    if (!choose(example, DType::F16, Plans::Usual, device, chosen)) return false;
    // A kernel for bf16 differs from the one for f16 only in loads, stores and the type of matrices, so that one of both is compiled.
    std::vector<ChosenKernel> bf16;
    if (!choose(example, DType::BF16, Plans::Usual, device, &bf16)) return false;
    const auto is_known = [&](const ChosenKernel& one) {
      return std::any_of(chosen->begin(), chosen->end(),
                         [&](const ChosenKernel& other) { return other.key.id == one.key.id; });
    };
    const bool all_known = std::all_of(bf16.begin(), bf16.end(), is_known);
    if (!all_known) chosen->insert(chosen->end(), bf16.begin(), bf16.end());
  }
  std::stable_sort(chosen->begin(), chosen->end(),
                   [](const ChosenKernel& a, const ChosenKernel& b) { return a.key.id < b.key.id; });
  sample(each, chosen);
  return true;
}

}  // namespace heed::gpu_tests
