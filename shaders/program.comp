// A program of elementwise functions, whose steps are specialization constants, so that the driver removes all other code. Values are f32,
// or integers, in registers. Memory is accessed as words, so that one module serves all types.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/types.h"
#include "shared/narrow.glsl"
#include "shared/round.glsl"
#include "shared/groups.glsl"
#include "shared/functions.glsl"
#include "shared/program.h"

const uint OUT_TYPE = OPERAND_TYPES >> 24u & 15u;
uint bytes_of(uint type) {
  return type == HEED_TYPE_U8 ? 1u : type == HEED_TYPE_F16 || type == HEED_TYPE_BF16 ? 2u : 4u;
}

// The value of element `at` in the word that contains it, in the form that a step uses.
uint value_of(uint word, uint at, uint type) {
  uint half_word = word >> 16u * (at & 1u) & 0xffffu, byte_of_word = word >> 8u * (at & 3u) & 255u;
  uint from_half = floatBitsToUint(HALVES(half_word).x), from_bfloat = half_word << 16;
  uint value = type == HEED_TYPE_U8 ? byte_of_word : type == HEED_TYPE_F16 ? from_half : type == HEED_TYPE_BF16 ? from_bfloat : word;
  bool is_float = type != HEED_TYPE_U8 && type != HEED_PROGRAM_I32;
  return is_float ? floatBitsToUint(FLUSHED(uintBitsToFloat(value))) : value;
}

#define HEED_INPUT(i)                                                                            \
  layout(set = 0, binding = i) readonly buffer x##i##_Words { uint x##i##_words[]; };            \
  layout(set = 0, binding = i) readonly buffer x##i##_Pairs { uvec2 x##i##_pairs[]; };           \
  layout(set = 0, binding = i) readonly buffer x##i##_Fours { uvec4 x##i##_fours[]; };           \
  uvec4 four_##i(uint at) {                                                                      \
    uint type = OPERAND_TYPES >> 4u * uint(i) & 15u;                                                \
    uvec4 words;                                                                                 \
    if (bytes_of(type) == 4u) words = x##i##_fours[at / 4u];                                     \
    else if (bytes_of(type) == 2u) words = x##i##_pairs[at / 4u].xxyy;                           \
    else words = uvec4(x##i##_words[at / 4u]);                                                   \
    return uvec4(value_of(words.x, 0u, type), value_of(words.y, 1u, type), value_of(words.z, 2u, type), \
                 value_of(words.w, 3u, type));                                                   \
  }                                                                                              \
  uint one_##i(uint at) {                                                                        \
    uint type = OPERAND_TYPES >> 4u * uint(i) & 15u;                                                \
    return value_of(x##i##_words[at / (4u / bytes_of(type))], at, type);                         \
  }
HEED_INPUT(0)
HEED_INPUT(1)
HEED_INPUT(2)
HEED_INPUT(3)
HEED_INPUT(4)
HEED_INPUT(5)
layout(set = 0, binding = 6) buffer result_Words { uint result_words[]; };
layout(set = 0, binding = 6) writeonly buffer result_Pairs { uvec2 result_pairs[]; };
layout(set = 0, binding = 6) writeonly buffer result_Fours { uvec4 result_fours[]; };

const uint FIRST_STRIDE = RANK - 1u, FIRST_NUMBER = FIRST_STRIDE + RANK * (INPUTS + 1u);

// Offsets of an element in the inputs and in the result, which is the last.
void find_places(uint element, out uint at[7]) {
  [[unroll]] for (uint v = 0u; v < 7u; ++v) at[v] = p.offset[v];
  for (uint d = RANK; d-- > 0u;) {
    uint index = element;
    if (d > 0u) {
      index = element % p.words[d - 1u];
      element /= p.words[d - 1u];
    }
    [[unroll]] for (uint v = 0u; v < 6u; ++v)
      if (v < INPUTS) at[v] += index * p.words[FIRST_STRIDE + v * RANK + d];
    at[6] += index * p.words[FIRST_STRIDE + INPUTS * RANK + d];
  }
}

// The values of one element: inputs, then results of steps.
uint values_of_element[HEED_PROGRAM_FIRST_NUMBER];

uint operand_of(uint step, uint shift) {
  uint n = step >> shift & 63u;
  return n < HEED_PROGRAM_FIRST_NUMBER ? values_of_element[n] : p.words[FIRST_NUMBER + n - HEED_PROGRAM_FIRST_NUMBER];
}

uint step_of(uint i) {
  uvec4 four = i < 4u ? uvec4(STEP_0, STEP_1, STEP_2, STEP_3) : i < 8u ? uvec4(STEP_4, STEP_5, STEP_6, STEP_7)
               : i < 12u ? uvec4(STEP_8, STEP_9, STEP_10, STEP_11) : uvec4(STEP_12, STEP_13, STEP_14, STEP_15);
  return (i & 3u) == 0u ? four.x : (i & 3u) == 1u ? four.y : (i & 3u) == 2u ? four.z : four.w;
}

// A driver unrolls this loop after it has inlined apply once: separate calls for 16 steps would be inlined 16 times, even for a program of
// one step.
void take_steps() {
  [[unroll]] for (uint i = 0u; i < STEPS; ++i) {
    uint step = step_of(i);
    values_of_element[HEED_PROGRAM_FIRST_STEP + i] = apply(step, operand_of(step, 8u), operand_of(step, 14u), operand_of(step, 20u));
  }
}

// The bits of the result's element; a float is rounded to its type.
uint as_stored(uint value) {
  float x = uintBitsToFloat(value);
#ifdef CANON
  x = canonical(x);
  uint as_half = half_bits(x);
#else
  uint as_half = packHalf2x16(vec2(round_to_half(x), 0.0));
#endif
  return OUT_TYPE == HEED_TYPE_F16    ? as_half
         : OUT_TYPE == HEED_TYPE_BF16 ? bfloat_bits(x)
         : OUT_TYPE == HEED_TYPE_U8   ? value & 255u
         : OUT_TYPE == HEED_TYPE_F32  ? floatBitsToUint(x)
                                      : value;
}

uint evaluate(uint x0, uint x1, uint x2, uint x3, uint x4, uint x5) {
  values_of_element[0] = x0;
  values_of_element[1] = x1;
  values_of_element[2] = x2;
  values_of_element[3] = x3;
  values_of_element[4] = x4;
  values_of_element[5] = x5;
  take_steps();
  return as_stored(values_of_element[HEED_PROGRAM_FIRST_STEP + STEPS - 1u]);
}

void put_part(uint at, uint value) {
  uint parts = 4u / bytes_of(OUT_TYPE), width = 32u / parts, shift = width * (at & parts - 1u);
  if (parts == 1u) {
    result_words[at] = value;
    return;
  }
  atomicAnd(result_words[at / parts], ~((0xffffffffu >> 32u - width) << shift));
  atomicOr(result_words[at / parts], value << shift);
}

void put_four(uint at, uvec4 values) {
  if (bytes_of(OUT_TYPE) == 4u)
    result_fours[at / 4u] = values;
  else if (bytes_of(OUT_TYPE) == 2u)
    result_pairs[at / 4u] = values.xz | values.yw << 16;
  else
    result_words[at / 4u] = values.x | values.y << 8 | values.z << 16 | values.w << 24;
}

void main() {
  uint first = (workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x) * 4u;
  if (first >= p.elements) return;
  uint at[7];
  uvec4 x0 = uvec4(0u), x1 = x0, x2 = x0, x3 = x0, x4 = x0, x5 = x0, values = x0, places = x0;
  if (VEC4) {
    find_places(first, at);
    if (INPUTS > 0u) x0 = four_0(at[0]);
    if (INPUTS > 1u) x1 = four_1(at[1]);
    if (INPUTS > 2u) x2 = four_2(at[2]);
    if (INPUTS > 3u) x3 = four_3(at[3]);
    if (INPUTS > 4u) x4 = four_4(at[4]);
    if (INPUTS > 5u) x5 = four_5(at[5]);
  } else {
    for (uint c = 0u; c < 4u; ++c) {
      // Past the end the last element is read again.
      find_places(min(first + c, p.elements - 1u), at);
      places[c] = at[6];
      if (INPUTS > 0u) x0[c] = one_0(at[0]);
      if (INPUTS > 1u) x1[c] = one_1(at[1]);
      if (INPUTS > 2u) x2[c] = one_2(at[2]);
      if (INPUTS > 3u) x3[c] = one_3(at[3]);
      if (INPUTS > 4u) x4[c] = one_4(at[4]);
      if (INPUTS > 5u) x5[c] = one_5(at[5]);
    }
  }
  for (uint c = 0u; c < 4u; ++c) values[c] = evaluate(x0[c], x1[c], x2[c], x3[c], x4[c], x5[c]);
  if (VEC4) {
    put_four(at[6], values);
    return;
  }
  uint count = min(p.elements - first, 4u);
  bool whole = count == 4u && (places.x & 3u) == 0u && places.y == places.x + 1u && places.z == places.x + 2u &&
               places.w == places.x + 3u;
  if (whole && bytes_of(OUT_TYPE) < 4u) {
    put_four(places.x, values);
    return;
  }
  for (uint c = 0u; c < count; ++c) put_part(places[c], values[c]);
}
