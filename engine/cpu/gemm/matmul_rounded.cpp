// Tables of the tiles for quantized weights and rows rounded to 8 bits, for instruction sets with fast integer dot products. Those with
// byte dot products (AVX-512 from Ice Lake and Zen 4 on) form a separate set in this file.
#include "cpu/device/supported.hpp"
#include "cpu/gemm/matmul_kernels.hpp"

#define HEED_WITH_BYTE_DOT_PRODUCTS
#include "cpu/simd/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/gemm/matmul_rounded.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "cpu/gemm/matmul_rounded-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace {

#if HEED_HAS_ROUNDED
template <class Blocks>
MatmulKernels::Storage rounded_storage() {
  static constexpr MatmulKernels::Tile kTiles[] = {
      rounded_tile<Blocks, 1>,  rounded_tile<Blocks, 2>,  rounded_tile<Blocks, 3>,
      rounded_tile<Blocks, 4>,  rounded_tile<Blocks, 5>,  rounded_tile<Blocks, 6>,
#if HEED_TILE_ROWS == 12
      rounded_tile<Blocks, 7>,  rounded_tile<Blocks, 8>,  rounded_tile<Blocks, 9>,
      rounded_tile<Blocks, 10>, rounded_tile<Blocks, 11>, rounded_tile<Blocks, 12>,
#endif
  };
  constexpr bool kEvenFirst = Blocks::kBits == 4;
  return {.tile = kTiles,
          .thin = rounded_thin<Blocks>,
          .thin_panels = kThinBlocks,
          .narrow = round_row<kEvenFirst>,
          .narrow_block = {RoundedBlock::kElements, sizeof(RoundedBlock)},
          .step = 1};
}
#endif

const MatmulKernels::Storage* rounded_table() {
#if HEED_HAS_ROUNDED
  // In the order of DType.
  static const MatmulKernels::Storage kStorages[] = {rounded_storage<BlocksQ8_0>(), rounded_storage<BlocksQ4_0>(),
                                                     rounded_storage<BlocksQ4_1>(), rounded_storage<BlocksQ5_0>(),
                                                     rounded_storage<BlocksQ5_1>(), rounded_storage<BlocksQ4_K>(),
                                                     rounded_storage<BlocksQ5_K>(), rounded_storage<BlocksQ6_K>()};
  return kStorages;
#else
  return nullptr;
#endif
}

}  // namespace

const MatmulKernels::Storage* rounded_quantized() { return rounded_table(); }

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {
// Lists the sets explicitly: Highway's dispatch only knows those of the other files.
const MatmulKernels::Storage* rounded_storages(int64_t target) {
#if (HWY_TARGETS & HWY_AVX3_DL) != 0
  if (target == HWY_AVX3 && (supported_targets() & HWY_AVX3_DL) != 0) return N_AVX3_DL::rounded_quantized();
#endif
#if (HWY_TARGETS & HWY_AVX3) != 0
  if (target == HWY_AVX3) return N_AVX3::rounded_quantized();
#endif
#if (HWY_TARGETS & HWY_AVX2) != 0
  if (target == HWY_AVX2) return N_AVX2::rounded_quantized();
#endif
  (void)target;
  return nullptr;
}
}  // namespace heed::cpu
#endif
