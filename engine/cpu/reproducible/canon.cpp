// All kernels with the same bits on every device. One file, since Highway's headers are compiled again for each instruction set.
#include "cpu/simd/kernels.hpp"
#include "cpu/simd/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/reproducible/canon.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "cpu/reproducible/canon_matmul-inl.hpp"
#include "cpu/reproducible/canon_row_kernels-inl.hpp"
#include "cpu/reproducible/canon_update-inl.hpp"
#include "cpu/simd/dispatch.hpp"
#include "hwy/highway.h"

#if HWY_ONCE
namespace heed::cpu {
HWY_EXPORT(canon_matmul_table);
HWY_EXPORT(canon_row_table);
HWY_EXPORT(canon_update_table);
const MatmulKernels* canon_matmul_kernels(int64_t target) { return HEED_FOR_TARGET(canon_matmul_table, target)(); }
const RowKernels* canon_row_kernels(int64_t target) { return HEED_FOR_TARGET(canon_row_table, target)(); }
const UpdateKernels* canon_update_kernels(int64_t target) { return HEED_FOR_TARGET(canon_update_table, target)(); }
}  // namespace heed::cpu
#endif
