#include "interpreter/interpreter.hpp"

namespace heed::interpreter {

const Module& Interpreter::module(const Launch& launch) {
  constexpr size_t kMost = 256;
  if (modules_.size() > kMost) modules_.clear();
  Key key = {launch.words.data(), {launch.constants.begin(), launch.constants.end()}, launch.subgroup};
  std::unique_ptr<Module>& module = modules_[std::move(key)];
  if (module == nullptr) module = std::make_unique<Module>(launch.words, launch.constants, launch.subgroup);
  return *module;
}

void Interpreter::run(const Launch& launch, Report* report) {
  if (launch.after_barrier) clock_.dispatch = ++clock_.now;
  Workgroup workgroup(module(launch), launch.bindings, launch.push, &clock_, report);
  for (uint32_t z = 0; z < launch.groups[2]; ++z)
    for (uint32_t y = 0; y < launch.groups[1]; ++y)
      for (uint32_t x = 0; x < launch.groups[0]; ++x) workgroup.run({x, y, z});
}

}  // namespace heed::interpreter
