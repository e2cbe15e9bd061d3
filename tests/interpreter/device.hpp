// A device that runs the plans of Vulkan devices on the interpreter, with the capabilities of any GPU: the same schedule,
// kernels, dispatches and bindings, and no driver. What its kernels do wrong fails the run, with a line in the log.
#pragma once

#include <heed/heed.hpp>
#include <map>
#include <set>
#include <vector>

#include "kernels/dispatch.hpp"

namespace heed::interpreter {

struct Machine {
  const char* word;  // "spirv:h200"
  Capabilities capabilities;
  uint32_t subgroup = 32;  // where a kernel does not ask for another
  uint32_t host_offset =
      0;  // bytes of the buffers of inputs and outputs before their first element; a multiple of 4
};

// Kinds of GPUs that differ in what kernels they are given.
const std::vector<Machine>& machines();
Device open(const Machine& machine, const Log& log);
// Of a device of open; null for others.
Capabilities* capabilities_of(const Device& device);

// For tests of what is noticed. Of a device of open.
struct Trials {
  std::map<KernelId, std::vector<uint32_t>> replaced;  // kernels that run as other SPIR-V
  uint32_t cut_bytes = 0;                              // at the end of every range that is bound
  std::set<KernelId> ran;                              // since it was last cleared
};
Trials& trials_of(const Device& device);

}  // namespace heed::interpreter
