#include "api/self_test_probes.hpp"

namespace heed {
namespace {

constexpr ProbeSize kSizes[] = {{1, 7}, {3, 33}, {18, 130}, {kMostM, kMostN}};

void add_probes(bool reproducible, std::vector<Probe>* probes) {
  const CasePlans other = reproducible ? CasePlans::Usual : CasePlans::Reproducible;
  for (const OpCase* one : all_cases()) {
    const bool special = one->plans == CasePlans::Emulated || one->plans == CasePlans::Rounded;
    if (one->plans == other || (special && reproducible)) continue;
    for (const CaseSizes& sizes : one->self_test) probes->push_back({one, sizes, reproducible});
  }
}

}  // namespace

std::vector<Probe> self_test_probes() {
  std::vector<Probe> probes;
  add_probes(false, &probes);
  add_probes(true, &probes);
  return probes;
}

std::vector<Probe> reproducible_probes() {
  std::vector<Probe> probes;
  add_probes(true, &probes);
  return probes;
}

Probe layer_probe() { return {&layer_cases().front(), *layer_cases().front().self_test.begin()}; }

std::span<const ProbeSize> self_test_sizes() { return kSizes; }

}  // namespace heed
