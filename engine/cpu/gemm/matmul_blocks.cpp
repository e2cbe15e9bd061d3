// Tables of the tiles of quantized types, by instruction set.
#include "cpu/gemm/matmul_kernels.hpp"
#include "cpu/simd/kernels.hpp"
#include "cpu/simd/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/gemm/matmul_blocks.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "cpu/gemm/matmul_blocks-inl.hpp"
#include "cpu/simd/dispatch.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class Blocks>
MatmulKernels::Storage blocks_storage() {
  // Scales and words need registers in addition to the sums, so more rows would spill. Old instruction sets get only the tiles that they
  // need, since each takes time to compile.
  static constexpr MatmulKernels::Tile kTiles[] = {
      blocks_tile<Blocks, 1>,
#if HEED_TILE_ROWS == 12 || HWY_TARGET == HWY_AVX2
      blocks_tile<Blocks, 2>, blocks_tile<Blocks, 3>, blocks_tile<Blocks, 4>,
#endif
#if HEED_TILE_ROWS == 12
      blocks_tile<Blocks, 5>, blocks_tile<Blocks, 6>, blocks_tile<Blocks, 7>, blocks_tile<Blocks, 8>,
#endif
  };
  return {.tile = kTiles,
          .tile_rows = static_cast<int64_t>(std::size(kTiles)),
          .thin = blocks_thin<Blocks>,
          .thin_panels = kThinBlocks,
          .step = 1,
          .widen = widen_blocks_panel<Blocks>,
          .widen_from = 2};
}

const MatmulKernels::Storage* blocks_table() {
  // In the order of DType.
  static const MatmulKernels::Storage kStorages[] = {blocks_storage<BlocksQ8_0>(), blocks_storage<BlocksQ4_0>(),
                                                     blocks_storage<BlocksQ4_1>(), blocks_storage<BlocksQ5_0>(),
                                                     blocks_storage<BlocksQ5_1>(), blocks_storage<BlocksQ4_K>(),
                                                     blocks_storage<BlocksQ5_K>(), blocks_storage<BlocksQ6_K>()};
  static_assert(static_cast<size_t>(kDTypes) == static_cast<size_t>(DType::Q8_0) + std::size(kStorages));
  return kStorages;
}

}  // namespace

const MatmulKernels::Storage* quantized_table() { return blocks_table(); }

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {
const MatmulKernels::Storage* quantized_storages(int64_t target) { return HEED_FOR_TARGET(quantized_table, target)(); }
}  // namespace heed::cpu
#endif
