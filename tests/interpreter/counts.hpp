// What a kernel does is counted while it is interpreted, so that one sees without a GPU which of its units holds the kernel up.
//
// Arithmetic is counted as compilers would issue it: a product that only a sum takes is one multiply-add with it (unless
// `precise` forbids that), negation and absolute values cost nothing, neither does picking elements of vectors, and integers that
// all invocations of a subgroup have alike are scalar: AMD's SALU ("RDNA3 Instruction Set Architecture", AMD 2023, chapter 6)
// and NVIDIA's uniform datapath (since Turing) do these beside the vector units.
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
  uint64_t multiply_adds = 0;  // fused; four of each dot product of bytes
  uint64_t byte_dots = 0;      // these, each of which is one instruction
  uint64_t floats = 0;         // other sums, products, comparisons and conversions of floating-point numbers
  uint64_t specials = 0;       // exp, log, sin, square roots, quotients: a fourth of the speed or less everywhere
  uint64_t integers = 0;       // that differ between invocations of a subgroup
  uint64_t exchanges = 0;      // values of other invocations of the subgroup
  uint64_t matrix_multiply_adds = 0;       // of matrix units
  uint64_t byte_matrix_multiply_adds = 0;  // of these, products of bytes
  // Instructions of whole subgroups.
  uint64_t scalars = 0;            // integers that all of a subgroup have alike, and branches
  uint64_t issues = 0;             // of the vector units: all of the above but scalars, and requests to memory
  uint64_t multiply_issues = 0;    // of these, multiply-adds
  uint64_t matrix_operations = 0;  // products of matrix units
  uint64_t lanes = 0;              // invocations that took part in `issues`
  uint64_t barriers = 0;           // that a workgroup waits at, for each workgroup
  uint64_t indexed = 0;  // accesses of an invocation's own arrays by an index that differs between invocations

  // Buffers. A request is one instruction of a subgroup.
  uint64_t requests = 0;
  uint64_t bytes = 0;         // that the invocations want, each word once per request
  uint64_t segments[3] = {};  // of 32, 64 and 128 bytes, per request: see kSegments
  uint64_t touched[3] =
      {};  // the same, each once per workgroup: what reaches a core, if its first cache holds a workgroup's data
  // The same of each buffer, by where its binding begins: bindings of one buffer at one place count as one.
  std::map<std::pair<const Memory*, uint64_t>, std::array<uint64_t, 3>> touched_at;
  uint64_t atomics = 0;

  // Shared memory.
  uint64_t shared_requests = 0, shared_bytes = 0;
  uint64_t shared_turns = 0, fewest_turns = 0;  // that banks take, and the fewest for as many words

  // Calls f with each member but the arrays.
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
  // Counts of a sample as those of all: times `all` / `some`.
  void scale(uint64_t all, uint64_t some);
};

// NVIDIA moves sectors of 32 bytes ("Nsight Compute Kernel Profiling Guide", Memory Tables), Intel's and Qualcomm's caches have lines
// of 64 bytes (oneAPI GPU Optimization Guide; Adreno's OpenCL guide 80-NB295-11), RDNA's and Apple's of 128 (RDNA white paper, AMD
// 2019, "cache line ... 128 bytes"; of Apple's first cache it is measured).
inline constexpr std::array<uint32_t, 3> kSegments = {32, 64, 128};

}  // namespace heed::interpreter
