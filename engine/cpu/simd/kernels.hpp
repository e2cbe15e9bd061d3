// The vector code of one instruction set, as tables of functions. Each table exists once per set that the library was
// compiled for; a device chooses one set when it is opened.
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
  // Reproducible plans take these instead of `matmul`, `rows` and `update`.
  const MatmulKernels* canon_matmul = nullptr;
  const RowKernels* canon_rows = nullptr;
  const UpdateKernels* canon_update = nullptr;
};

// The kernels that this processor can run, best first; never empty.
std::span<const Kernels> supported_kernels();

// The best kernels, or those of the instruction set that is wanted: DeviceOptions::cpu_instructions, or where that is
// empty the test setting HEED_CPU_TARGET. A name that this build does not know, or a set that the processor lacks,
// changes nothing and is a warning in the log.
const Kernels& choose_kernels(std::string_view wanted, const Log& log);

// The tables of one of Highway's targets.
const MatmulKernels* matmul_kernels(int64_t target);
const RowKernels* row_kernels(int64_t target);
const AttentionKernels* attention_kernels(int64_t target);
const UpdateKernels* update_kernels(int64_t target);
const MatmulKernels* canon_matmul_kernels(int64_t target);
const RowKernels* canon_row_kernels(int64_t target);
const UpdateKernels* canon_update_kernels(int64_t target);

}  // namespace heed::cpu
