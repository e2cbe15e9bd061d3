// Register tiles whose b is quantized. Included once per instruction set (see Highway's foreach_target.h).
//
// cpu/gemm/blocks.hpp has the layout of b. A tile dequantizes some steps of k, and multiplies them while they are in registers or in the
// first-level cache. The bits of a step are not shifted down in the word: they are used as q * 2^shift, and the scale is divided by
// 2^shift: value = (scale / 2^shift) * (q * 2^shift) + offset. The product is exact, so a multiply-add rounds as base/blocks.hpp requires.
// Every byte of b is read once. Sums run over k in order, as in other tiles, so that a row's result does not depend on the number of rows.
#if defined(HEED_CPU_MATMUL_BLOCKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_MATMUL_BLOCKS_INL
#undef HEED_CPU_MATMUL_BLOCKS_INL
#else
#define HEED_CPU_MATMUL_BLOCKS_INL
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/gemm/matmul_tile-inl.hpp"

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

// Moves bits from kFrom on to kTo on, and clears everything outside `mask`.
template <int kFrom, int kTo>
HWY_INLINE WholeVector bits(WholeVector words, int32_t mask) {
  if constexpr (kFrom < kTo) return hn::And(hn::ShiftLeft<kTo - kFrom>(words), hn::Set(Whole(), mask));
  if constexpr (kFrom > kTo) return hn::And(hn::ShiftRight<kFrom - kTo>(words), hn::Set(Whole(), mask));
  return hn::And(words, hn::Set(Whole(), mask));
}

// A block type has kGroups groups. A group is kWords words, whose steps of k share scale and offset; each word has kBits bits of several
// steps. `block` points to the block of all columns, whose bytes are `cols` apart; `column` is 0 for the left vector and lanes() for the
// right one, and `word` is numbered through all groups. If kUpper is set, upper() reads the upper bits of a word, and upper_bits<step, to>
// moves those of one step to bit `to`.

// 32 elements of 4 bits after kHead bytes; if kFifths is not 0, 32 fifth bits begin at that byte. With kZero, values are d * (q - kZero);
// else d * q + m.
template <int kHead, int kFifths, int kZero>
struct Blocks32 {
  static constexpr int kElements = 32, kBytes = kHead + 16, kGroups = 1, kWords = 4, kBits = 4;
  static constexpr bool kUpper = kFifths != 0;
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
  template <int kStep, int kTo>
  static HWY_INLINE WholeVector upper_bits(WholeVector upper) {
    return bits<kStep, kTo>(upper, 1 << kTo);
  }
};
using BlocksQ4_0 = Blocks32<2, 0, 8>;
using BlocksQ4_1 = Blocks32<4, 0, 0>;
using BlocksQ5_0 = Blocks32<6, 2, 16>;
using BlocksQ5_1 = Blocks32<8, 4, 0>;

// Words of 4 bytes q + 128.
struct BlocksQ8_0 {
  static constexpr int kElements = 32, kBytes = 34, kGroups = 1, kWords = 8, kBits = 8;
  static constexpr bool kUpper = false;
  static HWY_INLINE Vector scale(const uint8_t* block, int, int64_t, int64_t column) {
    return halves(block + column * 2);
  }
  static HWY_INLINE Vector offset(const uint8_t* block, int, int64_t, int64_t column) {
    return hn::Mul(halves(block + column * 2), hn::Set(Floats(), -128.0f));
  }
  static HWY_INLINE WholeVector words(const uint8_t* block, int word, int64_t cols, int64_t column) {
    return words_at(block + 2 * cols + (word * cols + column) * 4);
  }
};

// 256 elements with 8 pairs of six bits (see base/blocks.hpp). 4 bits of each element follow kHead bytes; if kFifths is not 0, fifth bits
// begin at that byte.
template <int kHead, int kFifths>
struct BlocksOfPairs {
  static constexpr int kElements = 256, kBytes = kHead + 128, kGroups = 8, kWords = 4, kBits = 4;
  static constexpr bool kUpper = kFifths != 0;
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
  template <int kStep, int kTo>
  static HWY_INLINE WholeVector upper_bits(WholeVector upper) {
    return bits<kStep, kTo>(upper, 1 << kTo);
  }

 private:
  // The first or second numbers of pair `pair` in all columns: six bits of one byte, or four bits of one and two of another.
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
  static constexpr int kElements = 256, kBytes = 210, kGroups = 16, kWords = 2, kBits = 4;
  static constexpr bool kUpper = true;
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
  template <int kStep, int kTo>
  static HWY_INLINE WholeVector upper_bits(WholeVector upper) {
    return bits<2 * kStep, kTo>(upper, 3 << kTo);
  }
};

template <class Blocks>
inline constexpr int kStepsOfWord = 32 / Blocks::kBits;
// The steps of half a word; the other half is shifted down first, so that fewer scales are needed.
template <class Blocks>
inline constexpr int kStepsOfHalf = 16 / Blocks::kBits;

// One step of a word: `low` is the word, `high` the word shifted down by 16 bits. Scales are divided according to the step's position.
template <class Blocks, int kStep>
HWY_INLINE Vector value_of(WholeVector low, WholeVector high, WholeVector upper, Vector scale0, Vector scale1,
                           Vector scale2, Vector scale3, Vector offset) {
  constexpr int kPlace = kStep % kStepsOfHalf<Blocks>, kShift = kPlace * Blocks::kBits;
  constexpr int32_t kMask = ((1 << Blocks::kBits) - 1) << kShift;
  WholeVector q = hn::And(kStep < kStepsOfHalf<Blocks> ? low : high, hn::Set(Whole(), kMask));
  if constexpr (Blocks::kUpper) q = hn::Or(q, Blocks::template upper_bits<kStep, kShift + 4>(upper));
  const Vector scale = kPlace == 0 ? scale0 : kPlace == 1 ? scale1 : kPlace == 2 ? scale2 : scale3;
  return hn::MulAdd(scale, hn::ConvertTo(Floats(), q), offset);
}
template <class Blocks>
HWY_INLINE WholeVector upper_of(const uint8_t* block, int word, int64_t cols, int64_t column) {
  if constexpr (Blocks::kUpper) return Blocks::upper(block, word, cols, column);
  return hn::Zero(Whole());
}

// HEED_GROUP loads the scales of a group for one vector of columns. The macros after it load a word of the group and compute its values.
#define HEED_GROUP(side, block, column)                                                                           \
  const Vector side##_scale0 = Blocks::scale(block, group, cols, column),                                         \
               side##_offset = Blocks::offset(block, group, cols, column);                                        \
  const Vector side##_scale1 = hn::Mul(side##_scale0, hn::Set(Floats(), Blocks::kBits == 4 ? 0x1p-4f : 0x1p-8f)); \
  const Vector side##_scale2 = hn::Mul(side##_scale0, hn::Set(Floats(), 0x1p-8f)),                                \
               side##_scale3 = hn::Mul(side##_scale0, hn::Set(Floats(), 0x1p-12f));
#define HEED_WORD(side, block, column)                                     \
  const WholeVector side##_low = Blocks::words(block, word, cols, column); \
  const WholeVector side##_high = hn::ShiftRight<16>(side##_low);          \
  const WholeVector side##_upper = upper_of<Blocks>(block, word, cols, column);
#define HEED_VALUE(side, step)                                                                               \
  value_of<Blocks, step>(side##_low, side##_high, side##_upper, side##_scale0, side##_scale1, side##_scale2, \
                         side##_scale3, side##_offset)

template <class Blocks>
inline constexpr int kStepsOfGroup = Blocks::kElements / Blocks::kGroups;

// Dequantizes a group in one vector of columns, to rows `cols` floats apart.
template <class Blocks>
HWY_INLINE void widen_side(const uint8_t* block, int group, int64_t cols, int64_t column, float* HWY_RESTRICT out) {
  HEED_GROUP(own, block, column)
  for (int word = group * Blocks::kWords; word < (group + 1) * Blocks::kWords; ++word) {
    HEED_WORD(own, block, column)
#define HEED_STEP(step) \
  if constexpr ((step) < kStepsOfWord<Blocks>) hn::StoreU(HEED_VALUE(own, step), Floats(), out + (step) * cols);
    HEED_EACH_STEP(HEED_STEP)
#undef HEED_STEP
    out += kStepsOfWord<Blocks> * cols;
  }
}

// Dequantizes a group of a panel, [kStepsOfGroup][2 lanes]. A function shared by all tiles: inlining it in each would take compilers
// minutes.
template <class Blocks>
HWY_NOINLINE void widen_group(const uint8_t* block, int group, float* HWY_RESTRICT out) {
  const int64_t lanes = HWY_NAMESPACE::lanes(), cols = 2 * lanes;
  widen_side<Blocks>(block, group, cols, 0, out);
  widen_side<Blocks>(block, group, cols, lanes, out + lanes);
}

// Prefetches the tile's memory for the duration of one block.
HWY_INLINE void prefetch_block(const Prefetch& prefetch, int64_t step, int64_t elements) {
  const std::byte* at = prefetch.at + step * prefetch.pitch;
  for (int64_t byte = 0; byte < elements * prefetch.pitch; byte += 64) prefetch_second_cache(at + byte);
}

// A tile of MatmulKernels, whose k is a whole number of blocks and a_k 1. A group's values stay in the first-level cache for the rows that
// multiply them.
template <class Blocks, int kRows>
void blocks_tile(int64_t k, const void* HWY_RESTRICT rows, int64_t a_row, int64_t, const void* HWY_RESTRICT panel,
                 float* HWY_RESTRICT c, int64_t c_pitch, bool add, const Prefetch& prefetch) {
  const Floats d;
  const int64_t lanes = HWY_NAMESPACE::lanes(), cols = 2 * lanes;
  const auto* HWY_RESTRICT a = static_cast<const float*>(rows);
  const auto* HWY_RESTRICT block = static_cast<const uint8_t*>(panel);
  HWY_ALIGN float values[kStepsOfWord<Blocks> * 2 * hn::MaxLanes(Floats())];
  const float* const end = values + kStepsOfWord<Blocks> * cols;
  // One pointer for each three rows, so that few registers are needed for addresses.
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
#define HEED_STEP(step)                                                     \
  if constexpr ((step) < kStepsOfWord<Blocks>) {                            \
    hn::StoreU(HEED_VALUE(left, step), d, values + (step) * cols);          \
    hn::StoreU(HEED_VALUE(right, step), d, values + (step) * cols + lanes); \
  }
  for (int64_t step = 0; step < k; step += Blocks::kElements, block += Blocks::kBytes * cols) {
    prefetch_block(prefetch, step, Blocks::kElements);
    for (int group = 0; group < Blocks::kGroups; ++group) {
      HEED_GROUP(left, block, 0)
      HEED_GROUP(right, block, lanes)
      for (int word = group * Blocks::kWords; word < (group + 1) * Blocks::kWords; ++word) {
        HEED_WORD(left, block, 0)
        HEED_WORD(right, block, lanes)
        HEED_EACH_STEP(HEED_STEP)
        for (const float* at = values; at != end; at += cols) {
          const Vector left = hn::LoadU(d, at), right = hn::LoadU(d, at + lanes);
          HEED_EACH_ROW(HEED_ROW)
          ++a0, ++a3, ++a6, ++a9;
        }
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

// Multiplies one row by kThinBlocks panels, panel_pitch elements apart. The latency of the multiply-add limits the speed of a single row,
// so more columns, with independent sums, are faster. c has four vectors.
inline constexpr int64_t kThinBlocks = 2;
// The prefetch distance for two panels of `pitch` bytes each: to the next panels, or, if these are long, to the bytes that are read soon.
HWY_INLINE int64_t ahead_of_thin(int64_t pitch) {
  constexpr int64_t kMostAhead = 64 << 10;
  return kThinBlocks * pitch <= kMostAhead ? kThinBlocks * pitch : 2 * kNear;
}
HWY_INLINE void prefetch_thin(const uint8_t* first, const uint8_t* second, int64_t bytes) {
  for (int64_t byte = 0; byte < bytes; byte += 64) {
    prefetch_second_cache(reinterpret_cast<const std::byte*>(first + byte));
    prefetch_second_cache(reinterpret_cast<const std::byte*>(second + byte));
  }
}
HWY_INLINE void store_thin(Vector s0, Vector s1, Vector s2, Vector s3, float* HWY_RESTRICT c, bool add) {
  const Floats d;
  const int64_t lanes = HWY_NAMESPACE::lanes(), cols = 2 * lanes;
  if (add) {
    s0 = hn::Add(s0, hn::LoadU(d, c)), s1 = hn::Add(s1, hn::LoadU(d, c + lanes));
    s2 = hn::Add(s2, hn::LoadU(d, c + cols)), s3 = hn::Add(s3, hn::LoadU(d, c + cols + lanes));
  }
  hn::StoreU(s0, d, c), hn::StoreU(s1, d, c + lanes);
  hn::StoreU(s2, d, c + cols), hn::StoreU(s3, d, c + cols + lanes);
}
template <class Blocks>
void blocks_thin(int64_t k, const void* HWY_RESTRICT row, int64_t, const void* HWY_RESTRICT panels, int64_t panel_pitch,
                 float* HWY_RESTRICT c, bool add) {
  const Floats d;
  const int64_t lanes = HWY_NAMESPACE::lanes(), cols = 2 * lanes;
  const int64_t pitch = panel_pitch / Blocks::kElements * Blocks::kBytes;
  const int64_t ahead = ahead_of_thin(pitch);
  const auto* HWY_RESTRICT a = static_cast<const float*>(row);
  const auto* HWY_RESTRICT first = static_cast<const uint8_t*>(panels);
  const auto* HWY_RESTRICT second = first + pitch;
  Vector s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
#define HEED_STEP(step)                                     \
  if constexpr ((step) < kStepsOfWord<Blocks>) {            \
    const Vector x = hn::Set(d, a[step]);                   \
    s0 = hn::MulAdd(x, HEED_VALUE(first_left, step), s0);   \
    s1 = hn::MulAdd(x, HEED_VALUE(first_right, step), s1);  \
    s2 = hn::MulAdd(x, HEED_VALUE(second_left, step), s2);  \
    s3 = hn::MulAdd(x, HEED_VALUE(second_right, step), s3); \
  }
  const int64_t block_bytes = Blocks::kBytes * cols;
  for (; k > 0; k -= Blocks::kElements, first += block_bytes, second += block_bytes) {
    prefetch_thin(first + ahead, second + ahead, block_bytes);
    for (int group = 0; group < Blocks::kGroups; ++group) {
      HEED_GROUP(first_left, first, 0)
      HEED_GROUP(first_right, first, lanes)
      HEED_GROUP(second_left, second, 0)
      HEED_GROUP(second_right, second, lanes)
      for (int word = group * Blocks::kWords; word < (group + 1) * Blocks::kWords; ++word) {
        HEED_WORD(first_left, first, 0)
        HEED_WORD(first_right, first, lanes)
        HEED_WORD(second_left, second, 0)
        HEED_WORD(second_right, second, lanes)
        HEED_EACH_STEP(HEED_STEP)
        a += kStepsOfWord<Blocks>;
      }
    }
  }
#undef HEED_STEP
  store_thin(s0, s1, s2, s3, c, add);
}

// Dequantizes k steps of a panel, [k][2 lanes].
template <class Blocks>
void widen_blocks_panel(int64_t k, const void* panel, float* out) {
  const int64_t cols = 2 * HWY_NAMESPACE::lanes();
  const auto* block = static_cast<const uint8_t*>(panel);
  for (int64_t step = 0; step < k; step += Blocks::kElements, block += Blocks::kBytes * cols)
    for (int group = 0; group < Blocks::kGroups; ++group, out += kStepsOfGroup<Blocks> * cols)
      widen_group<Blocks>(block, group, out);
}

#undef HEED_VALUE
#undef HEED_WORD
#undef HEED_GROUP

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif
