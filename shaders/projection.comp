// Projections of few rows, as in a decoding step; see shared/projection.h. The time is that of reading the weights: every element is read
// once, 16 bytes at once. One workgroup computes COLUMNS columns of all rows, and its invocations divide k. For a gated pair half of the
// columns belong to each weight; with rotary they are whole pairs.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/row_scale.glsl"
#include "shared/activation.glsl"
#include "shared/turn.glsl"
#include "shared/projection.h"

layout(set = 0, binding = 0) readonly buffer X16 { uvec4 x16[]; };
layout(set = 0, binding = 1) readonly buffer Weights16 { uvec4 w16[]; };
HEED_OPERAND(1, vectors)  // gamma, beta and biases
layout(set = 0, binding = 2) readonly buffer Positions { int positions[]; };
layout(set = 0, binding = 3) readonly buffer Table { uint table[]; };
layout(set = 0, binding = 4) buffer Out { uint result[]; };
layout(set = 0, binding = 5) buffer Out1 { uint result1[]; };
layout(set = 0, binding = 6) buffer Out2 { uint result2[]; };
layout(set = 0, binding = 7) buffer Faults { uint faults; };

bool has(uint flag) { return (FLAGS & flag) != 0u; }
const bool NORM = (FLAGS & HEED_PROJECTION_NORM) != 0u;
const bool MEAN = (FLAGS & HEED_PROJECTION_MEAN) != 0u;  // LayerNorm, whose mean and deviation are computed before the
                                                         // matmuls
const bool ROOT = NORM && !MEAN;
const bool GATED = (FLAGS & HEED_PROJECTION_GATED) != 0u;
const bool PLACES = (FLAGS & 7u * HEED_PROJECTION_PLACED) != 0u;  // whether any result is placed, tested at once so that compilers can fold
                                                                  // it

#ifdef SUBGROUPS
const uint INVOCATIONS = gl_WorkGroupSize.x;
#else
const uint INVOCATIONS = 128;
#endif
const uint WIDTH = B_WIDE ? 4u : 8u;  // elements in 16 bytes of a weight
const uint FOURS = WIDTH / 4u;

const uint HALF = COLUMNS / 2u;
const uint COUNT = BM * (COLUMNS + (ROOT ? 1u : 0u));  // the sums of squares come last
float sums[COUNT];
#include "shared/add_sums.glsl"

// Eight elements, of which the first FOURS groups of four are used.
struct Wide {
  vec4 fours[2];
};

// WIDTH elements from `at` on, a multiple of WIDTH, of a buffer of the rows' type.
#define HEED_WIDE(name, buffer16)                                                                              \
  Wide name(uint at) {                                                                                         \
    Wide wide;                                                                                                 \
    if (A_WIDE) {                                                                                              \
      [[unroll]] for (uint c = 0u; c < FOURS; ++c) wide.fours[c] = uintBitsToFloat(buffer16[at / 4u + c]);    \
    } else {                                                                                                   \
      wide = widen_wide(buffer16[at / 8u], A_IS_BFLOAT);                                                       \
    }                                                                                                          \
    return wide;                                                                                               \
  }
Wide widen_wide(uvec4 bits, bool bfloat) {
  Wide wide;
  wide.fours[0] = widen(bits.xy, bfloat);
  wide.fours[1] = widen(bits.zw, bfloat);
  return wide;
}
HEED_WIDE(wide_x, x16)
#ifndef BLOCKS
HEED_WIDE(wide_vector, w16)

Wide wide_weight(uint at) {
  Wide wide;
  if (B_WIDE) wide.fours[0] = uintBitsToFloat(w16[at / 4u]);
  else wide = widen_wide(w16[at / 8u], has(HEED_PROJECTION_B_BFLOAT));
  return wide;
}
#endif

// COLUMNS columns of one result, or half as many of each result of a gated pair.
struct Tile {
  uint part, at;
};

Tile tile_of(uint index) {
  if (index >= THIRD) return Tile(2u, index - THIRD);
  if (index >= SECOND) return Tile(1u, index - SECOND);
  return Tile(0u, index);
}

bool turns(uint part) { return has(HEED_PROJECTION_TURNED << part); }

// The column of a tile's sum c, in the weight that part_of returns. The elements of a rotary pair are HALF sums apart if they are PAIRS
// apart.
uint column_of(Tile t, uint c) {
  if (GATED) return t.at * HALF + c % HALF;
  if (!turns(t.part) || !has(HEED_PROJECTION_HALVES)) return t.at * COLUMNS + c;
  uint head = t.at / (HEAD / COLUMNS) * HEAD, within = t.at % (HEAD / COLUMNS);
  if (within >= PAIRS / HALF) return head + within * COLUMNS + c;
  return head + within * HALF + c % HALF + (c < HALF ? 0u : PAIRS);
}
uint part_of(Tile t, uint c) { return GATED ? c / HALF : t.part; }

// Rows past the end repeat the last one, and are not stored.
uint row_at(uint i) {
  uint row = min(i, p.rows - 1u);
  return p.offset[0] + row / p.tokens * p.x_b + row % p.tokens * p.x_s;
}

// The numbers of a row's norm. RMSNorm: only the power of two for rows whose squares would overflow or underflow f32, which the results
// need, too. LayerNorm, as in norm.comp: the mean, that power, the rounding error of the mean, and 1 / deviation.
vec4 norms[BM];
shared float sh_scales[BM];

struct Walk {
  vec4 sum, squares;
  uvec4 largest;  // bits of the largest magnitudes of unscaled differences
};

// This invocation's partial sums of (x - shift) * scale over row i.
Walk walk_row(uint i, float shift, float scale) {
  Walk walk = Walk(vec4(0.0), vec4(0.0), uvec4(NEAR_ROOT_BITS(EPS)));
  for (uint k = lane() * WIDTH; k < K; k += INVOCATIONS * WIDTH) {
    Wide values = wide_x(row_at(i) + k);
    [[unroll]] for (uint c = 0u; c < FOURS; ++c) {
      vec4 difference = values.fours[c];
      if (MEAN) difference = SUBTRACT_FIRST(difference, shift);
      walk.largest = larger_magnitudes(walk.largest, difference);
      difference = MULTIPLY_FIRST(difference, scale);
      walk.sum += difference;
      walk.squares += difference * difference;
    }
  }
  return walk;
}

float row_mean(vec4 sum) { return row_sum(sum.x + sum.y + sum.z + sum.w) / float(K); }

void measure_rows() {
  [[unroll]] for (uint i = 0u; i < BM; ++i) {
    float shift = MEAN ? wide_x(row_at(i)).fours[0].x : 0.0;
    Walk walk = walk_row(i, shift, 1.0);
    norms[i].y = row_scale(walk.largest);
    if (MEAN) {
      norms[i].x = shift + row_mean(walk.sum);
      walk = walk_row(i, norms[i].x, norms[i].y);
      norms[i].z = row_mean(walk.sum);
      float variance = max(row_mean(walk.squares) - norms[i].z * norms[i].z, 0.0);
      norms[i].w = inversesqrt(variance + scaled_twice(EPS, norms[i].y));
    } else if (lane() == 0u) {
      sh_scales[i] = norms[i].y;
    }
  }
}

// Normalized elements of row i. With RMSNorm their squares are added up here, and results are multiplied by the inverse root at the end.
vec4 normalized(vec4 x, uint i) {
  vec4 norm = norms[i];
  if (MEAN) return MULTIPLY_FIRST(SUBTRACT_FIRST(x, norm.x) * norm.y - norm.z, norm.w);
  if (ROOT) {
    x = MULTIPLY_FIRST(x, norm.y);
    sums[BM * COLUMNS + i] += dot(x, x);
  }
  return x;
}

#ifdef BLOCKS
#include "shared/projection_blocks.h"
layout(set = 0, binding = 1) readonly buffer Words1 { uint w1[]; };
#define HEED_BLOCK_WORD(at) w1[at]
#define HEED_BLOCK_WORDS(at) w16[(at) / 4u]
#include "shared/blocks.glsl"

// Four elements from `at` on, a multiple of 4.
layout(set = 0, binding = 0) readonly buffer X8 { uvec2 x8[]; };
layout(set = 0, binding = 1) readonly buffer Vectors8 { uvec2 vectors8[]; };
#define HEED_FOUR(name, buffer16, buffer8)                    \
  vec4 name(uint at) {                                        \
    vec4 four;                                                \
    if (A_WIDE) four = uintBitsToFloat(buffer16[at / 4u]);    \
    else four = widen(buffer8[at / 4u], A_IS_BFLOAT);         \
    return four;                                              \
  }
HEED_FOUR(four_of_x, x16, x8)
HEED_FOUR(four_of_vector, w16, vectors8)

// Weights begin at multiples of 16 bytes, the unit of p.weight.
Blocks blocks_of(uint part) {
  return Blocks(p.weight[part] * 4u, part == 0u ? COUNT_0 : part == 1u ? COUNT_1 : COUNT_2);
}
uint first_block_of(uint part) { return part == 0u ? FIRST_0 : part == 1u ? FIRST_1 : FIRST_2; }

// Each invocation reads RUN eights (shared/blocks.glsl) of each column at a time. A run of four lies in one block.
void sum_blocks(Tile t, uint type) {
  uint elements = block_elements(type), eights = elements / 8u;
  for (uint eight = lane() * RUN; eight * 8u < K; eight += INVOCATIONS * RUN) {
    uint v = eight % eights, k0 = (eight - v) * 8u;
    uint blocks[COLUMNS];
    Words right[COLUMNS];
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
      uint part = part_of(t, j);
      blocks[j] = first_block_of(part) + (column_of(t, j) * K + k0) / elements;
      right[j] = read_words(type, blocks_of(part), blocks[j], v, RUN == 4u, true);
    }
    [[unroll]] for (uint q = 0u; q < RUN; ++q) {
      uvec2 place = k0 + place_of_eight(type, v + q);
      [[unroll]] for (uint half_of = 0u; half_of < 2u; ++half_of) {
        vec4 values[COLUMNS];
        [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) values[j] = widen_four(type, right[j], blocks[j], v, q, half_of);
        vec4 gamma = vec4(1.0), beta = vec4(0.0);
        if (has(HEED_PROJECTION_GAMMA)) gamma = four_of_vector(p.gamma + place[half_of]);
        if (has(HEED_PROJECTION_BETA)) beta = four_of_vector(p.offset[1] + place[half_of]);
        [[unroll]] for (uint i = 0u; i < BM; ++i) {
          vec4 left = normalized(four_of_x(row_at(i) + place[half_of]), i);
          if (has(HEED_PROJECTION_GAMMA)) left *= gamma;
          if (has(HEED_PROJECTION_BETA)) left += beta;
          [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) sums[i * COLUMNS + j] += dot(left, values[j]);
        }
      }
    }
  }
}

// Weights of a pass may differ in type, except in a gated pair.
void sum(Tile t) {
  if (t.part == 0u || (TYPE_1 == TYPE_0 && TYPE_2 == TYPE_0)) sum_blocks(t, TYPE_0);
  else if (t.part == 1u || TYPE_2 == TYPE_1) sum_blocks(t, TYPE_1);
  else sum_blocks(t, TYPE_2);
}
#else
void sum(Tile t) {
  uint from[COLUMNS];
  [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) from[j] = p.weight[part_of(t, j)] + column_of(t, j) * K;
  for (uint k = lane() * WIDTH; k < K; k += INVOCATIONS * WIDTH) {
    Wide right[COLUMNS];
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) right[j] = wide_weight(from[j] + k);
    Wide gamma, beta;
    if (has(HEED_PROJECTION_GAMMA)) gamma = wide_vector(p.gamma + k);
    if (has(HEED_PROJECTION_BETA)) beta = wide_vector(p.offset[1] + k);
    [[unroll]] for (uint i = 0u; i < BM; ++i) {
      Wide left = wide_x(row_at(i) + k);
      [[unroll]] for (uint c = 0u; c < FOURS; ++c) {
        left.fours[c] = normalized(left.fours[c], i);
        if (has(HEED_PROJECTION_GAMMA)) left.fours[c] *= gamma.fours[c];
        if (has(HEED_PROJECTION_BETA)) left.fours[c] += beta.fours[c];
        [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) sums[i * COLUMNS + j] += dot(left.fours[c], right[j].fours[c]);
      }
    }
  }
}
#endif

// The matmul's result for row i and sum c, before rotary or gate.
float product(Tile t, uint i, uint c) {
  float value = total(i * COLUMNS + c);
  if (ROOT)
    value *= inversesqrt(total(BM * COLUMNS + i) / float(K) + scaled_twice(EPS, sh_scales[i]));
  uint part = part_of(t, c);
  if (has(HEED_PROJECTION_BIAS << part)) value += one_vectors(p.bias[part] + column_of(t, c));
  return value;
}

int position_of(uint b, uint s) {
  if (!has(HEED_PROJECTION_POSITIONS)) return int(p.first + s);
  return positions[p.offset[2] + b * p.position_b + s * p.position_s];
}

// The element of sum c after rotating its pair.
float turned(Tile t, uint i, uint c, uint b, uint s) {
  uint column = column_of(t, c) % HEAD;
  float own = product(t, i, c);
  if (column >= 2u * PAIRS) return own;
  uint apart = has(HEED_PROJECTION_HALVES) ? HALF : 1u;
  uint pair = has(HEED_PROJECTION_HALVES) ? column % PAIRS : column / 2u;
  vec2 cos_sin = turn(angle_of(position_of(b, s), uvec2(table[p.offset[3] + 2u * pair], table[p.offset[3] + 2u * pair + 1u])));
  float other = product(t, i, c ^ apart);
  return (c & apart) == 0u ? own * cos_sin.x - other * cos_sin.y : own * cos_sin.x + other * cos_sin.y;
}

// Results may have two bytes with rows of f32. They are few, so each is written separately.
#define HEED_STORE(words, at, value)                                                                           \
  {                                                                                                            \
    if (OUT_WIDE && !has(HEED_PROJECTION_NARROWED << part)) words[at] = floatBitsToUint(value);                \
    else HEED_PUT_TWO_BYTES(words, at, narrowed(value, OUT_WIDE ? has(HEED_PROJECTION_NARROW_BFLOAT) : OUT_IS_BFLOAT)) \
  }
void store(uint part, uint at, float value) {
  if (part == 0u) HEED_STORE(result, p.offset[4] + at, value)
  else if (part == 1u) HEED_STORE(result1, p.offset[5] + at, value)
  else HEED_STORE(result2, p.offset[6] + at, value)
}

void finish(Tile t, uint i, uint c) {
  uint b = i / p.tokens, s = i % p.tokens;
  uint column = column_of(t, c);
  uint row = s;
  if (PLACES && has(HEED_PROJECTION_PLACED << t.part)) {
    int place = position_of(b, s);
    if (place < 0) return;
    if (uint(place) >= p.room) {
      atomicOr(faults, 1u);
      return;
    }
    row = uint(place);
  }
  uint at = b * p.out_b[t.part] + row * p.out_s[t.part] + column / HEAD * p.out_head[t.part] + column % HEAD;
  if (GATED) {
    if (c < HALF) store(0u, at, activate(ACTIVATION, product(t, i, c)) * product(t, i, c + HALF));
  } else {
    store(t.part, at, turns(t.part) ? turned(t, i, c, b, s) : activate(ACTIVATION, product(t, i, c)));
  }
}

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  Tile t = tile_of(index);
  [[unroll]] for (uint v = 0u; v < COUNT; ++v) sums[v] = 0.0;
  if (NORM) measure_rows();
  sum(t);
  add_sums();
  uint v = lane(), count = min(BM, p.rows) * COLUMNS;
  if (BM * COLUMNS > INVOCATIONS) {
    for (; v < count; v += INVOCATIONS) finish(t, v / COLUMNS, v % COLUMNS);
  } else if (v < count) {
    finish(t, v / COLUMNS, v % COLUMNS);
  }
}
