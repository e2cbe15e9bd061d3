// The vector code of one instruction set, as tables of functions. Every table exists once per set that the library
// was compiled for; a device chooses one set when it is opened.
#pragma once

#include <cstdint>
#include <heed/status.hpp>
#include <span>
#include <string_view>

namespace heed::cpu {

struct AttentionKernels;
struct MatmulKernels;
struct RowKernels;

struct Kernels {
  const char* name = "";  // "avx512bf16", "avx512", "avx2", "sse4", "sve", "neon", ...; "scalar": no vectors
  const MatmulKernels* matmul = nullptr;
  const RowKernels* rows = nullptr;
  const AttentionKernels* attention = nullptr;
};

// What this processor can run, best first; never empty.
std::span<const Kernels> supported_kernels();

// The best kernels, or, if the environment variable HEED_CPU_TARGET names a set of instructions ("avx512bf16", "avx512", "avx2",
// "sse4", "scalar", "sve", "neon"), the best that are not above it. A name that this build does not know, or that
// the processor lacks, changes nothing and is a warning in the log.
const Kernels& choose_kernels(const Log& log);

// Of one of Highway's targets; see kernels.cpp.
const MatmulKernels* matmul_kernels(int64_t target);
const RowKernels* row_kernels(int64_t target);
const AttentionKernels* attention_kernels(int64_t target);

}  // namespace heed::cpu
