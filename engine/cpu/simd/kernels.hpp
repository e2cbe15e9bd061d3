// The vector code of one instruction set, as tables of functions. Each table exists once per compiled set; a device selects a set when it
// is opened.
#pragma once

#include <cstdint>
#include <heed/status.hpp>
#include <span>
#include <string_view>

namespace heed::cpu {

struct AttentionKernels;
struct MatmulKernels;
struct RowKernels;
struct UpdateKernels;

struct Kernels {
  const char* name = "";  // "avx512bf16", "avx512", "avx2", "sse4", "sve", "neon", ...; "scalar": no vectors
  const MatmulKernels* matmul = nullptr;
  const RowKernels* rows = nullptr;
  const AttentionKernels* attention = nullptr;
  const UpdateKernels* update = nullptr;
  // Reproducible plans use these instead of `matmul`, `rows` and `update`.
  const MatmulKernels* canon_matmul = nullptr;
  const RowKernels* canon_rows = nullptr;
  const UpdateKernels* canon_update = nullptr;
};

// The kernels that this processor supports, best first; never empty.
std::span<const Kernels> supported_kernels();

// The best kernels, or those of the requested instruction set: DeviceOptions::cpu_instructions, or if that is empty the test setting
// HEED_CPU_TARGET. A name that this build does not know, or a set that the processor lacks, has no effect except a warning in the log.
const Kernels& choose_kernels(std::string_view wanted, const Log& log);

// The tables for one of Highway's targets.
const MatmulKernels* matmul_kernels(int64_t target);
const RowKernels* row_kernels(int64_t target);
const AttentionKernels* attention_kernels(int64_t target);
const UpdateKernels* update_kernels(int64_t target);
const MatmulKernels* canon_matmul_kernels(int64_t target);
const RowKernels* canon_row_kernels(int64_t target);
const UpdateKernels* canon_update_kernels(int64_t target);

}  // namespace heed::cpu
