#include "cpu/gemm/matmul_bf16.hpp"

// Clang 16 and 17 crash on the code below, at least at -O3.
#if defined(__x86_64__) && defined(__GNUC__) && \
    !(defined(__clang__) && (__clang_major__ == 16 || __clang_major__ == 17))
#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

namespace heed::cpu {
namespace {

// Lambdas and templates of other headers would not be compiled for these instructions, hence macros.
#define HEED_BF16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
#define HEED_EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define HEED_EACH_VECTOR(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

// A vector holds 16 pairs of neighbours along k.
constexpr int64_t kLanes = 16, kStep = 2, kPair = 2 * kLanes;

using Pairs = __m512bh;

HEED_BF16 inline Pairs load(const uint16_t* at) { return reinterpret_cast<Pairs>(_mm512_loadu_si512(at)); }
// Broadcasts one pair of a to all lanes.
HEED_BF16 inline Pairs broadcast(const uint16_t* at) {
  int32_t pair;
  std::memcpy(&pair, at, sizeof pair);
  return reinterpret_cast<Pairs>(_mm512_set1_epi32(pair));
}

// Rounds to nearest even; denormals become 0, as the dot products treat them.
HEED_BF16 void narrow(const float* x, void* rounded, int64_t n) {
  auto* out = static_cast<uint16_t*>(rounded);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_loadu_ps(x + i))));
  if (i == n) return;
  const auto some = static_cast<__mmask16>((1u << (n - i)) - 1u);
  const auto stored = static_cast<__mmask16>((1u << (n - i + (n & 1))) - 1u);  // with a zero after an odd last element
  _mm256_mask_storeu_epi16(out + i, stored,
                           reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(some, x + i))));
}

// The same as `tile` of matmul_tile-inl.hpp, with two k at a time.
template <int kRows>
HEED_BF16 void tile(int64_t k, const void* rows, int64_t a_row, int64_t, const void* panel, float* c, int64_t c_pitch,
                    bool add, const Prefetch& prefetch) {
  const auto* a = static_cast<const uint16_t*>(rows);
  const auto* b = static_cast<const uint16_t*>(panel);
  const uint16_t *a0 = a, *a3 = a + 3 * a_row, *a6 = a + 6 * a_row, *a9 = a + 9 * a_row;
#define HEED_ROW(i) __m512 l##i = _mm512_setzero_ps(), r##i = l##i;
  HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
  constexpr int64_t kCols = 2 * kPair;
  const uint16_t* const end = b + k / kStep * kCols;
  const int64_t late = Prefetch::kLate * kRows;
  const uint16_t* const to_out = prefetch.out != nullptr && k / kStep > late ? end - late * kCols : end;
  const uint16_t* turn = to_out;
  Prefetcher prefetcher(prefetch, kStep);
  for (; b != end; b += kCols) {
    if (b == turn) {
      prefetcher.change_over();
      turn = turn == to_out ? to_out + kRows * kCols : end;
    }
    const Pairs left = load(b), right = load(b + kPair);
    __builtin_prefetch(b + kNear / sizeof(*b));
    __builtin_prefetch(b + (kNear + 64) / sizeof(*b));
    prefetcher.next();
#define HEED_ROW(i)                                                    \
  if constexpr (i < kRows) {                                           \
    const uint16_t* group = i < 3 ? a0 : i < 6 ? a3 : i < 9 ? a6 : a9; \
    const Pairs x = broadcast(group + (i % 3) * a_row);                \
    l##i = _mm512_dpbf16_ps(l##i, left, x);                            \
    r##i = _mm512_dpbf16_ps(r##i, right, x);                           \
  }
    HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
    a0 += kStep, a3 += kStep, a6 += kStep, a9 += kStep;
  }
#define HEED_ROW(i)                                              \
  if constexpr (i < kRows) {                                     \
    float* row = c + i * c_pitch;                                \
    if (add) {                                                   \
      l##i = _mm512_add_ps(l##i, _mm512_loadu_ps(row));          \
      r##i = _mm512_add_ps(r##i, _mm512_loadu_ps(row + kLanes)); \
    }                                                            \
    _mm512_storeu_ps(row, l##i);                                 \
    _mm512_storeu_ps(row + kLanes, r##i);                        \
  }
  HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
}

// Does not prefetch: the hardware prefetcher follows eight rows. If panels are in the caches, prefetching would cost a fifth of the time.
HEED_BF16 void thin_tile(int64_t k, const void* row, int64_t, const void* panels, int64_t panel_pitch, float* c,
                         bool add) {
  const auto* a = static_cast<const uint16_t*>(row);
  const auto* panel = static_cast<const uint16_t*>(panels);
#define HEED_VECTOR(i)               \
  __m512 s##i = _mm512_setzero_ps(); \
  const uint16_t* b##i = panel + (i / 2) * panel_pitch + (i % 2) * kPair;
  HEED_EACH_VECTOR(HEED_VECTOR)
#undef HEED_VECTOR
  for (int64_t p = 0; p < k; p += kStep) {
    const Pairs x = broadcast(a + p);
    const int64_t at = p * kPair;
#define HEED_VECTOR(i) s##i = _mm512_dpbf16_ps(s##i, load(b##i + at), x);
    HEED_EACH_VECTOR(HEED_VECTOR)
#undef HEED_VECTOR
  }
#define HEED_VECTOR(i)                                                  \
  if (add) s##i = _mm512_add_ps(s##i, _mm512_loadu_ps(c + i * kLanes)); \
  _mm512_storeu_ps(c + i * kLanes, s##i);
  HEED_EACH_VECTOR(HEED_VECTOR)
#undef HEED_VECTOR
}

bool has_dot_products() {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 5 & 1) != 0;
}

}  // namespace

bool bf16_dot_products_pay() {
  // "AuthenticAMD", in the order of the registers
  unsigned int a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0, &a, &b, &c, &d) != 0 && b == 0x68747541u && d == 0x69746e65u && c == 0x444d4163u;
}

const MatmulKernels* bf16_matmul_kernels(const MatmulKernels& avx512) {
  static constexpr MatmulKernels::Tile kTiles[] = {tile<1>, tile<2>, tile<3>, tile<4>,  tile<5>,  tile<6>,
                                                   tile<7>, tile<8>, tile<9>, tile<10>, tile<11>, tile<12>};
  if (!has_dot_products() || avx512.cols != 2 * kLanes || avx512.rows != 12) return nullptr;
  static const MatmulKernels kernels = [&] {
    MatmulKernels all = avx512;
    all.bf16 = {.tile = kTiles, .thin = thin_tile, .narrow = narrow, .step = kStep};
    return all;
  }();
  return &kernels;
}

}  // namespace heed::cpu

#else

namespace heed::cpu {
bool bf16_dot_products_pay() { return false; }
const MatmulKernels* bf16_matmul_kernels(const MatmulKernels&) { return nullptr; }
}  // namespace heed::cpu

#endif
