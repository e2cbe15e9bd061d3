// Runs compute kernels without a driver: takes SPIR-V, constants, buffers and push constants; gives results, and
// reports everything that no kernel may do: leave the ranges that are bound, read memory that nobody has written, touch
// memory that others touch with no barrier between, come to a barrier without others, use a value of an invocation that
// is not there.
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
  std::span<const uint32_t> words = {};      // SPIR-V; must live as long as the interpreter
  std::span<const uint32_t> constants = {};  // by SpecId
  uint32_t subgroup = 32;                    // invocations of a subgroup
  bool regroups = false;                     // see Module::Parts
  std::span<const Binding> bindings = {};    // by number
  std::span<const std::byte> push = {};
  std::array<uint32_t, 3> groups = {1, 1, 1};
  uint32_t sample = 0;        // so many of the workgroups, evenly spread, are run; 0: all
  bool after_barrier = true;  // between this and the launch before; otherwise both may run at the same time
};

class Interpreter {
 public:
  // Throws Unknown for a module that it cannot run, and Stopped where a workgroup does not end.
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
