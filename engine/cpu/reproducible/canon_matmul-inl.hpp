// Reproducible MatmulKernels: every sum runs over k in order, with two roundings for each element. tests/reproducible/README.md has the
// rules. Included once per instruction set (see Highway's foreach_target.h), by canon.cpp.
#if defined(HEED_CPU_CANON_MATMUL_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_CANON_MATMUL_INL
#undef HEED_CPU_CANON_MATMUL_INL
#else
#define HEED_CPU_CANON_MATMUL_INL
#endif

#include <utility>

#include "cpu/gemm/matmul_kernels.hpp"
#include "cpu/gemm/matmul_tile-inl.hpp"
#include "cpu/reproducible/canon-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace {

// Multiplies panels to whose elements flush_for_product() was applied.
struct CanonArithmetic {
  static constexpr bool kAddsLast = false;  // a block of k continues the sums of the block before
  static HWY_INLINE Vector multiply_add(Vector a, Vector b, Vector c) { return canon::multiply_add(a, b, c); }
  static HWY_INLINE Vector factor(Vector b) { return b; }
};

// For the weights of an attention: if a weight counts as 0, its value adds nothing, even if it is infinite or NaN.
struct SkippingArithmetic : CanonArithmetic {
  static HWY_INLINE Vector multiply_add(Vector a, Vector b, Vector c) {
    return hn::Add(hn::IfThenZeroElse(hn::Eq(a, hn::Zero(Floats())), hn::Mul(a, b)), c);
  }
};

// The same for panels as stored: applies flush_for_product() to their elements when it loads them.
template <class Arithmetic>
struct Flushing : Arithmetic {
  static HWY_INLINE Vector factor(Vector b) { return canon::flush_for_product(b); }
};

template <class Activation>
void canon_finish_rows(const TileFinish& finish, const Activation& activate, int64_t rows, const float* sums,
                       int64_t pitch) {
  const Floats d;
  const Vector scale = canon::set(finish.scale);
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = sums + r * pitch;
    float* out = finish.out + finish.out_rows[r];
    const float* other = finish.residual == nullptr ? nullptr : finish.residual + finish.residual_rows[r];
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t at = half * lanes();
      Vector value = canon::times(hn::LoadU(d, row + at), scale);
      if (finish.slopes) {
        if (other != nullptr) value = hn::Mul(value, activate.derivative(canon::flushed(hn::LoadU(d, other + at))));
        hn::StoreU(canon::canonical(value), d, out + at);
        continue;
      }
      if (finish.bias != nullptr) value = canon::plus(value, canon::flushed(hn::LoadU(d, finish.bias + at)));
      if (finish.kept != nullptr) hn::StoreU(canon::canonical(value), d, finish.kept + finish.residual_rows[r] + at);
      value = activate(value);
      if (other != nullptr) {
        const Vector last = canon::flushed(hn::LoadU(d, other + at));
        value = finish.gated ? canon::times(value, last) : canon::plus(value, last);
      }
      hn::StoreU(canon::canonical(value), d, out + at);
    }
  }
}

void canon_finish_tile(const TileFinish& finish, int64_t rows, const float* sums, int64_t pitch) {
  canon::with_activation(finish.activation,
                         [&](const auto& activate) { canon_finish_rows(finish, activate, rows, sums, pitch); });
}

void flush_rows(float* x, int64_t n) {
  map(x, x, n, [](Vector v) { return canon::flush_for_product(v); });
}

// For a single row, flush_for_product() is applied while panels are read. For more rows the panels are converted to f32 and flushed once
// for all tiles.
template <class Panel>
void flush_panel(int64_t k, const void* panel, float* out) {
  widen_panel<Panel>(k, panel, out);
  flush_rows(out, k * 2 * lanes());
}
template <>
void flush_panel<PanelF32>(int64_t k, const void* panel, float* out) {
  map(static_cast<const float*>(panel), out, k * 2 * lanes(), [](Vector v) { return canon::flush_for_product(v); });
}

template <class Arithmetic>
MatmulKernels::Storage canon_storage() {
  using Panel = PanelF32;
  static constexpr MatmulKernels::Tile kTiles[] = {
      tile<Panel, 1, Flushing<Arithmetic>>, tile<Panel, 2, Arithmetic>,  tile<Panel, 3, Arithmetic>,
      tile<Panel, 4, Arithmetic>,           tile<Panel, 5, Arithmetic>,  tile<Panel, 6, Arithmetic>,
#if HEED_TILE_ROWS == 12
      tile<Panel, 7, Arithmetic>,           tile<Panel, 8, Arithmetic>,  tile<Panel, 9, Arithmetic>,
      tile<Panel, 10, Arithmetic>,          tile<Panel, 11, Arithmetic>, tile<Panel, 12, Arithmetic>,
#endif
  };
  return {.tile = kTiles, .thin = thin_tile<Panel, Flushing<Arithmetic>>, .widen = flush_panel<Panel>};
}

template <class Panel>
MatmulKernels::Storage narrow_storage() {
  static constexpr MatmulKernels::Tile kTiles[] = {tile<Panel, 1, Flushing<CanonArithmetic>>};
  return {.tile = kTiles,
          .thin = thin_tile<Panel, Flushing<CanonArithmetic>>,
          .step = Panel::kStep,
          .widen = flush_panel<Panel>};
}

// Constant values of 16 bits are rare in reproducible plans, so their panels are always converted.
template <class Panel>
MatmulKernels::Storage widened_storage() {
  return {.thin_panels = 1, .step = Panel::kStep, .widen = flush_panel<Panel>};
}

// A quantized value is rounded only once, so panels are dequantized by the usual code, for any number of rows.
template <size_t kType>
void flush_blocks(int64_t k, const void* panel, float* out) {
  quantized_storages(HWY_TARGET)[kType].widen(k, panel, out);
  flush_rows(out, k * 2 * lanes());
}
template <size_t... kTypes>
const MatmulKernels::Storage* canon_quantized(std::index_sequence<kTypes...>) {
  static const MatmulKernels::Storage kStorages[] = {
      {.thin_panels = 1,
       .step = quantized_storages(HWY_TARGET)[kTypes].step,
       .widen = flush_blocks<kTypes>,
       .widen_for_row = quantized_storages(HWY_TARGET)[kTypes].widen}...};  // the tile applies flush_for_product()
  return kStorages;
}

}  // namespace

const MatmulKernels* canon_matmul_table() {
  constexpr size_t kQuantizedTypes = static_cast<size_t>(kDTypes) - static_cast<size_t>(DType::Q8_0);
  static const MatmulKernels kSkips = {.rows = kTileRows,
                                       .cols = 2 * static_cast<int64_t>(hn::Lanes(Floats())),
                                       .f32 = canon_storage<SkippingArithmetic>(),
                                       .f16 = widened_storage<PanelF16>(),
                                       .bf16 = widened_storage<PanelBF16>(),
                                       .prepare_a = flush_rows,
                                       .finish = canon_finish_tile,
                                       .quantized = canon_quantized(std::make_index_sequence<kQuantizedTypes>()),
                                       .skips = true};
  static const MatmulKernels kernels = [] {
    MatmulKernels all = kSkips;
    all.f32 = canon_storage<CanonArithmetic>();
    all.f16 = narrow_storage<PanelF16>();
    all.bf16 = narrow_storage<PanelBF16>();
    all.skips_zeros = &kSkips;
    all.skips = false;
    return all;
  }();
  return &kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif
