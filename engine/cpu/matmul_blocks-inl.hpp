// Register tiles whose b is quantized. Included once per instruction set (see Highway's foreach_target.h).
//
// b lies as cpu/blocks.hpp says. A tile widens 16 steps of k at a time in registers, with the scales and offsets that they share,
// and multiplies them as they come: value = scale * q + offset, whose product is exact, so that a multiply-add rounds it as
// base/blocks.hpp says. Every byte of b is read once. Sums run over k in order, as those of other tiles do, so that a row's
// result does not depend on how many rows there are.
#if defined(HEED_CPU_MATMUL_BLOCKS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_MATMUL_BLOCKS_INL
#undef HEED_CPU_MATMUL_BLOCKS_INL
#else
#define HEED_CPU_MATMUL_BLOCKS_INL
#endif

#include <algorithm>
#include <cstdint>

#include "cpu/matmul_tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr int kPart = 16;  // steps of k that share scales, in every type

using Whole = hn::RebindToSigned<Floats>;
using WholeVector = hn::Vec<Whole>;

HWY_INLINE WholeVector unsigned_bytes(const uint8_t* at) {
  return hn::PromoteTo(Whole(), hn::LoadU(hn::Rebind<uint8_t, Floats>(), at));
}
HWY_INLINE Vector signed_bytes(const uint8_t* at) {
  const hn::Rebind<int8_t, Floats> bytes;
  return hn::ConvertTo(Floats(), hn::PromoteTo(Whole(), hn::LoadU(bytes, reinterpret_cast<const int8_t*>(at))));
}
// The lower (kHalf 0) or the upper four bits of each byte.
template <int kHalf>
HWY_INLINE WholeVector nibbles(const uint8_t* at) {
  if constexpr (kHalf == 1) return hn::ShiftRight<4>(unsigned_bytes(at));
  return hn::And(unsigned_bytes(at), hn::Set(Whole(), 15));
}
// The bits of `mask` in each byte shifted right by `shift`, to be put above four bits.
HWY_INLINE WholeVector upper_bits(const uint8_t* at, int shift, int32_t mask) {
  return hn::ShiftLeft<4>(hn::And(hn::ShiftRightSame(unsigned_bytes(at), shift), hn::Set(Whole(), mask)));
}
HWY_INLINE Vector halves(const uint8_t* at) { return PanelF16::load<0>(reinterpret_cast<const uint16_t*>(at)); }

// A block type has parts of 16 steps, of which each kShared neighbours have their scale and offset in common. `block` points to
// the block of all columns, whose bytes lie `cols` apart; `column` is 0 for the left vector and lanes() for the right one.
// half(part) says which four bits of bytes a part has, and quants<half> gives q of step i of a part.

// 32 elements of 4 bits behind kHead bytes, of which kFifths (if not 0) are where 32 fifth bits begin. With kZero, values are
// d * (q - kZero); else d * q + m.
template <int kHead, int kFifths, int kZero>
struct Blocks32 {
  static constexpr int kElements = 32, kBytes = kHead + 16, kParts = 2, kShared = 2;
  static constexpr bool kOffset = true;
  static HWY_INLINE int half(int part) { return part; }
  static HWY_INLINE Vector scale(const uint8_t* block, int, int64_t, int64_t column) {
    return halves(block + column * 2);
  }
  static HWY_INLINE Vector offset(const uint8_t* block, int, int64_t cols, int64_t column) {
    if constexpr (kZero == 0) return halves(block + (cols + column) * 2);
    return hn::Mul(halves(block + column * 2), hn::Set(Floats(), -static_cast<float>(kZero)));
  }
  template <int kHalf>
  static HWY_INLINE Vector quants(const uint8_t* block, int part, int i, int64_t cols, int64_t column) {
    const WholeVector four = nibbles<kHalf>(block + (kHead + i) * cols + column);
    if constexpr (kFifths == 0) return hn::ConvertTo(Floats(), four);
    const uint8_t* fifths = block + (kFifths + part * 2 + i / 8) * cols + column;
    return hn::ConvertTo(Floats(), hn::Or(four, upper_bits(fifths, i % 8, 1)));
  }
};
using BlocksQ4_0 = Blocks32<2, 0, 8>;
using BlocksQ4_1 = Blocks32<4, 0, 0>;
using BlocksQ5_0 = Blocks32<6, 2, 16>;
using BlocksQ5_1 = Blocks32<8, 4, 0>;

struct BlocksQ8_0 {
  static constexpr int kElements = 32, kBytes = 34, kParts = 2, kShared = 2;
  static constexpr bool kOffset = false;
  static HWY_INLINE int half(int) { return 0; }
  static HWY_INLINE Vector scale(const uint8_t* block, int, int64_t, int64_t column) {
    return halves(block + column * 2);
  }
  static HWY_INLINE Vector offset(const uint8_t*, int, int64_t, int64_t) { return hn::Zero(Floats()); }
  template <int kHalf>
  static HWY_INLINE Vector quants(const uint8_t* block, int part, int i, int64_t cols, int64_t column) {
    return signed_bytes(block + (2 + part * kPart + i) * cols + column);
  }
};

// 256 elements with 8 pairs of six bits (see base/blocks.hpp); 4 bits of each behind kHead bytes, and where kFifths is not 0
// fifth bits from there on.
template <int kHead, int kFifths>
struct BlocksOfPairs {
  static constexpr int kElements = 256, kBytes = kHead + 128, kParts = 16, kShared = 2;
  static constexpr bool kOffset = true;
  static HWY_INLINE int half(int part) { return part / 2 % 2; }
  static HWY_INLINE Vector scale(const uint8_t* block, int part, int64_t cols, int64_t column) {
    return hn::Mul(halves(block + column * 2), six_bits(block + 4 * cols + column, part / 2, 0, cols));
  }
  static HWY_INLINE Vector offset(const uint8_t* block, int part, int64_t cols, int64_t column) {
    const Vector scale = halves(block + (cols + column) * 2);
    return hn::Neg(hn::Mul(scale, six_bits(block + 4 * cols + column, part / 2, 1, cols)));
  }
  template <int kHalf>
  static HWY_INLINE Vector quants(const uint8_t* block, int part, int i, int64_t cols, int64_t column) {
    const int within = part % 2 * kPart + i;  // of 32 elements with one pair
    const WholeVector four = nibbles<kHalf>(block + (kHead + part / 4 * 32 + within) * cols + column);
    if constexpr (kFifths == 0) return hn::ConvertTo(Floats(), four);
    const uint8_t* fifths = block + (kFifths + within) * cols + column;
    return hn::ConvertTo(Floats(), hn::Or(four, upper_bits(fifths, part / 2, 1)));
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
  static constexpr int kElements = 256, kBytes = 210, kParts = 16, kShared = 1;
  static constexpr bool kOffset = true;
  static HWY_INLINE int half(int part) { return part / 4 % 2; }
  static HWY_INLINE Vector scale(const uint8_t* block, int part, int64_t cols, int64_t column) {
    return hn::Mul(halves(block + 208 * cols + column * 2), signed_bytes(block + (192 + part) * cols + column));
  }
  static HWY_INLINE Vector offset(const uint8_t* block, int part, int64_t cols, int64_t column) {
    return hn::Mul(scale(block, part, cols, column), hn::Set(Floats(), -32.0f));
  }
  template <int kHalf>
  static HWY_INLINE Vector quants(const uint8_t* block, int part, int i, int64_t cols, int64_t column) {
    const WholeVector four = nibbles<kHalf>(block + (part / 8 * 64 + part % 4 * kPart + i) * cols + column);
    const uint8_t* two = block + (128 + part / 8 * 32 + part % 2 * kPart + i) * cols + column;
    return hn::ConvertTo(Floats(), hn::Or(four, upper_bits(two, part / 2 % 4 * 2, 3)));
  }
};

// scale * q + offset.
template <class Blocks>
HWY_INLINE Vector value_of(Vector scale, Vector q, Vector offset) {
  if constexpr (Blocks::kOffset) return hn::MulAdd(scale, q, offset);
  return hn::Mul(scale, q);
}

// Calls with the bytes that a tile prefetches during one block, spread over it.
template <class Blocks>
HWY_INLINE void prefetch_block(const Prefetch& prefetch, int64_t step) {
  const std::byte* at = prefetch.at + step * prefetch.pitch;
  for (int64_t byte = 0; byte < Blocks::kElements * prefetch.pitch; byte += 64) prefetch_second_cache(at + byte);
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
#define HEED_PART(half)                                                                                               \
  for (int i = 0; i < kPart; ++i) {                                                                                   \
    const Vector left = value_of<Blocks>(left_scale, Blocks::template quants<half>(block, part, i, cols, 0), left_offset); \
    const Vector right =                                                                                              \
        value_of<Blocks>(right_scale, Blocks::template quants<half>(block, part, i, cols, lanes), right_offset);      \
    HEED_EACH_ROW(HEED_ROW)                                                                                           \
    ++a0, ++a3, ++a6, ++a9;                                                                                           \
  }
  for (int64_t step = 0; step < k; step += Blocks::kElements, block += Blocks::kBytes * cols) {
    prefetch_block<Blocks>(prefetch, step);
    for (int first = 0; first < Blocks::kParts; first += Blocks::kShared) {
      const Vector left_scale = Blocks::scale(block, first, cols, 0), right_scale = Blocks::scale(block, first, cols, lanes);
      const Vector left_offset = Blocks::offset(block, first, cols, 0),
                   right_offset = Blocks::offset(block, first, cols, lanes);
      for (int part = first; part < first + Blocks::kShared; ++part) {
        if (Blocks::half(part) == 0) {
          HEED_PART(0)
        } else {
          HEED_PART(1)
        }
      }
    }
  }
#undef HEED_PART
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

// Widens kShared parts of one vector of columns.
template <class Blocks>
HWY_INLINE void widen_parts(const uint8_t* block, int first, int64_t cols, int64_t column, float* out) {
  const Vector scale = Blocks::scale(block, first, cols, column), offset = Blocks::offset(block, first, cols, column);
  for (int part = first; part < first + Blocks::kShared; ++part)
    for (int i = 0; i < kPart; ++i, out += cols) {
      const Vector q = Blocks::half(part) == 0 ? Blocks::template quants<0>(block, part, i, cols, column)
                                               : Blocks::template quants<1>(block, part, i, cols, column);
      hn::StoreU(value_of<Blocks>(scale, q, offset), Floats(), out);
    }
}

// Widens k steps of a panel, [k][2 lanes].
template <class Blocks>
void widen_blocks_panel(int64_t k, const void* panel, float* out) {
  const int64_t lanes = HWY_NAMESPACE::lanes(), cols = 2 * lanes;
  const auto* block = static_cast<const uint8_t*>(panel);
  for (int64_t step = 0; step < k; step += Blocks::kElements, block += Blocks::kBytes * cols)
    for (int first = 0; first < Blocks::kParts; first += Blocks::kShared, out += Blocks::kShared * kPart * cols) {
      widen_parts<Blocks>(block, first, cols, 0, out);
      widen_parts<Blocks>(block, first, cols, lanes, out + lanes);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif
