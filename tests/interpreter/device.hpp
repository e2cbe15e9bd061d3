// A device that runs the plans of Vulkan devices on the interpreter, with the capabilities of any GPU: the same schedule, kernels,
// dispatches and bindings, without a driver. A kernel that breaks a rule fails the run, with a line in the log.
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
// The capabilities of a Vulkan device or of one that `open` created; null for other devices.
Capabilities* capabilities_of(const Device& device);

// Planted faults for a device that `open` created, to test what is detected.
struct Trials {
  std::map<KernelId, std::vector<uint32_t>> replaced;  // kernels that are replaced by other SPIR-V
  uint32_t cut_bytes = 0;                              // bytes missing at the end of every binding
  bool without_barriers = false;                       // leaves out barriers between dispatches
  std::set<KernelId> ran;                              // since it was last cleared
  std::map<std::string, Counts>* counts = nullptr;     // counts by variant, if not null
};
Trials& trials_of(const Device& device);

}  // namespace heed::interpreter
