#include "interpreter/interpreter.hpp"

#include <algorithm>
#include <cmath>

namespace heed::interpreter {
namespace {

// One workgroup from each of `some` equal parts, at places that avoid periods of the grid.
uint64_t spread(uint64_t i, uint64_t all, uint64_t some) {
  constexpr double kGolden = 0.6180339887498949;
  const double place = (static_cast<double>(i) + 0.5) * kGolden;
  return static_cast<uint64_t>((static_cast<double>(i) + place - std::floor(place)) * static_cast<double>(all) /
                               static_cast<double>(some));
}

// Grids often repeat after a power of two, such as the blocks of queries of a head, and under a causal mask work grows from the first to
// the last of them. So the digits of i, to the base `some`, are repeated in the last digits of the sampled number. If `some` is a power of
// two, each of these bits is then set in half of the sample, so that its mean, modulo such a power of two, equals that over all workgroups.
uint64_t sampled(uint64_t i, uint64_t all, uint64_t some) {
  const uint64_t period = all & (~all + 1);
  uint64_t digits = i;
  for (uint64_t step = some; step < period; step *= some) digits += i * step;
  return spread(i, all / period, some) * period + digits % period;
}

}  // namespace

const Module& Interpreter::module(const Launch& launch) {
  constexpr size_t kMost = 256;
  if (modules_.size() > kMost) modules_.clear();
  Key key = {launch.words.data(), {launch.constants.begin(), launch.constants.end()}, launch.subgroup, launch.regroups};
  std::unique_ptr<Module>& module = modules_[std::move(key)];
  if (module == nullptr)
    module = std::make_unique<Module>(launch.words, launch.constants, launch.subgroup, launch.regroups);
  return *module;
}

void Interpreter::run(const Launch& launch, Report* report) {
  if (launch.after_barrier) clock_.dispatch = ++clock_.now;
  Workgroup workgroup(module(launch), launch.bindings, launch.push, launch.groups, &clock_, report);
  const auto [width, height, depth] = launch.groups;
  const uint64_t all = uint64_t{width} * height * depth;
  const uint64_t some = launch.sample == 0 ? all : std::min<uint64_t>(all, launch.sample);
  for (uint64_t i = 0; i < some; ++i) {
    const uint64_t group = some == all ? i : sampled(i, all, some);
    workgroup.run({static_cast<uint32_t>(group % width), static_cast<uint32_t>(group / width % height),
                   static_cast<uint32_t>(group / width / height)});
  }
}

}  // namespace heed::interpreter
