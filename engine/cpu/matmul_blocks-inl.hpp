// Register tiles whose b is quantized. Included once per instruction set (see Highway's foreach_target.h).
//
// b lies as cpu/blocks.hpp says. A tile widens 8 steps of k at a time in registers, and multiplies them as they come: value = scale *
// q + offset, whose product is exact, so that a multiply-add rounds it as base/blocks.hpp says. Every byte of b is read once.
// Sums run over k in order, as those of other tiles do, so that a row's result does not depend on how many rows there are.
#if defined(HEED_CPU_MATMUL_BLOCKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_MATMUL_BLOCKS_INL
#undef HEED_CPU_MATMUL_BLOCKS_INL
#else
#define HEED_CPU_MATMUL_BLOCKS_INL
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/matmul_tile-inl.hpp"

#ifndef HEED_EACH_STEP
#define HEED_EACH_STEP(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#endif

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Whole = hn::RebindToSigned<Floats>;
using WholeVector = hn::Vec<Whole>;

HWY_INLINE WholeVector words_at(const uint8_t* at) { return hn::LoadU(Whole(), reinterpret_cast<const int32_t*>(at)); }
HWY_INLINE WholeVector unsigned_bytes(const uint8_t* at) {
  return hn::PromoteTo(Whole(), hn::LoadU(hn::Rebind<uint8_t, Floats>(), at));
}
HWY_INLINE Vector signed_bytes(const uint8_t* at) {
  const hn::Rebind<int8_t, Floats> bytes;
  return hn::ConvertTo(Floats(), hn::PromoteTo(Whole(), hn::LoadU(bytes, reinterpret_cast<const int8_t*>(at))));
}
HWY_INLINE Vector halves(const uint8_t* at) { return PanelF16::load<0>(reinterpret_cast<const uint16_t*>(at)); }

// Bits kFrom and above moved to bit kTo and above, and all but `mask` cleared.
template <int kFrom, int kTo>
HWY_INLINE WholeVector bits(WholeVector words, int32_t mask) {
  if constexpr (kFrom < kTo) return hn::And(hn::ShiftLeft<kTo - kFrom>(words), hn::Set(Whole(), mask));
  if constexpr (kFrom > kTo) return hn::And(hn::ShiftRight<kFrom - kTo>(words), hn::Set(Whole(), mask));
  return hn::And(words, hn::Set(Whole(), mask));
}
// Four bits from bit 4 * kStep on, as a float. AVX-512 also looks them up in one register, with no mask. Half of each keeps all
// units of a Zen 4 busy: conversions have other ones than look-ups, shifts and multiply-adds.
template <int kStep>
HWY_INLINE Vector four_bits(WholeVector words) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3 && !HWY_IS_DEBUG_BUILD
  if constexpr (kStep % 2 == 0) {
    const Floats d;
    return hn::TableLookupLanes(hn::Iota(d, 0.0f), hn::IndicesFromVec(d, hn::ShiftRight<4 * kStep>(words)));
  }
#endif
  return hn::ConvertTo(Floats(), bits<4 * kStep, 0>(words, 15));
}

inline constexpr int kSteps = 8;  // steps of k whose four bits share a word

// A block type has kGroups groups, whose steps share scale and offset, of kWords times kSteps steps. `block` points to the block of
// all columns, whose bytes lie `cols` apart; `column` is 0 for the left vector and lanes() for the right one, and `word` counts
// through all groups. quants<step> gives q of one step from what words(), upper() (if kUpper) and bytes() (if kBytesOfSteps) gave.

// 32 elements of 4 bits behind kHead bytes, of which kFifths (if not 0) are where 32 fifth bits begin. With kZero, values are
// d * (q - kZero); else d * q + m.
template <int kHead, int kFifths, int kZero>
struct Blocks32 {
  static constexpr int kElements = 32, kBytes = kHead + 16, kGroups = 1, kWords = 4;
  static constexpr bool kOffset = true, kUpper = kFifths != 0, kBytesOfSteps = false;
  static HWY_INLINE Vector scale(const uint8_t* block, int, int64_t, int64_t column) {
    return halves(block + column * 2);
  }
  static HWY_INLINE Vector offset(const uint8_t* block, int, int64_t cols, int64_t column) {
    if constexpr (kZero == 0) return halves(block + (cols + column) * 2);
    return hn::Mul(halves(block + column * 2), hn::Set(Floats(), -static_cast<float>(kZero)));
  }
  static HWY_INLINE WholeVector words(const uint8_t* block, int word, int64_t cols, int64_t column) {
    return words_at(block + kHead * cols + (word * cols + column) * 4);
  }
  static HWY_INLINE WholeVector upper(const uint8_t* block, int word, int64_t cols, int64_t column) {
    return hn::ShiftRightSame(words_at(block + kFifths * cols + column * 4), 8 * word);
  }
  template <int kStep>
  static HWY_INLINE Vector quants(WholeVector words, WholeVector upper, const uint8_t*) {
    if constexpr (!kUpper) return four_bits<kStep>(words);
    return hn::ConvertTo(Floats(), hn::Or(bits<4 * kStep, 0>(words, 15), bits<kStep, 4>(upper, 16)));
  }
};
using BlocksQ4_0 = Blocks32<2, 0, 8>;
using BlocksQ4_1 = Blocks32<4, 0, 0>;
using BlocksQ5_0 = Blocks32<6, 2, 16>;
using BlocksQ5_1 = Blocks32<8, 4, 0>;

// 256 elements with 8 pairs of six bits (see base/blocks.hpp); 4 bits of each behind kHead bytes, and where kFifths is not 0
// fifth bits from there on.
template <int kHead, int kFifths>
struct BlocksOfPairs {
  static constexpr int kElements = 256, kBytes = kHead + 128, kGroups = 8, kWords = 4;
  static constexpr bool kOffset = true, kUpper = kFifths != 0, kBytesOfSteps = false;
  static HWY_INLINE Vector scale(const uint8_t* block, int group, int64_t cols, int64_t column) {
    return hn::Mul(halves(block + column * 2), six_bits(block + 4 * cols + column, group, 0, cols));
  }
  static HWY_INLINE Vector offset(const uint8_t* block, int group, int64_t cols, int64_t column) {
    const Vector scale = halves(block + (cols + column) * 2);
    return hn::Neg(hn::Mul(scale, six_bits(block + 4 * cols + column, group, 1, cols)));
  }
  static HWY_INLINE WholeVector words(const uint8_t* block, int word, int64_t cols, int64_t column) {
    return words_at(block + kHead * cols + (word * cols + column) * 4);
  }
  static HWY_INLINE WholeVector upper(const uint8_t* block, int word, int64_t cols, int64_t column) {
    return hn::ShiftRightSame(words_at(block + kFifths * cols + (word / 4 * cols + column) * 4), word % 4 * 8);
  }
  template <int kStep>
  static HWY_INLINE Vector quants(WholeVector words, WholeVector upper, const uint8_t* at) {
    return Blocks32<kHead, kFifths, 0>::template quants<kStep>(words, upper, at);
  }

 private:
  // The first or second numbers of the columns' pairs `pair`: six bits of one byte, or four bits of one and two of another.
  static HWY_INLINE Vector six_bits(const uint8_t* pairs, int pair, int second, int64_t cols) {
    const Whole w;
    const uint8_t* own = pairs + second * 4 * cols;
    if (pair < 4) return hn::ConvertTo(Floats(), hn::And(unsigned_bytes(own + pair * cols), hn::Set(w, 63)));
    const WholeVector shared = unsigned_bytes(pairs + (pair + 4) * cols);
    const WholeVector four = second == 1 ? hn::ShiftRight<4>(shared) : hn::And(shared, hn::Set(w, 15));
    const WholeVector two = hn::ShiftRight<6>(unsigned_bytes(own + (pair - 4) * cols));
    return hn::ConvertTo(Floats(), hn::Or(four, hn::ShiftLeft<4>(two)));
  }
};
using BlocksQ4_K = BlocksOfPairs<16, 0>;
using BlocksQ5_K = BlocksOfPairs<48, 16>;

struct BlocksQ6_K {
  static constexpr int kElements = 256, kBytes = 210, kGroups = 16, kWords = 2;
  static constexpr bool kOffset = true, kUpper = true, kBytesOfSteps = false;
  static HWY_INLINE Vector scale(const uint8_t* block, int group, int64_t cols, int64_t column) {
    return hn::Mul(halves(block + 208 * cols + column * 2), signed_bytes(block + (192 + group) * cols + column));
  }
  static HWY_INLINE Vector offset(const uint8_t* block, int group, int64_t cols, int64_t column) {
    return hn::Mul(scale(block, group, cols, column), hn::Set(Floats(), -32.0f));
  }
  static HWY_INLINE WholeVector words(const uint8_t* block, int word, int64_t cols, int64_t column) {
    return words_at(block + (word * cols + column) * 4);
  }
  static HWY_INLINE WholeVector upper(const uint8_t* block, int word, int64_t cols, int64_t column) {
    return hn::ShiftRightSame(words_at(block + 128 * cols + (word / 2 * cols + column) * 4), word % 2 * 16);
  }
  template <int kStep>
  static HWY_INLINE Vector quants(WholeVector words, WholeVector upper, const uint8_t*) {
    return hn::ConvertTo(Floats(), hn::Or(bits<4 * kStep, 0>(words, 15), bits<2 * kStep, 4>(upper, 48)));
  }
};

// Signed bytes.
struct BlocksQ8_0 {
  static constexpr int kElements = 32, kBytes = 34, kGroups = 1, kWords = 4;
  static constexpr bool kOffset = false, kUpper = false, kBytesOfSteps = true;
  static HWY_INLINE Vector scale(const uint8_t* block, int, int64_t, int64_t column) {
    return halves(block + column * 2);
  }
  static HWY_INLINE Vector offset(const uint8_t*, int, int64_t, int64_t) { return hn::Zero(Floats()); }
  // Its words are bytes, which quants reads itself.
  static HWY_INLINE const uint8_t* bytes(const uint8_t* block, int word, int64_t cols, int64_t column) {
    return block + (2 + word * kSteps) * cols + column;
  }
  static HWY_INLINE WholeVector words(const uint8_t*, int, int64_t, int64_t) { return hn::Zero(Whole()); }
  template <int kStep>
  static HWY_INLINE Vector quants(WholeVector, WholeVector, const uint8_t* bytes) {
    return signed_bytes(bytes + kStep * 2 * lanes());
  }
};

// scale * q + offset.
template <class Blocks>
HWY_INLINE Vector value_of(Vector scale, Vector q, Vector offset) {
  if constexpr (Blocks::kOffset) return hn::MulAdd(scale, q, offset);
  return hn::Mul(scale, q);
}

// Prefetches what a tile wants during one block.
template <class Blocks>
HWY_INLINE void prefetch_block(const Prefetch& prefetch, int64_t step) {
  const std::byte* at = prefetch.at + step * prefetch.pitch;
  for (int64_t byte = 0; byte < Blocks::kElements * prefetch.pitch; byte += 64) prefetch_second_cache(at + byte);
}

// A word of one vector of columns, ready for quants.
#define HEED_WORD(side, column)                                                 \
  const WholeVector side##_words = Blocks::words(block, word, cols, column);    \
  const WholeVector side##_upper = upper_of<Blocks>(block, word, cols, column); \
  const uint8_t* const side##_bytes = bytes_of_steps<Blocks>(block, word, cols, column);
#define HEED_VALUE(side, step) \
  value_of<Blocks>(side##_scale, Blocks::template quants<step>(side##_words, side##_upper, side##_bytes), side##_offset)

template <class Blocks>
HWY_INLINE WholeVector upper_of(const uint8_t* block, int word, int64_t cols, int64_t column) {
  if constexpr (Blocks::kUpper) return Blocks::upper(block, word, cols, column);
  return hn::Zero(Whole());
}
template <class Blocks>
HWY_INLINE const uint8_t* bytes_of_steps(const uint8_t* block, int word, int64_t cols, int64_t column) {
  if constexpr (Blocks::kBytesOfSteps) return Blocks::bytes(block, word, cols, column);
  return nullptr;
}

// A tile of MatmulKernels, whose k is a whole number of blocks and a_k 1.
template <class Blocks, int kRows>
void blocks_tile(int64_t k, const void* HWY_RESTRICT rows, int64_t a_row, int64_t, const void* HWY_RESTRICT panel,
                 float* HWY_RESTRICT c, int64_t c_pitch, bool add, const Prefetch& prefetch) {
  const Floats d;
  const int64_t lanes = HWY_NAMESPACE::lanes(), cols = 2 * lanes;
  const auto* HWY_RESTRICT a = static_cast<const float*>(rows);
  const auto* HWY_RESTRICT block = static_cast<const uint8_t*>(panel);
  // One pointer for each three rows, so that few registers address all of them.
  const float *a0 = a, *a3 = a + 3 * a_row, *a6 = a + 6 * a_row, *a9 = a + 9 * a_row;
#define HEED_ROW(i) Vector l##i = hn::Zero(d), r##i = hn::Zero(d);
  HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
#define HEED_ROW(i)                                                 \
  if constexpr (i < kRows) {                                        \
    const float* group = i < 3 ? a0 : i < 6 ? a3 : i < 9 ? a6 : a9; \
    const Vector x = hn::Set(d, group[(i % 3) * a_row]);            \
    l##i = hn::MulAdd(x, left, l##i);                               \
    r##i = hn::MulAdd(x, right, r##i);                              \
  }
#define HEED_STEP(step)                                                          \
  {                                                                              \
    const Vector left = HEED_VALUE(left, step), right = HEED_VALUE(right, step); \
    HEED_EACH_ROW(HEED_ROW)                                                      \
    ++a0, ++a3, ++a6, ++a9;                                                      \
  }
  for (int64_t step = 0; step < k; step += Blocks::kElements, block += Blocks::kBytes * cols) {
    prefetch_block<Blocks>(prefetch, step);
    for (int group = 0; group < Blocks::kGroups; ++group) {
      const Vector left_scale = Blocks::scale(block, group, cols, 0),
                   right_scale = Blocks::scale(block, group, cols, lanes);
      const Vector left_offset = Blocks::offset(block, group, cols, 0),
                   right_offset = Blocks::offset(block, group, cols, lanes);
      for (int word = group * Blocks::kWords; word < (group + 1) * Blocks::kWords; ++word) {
        HEED_WORD(left, 0)
        HEED_WORD(right, lanes)
        HEED_EACH_STEP(HEED_STEP)
      }
    }
  }
#undef HEED_STEP
#undef HEED_ROW
#define HEED_ROW(i)                                    \
  if constexpr (i < kRows) {                           \
    float* row = c + i * c_pitch;                      \
    if (add) {                                         \
      l##i = hn::Add(l##i, hn::LoadU(d, row));         \
      r##i = hn::Add(r##i, hn::LoadU(d, row + lanes)); \
    }                                                  \
    hn::StoreU(l##i, d, row);                          \
    hn::StoreU(r##i, d, row + lanes);                  \
  }
  HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
}

// Widens a group of one vector of columns.
template <class Blocks>
HWY_INLINE void widen_group(const uint8_t* block, int group, int64_t cols, int64_t column, float* out) {
  const Vector own_scale = Blocks::scale(block, group, cols, column),
               own_offset = Blocks::offset(block, group, cols, column);
  for (int word = group * Blocks::kWords; word < (group + 1) * Blocks::kWords; ++word, out += kSteps * cols) {
    HEED_WORD(own, column)
#define HEED_STEP(step) hn::StoreU(HEED_VALUE(own, step), Floats(), out + (step) * cols);
    HEED_EACH_STEP(HEED_STEP)
#undef HEED_STEP
  }
}

// Widens k steps of a panel, [k][2 lanes].
template <class Blocks>
void widen_blocks_panel(int64_t k, const void* panel, float* out) {
  const int64_t lanes = HWY_NAMESPACE::lanes(), cols = 2 * lanes;
  const auto* block = static_cast<const uint8_t*>(panel);
  for (int64_t step = 0; step < k; step += Blocks::kElements, block += Blocks::kBytes * cols)
    for (int group = 0; group < Blocks::kGroups; ++group, out += Blocks::kWords * kSteps * cols) {
      widen_group<Blocks>(block, group, cols, 0, out);
      widen_group<Blocks>(block, group, cols, lanes, out + lanes);
    }
}

#undef HEED_VALUE
#undef HEED_WORD

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif
