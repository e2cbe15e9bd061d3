// A device that runs the plans of Vulkan devices on the interpreter, with the capabilities of any GPU: the same
// schedule, kernels, dispatches and bindings, and no driver. A kernel that does something wrong fails the run, with a
// line in the log.
#pragma once

#include <heed/heed.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "interpreter/machines.hpp"
#include "interpreter/workgroup.hpp"

namespace heed::interpreter {

Device open(const Machine& machine, const Log& log);
// The capabilities of a Vulkan device or of one that open made; null for others.
Capabilities* capabilities_of(const Device& device);

// Faults for tests of what is noticed, in a device that open made.
struct Trials {
  std::map<KernelId, std::vector<uint32_t>> replaced;  // kernels that run as other SPIR-V
  uint32_t cut_bytes = 0;                              // at the end of every range that is bound
  bool without_barriers = false;                       // between dispatches
  std::set<KernelId> ran;                              // since it was last cleared
  std::map<std::string, Counts>* counts = nullptr;     // by variant, if they are to be counted
};
Trials& trials_of(const Device& device);

}  // namespace heed::interpreter
