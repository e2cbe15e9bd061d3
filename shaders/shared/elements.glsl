// Element types in memory: f32; or f16 or bf16, two to a word. A specialization constant selects the types of operands and results. Memory
// is accessed as words, so that a module serves all types and devices need no 16-bit storage. Arithmetic is always f32.
//
//   HEED_OPERAND(0, x)      one_x(at): element `at` of what binding 0 holds
//   HEED_OPERAND4(0, x)     four_x(at), too: elements at .. at + 3, `at` a multiple of 4
//   HEED_RESULT(1, y)       put_y(at, value)
//                           put_two_y(at, next, first, second, values): values.x at `at`, if `first`, and values.y at `next`, if
//                           `second`
//   HEED_RESULT4(1, y)      put_four_y(at, values), too, where `at` is a multiple of 4; and put_some_y(at, count, values), which
//                           writes the first `count` wherever they go
//
// Elements of two bytes that share a word may have different writers. A single element is written by clearing and then setting its bits,
// which does not change the other half. That takes two atomic operations, so kernels write neighbours together: see EACH. With TWO_BYTES
// results have two bytes, and 16-bit storage is used to read and write; with FOUR_BYTES results are f32.
#extension GL_EXT_control_flow_attributes : require
#ifndef HEED_ELEMENTS_GLSL
#define HEED_ELEMENTS_GLSL
#include "types.h"
#ifdef TWO_BYTES
#extension GL_EXT_shader_16bit_storage : require
#endif
#include "narrow.glsl"
#include "round.glsl"

layout(constant_id = HEED_TYPES_CONSTANT) const uint TYPES = 0u;
const uint A_TYPE = TYPES & 255u, OUT_TYPE = TYPES >> 8u & 255u, B_TYPE = TYPES >> 16u & 255u;
const bool A_WIDE = A_TYPE == HEED_TYPE_F32, B_WIDE = B_TYPE == HEED_TYPE_F32;
#ifdef FOUR_BYTES
#define OUT_WIDE true
#else
const bool OUT_WIDE = OUT_TYPE == HEED_TYPE_F32;
#endif
const bool A_IS_BFLOAT = A_TYPE == HEED_TYPE_BF16, OUT_IS_BFLOAT = OUT_TYPE == HEED_TYPE_BF16;
// Shifts an element's index to that of its word.
const uint A_SHIFT = A_WIDE ? 0u : 1u, B_SHIFT = B_WIDE ? 0u : 1u;

// The number of neighbours that an invocation computes if a row's elements are contiguous in the result: those that share a word. A row may
// begin in the middle of a word.
#if defined(TWO_BYTES) || defined(FOUR_BYTES)
#define EACH 1u
#else
const uint EACH = OUT_WIDE ? 1u : 2u;
#endif
uint skipped(uint row) { return EACH == 1u ? 0u : row & 1u; }

// Element `at` of the word that contains it. Does not branch: see widen.
float element_of(uint word, uint at, bool wide_word, bool bfloat) {
  float wide = uintBitsToFloat(word);
  uint own = word >> (16u * (at & 1u));
  float from_half = HALVES(own).x;
  float from_bfloat = uintBitsToFloat(own << 16);
  float narrow = bfloat ? from_bfloat : from_half;
  return FLUSHED(wide_word ? wide : narrow);
}

// The value as two bytes.
uint narrowed(float value, bool bfloat) {
#ifdef CANON
  float stored = canonical(value);
  uint half_word = half_bits(stored), bfloat_word = bfloat_bits(stored);
#else
  uint half_word = packHalf2x16(vec2(round_to_half(value), 0.0)), bfloat_word = bfloat_bits(value);
#endif
  return bfloat ? bfloat_word : half_word;
}
// Two elements of a result as a word.
uint narrowed(vec2 values) {
#ifdef CANON
  return narrowed(values.x, OUT_IS_BFLOAT) | narrowed(values.y, OUT_IS_BFLOAT) << 16;
#else
  uint half_word = packHalf2x16(vec2(round_to_half(values.x), round_to_half(values.y)));
  uint bfloat_word = bfloat_bits(values.x) | bfloat_bits(values.y) << 16;
  return OUT_IS_BFLOAT ? bfloat_word : half_word;
#endif
}

#ifdef TWO_BYTES
#define HEED_OPERAND_OF(place, name, WIDE, SHIFT, BFLOAT)                                                   \
  layout(set = 0, binding = place) readonly buffer name##_Words { uint name##_words[]; };                   \
  layout(set = 0, binding = place) readonly buffer name##_Halves { uint16_t name##_halves[]; };             \
  float one_##name(uint at) {                                                                               \
    float one;                                                                                              \
    if (WIDE) one = element_of(name##_words[at], at, true, false);                                          \
    else one = element_of(uint(name##_halves[at]), 0u, false, BFLOAT);                                      \
    return one;                                                                                             \
  }
#else
#define HEED_OPERAND_OF(place, name, WIDE, SHIFT, BFLOAT)                                                   \
  layout(set = 0, binding = place) readonly buffer name##_Words { uint name##_words[]; };                   \
  float one_##name(uint at) { return element_of(name##_words[at >> SHIFT], at, WIDE, BFLOAT); }
#endif
#define HEED_OPERAND4_OF(place, name, WIDE, SHIFT, BFLOAT)                                                  \
  HEED_OPERAND_OF(place, name, WIDE, SHIFT, BFLOAT)                                                         \
  layout(set = 0, binding = place) readonly buffer name##_Pairs { uvec2 name##_pairs[]; };                  \
  layout(set = 0, binding = place) readonly buffer name##_Fours { vec4 name##_fours[]; };                   \
  vec4 four_##name(uint at) {                                                                               \
    vec4 four;                                                                                              \
    if (WIDE) four = name##_fours[at / 4u];                                                                 \
    else four = widen(name##_pairs[at / 4u], BFLOAT);                                                       \
    return FLUSHED(four);                                                                                   \
  }
// row_x(at, d, size): elements d .. d + 3 of a row of `size`, a constant, that starts at `at`; zeros from `size` on. The loads of their
// words, at most four, are issued together.
#define HEED_OPERAND_ROW(name, WIDE, SHIFT, BFLOAT)                                                         \
  vec4 row_##name(uint at, uint d, uint size) {                                                             \
    vec4 x = vec4(0.0);                                                                                     \
    if (d < size) {                                                                                         \
      bool whole = size % 4u == 0u;                                                                         \
      at += d;                                                                                              \
      uint left = min(size - d, 4u), first = at >> SHIFT, last = (at + (whole ? 4u : left) - 1u) >> SHIFT;  \
      uint second = whole ? first + 1u : min(first + 1u, last);                                             \
      uint third = whole ? first + 2u : min(first + 2u, last);                                              \
      if (!WIDE) third = last;                                                                              \
      uvec4 words = uvec4(name##_words[first], name##_words[second], name##_words[third], name##_words[last]); \
      uvec2 pairs = (at & 1u) == 0u ? words.xy : words.xy >> 16 | words.yw << 16;                           \
      vec4 wide = uintBitsToFloat(words), narrow = widen(pairs, BFLOAT);                                    \
      x = FLUSHED(WIDE ? wide : narrow);                                                                    \
      [[unroll]] for (uint c = 1u; c < 4u; ++c) x[c] = whole || c < left ? x[c] : 0.0;                      \
    }                                                                                                       \
    return x;                                                                                               \
  }
#define HEED_OPERAND(place, name) HEED_OPERAND_OF(place, name, A_WIDE, A_SHIFT, A_IS_BFLOAT)
#define HEED_OPERAND4(place, name) HEED_OPERAND4_OF(place, name, A_WIDE, A_SHIFT, A_IS_BFLOAT)

// Writes element `at` of two bytes without changing its neighbour.
#define HEED_PUT_TWO_BYTES(words, at, bits)                                  \
  {                                                                          \
    uint shift = 16u * ((at) & 1u);                                          \
    atomicAnd(words[(at) / 2u], 0xffff0000u >> shift);                       \
    atomicOr(words[(at) / 2u], (bits) << shift);                             \
  }

#ifdef TWO_BYTES
#define HEED_RESULT(place, name)                                                                             \
  layout(set = 0, binding = place) writeonly buffer name##_Halves { uint16_t name##_halves[]; };             \
  void put_##name(uint at, float value) { name##_halves[at] = uint16_t(narrowed(value, OUT_IS_BFLOAT)); }    \
  void put_two_##name(uint at, uint next, bool first, bool second, vec2 values) {                            \
    if (first) put_##name(at, values.x);                                                                     \
    if (second) put_##name(next, values.y);                                                                  \
  }
#else
#define HEED_RESULT(place, name)                                                            \
  layout(set = 0, binding = place) buffer name##_Words { uint name##_words[]; };            \
  void put_##name(uint at, float value) {                                                   \
    if (OUT_WIDE) name##_words[at] = floatBitsToUint(STORED(value));                        \
    else HEED_PUT_TWO_BYTES(name##_words, at, narrowed(value, OUT_IS_BFLOAT))               \
  }                                                                                         \
  void put_two_##name(uint at, uint next, bool first, bool second, vec2 values) {           \
    if (OUT_WIDE) {                                                                         \
      if (first) name##_words[at] = floatBitsToUint(STORED(values.x));                      \
      if (second) name##_words[next] = floatBitsToUint(STORED(values.y));                   \
    } else {                                                                                \
      uint word = narrowed(values);                                                         \
      if (first && second && next == at + 1u && (at & 1u) == 0u) {                          \
        name##_words[at / 2u] = word;                                                       \
      } else {                                                                              \
        if (first) HEED_PUT_TWO_BYTES(name##_words, at, word & 0xffffu)                     \
        if (second) HEED_PUT_TWO_BYTES(name##_words, next, word >> 16)                      \
      }                                                                                     \
    }                                                                                       \
  }
#endif
#ifdef TWO_BYTES
#define HEED_RESULT4(place, name)                                                         \
  HEED_RESULT(place, name)                                                                \
  layout(set = 0, binding = place) writeonly buffer name##_Pairs { uvec2 name##_pairs[]; }; \
  void put_four_##name(uint at, vec4 values) {                                            \
    name##_pairs[at / 4u] = uvec2(narrowed(values.xy), narrowed(values.zw));              \
  }                                                                                       \
  void put_some_##name(uint at, uint count, vec4 values) {                                \
    [[unroll]] for (uint c = 0u; c < 4u; ++c)                                             \
      if (c < count) put_##name(at + c, values[c]);                                       \
  }
#else
#define HEED_RESULT4(place, name)                                                         \
  HEED_RESULT(place, name)                                                                \
  layout(set = 0, binding = place) writeonly buffer name##_Pairs { uvec2 name##_pairs[]; }; \
  layout(set = 0, binding = place) writeonly buffer name##_Fours { vec4 name##_fours[]; }; \
  void put_four_##name(uint at, vec4 values) {                                            \
    if (OUT_WIDE) name##_fours[at / 4u] = STORED(values);                                 \
    else name##_pairs[at / 4u] = uvec2(narrowed(values.xy), narrowed(values.zw));                         \
  }                                                                                                       \
  void put_some_##name(uint at, uint count, vec4 values) {                                                \
    if (OUT_WIDE) {                                                                                       \
      [[unroll]] for (uint c = 0u; c < 4u; ++c)                                                           \
        if (c < count) name##_words[at + c] = floatBitsToUint(STORED(values[c]));                         \
    } else {                                                                                              \
      uvec2 words = uvec2(narrowed(values.xy), narrowed(values.zw));                                      \
      if (count >= 4u && (at & 3u) == 0u) {                                                               \
        name##_pairs[at / 4u] = words;                                                                    \
      } else {                                                                                            \
        [[unroll]] for (uint c = 0u; c < 4u; ++c)                                                         \
          if (c < count) HEED_PUT_TWO_BYTES(name##_words, at + c, words[c / 2u] >> 16u * (c & 1u) & 0xffffu) \
      }                                                                                                   \
    }                                                                                                     \
  }
#endif
#endif
