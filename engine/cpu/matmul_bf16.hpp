// Products of bf16 by the dot products of AVX512_BF16, which Highway 1.0 cannot name. The rest of a device
// with them is that of AVX-512.
#pragma once

#include "cpu/matmul_kernels.hpp"

namespace heed::cpu {

// `avx512` with other tiles for panels of bf16; null where the processor or the build has no such
// instructions.
const MatmulKernels* bf16_matmul_kernels(const MatmulKernels& avx512);

// Whether this processor multiplies faster by them than in f32: those of AMD do, at twice the speed, and an Intel Xeon
// (Emerald Rapids) has half the speed. Decided by the maker and not by a measurement, since results depend on it and must
// not change from run to run.
bool bf16_dot_products_pay();

}  // namespace heed::cpu
