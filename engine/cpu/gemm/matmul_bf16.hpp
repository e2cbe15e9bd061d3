// Products of bf16 by the dot products of AVX512_BF16, which Highway 1.0 cannot name. All other kernels of a device that has
// them are those of AVX-512.
#pragma once

#include "cpu/gemm/matmul_kernels.hpp"

namespace heed::cpu {

// `avx512` with other tiles for panels of bf16; null where the processor or the build lacks these instructions.
const MatmulKernels* bf16_matmul_kernels(const MatmulKernels& avx512);

// Whether this processor multiplies faster with these instructions than in f32. Those of AMD have twice the speed, an Intel
// Xeon (Emerald Rapids) has half. The maker decides and not a measurement, since results depend on the answer and must not
// change from run to run.
bool bf16_dot_products_pay();

}  // namespace heed::cpu
