// Counts what a kernel does while it is interpreted, to show without a GPU which unit limits the kernel.
//
// Arithmetic is counted as compilers would issue it: a product that only a sum uses is one multiply-add with it (unless
// `precise` forbids that); negation, absolute values and vector swizzles cost nothing; and integers that are uniform in
// a subgroup are scalar: AMD's SALU ("RDNA3 Instruction Set Architecture", AMD 2023, chapter 6) and NVIDIA's uniform
// datapath (since Turing) compute these beside the vector units.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>

namespace heed::interpreter {

class Memory;

struct Counts {
  uint64_t workgroups = 0, subgroups = 0;
  // Instructions for one invocation; a vector of four counts four times.
  uint64_t multiply_adds = 0;  // multiply-adds, fused; four for each dot product of bytes
  uint64_t byte_dots = 0;      // the dot products among these, each of which is one instruction
  uint64_t floats = 0;         // other sums, products, comparisons and conversions of floating-point numbers
  uint64_t specials = 0;       // exp, log, sin, square roots, quotients: a fourth of the speed or less everywhere
  uint64_t integers = 0;       // integer operations whose operands differ within a subgroup
  uint64_t exchanges = 0;      // exchanges of values within the subgroup
  uint64_t matrix_multiply_adds = 0;       // multiply-adds of matrix units
  uint64_t byte_matrix_multiply_adds = 0;  // of these, multiply-adds of bytes
  // Instructions of whole subgroups.
  uint64_t scalars = 0;            // uniform integer operations, and branches
  uint64_t issues = 0;             // of the vector units: all of the above except scalars, and requests to memory
  uint64_t multiply_issues = 0;    // of these, multiply-adds
  uint64_t matrix_operations = 0;  // matrix instructions
  uint64_t lanes = 0;              // active invocations, summed over `issues`
  uint64_t barriers = 0;           // barriers, for each workgroup
  uint64_t indexed = 0;            // accesses of private arrays by an index that differs within the subgroup

  // Buffers. A request is one instruction of a subgroup.
  uint64_t requests = 0;
  uint64_t bytes = 0;         // bytes that invocations request, each word once for each request
  uint64_t segments[3] = {};  // segments of 32, 64 and 128 bytes, for each request: see kSegments
  uint64_t touched[3] =
      {};  // the same, once for each workgroup: what reaches a core whose first-level cache holds a workgroup's data
  // The same for each buffer, by the address of its binding. Bindings of one buffer at one address count as one.
  std::map<std::pair<const Memory*, uint64_t>, std::array<uint64_t, 3>> touched_at;
  uint64_t atomics = 0;

  // Shared memory.
  uint64_t shared_requests = 0, shared_bytes = 0;
  uint64_t shared_turns = 0, fewest_turns = 0;  // cycles of the banks, and the fewest for as many words

  // Calls f with each member except the arrays.
  template <class F>
  static void each_count(const F& f) {
    for (uint64_t Counts::* member : {&Counts::workgroups,
                                      &Counts::subgroups,
                                      &Counts::multiply_adds,
                                      &Counts::floats,
                                      &Counts::byte_dots,
                                      &Counts::specials,
                                      &Counts::integers,
                                      &Counts::exchanges,
                                      &Counts::matrix_multiply_adds,
                                      &Counts::byte_matrix_multiply_adds,
                                      &Counts::scalars,
                                      &Counts::issues,
                                      &Counts::multiply_issues,
                                      &Counts::matrix_operations,
                                      &Counts::lanes,
                                      &Counts::barriers,
                                      &Counts::indexed,
                                      &Counts::requests,
                                      &Counts::bytes,
                                      &Counts::atomics,
                                      &Counts::shared_requests,
                                      &Counts::shared_bytes,
                                      &Counts::shared_turns,
                                      &Counts::fewest_turns})
      f(member);
  }
  Counts& operator+=(const Counts& other);
  // Scales the counts of a sample to all: times `all` / `some`.
  void scale(uint64_t all, uint64_t some);
};

// NVIDIA moves sectors of 32 bytes ("Nsight Compute Kernel Profiling Guide", Memory Tables). Lines have 64 bytes in Intel's and Qualcomm's
// caches (oneAPI GPU Optimization Guide; Adreno's OpenCL guide 80-NB295-11), and 128 in RDNA's and Apple's (RDNA white paper, AMD 2019,
// "cache line ... 128 bytes"; Apple's first-level cache was measured).
inline constexpr std::array<uint32_t, 3> kSegments = {32, 64, 128};

}  // namespace heed::interpreter
