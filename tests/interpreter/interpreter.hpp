// Runs compute kernels without a driver, from SPIR-V, constants, buffers and push constants. Computes results and reports everything that
// no kernel may do: access memory outside of its bindings, read unwritten memory, race with another invocation, reach a barrier without the
// others, or use a value of an inactive invocation.
//
//   Interpreter interpreter;
//   Report report;
//   interpreter.run({.words = ..., .constants = ..., .bindings = ..., .groups = {4, 1, 1}}, &report);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "interpreter/workgroup.hpp"

namespace heed::interpreter {

struct Launch {
  std::span<const uint32_t> words = {};      // SPIR-V; must outlive the interpreter
  std::span<const uint32_t> constants = {};  // by SpecId
  uint32_t subgroup = 32;                    // size of a subgroup
  bool regroups = false;                     // see Module::Parts
  std::span<const Binding> bindings = {};    // by binding number
  std::span<const std::byte> push = {};
  std::array<uint32_t, 3> groups = {1, 1, 1};
  uint32_t sample = 0;        // runs so many of the workgroups, evenly spread; 0: all
  bool after_barrier = true;  // a barrier before this launch; otherwise it may overlap with the previous one
};

class Interpreter {
 public:
  // Throws Unknown for a module that it cannot run, and Stopped if a workgroup does not end.
  void run(const Launch& launch, Report* report);
  const Module& module(const Launch& launch);

 private:
  struct Key {
    const uint32_t* words;
    std::vector<uint32_t> constants;
    uint32_t subgroup;
    bool regroups;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, std::unique_ptr<Module>> modules_;
  Clock clock_;
};

}  // namespace heed::interpreter
