// Philox4x32-10 (base/philox.hpp) on vectors: one block of four words per lane. Included once per instruction set
// (see Highway's foreach_target.h).
#if defined(HEED_CPU_PHILOX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_CPU_PHILOX_INL
#undef HEED_CPU_PHILOX_INL
#else
#define HEED_CPU_PHILOX_INL
#endif

#include <cstdint>

#include "base/philox.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<uint32_t>;
using WordVector = hn::Vec<Words>;

inline constexpr size_t kPhiloxMaxWords = 4 * hn::MaxLanes(Words());

// The number of words from one call of philox_blocks.
HWY_INLINE int64_t philox_words() { return static_cast<int64_t>(4 * hn::Lanes(Words())); }

// The upper and lower halves of a * multiplier in each lane.
HWY_INLINE void multiply_wide(WordVector a, uint32_t multiplier, WordVector* high, WordVector* low) {
  const Words d;
#if HWY_TARGET == HWY_SCALAR
  const uint64_t product = uint64_t{hn::GetLane(a)} * multiplier;
  *high = hn::Set(d, static_cast<uint32_t>(product >> 32));
  *low = hn::Set(d, static_cast<uint32_t>(product));
#else
  const hn::RepartitionToWide<Words> wide;
  const WordVector by = hn::Set(d, multiplier);
  const auto even = hn::MulEven(a, by);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), by);
  *high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  *low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
#endif
}

// The four words of the blocks whose 64-bit indices have these halves.
HWY_INLINE void philox(uint32_t seed, uint32_t stream, WordVector low, WordVector high, WordVector* w0, WordVector* w1,
                       WordVector* w2, WordVector* w3) {
  const Words d;
  WordVector c0 = low, c1 = high, c2 = hn::Zero(d), c3 = hn::Zero(d);
  for (int round = 0; round < 10; ++round) {
    WordVector a_high, a_low, b_high, b_low;
    multiply_wide(c0, 0xD2511F53u, &a_high, &a_low);
    multiply_wide(c2, 0xCD9E8D57u, &b_high, &b_low);
    c0 = hn::Xor(hn::Xor(b_high, c1), hn::Set(d, seed));
    c1 = b_low;
    c2 = hn::Xor(hn::Xor(a_high, c3), hn::Set(d, stream));
    c3 = a_low;
    seed += 0x9E3779B9u;
    stream += 0xBB67AE85u;
  }
  *w0 = c0, *w1 = c1, *w2 = c2, *w3 = c3;
}

// Writes the words of blocks first, first + 1, ... in order: philox_words() of them.
HWY_INLINE void philox_blocks(uint32_t seed, uint32_t stream, uint64_t first, uint32_t* words) {
  const Words d;
  const WordVector start = hn::Set(d, static_cast<uint32_t>(first));
  const WordVector low = hn::Add(start, hn::Iota(d, 0));
  // If the lower half has overflowed, the upper half is one more.
  const WordVector carry = hn::IfThenElseZero(hn::Lt(low, start), hn::Set(d, 1));
  const WordVector high = hn::Add(hn::Set(d, static_cast<uint32_t>(first >> 32)), carry);
  WordVector w0, w1, w2, w3;
  philox(seed, stream, low, high, &w0, &w1, &w2, &w3);
  hn::StoreInterleaved4(w0, w1, w2, w3, d, words);
}

}  // namespace HWY_NAMESPACE
}  // namespace heed::cpu
HWY_AFTER_NAMESPACE();

#endif
