// Register tiles for a quantized b and rows of a rounded to 8 bits: integer sums inside a group of a block, f32 sums across groups.
// Included once per instruction set (see Highway's foreach_target.h).
//
// Blocks are those of matmul_blocks-inl.hpp. The numbers of a word become bytes, four to a word, and a dot product multiplies them with
// four bytes of a row. The layout of b does not change for that: the 4-bit numbers at even positions of a word become one word of bytes,
// those at odd positions another, and rows of a are stored in that order.
//
// A group's value is scale * row's scale * (sum of q * r) + offset * row's scale * (sum of r), where q are b's numbers and r the row's. For
// types with signed numbers, their zero point is subtracted from the integer sum.
#if defined(HEED_CPU_MATMUL_ROUNDED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_MATMUL_ROUNDED_INL
#undef HEED_CPU_MATMUL_ROUNDED_INL
#else
#define HEED_CPU_MATMUL_ROUNDED_INL
#endif

#include <cstring>

#include "cpu/gemm/matmul_blocks-inl.hpp"
#include "cpu/gemm/rounded_row.hpp"

// Instruction sets whose integer dot products are faster than multiply-adds of f32.
#undef HEED_HAS_ROUNDED
#if HWY_ARCH_X86 && (HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX2)
#define HEED_HAS_ROUNDED 1
#else
#define HEED_HAS_ROUNDED 0
#endif

#if HEED_HAS_ROUNDED
HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {

// Four bytes of a row in every lane, as an operand of dot().
struct RowBytes {
#if HWY_TARGET == HWY_AVX3_DL
  WholeVector bytes;
#else
  WholeVector even, odd;  // as 16-bit numbers
#endif
};
HWY_INLINE RowBytes row_bytes(const int8_t* at) {
  int32_t word;
  std::memcpy(&word, at, sizeof word);
  const WholeVector all = hn::Set(Whole(), word);
#if HWY_TARGET == HWY_AVX3_DL
  return {all};
#else
  const hn::Repartition<int16_t, Whole> halves;
  const auto odd = hn::BitCast(halves, all);
  return {hn::BitCast(Whole(), hn::ShiftRight<8>(hn::ShiftLeft<8>(odd))), hn::BitCast(Whole(), hn::ShiftRight<8>(odd))};
#endif
}

// sum + the four products of a word's unsigned bytes and those of a row.
HWY_INLINE WholeVector dot(WholeVector sum, WholeVector word, const RowBytes& row) {
#if HWY_TARGET == HWY_AVX3_DL && defined(__GNUC__)
  // Functions for this set are not compiled with dot product instructions, but the processors have them.
  asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(word.raw), "v"(row.bytes.raw));
  return sum;
#elif HWY_TARGET == HWY_AVX3_DL
  return WholeVector{_mm512_dpbusd_epi32(sum.raw, word.raw, row.bytes.raw)};
#else
  const hn::Repartition<uint16_t, Whole> halves;
  const WholeVector even = hn::And(word, hn::Set(Whole(), 0x00ff00ff));
  const WholeVector odd = hn::BitCast(Whole(), hn::ShiftRight<8>(hn::BitCast(halves, word)));
#if HWY_TARGET == HWY_AVX3
  const WholeVector first{_mm512_madd_epi16(even.raw, row.even.raw)}, second{_mm512_madd_epi16(odd.raw, row.odd.raw)};
#else
  const WholeVector first{_mm256_madd_epi16(even.raw, row.even.raw)}, second{_mm256_madd_epi16(odd.raw, row.odd.raw)};
#endif
  return hn::Add(sum, hn::Add(first, second));
#endif
}

// The two bits, or the one, above the four bits of a word's elements at even positions, each in the byte of its element. For odd positions
// `upper` is shifted down by one element before.
template <int kBits>
HWY_INLINE WholeVector upper_bytes(WholeVector upper) {
  const Whole w;
  if constexpr (kBits == 1) {
    // The multiplication makes shifted copies of the bits, so that each bit is at its byte in one of the copies.
    const WholeVector even = hn::And(upper, hn::Set(w, 0x55));
    return hn::ShiftLeft<4>(hn::And(hn::Mul(even, hn::Set(w, 0x41041)), hn::Set(w, 0x01010101)));
  }
  const WholeVector pairs = hn::And(hn::Or(upper, hn::ShiftLeft<8>(upper)), hn::Set(w, 0x00ff00ff));
  const WholeVector all = hn::Or(pairs, hn::ShiftLeft<4>(pairs));
  return hn::ShiftLeft<4>(hn::And(all, hn::Set(w, 0x03030303)));
}

// Unpacks the bytes of one word of a block: kQuads words of four.
template <class Blocks>
inline constexpr int kQuads = 8 / Blocks::kBits;
template <class Blocks>
HWY_INLINE void bytes_of_word(const uint8_t* block, int word, int64_t cols, int64_t column, WholeVector* first,
                              WholeVector* second) {
  const WholeVector all = Blocks::words(block, word, cols, column);
  if constexpr (Blocks::kBits == 8) {
    *first = all;
  } else {
    const WholeVector mask = hn::Set(Whole(), 0x0f0f0f0f);
    *first = hn::And(all, mask);
    *second = hn::And(hn::ShiftRight<4>(all), mask);
    if constexpr (Blocks::kUpper) {
      constexpr int kUpperBits = Blocks::kWords == 2 ? 2 : 1;
      const WholeVector upper = hn::And(Blocks::upper(block, word, cols, column), hn::Set(Whole(), 0xffff));
      *first = hn::Or(*first, upper_bytes<kUpperBits>(upper));
      *second = hn::Or(*second, upper_bytes<kUpperBits>(hn::ShiftRight<kUpperBits>(upper)));
    }
  }
}

// The stored number that stands for the value 0, for types without offsets, which store unsigned numbers; 0 for types with offsets.
template <class Blocks>
inline constexpr int32_t kZeroOf = 0;
template <>
inline constexpr int32_t kZeroOf<BlocksQ8_0> = 128;
template <>
inline constexpr int32_t kZeroOf<BlocksQ4_0> = 8;
template <>
inline constexpr int32_t kZeroOf<BlocksQ5_0> = 16;
template <>
inline constexpr int32_t kZeroOf<BlocksQ6_K> = 32;
template <class Blocks>
inline constexpr bool kHasOffsets = kZeroOf<Blocks> == 0;

// The bytes of eight elements in the order of their two words: even positions, then odd positions.
HWY_INLINE uint64_t even_first(uint64_t bytes) {
  const auto gather = [](uint64_t spread) {
    spread &= 0x00ff00ff00ff00ffu;
    spread = (spread | spread >> 8) & 0x0000ffff0000ffffu;
    return (spread | spread >> 16) & 0xffffffffu;
  };
  return gather(bytes) | gather(bytes >> 8) << 32;
}

// MatmulKernels::Storage::narrow: rounds n elements of a row, a multiple of 32. If all values are below 2^-100 they become 0, since the
// inverse scale could be infinite.
template <bool kEvenFirst>
void round_row(const float* HWY_RESTRICT x, void* HWY_RESTRICT blocks, int64_t n) {
  constexpr float kLeast = 0x1p-100f;
  const Floats d;
  const int64_t lanes = HWY_NAMESPACE::lanes();
  auto* block = static_cast<RoundedBlock*>(blocks);
  for (; n > 0; n -= RoundedBlock::kElements, x += RoundedBlock::kElements, ++block) {
    Vector most = hn::Zero(d), nothing = most;
    for (int64_t i = 0; i < RoundedBlock::kElements; i += lanes) {
      const Vector values = hn::LoadU(d, x + i);
      most = hn::Max(most, hn::Abs(values));
      nothing = hn::MulAdd(values, hn::Zero(d), nothing);  // NaN if a value is infinite or NaN
    }
    const float largest = hn::GetLane(hn::MaxOfLanes(d, most)), faulty = hn::GetLane(hn::SumOfLanes(d, nothing));
    const bool counts = largest >= kLeast && faulty == 0.0f;
    block->scale = counts ? largest / 127.0f : faulty;
    const Vector factor = hn::Set(d, counts ? 127.0f / largest : 0.0f);
    const hn::Rebind<int8_t, Floats> bytes;
    for (int half = 0; half < 2; ++half) {
      WholeVector sum = hn::Zero(Whole());
      for (int64_t i = half * RoundedBlock::kHalf; i < (half + 1) * RoundedBlock::kHalf; i += lanes) {
        const WholeVector whole = counts ? hn::NearestInt(hn::Mul(hn::LoadU(d, x + i), factor)) : hn::Zero(Whole());
        sum = hn::Add(sum, whole);
        hn::StoreU(hn::DemoteTo(bytes, whole), bytes, block->bytes + i);
      }
      block->sums[half] = hn::GetLane(hn::SumOfLanes(Whole(), sum));
    }
    block->unused = 0;
    for (int i = 0; kEvenFirst && i < RoundedBlock::kElements; i += 8) {
      uint64_t eight;
      std::memcpy(&eight, block->bytes + i, sizeof eight);
      eight = even_first(eight);
      std::memcpy(block->bytes + i, &eight, sizeof eight);
    }
  }
}

// A row's bytes in one group, their sum, and their common scale.
struct RowGroup {
  const int8_t* bytes;
  int32_t sum;
  float scale, scaled_sum;
};
// `elements` in the group: 16 or 32.
HWY_INLINE RowGroup row_group(const RoundedBlock* row, int group, int elements) {
  const RoundedBlock& block = row[group * elements / RoundedBlock::kElements];
  const int half = group * elements % RoundedBlock::kElements / RoundedBlock::kHalf;
  const int32_t sum = elements == RoundedBlock::kHalf ? block.sums[half] : block.sums[0] + block.sums[1];
  return {block.bytes + half * RoundedBlock::kHalf, sum, block.scale, block.scale * static_cast<float>(sum)};
}

// Adds one group to a sum. All tiles call it, so that a row's result does not depend on the number of rows.
template <bool kOffsets>
HWY_INLINE Vector add_group(Vector sum, WholeVector whole, Vector scale, Vector offset, const RowGroup& row) {
  const Floats d;
  sum = hn::MulAdd(hn::Mul(scale, hn::Set(d, row.scale)), hn::ConvertTo(d, whole), sum);
  if constexpr (kOffsets) sum = hn::MulAdd(offset, hn::Set(d, row.scaled_sum), sum);
  return sum;
}

// The bytes of one group of a panel, [words][2 lanes], and its scales and offsets, [2 lanes].
struct Group {
  static constexpr int kMostQuads = 8;
  HWY_ALIGN int32_t quads[kMostQuads * 2 * hn::MaxLanes(Floats())];
  HWY_ALIGN float scale[2 * hn::MaxLanes(Floats())], offset[2 * hn::MaxLanes(Floats())];
};
template <class Blocks>
void read_group(const uint8_t* block, int group, Group* to) {
  const int64_t lanes = HWY_NAMESPACE::lanes(), cols = 2 * lanes;
  for (int64_t column = 0; column < cols; column += lanes) {
    hn::Store(Blocks::scale(block, group, cols, column), Floats(), to->scale + column);
    if constexpr (kHasOffsets<Blocks>)
      hn::Store(Blocks::offset(block, group, cols, column), Floats(), to->offset + column);
    int32_t* quads = to->quads + column;
    for (int word = group * Blocks::kWords; word < (group + 1) * Blocks::kWords; ++word) {
      WholeVector first, second;
      bytes_of_word<Blocks>(block, word, cols, column, &first, &second);
      hn::Store(first, Whole(), quads);
      if constexpr (kQuads<Blocks> == 2) hn::Store(second, Whole(), quads + cols);
      quads += kQuads<Blocks> * cols;
    }
  }
}

// The differences between types, as data. Together with the counts in the template arguments this is enough for tiles; compiling a tile for
// each type would take twice as long.
struct RoundedType {
  void (*read_group)(const uint8_t* block, int group, Group* to);
  int bytes;     // bytes of a block in one column
  int32_t zero;  // the value of kZeroOf
};
template <class Blocks>
inline constexpr RoundedType kRoundedType = {read_group<Blocks>, Blocks::kBytes, kZeroOf<Blocks>};

// kWordsOfGroup is the number of words of four bytes.
template <int kRows, int kGroups, int kWordsOfGroup, bool kOffsets>
HWY_NOINLINE void rounded_rows(const RoundedType& type, int64_t k, const RoundedBlock* HWY_RESTRICT a, int64_t a_pitch,
                               const uint8_t* HWY_RESTRICT block, float* HWY_RESTRICT c, int64_t c_pitch, bool add,
                               const Prefetch& prefetch) {
  const Floats d;
  const int64_t lanes = HWY_NAMESPACE::lanes(), cols = 2 * lanes;
  const auto read = type.read_group;
  constexpr int kElements = kGroups * kWordsOfGroup * 4;
  const int64_t block_bytes = type.bytes * cols;
  const int32_t zero = type.zero;
  Group group;
  HWY_ALIGN float sums[kRows * 2 * hn::MaxLanes(Floats())];
  for (int64_t i = 0; i < kRows * cols; i += lanes) hn::Store(hn::Zero(d), d, sums + i);
  for (int64_t step = 0; step < k; step += kElements, block += block_bytes) {
    prefetch_block(prefetch, step, kElements);
    for (int g = 0; g < kGroups; ++g) {
      read(block, g, &group);
#define HEED_ROW(i)                                                                         \
  const RowGroup r##i = row_group(a + (i < kRows ? i : 0) * a_pitch, g, 4 * kWordsOfGroup); \
  WholeVector left##i = hn::Set(Whole(), !kOffsets && i < kRows ? -zero * r##i.sum : 0), right##i = left##i;
      HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
      const int32_t* quads = group.quads;
      for (int64_t quad = 0; quad < kWordsOfGroup; ++quad, quads += cols) {
        const WholeVector left = hn::Load(Whole(), quads), right = hn::Load(Whole(), quads + lanes);
#define HEED_ROW(i)                                      \
  if constexpr (i < kRows) {                             \
    const RowBytes x = row_bytes(r##i.bytes + quad * 4); \
    left##i = dot(left##i, left, x);                     \
    right##i = dot(right##i, right, x);                  \
  }
        HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
      }
      const Vector left_scale = hn::Load(d, group.scale), right_scale = hn::Load(d, group.scale + lanes);
      const Vector left_offset = kOffsets ? hn::Load(d, group.offset) : hn::Zero(d);
      const Vector right_offset = kOffsets ? hn::Load(d, group.offset + lanes) : hn::Zero(d);
#define HEED_ROW(i)                                                                                    \
  if constexpr (i < kRows) {                                                                           \
    float* at = sums + i * cols;                                                                       \
    hn::Store(add_group<kOffsets>(hn::Load(d, at), left##i, left_scale, left_offset, r##i), d, at);    \
    at += lanes;                                                                                       \
    hn::Store(add_group<kOffsets>(hn::Load(d, at), right##i, right_scale, right_offset, r##i), d, at); \
  }
      HEED_EACH_ROW(HEED_ROW)
#undef HEED_ROW
    }
    a += kElements / RoundedBlock::kElements;
  }
  for (int64_t i = 0; i < kRows; ++i)
    for (int64_t column = 0; column < cols; column += lanes) {
      Vector sum = hn::Load(d, sums + i * cols + column);
      float* to = c + i * c_pitch + column;
      if (add) sum = hn::Add(sum, hn::LoadU(d, to));
      hn::StoreU(sum, d, to);
    }
}

// A tile of MatmulKernels, whose k is a whole number of blocks, and whose rows are RoundedBlocks.
template <class Blocks, int kRows>
void rounded_tile(int64_t k, const void* HWY_RESTRICT rows, int64_t a_row, int64_t, const void* HWY_RESTRICT panel,
                  float* HWY_RESTRICT c, int64_t c_pitch, bool add, const Prefetch& prefetch) {
  rounded_rows<kRows, Blocks::kGroups, Blocks::kWords * kQuads<Blocks>, kHasOffsets<Blocks>>(
      kRoundedType<Blocks>, k, static_cast<const RoundedBlock*>(rows), a_row / RoundedBlock::kElements,
      static_cast<const uint8_t*>(panel), c, c_pitch, add, prefetch);
}

// Multiplies one row by kThinBlocks panels, like blocks_thin.
template <class Blocks>
void rounded_thin(int64_t k, const void* HWY_RESTRICT row, int64_t, const void* HWY_RESTRICT panels,
                  int64_t panel_pitch, float* HWY_RESTRICT c, bool add) {
  const Floats d;
  const int64_t lanes = HWY_NAMESPACE::lanes(), cols = 2 * lanes;
  const int64_t pitch = panel_pitch / Blocks::kElements * Blocks::kBytes;
  const int64_t ahead = ahead_of_thin(pitch);
  const auto* HWY_RESTRICT a = static_cast<const RoundedBlock*>(row);
  const auto* HWY_RESTRICT first = static_cast<const uint8_t*>(panels);
  const auto* HWY_RESTRICT second = first + pitch;
  Vector s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  const int64_t block_bytes = Blocks::kBytes * cols;
  for (; k > 0; k -= Blocks::kElements, first += block_bytes, second += block_bytes) {
    prefetch_thin(first + ahead, second + ahead, block_bytes);
    for (int g = 0; g < Blocks::kGroups; ++g) {
      const RowGroup own = row_group(a, g, Blocks::kElements / Blocks::kGroups);
      WholeVector w0 = hn::Set(Whole(), -kZeroOf<Blocks> * own.sum), w1 = w0, w2 = w0, w3 = w0;
      const int8_t* bytes = own.bytes;
      for (int word = g * Blocks::kWords; word < (g + 1) * Blocks::kWords; ++word) {
        const RowBytes x = row_bytes(bytes), y = kQuads<Blocks> == 2 ? row_bytes(bytes + 4) : x;
#define HEED_VECTOR(i, block, column)                              \
  {                                                                \
    WholeVector even, odd;                                         \
    bytes_of_word<Blocks>(block, word, cols, column, &even, &odd); \
    w##i = dot(w##i, even, x);                                     \
    if constexpr (kQuads<Blocks> == 2) w##i = dot(w##i, odd, y);   \
  }
        HEED_VECTOR(0, first, 0)
        HEED_VECTOR(1, first, lanes)
        HEED_VECTOR(2, second, 0)
        HEED_VECTOR(3, second, lanes)
#undef HEED_VECTOR
        bytes += 4 * kQuads<Blocks>;
      }
#define HEED_VECTOR(i, block, column)                                                      \
  s##i = add_group<kHasOffsets<Blocks>>(s##i, w##i, Blocks::scale(block, g, cols, column), \
                                        Blocks::offset(block, g, cols, column), own);
      HEED_VECTOR(0, first, 0)
      HEED_VECTOR(1, first, lanes)
      HEED_VECTOR(2, second, 0)
      HEED_VECTOR(3, second, lanes)
#undef HEED_VECTOR
    }
    a += Blocks::kElements / RoundedBlock::kElements;
  }
  store_thin(s0, s1, s2, s3, c, add);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();
#endif  // HEED_HAS_ROUNDED

#endif
