#include "cpu/gemm/matmul_kernels.hpp"

#include "cpu/simd/kernels.hpp"
#include "cpu/simd/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/gemm/matmul_kernels.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include "cpu/gemm/matmul_tile-inl.hpp"
#include "cpu/simd/dispatch.hpp"
#include "cpu/simd/vector_math-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace {

template <class Activation>
void finish_rows(const TileFinish& finish, const Activation& activate, int64_t rows, const float* sums, int64_t pitch) {
  const Floats d;
  const int64_t lanes = HWY_NAMESPACE::lanes();
  const Vector scale = hn::Set(d, finish.scale), zero = hn::Zero(d);
  const Vector left_bias = finish.bias != nullptr ? hn::LoadU(d, finish.bias) : zero;
  const Vector right_bias = finish.bias != nullptr ? hn::LoadU(d, finish.bias + lanes) : zero;
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = sums + r * pitch;
    Vector left = hn::MulAdd(hn::LoadU(d, row), scale, left_bias);
    Vector right = hn::MulAdd(hn::LoadU(d, row + lanes), scale, right_bias);
    if (finish.kept != nullptr) {
      hn::StoreU(left, d, finish.kept + finish.residual_rows[r]);
      hn::StoreU(right, d, finish.kept + finish.residual_rows[r] + lanes);
    }
    left = activate(d, left);
    right = activate(d, right);
    if (finish.residual != nullptr) {
      const float* other = finish.residual + finish.residual_rows[r];
      const Vector other_left = hn::LoadU(d, other), other_right = hn::LoadU(d, other + lanes);
      left = finish.gated ? hn::Mul(left, other_left) : hn::Add(left, other_left);
      right = finish.gated ? hn::Mul(right, other_right) : hn::Add(right, other_right);
    }
    float* out = finish.out + finish.out_rows[r];
    hn::StoreU(left, d, out);
    hn::StoreU(right, d, out + lanes);
  }
}

// Multiplies sums by derivatives at the residual; without a residual the sums are unchanged, and it is done later.
template <class Activation>
void finish_slopes(const TileFinish& finish, const Activation& activate, int64_t rows, const float* sums,
                   int64_t pitch) {
  const Floats d;
  const Vector scale = hn::Set(d, finish.scale);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < 2 * lanes(); i += lanes()) {
      Vector value = hn::Mul(hn::LoadU(d, sums + r * pitch + i), scale);
      if (finish.residual != nullptr)
        value = hn::Mul(value, activate.derivative(d, hn::LoadU(d, finish.residual + finish.residual_rows[r] + i)));
      hn::StoreU(value, d, finish.out + finish.out_rows[r] + i);
    }
}

void finish_tile(const TileFinish& finish, int64_t rows, const float* sums, int64_t pitch) {
  if (finish.slopes)
    return with_activation(finish.activation,
                           [&](const auto& activate) { finish_slopes(finish, activate, rows, sums, pitch); });
  with_activation(finish.activation, [&](const auto& activate) { finish_rows(finish, activate, rows, sums, pitch); });
}

template <class Panel>
MatmulKernels::Storage storage() {
  static constexpr MatmulKernels::Tile kTiles[] = {
      tile<Panel, 1>, tile<Panel, 2>, tile<Panel, 3>, tile<Panel, 4>,  tile<Panel, 5>,  tile<Panel, 6>,
#if HEED_TILE_ROWS == 12
      tile<Panel, 7>, tile<Panel, 8>, tile<Panel, 9>, tile<Panel, 10>, tile<Panel, 11>, tile<Panel, 12>,
#endif
  };
  return {.tile = kTiles,
          .thin = thin_tile<Panel>,
          .step = Panel::kStep,
          .widen = Panel::kWidenFrom == 0 ? nullptr : widen_panel<Panel>,
          .widen_from = Panel::kWidenFrom};
}

const MatmulKernels& table() {
  static const MatmulKernels kernels = {kTileRows,
                                        2 * static_cast<int64_t>(hn::Lanes(Floats())),
                                        storage<PanelF32>(),
                                        storage<PanelF16>(),
                                        storage<PanelBF16>(),
                                        nullptr,
                                        finish_tile,
                                        quantized_storages(HWY_TARGET),
                                        rounded_storages(HWY_TARGET)};
  return kernels;
}

}  // namespace

const MatmulKernels* matmul_table() { return &table(); }

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {
const MatmulKernels* matmul_kernels(int64_t target) { return HEED_FOR_TARGET(matmul_table, target)(); }
}  // namespace heed::cpu
#endif
