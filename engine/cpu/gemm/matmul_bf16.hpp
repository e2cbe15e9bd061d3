// Matmuls of bf16 with the dot products of AVX512_BF16, which Highway 1.0 does not support. All other kernels of such a device are those of
// AVX-512.
#pragma once

#include "cpu/gemm/matmul_kernels.hpp"

namespace heed::cpu {

// The kernels `avx512` with other tiles for panels of bf16; null if the processor or the build lacks these instructions.
const MatmulKernels* bf16_matmul_kernels(const MatmulKernels& avx512);

// Whether these instructions are faster than f32 on this processor. AMD's are twice as fast, an Intel Xeon (Emerald Rapids) has half the
// speed. The vendor decides rather than a measurement, since results depend on it and must not change from run to run.
bool bf16_dot_products_pay();

}  // namespace heed::cpu
