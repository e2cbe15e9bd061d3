// Fused attention on matrix units (VK_KHR_cooperative_matrix), with the online softmax of attention.comp; see shared/attention.h.
//
// A workgroup is a grid of WAVES_M x WAVES_N subgroups. The subgroups of a grid row share WM queries: each computes the logits of BN of a
// tile's BK keys, and some columns of the outputs. Fragments are MS x NS x KS, a size that the device supports. Vulkan does not define
// which invocation holds which element of a fragment, so logits pass through shared memory to the softmax, and weights back to the matrix
// units, in f16 or as two summands of bf16.
//
// If operands are aligned, the next tile's keys and values are loaded into registers while a tile is multiplied, and no load is inside a
// branch.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#define LONGEST_FIRST
#define TWO_BYTES
#include "shared/attention.glsl"
#include "shared/strange_values.glsl"
#include "shared/subgroup_sync.glsl"
#include "shared/attention_matrix.h"
#ifdef A_BFLOAT
const uint TERMS = 2u;  // a weight is the sum of so many
#else
const uint TERMS = 1u;
#endif
#include "shared/attention_matrix_memory.inc"

// Operands as stored, f16 or bf16, as 16 bits, and as vectors of 16 bytes.
layout(set = 0, binding = 0) readonly buffer QueryBits { uint16_t q_bits[]; };
layout(set = 0, binding = 1) readonly buffer KeyBits { uint16_t k_bits[]; };
layout(set = 0, binding = 2) readonly buffer ValueBits { uint16_t v_bits[]; };
layout(set = 0, binding = 0) readonly buffer Query16 { uvec4 q16[]; };
layout(set = 0, binding = 1) readonly buffer Key16 { uvec4 k16[]; };
layout(set = 0, binding = 2) readonly buffer Value16 { uvec4 v16[]; };
layout(set = 0, binding = 6) writeonly buffer OutFours { uvec2 result_fours[]; };

// Whether all operands can be read 16 bytes at once.
const bool WHOLE = (FLAGS & HEED_ATTENTION_VEC4) != 0u;

const uint BN = BK / WAVES_N;  // keys of a subgroup
const uint FM = WM / MS;       // fragments of one subgroup
const uint FK = K_PADDED / KS;
const uint FB = BN / NS;
const uint FN = V_PADDED / WAVES_N / NS;
const uint ALL_KEYS = 0xffffffffu >> (32u - BK);  // one bit for each key of a tile

// Sizes of the softmax:
const uint ROWS = WM / WAVES_N;                           // rows of a subgroup
const uint ROW_LANES = LANES > ROWS ? LANES / ROWS : 1u;  // lanes that share a row
const uint ROWS_AT_ONCE = LANES / ROW_LANES;
const uint ROWS_EACH = ROWS / ROWS_AT_ONCE;  // rows of a lane
const uint VECS = BK / 4u / ROW_LANES;       // groups of four logits of a lane in each row
float shift[ROWS_EACH], shrink[ROWS_EACH], total[ROWS_EACH];  // shrink: factor by which the last tile rescales the sums

// A weight is 2 to the power of (logit - shift) times a unit. The shift of a row is its largest logit, or up to SLACK powers of two
// smaller, so that most tiles do not rescale the sums.
const float SLACK = 8.0;
// Weights are multiplied by this, since the smallest would be subnormal or 0 in f16. Sums are divided by it again.
#ifdef A_BFLOAT
const float ONE = 1.0;
#else
const float ONE = 128.0;  // 2^SLACK times this is the largest
#endif
const float LOG2_E = 1.442695041;

// Whether logits stay as the matrix units computed them, and are scaled only inside the exponential.
bool is_unscaled() { return !has(HEED_SOFTMAX_BIAS) && !has(HEED_SOFTMAX_FILL) && SCALE > 0.0 && SCALE < 1e20; }
float unit() { return is_unscaled() ? SCALE * LOG2_E : LOG2_E; }

// A subgroup's first query in the workgroup, and its index among the subgroups that share its queries.
uint wave_row() { return gl_SubgroupID / WAVES_N * WM; }
uint wave_column() { return gl_SubgroupID % WAVES_N; }

// Synchronizes the subgroups that share queries.
void sync() {
  if (WAVES_N == 1u) subgroup_sync();
  else barrier();
}

// BK rows of queries or keys consist of octets, elements d .. d + 7 of a row. An invocation processes octets that are a workgroup apart.
const uint K_OCTETS = BK * (K_PADDED / 8u);
const uint K_LOADS = (K_OCTETS + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
// A tile of values consists of blocks of an octet of columns by four keys, or by two if there are not enough blocks of four.
const uint V_KEYS = BK / 4u * (V_PADDED / 8u) < gl_WorkGroupSize.x ? 2u : 4u;
const uint V_BLOCKS = BK / V_KEYS * (V_PADDED / 8u);
const uint V_LOADS = (V_BLOCKS + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
// There are registers for a few octets while a tile is multiplied, and for some more otherwise.
const uint TILE_LOADS = K_LOADS + V_LOADS * V_KEYS;
const bool AHEAD = TILE_LOADS <= 8u;      // the next tile is loaded while one is multiplied
const bool TOGETHER = TILE_LOADS <= 16u;  // keys and values are loaded together; otherwise values after keys are stored

// One octet of a row that starts at `at`. No load is inside a branch, after which a compiler may wait for each load; beyond the operand's
// end another address in it is read.
#define HEED_READ8(name, one, scalars, vectors, SIZE)                                                 \
  uint one(uint at, uint d) { return uint(scalars[at + min(d, SIZE - 1u)]) & (0u - uint(d < SIZE)); } \
  uvec4 name(uint at, uint d) {                                                                       \
    if (WHOLE) return vectors[(at + (d < SIZE ? d : 0u)) / 8u];                                       \
    uvec4 low = uvec4(one(at, d), one(at, d + 2u), one(at, d + 4u), one(at, d + 6u));                 \
    return low | uvec4(one(at, d + 1u), one(at, d + 3u), one(at, d + 5u), one(at, d + 7u)) << 16;     \
  }
HEED_READ8(octet_of_q, one_of_q, q_bits, q16, D_K)
HEED_READ8(octet_of_k, one_of_k, k_bits, k16, D_K)
HEED_READ8(octet_of_v, one_of_v, v_bits, v16, D_V)

// Stores an invocation's octet in sh_rows from row `to` on. Elements past the end of a row become zeros, since other values would change
// the dot products.
void keep_octet(uint load, uvec4 eight, uint to) {
  uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x, row = i / (K_PADDED / 8u), octet = i % (K_PADDED / 8u);
  if (K_OCTETS % gl_WorkGroupSize.x == 0u || i < K_OCTETS)
    sh_rows[(to + row) * K_ROW + octet] = octet * 8u < D_K ? eight : uvec4(0u);
}

// `next` loads octet `load` of the first `count` (at least one) of BK rows; for rows past the end it reads another address, and their
// results are discarded. If operands are not aligned, `carry` loads and stores one octet after the other.
#define HEED_ROWS(next, carry, octet_of)                                                       \
  uvec4 next(uint load, uint at, uint stride, uint count) {                                    \
    uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x, row = i / (K_PADDED / 8u);    \
    return octet_of(at + min(row * stride, (count - 1u) * stride), i % (K_PADDED / 8u) * 8u);  \
  }                                                                                            \
  void carry(uint at, uint stride, uint count, uint to) {                                      \
    [[dont_unroll]] for (uint load = 0u; load < K_LOADS; ++load)                               \
      keep_octet(load, next(load, at, stride, count), to);                                     \
  }
HEED_ROWS(next_of_q, carry_queries, octet_of_q)
HEED_ROWS(next_of_k, carry_keys, octet_of_k)

uvec4 next_keys[WHOLE ? K_LOADS : 1u];
void read_keys(uint at, uint stride, uint count) {
  if (!WHOLE) return;
  [[unroll]] for (uint load = 0u; load < K_LOADS; ++load) next_keys[load] = next_of_k(load, at, stride, count);
}

// Stores the keys that read_keys has loaded; if operands are not aligned, it also loads them.
void keep_keys(uint at, uint stride, uint count) {
  if (WHOLE) {
    [[unroll]] for (uint load = 0u; load < K_LOADS; ++load) keep_octet(load, next_keys[load], KEYS_AT / K_ROW);
  } else {
    carry_keys(at, stride, count, KEYS_AT / K_ROW);
  }
}

// How `separate` changes values. NaN counts as both infinities.
#define PICK_INFINITE 0u        // infinity becomes 1, all else 0
#define PICK_MINUS_INFINITE 1u  // minus infinity becomes 1, all else 0
#define PICK_FINITE 2u          // infinities and NaN become 0

// Masks of the two numbers in a word: exponent bits, 1, and the lowest exponent bit. The additions below do not carry from one number to
// the other.
#ifdef A_BFLOAT
const uint EXPONENTS = 0x7f807f80u, FRACTIONS = 0x007f007fu, ONES = 0x3f80u, LOWEST_OF_EXPONENTS = 0x00800080u;
#else
const uint EXPONENTS = 0x7c007c00u, FRACTIONS = 0x03ff03ffu, ONES = 0x3c00u, LOWEST_OF_EXPONENTS = 0x04000400u;
#endif
const uint SIGNS = 0x80008000u;

// The sign bit of each number in a word that is infinite or NaN; other bits may be set, too.
uint strange_of(uint word) { return (word & EXPONENTS) + LOWEST_OF_EXPONENTS; }

uint picked(uint pick, uint word) {
  uint strange = strange_of(word) & SIGNS;
  if (pick == PICK_FINITE) return word & ~((strange >> 15) * 0xffffu);
  uint nan = (word & FRACTIONS) + 0x7fff7fffu, sign = pick == PICK_INFINITE ? ~word : word;
  return ((strange & (nan | sign)) >> 15) * ONES;
}

void next_of_v(uint load, uint at, uint stride, uint count, out uvec4 eight[V_KEYS]) {
  uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x;
  [[unroll]] for (uint key = 0u; key < V_KEYS; ++key)
    eight[key] = octet_of_v(at + min((i % (BK / V_KEYS) * V_KEYS + key) * stride, (count - 1u) * stride),
                            i / (BK / V_KEYS) * 8u);
}

// Sets the keys of a block whose bit is not set to zero.
void mask_key(uint load, uint key, uint bits, inout uvec4 eight) {
  uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x;
  eight &= 0u - (bits >> (i % (BK / V_KEYS) * V_KEYS + key) & 1u);
}

// The sign bit is set if a value is infinite or NaN.
uint strange_in(uvec4 eight) {
  return strange_of(eight.x) | strange_of(eight.y) | strange_of(eight.z) | strange_of(eight.w);
}

// Stores an invocation's block in sh_v column by column. Matrix units read both operands along the summed axis, here the keys; since values
// are transposed here, once, every subgroup reads many keys at once.
void keep_block(uint load, uvec4 eight[V_KEYS]) {
  uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x, first = i % (BK / V_KEYS) * V_KEYS, octet = i / (BK / V_KEYS);
  uint quad = first / 4u;
  // Invocations that store simultaneously have the same keys of several octets of columns. They begin with different columns, since columns
  // eight apart are in the same banks.
  bool by_four = (octet & 1u) != 0u, by_two = BK < 32u && (octet & 2u) != 0u;
  uint four = by_four ? 4u : 0u, two = by_two ? 2u : 0u;
  uint to[2] = {(octet * 8u + four) * V_ROW + quad, (octet * 8u + 4u - four) * V_ROW + quad};
  [[unroll]] for (uint key = 0u; key < V_KEYS; ++key) {
    if (by_four) eight[key] = eight[key].zwxy;
    if (by_two) eight[key] = eight[key].yxwz;
  }
  if (V_BLOCKS % gl_WorkGroupSize.x == 0u || i < V_BLOCKS) {
    [[unroll]] for (uint c = 0u; c < 8u; ++c) {
      uvec2 column;  // a word of two keys
      [[unroll]] for (uint key = 0u; key < V_KEYS; key += 2u) {
        uint a = eight[key][c / 2u], b = eight[key + 1u][c / 2u];
        column[key / 2u] = c % 2u == 0u ? (a & 0xffffu) | b << 16 : a >> 16 | (b & 0xffff0000u);
      }
      uint at = to[c / 4u] + (c / 2u % 2u == 0u ? two : 2u - two) * V_ROW + c % 2u * V_ROW;
      if (V_KEYS == 4u) sh_v[at] = column;
      else sh_v[at][first / 2u % 2u] = column.x;
    }
  }
}

// Like read_keys, for a tile of values.
uvec4 next_values[(WHOLE ? V_LOADS : 1u) * V_KEYS];
void read_values(uint at, uint stride, uint count) {
  if (!WHOLE) return;
  [[unroll]] for (uint load = 0u; load < V_LOADS; ++load) {
    uvec4 eight[V_KEYS];
    next_of_v(load, at, stride, count, eight);
    [[unroll]] for (uint key = 0u; key < V_KEYS; ++key) next_values[load * V_KEYS + key] = eight[key];
  }
}

// Stores the values that read_values has loaded; if operands are not aligned, it also loads them. A key whose bit is not set becomes zeros.
// If `watched`, returns whether a value is infinite or NaN. Branches come before loads are waited for, since drivers move loads behind
// branches if they can. The loop is unrolled: Mesa 26's lavapipe crashed if a binding was first read in a loop without iterations, and then
// again after it.
bool keep_values(uint at, uint stride, uint count, uint bits, bool watched) {
  uint strange = 0u;
  if (WHOLE) {
    if (bits != ALL_KEYS)
      [[unroll]] for (uint n = 0u; n < V_LOADS * V_KEYS; ++n) mask_key(n / V_KEYS, n % V_KEYS, bits, next_values[n]);
    if (watched)
      [[unroll]] for (uint n = 0u; n < V_LOADS * V_KEYS; ++n) strange |= strange_in(next_values[n]);
  }
  [[unroll]] for (uint load = 0u; load < V_LOADS; ++load) {
    uvec4 eight[V_KEYS];
    if (!WHOLE) next_of_v(load, at, stride, count, eight);
    [[unroll]] for (uint key = 0u; key < V_KEYS; ++key) {
      if (WHOLE) {
        eight[key] = next_values[load * V_KEYS + key];
      } else {
        mask_key(load, key, bits, eight[key]);
        strange |= watched ? strange_in(eight[key]) : 0u;
      }
    }
    keep_block(load, eight);
  }
  return (strange & SIGNS) != 0u;
}

// A mask of the first `count` rows of a tile.
uint first_bits(uint count) { return count == 0u ? 0u : 0xffffffffu >> (32u - min(count, 32u)); }

// compile.sh turns the float16_t of matrices, the only ones in the module, into bf16 if operands are bf16.
coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> queries[HOLD_Q ? FM * FK : 1u];
coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> logits[FM * FB];
coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> sums[FM * FN];

// With HOLD_Q queries are loaded through shared memory into registers, all at once if they fit, otherwise as many as keys.
const uint Q_LOADS = BM / BK * K_LOADS;
const uint MOST_Q_LOADS = BM * K_ROW <= LOGITS_AT + BM * S_ROW ? 16u : 0u;
const bool Q_AT_ONCE = WHOLE && Q_LOADS <= MOST_Q_LOADS;
uvec4 next_queries[Q_AT_ONCE ? Q_LOADS : 1u];

void hold_queries(uint first, uint count) {
  [[unroll]] for (uint i = 0u; i < FM; ++i) {
    uint row = wave_row() + i * MS - first;  // for rows before `first` it wraps around, and exceeds `count`
    if (row >= count) continue;
    [[unroll]] for (uint n = 0u; n < FK; ++n)
      coopMatLoad(queries[i * FK + n], sh_rows, row * K_ROW + n * KS / 8u, K_ROW, gl_CooperativeMatrixLayoutRowMajor);
  }
}

void load_queries(Task t) {
  uint at = p.offset[0] + t.b * p.q_b + t.h * p.q_h + t.first_query * p.q_s, count = t.last_query - t.first_query + 1u;
  if (Q_AT_ONCE) {
    [[unroll]] for (uint n = 0u; n < BM / BK; ++n) {
      uint first = min(n * BK, count - 1u);
      [[unroll]] for (uint load = 0u; load < K_LOADS; ++load)
        next_queries[n * K_LOADS + load] = next_of_q(load, at + first * p.q_s, p.q_s, count - first);
    }
    [[unroll]] for (uint n = 0u; n < BM / BK; ++n)
      [[unroll]] for (uint load = 0u; load < K_LOADS; ++load) keep_octet(load, next_queries[n * K_LOADS + load], n * BK);
    if (!HOLD_Q) return;
    barrier();
    hold_queries(0u, BM);
    barrier();
    return;
  }
  for (uint first = 0u; first < BM; first += BK) {
    uint from = min(first, count - 1u);
    carry_queries(at + from * p.q_s, p.q_s, count - from, HOLD_Q ? 0u : first);
    if (!HOLD_Q) continue;
    barrier();
    hold_queries(first, BK);
    barrier();
  }
}

// Adds the products of elements n * KS .. n * KS + KS - 1 of the subgroup's queries and keys to the logits.
void multiply(uint n) {
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left[FM];
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  [[unroll]] for (uint i = 0u; i < FM; ++i) {
    if (HOLD_Q) left[i] = queries[i * FK + n];
    else
      coopMatLoad(left[i], sh_rows, (wave_row() + i * MS) * K_ROW + n * KS / 8u, K_ROW,
                  gl_CooperativeMatrixLayoutRowMajor);
  }
  [[unroll]] for (uint j = 0u; j < FB; ++j) {
    coopMatLoad(right, sh_rows, KEYS_AT + (wave_column() * BN + j * NS) * K_ROW + n * KS / 8u, K_ROW,
                gl_CooperativeMatrixLayoutColumnMajor);
    [[unroll]] for (uint i = 0u; i < FM; ++i) logits[i * FB + j] = coopMatMulAdd(left[i], right, logits[i * FB + j]);
  }
}

void make_logits() {
  [[unroll]] for (uint i = 0u; i < FM * FB; ++i)
    logits[i] = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
  if (HOLD_Q) {
    [[unroll]] for (uint n = 0u; n < FK; ++n) multiply(n);
  } else {
    [[dont_unroll]] for (uint n = 0u; n < FK; ++n) multiply(n);
  }
}

void store_logits() {
  [[unroll]] for (uint i = 0u; i < FM; ++i)
    [[unroll]] for (uint j = 0u; j < FB; ++j)
      coopMatStore(logits[i * FB + j], sh_rows, LOGITS_AT + (wave_row() + i * MS) * S_ROW + (wave_column() * BN + j * NS) / 4u,
                   S_ROW, gl_CooperativeMatrixLayoutRowMajor);
}

// Row r of this invocation, numbered among the workgroup's queries, and the invocation's index among the lanes of that row. Neighbours have
// different rows, which are in different banks.
uint row_of(uint r) {
  return wave_row() + wave_column() * ROWS + gl_SubgroupInvocationID % ROWS_AT_ONCE + r * ROWS_AT_ONCE;
}
uint row_lane() { return gl_SubgroupInvocationID / ROWS_AT_ONCE; }

// The index in a row of this invocation's n-th group of logits. Two consecutive groups are adjacent if there are two, so that eight weights
// are stored at once.
uint group_of(uint n) {
  return VECS == 1u ? row_lane() : ((n / 2u) * ROW_LANES + row_lane()) * 2u + n % 2u;
}

// Stores `scale` in columns 0 .. NS - 1 of a row of sh_rows.
void put_scale(uint row, float scale) {
  [[unroll]] for (uint n = 0u; n < VECS; ++n)
    if (group_of(n) < NS / 4u) sh_rows[LOGITS_AT + row * S_ROW + group_of(n)] = uvec4(floatBitsToUint(scale));
}

// Four weights in the format of the matrix units.
#ifdef A_BFLOAT
// A single bf16 would round weights by 2^-8, as much as storing the result does, so there are two: the upper half of the f32, and that of
// the remainder. The error is below 2^-14. NaN stays NaN in one of them.
uvec2 take_term(inout vec4 weights) {
  uvec4 bits = floatBitsToUint(weights);
  weights -= uintBitsToFloat(bits & 0xffff0000u);
  return uvec2(bits.x >> 16 | (bits.y & 0xffff0000u), bits.z >> 16 | (bits.w & 0xffff0000u));
}
#else
uvec2 take_term(vec4 weights) {
  f16vec4 rounded = f16vec4(weights);
  return uvec2(packFloat2x16(rounded.xy), packFloat2x16(rounded.zw));
}
#endif

// Weights of logits, before hidden ones are excluded. A product of f16 times a unit is within f32's range; one of bf16 may not be.
vec4 weights_of(vec4 logits, float from) {
  if (!is_unscaled()) return exp(SUBTRACT_FIRST(logits, from));
#ifdef A_BFLOAT
  return exp2(SUBTRACT_FIRST(logits, from) * unit());
#else
  return exp2(fma(logits, vec4(unit()), vec4(-max(from * unit(), LOWEST))));
#endif
}

// Whether the logits of every tile may be hidden, or get a bias.
const bool ALWAYS_MASKED = (FLAGS & (HEED_SOFTMAX_MASK | HEED_SOFTMAX_BIAS | HEED_SOFTMAX_FILL)) != 0u;

// Computes the logit of key j before `end`; bit 0 of `kept` says whether the padding keeps the key. Returns 1 if it has no weight, or 0. No
// load is inside a branch: hidden keys are read, too, and past the end another address.
uint mask_logit(Sight sight, uint j, uint end, uint kept, inout float value) {
  uint key = min(j, end - 1u), hides = ~kept & 1u;
  if (has(HEED_SOFTMAX_MASK)) hides |= uint(mask_hides(sight.mask_at, key));
  if (has(HEED_SOFTMAX_BIAS)) value += one_bias(sight.bias_at + key * p.bias_k);
  float instead = has(HEED_SOFTMAX_FILL) && j < end ? FILL : MINUS_INFINITY;
  if (hides != 0u) value = instead;
  return uint(is_minus_infinity(value));
}

// Turns the logits of row r, for keys from `tile` on, into weights. Bit j of `kept`: the padding keeps key j of the tile. `masked`: logits
// may be hidden, or get a bias. Returns whether the sums of the row must be rescaled.
bool weigh(uint r, Task t, uint tile, bool masked, uint kept) {
  uint row = row_of(r), i = min(t.first_query + row, t.last_query), hidden = 0u;
  vec4 values[VECS];
  [[unroll]] for (uint n = 0u; n < VECS; ++n) {
    values[n] = uintBitsToFloat(sh_rows[LOGITS_AT + row * S_ROW + group_of(n)]);
    if (!is_unscaled()) values[n] *= SCALE;
  }
  if (masked) {
    Sight sight = sight_of(t, i);
    if (has(HEED_SOFTMAX_CAUSAL)) kept &= first_bits(max(sight.visible, tile) - tile);
    if (WINDOW != 0u) kept &= ~first_bits(max(sight.passed, tile) - tile);
    [[unroll]] for (uint n = 0u; n < VECS; ++n)
      [[unroll]] for (uint c = 0u; c < 4u; ++c) {
        uint j = group_of(n) * 4u + c;
        hidden |= mask_logit(sight, tile + j, t.end, kept >> j, values[n][c]) << (n * 4u + c);
      }
  }
  float now = LOWEST;
  [[unroll]] for (uint n = 0u; n < VECS; ++n)
    now = max(max(now, values[n].x), max(max(values[n].y, values[n].z), values[n].w));
  [[unroll]] for (uint step = 1u; step < ROW_LANES; step *= 2u) now = max(now, subgroupShuffleXor(now, step * ROWS_AT_ONCE));
  bool grows = SUBTRACT_FIRST(now, shift[r]) * unit() > SLACK;
  shrink[r] = grows ? (total[r] == 0.0 ? 0.0 : weights_of(vec4(shift[r]), now).x) : 1.0;
  if (grows) shift[r] = now;
  [[unroll]] for (uint n = 0u; n < VECS; ++n) values[n] = weights_of(values[n], shift[r]);
  if (masked)
    [[unroll]] for (uint n = 0u; n < VECS; ++n)
      values[n] = mix(values[n], vec4(0.0), notEqual((uvec4(hidden) >> (n * 4u)) & uvec4(1u, 2u, 4u, 8u), uvec4(0u)));
  if (ROW_LANES > 1u) subgroup_sync();  // weights overwrite logits that other lanes of the row read
  float sum = 0.0;
  uvec4 eight[TERMS];
  [[unroll]] for (uint n = 0u; n < VECS; ++n) {
    uint group = group_of(n);
    vec4 weights = values[n];
    sum += (weights.x + weights.y) + (weights.z + weights.w);
    if (has(HEED_ATTENTION_DROPOUT))
      [[unroll]] for (uint c = 0u; c < 4u; ++c)
        if (dropout_word(t.bh * p.s_q + i, tile + group * 4u + c) < DROPOUT_THRESHOLD) weights[c] = 0.0;
    weights *= ONE;
    [[unroll]] for (uint term = 0u; term < TERMS; ++term) {
      uvec2 words = take_term(weights);
      uint at = LOGITS_AT + row * S_ROW + WEIGHTS_AT + term * (BK / 8u) + group / 2u;
      if (VECS == 1u) {
        [[unroll]] for (uint c = 0u; c < 2u; ++c) sh_rows[at][group % 2u * 2u + c] = words[c];
      } else {
        eight[term] = n % 2u == 0u ? uvec4(words, 0u, 0u) : uvec4(eight[term].xy, words);
        if (n % 2u == 1u) sh_rows[at] = eight[term];
      }
    }
  }
  [[unroll]] for (uint step = 1u; step < ROW_LANES; step *= 2u) sum += subgroupShuffleXor(sum, step * ROWS_AT_ONCE);
  bool shrinks = grows && total[r] != 0.0;
  total[r] = total[r] * shrink[r] + sum;
  return shrinks;
}

// Multiplies the sums of each row by the factor that put_scale stored.
void scale_sums() {
  coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> scale;
  [[unroll]] for (uint i = 0u; i < FM; ++i) {
    coopMatLoad(scale, sh_rows, LOGITS_AT + (wave_row() + i * MS) * S_ROW, S_ROW, gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint j = 0u; j < FN; ++j) sums[i * FN + j] = sums[i * FN + j] * scale;
  }
}

void mix_values() {
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left[FM * TERMS];
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  for (uint key = 0u; key < BK; key += KS) {
    [[unroll]] for (uint i = 0u; i < FM * TERMS; ++i)
      coopMatLoad(left[i], sh_rows,
                  LOGITS_AT + (wave_row() + i / TERMS * MS) * S_ROW + WEIGHTS_AT + i % TERMS * (BK / 8u) + key / 8u, S_ROW,
                  gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint j = 0u; j < FN; ++j) {
      coopMatLoad(right, sh_v, (wave_column() * FN + j) * NS * V_ROW + key / 4u, V_ROW,
                  gl_CooperativeMatrixLayoutColumnMajor);
      [[unroll]] for (uint i = 0u; i < FM * TERMS; ++i) {
        uint sum = i / TERMS * FN + j;
        sums[sum] = coopMatMulAdd(left[i], right, sums[sum]);
      }
    }
  }
}

// Adds `infinity` to each sum whose query has a weight for a value that `separate` set to 1.
void add_infinities(float infinity) {
  uint mine = wave_column() * NS / 4u;
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left;
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> found;
  [[dont_unroll]] for (uint n = 0u; n < FM * FN; ++n) {
    uint row = wave_row() + n / FN * MS, place = LOGITS_AT + row * S_ROW + mine;
    found = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
    [[dont_unroll]] for (uint key = 0u; key < BK; key += KS) {
      coopMatLoad(left, sh_rows, LOGITS_AT + row * S_ROW + WEIGHTS_AT + key / 8u, S_ROW, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(right, sh_v, (wave_column() * FN + n % FN) * NS * V_ROW + key / 4u, V_ROW,
                  gl_CooperativeMatrixLayoutColumnMajor);
      found = coopMatMulAdd(left, right, found);
    }
    coopMatStore(found, sh_rows, place, S_ROW, gl_CooperativeMatrixLayoutRowMajor);
    subgroup_sync();
    for (uint e = gl_SubgroupInvocationID; e < MS * NS / 4u; e += LANES) {
      uint at = place + e / (NS / 4u) * S_ROW + e % (NS / 4u);
      [[unroll]] for (uint c = 0u; c < 4u; ++c)
        sh_rows[at][c] = uintBitsToFloat(sh_rows[at][c]) == 0.0 ? 0u : floatBitsToUint(infinity);
    }
    subgroup_sync();
    coopMatLoad(found, sh_rows, place, S_ROW, gl_CooperativeMatrixLayoutRowMajor);
    // Selects a sum by constant indices: an array that is indexed at run time would not stay in registers.
    [[unroll]] for (uint sum = 0u; sum < FM * FN; ++sum)
      if (sum == n) sums[sum] = sums[sum] + found;
    subgroup_sync();
  }
}

// Whether a workgroup has work: those past the end have no keys, and store nothing. They do not return early, since drivers for CPUs then
// execute the rest without an active invocation, and lavapipe crashed at its reads.
bool is_work(Task t) { return t.split < t.splits; }

// The logit of row r that has a weight of 1.
float largest_of(uint r) { return is_unscaled() ? shift[r] * SCALE : shift[r]; }

// Finishes row r after the last key: stores the log-sum-exp, or the data for attention_combine.comp, and the factor of its sums.
void finish(uint r, Task t) {
  uint query = t.first_query + row_of(r);
  float factor = has(HEED_ATTENTION_DROPOUT) ? KEEP_SCALE / ONE : 1.0 / ONE;
  bool stores = is_work(t) && query <= t.last_query && row_lane() == 0u;
  if (has(HEED_ATTENTION_PARTIAL)) {
    uint at = partial_at(t, t.bh * p.s_q + query) + D_V;
    if (stores) {
      partial_result[at] = largest_of(r);
      partial_result[at + 1u] = total[r];
    }
  } else {
    factor = total[r] == 0.0 ? 0.0 : factor / total[r];  // 0 only without a visible key, since one logit adds 1
    if (has(HEED_ATTENTION_LOG_SUM_EXP) && stores) store_log_sum_exp(t.bh * p.s_q + query, largest_of(r), total[r]);
  }
  put_scale(row_of(r), factor);
}

void store_sums(Task t) {
  uint mine = wave_column() * NS / 4u;
  [[dont_unroll]] for (uint j = 0u; j < FN; ++j) {
    // Selects a column by constant indices, like add_infinities.
    [[unroll]] for (uint n = 0u; n < FN; ++n) {
      if (n != j) continue;
      [[unroll]] for (uint i = 0u; i < FM; ++i)
        coopMatStore(sums[i * FN + n], sh_rows, LOGITS_AT + (wave_row() + i * MS) * S_ROW + mine, S_ROW,
                     gl_CooperativeMatrixLayoutRowMajor);
    }
    subgroup_sync();
    [[dont_unroll]] for (uint e = gl_SubgroupInvocationID; e < WM * NS / 4u; e += LANES) {
      // Rows four apart are read simultaneously: neighbouring rows would be in the same banks.
      uint at = e / (NS / 4u), row = wave_row() + ((at & ~7u) | (at & 1u) << 2u | (at >> 1u & 3u)), four = e % (NS / 4u);
      uint query = t.first_query + row, d = (wave_column() * FN + j) * NS + four * 4u;
      if (!is_work(t) || query > t.last_query || d >= D_V) continue;
      vec4 x = uintBitsToFloat(sh_rows[LOGITS_AT + row * S_ROW + mine + four]);
      if (has(HEED_ATTENTION_PARTIAL)) {
        uint to = partial_at(t, t.bh * p.s_q + query) + d;
        [[unroll]] for (uint c = 0u; c < 4u; ++c)
          if (d + c < D_V) partial_result[to + c] = x[c];
        continue;
      }
      uint to = p.offset[6] + ((t.b * p.s_q + query) * heads() + t.h) * D_V + d;
      uvec2 words = uvec2(narrowed(x.xy), narrowed(x.zw));
      if (D_V % 4u == 0u && p.offset[6] % 4u == 0u) {
        result_fours[to / 4u] = words;
        continue;
      }
      [[unroll]] for (uint c = 0u; c < 4u; ++c)
        if (d + c < D_V) result[to + c] = uint16_t(words[c / 2u] >> (c % 2u * 16u));
    }
    subgroup_sync();
  }
}

// The padding of the next tile in words: each invocation reads one; past the last word, the last one again. No access is inside a branch.
uint next_padding;
uint padding_at(Task t, uint tile) { return p.offset[3] + t.b * p.key_padding_b + tile; }
void read_padding(Task t, uint tile) {
  if (has(HEED_SOFTMAX_KEY_PADDING))
    next_padding = key_padding[min(padding_at(t, tile) / 4u + gl_LocalInvocationID.x, padding_at(t, t.end - 1u) / 4u)];
}

// Stores a bit for each byte of an invocation's word that is not 0, for kept_by_padding after a barrier.
void keep_padding() {
  if (!has(HEED_SOFTMAX_KEY_PADDING)) return;
  uint highest = ((next_padding & 0x7f7f7f7fu) + 0x7f7f7f7fu | next_padding) & 0x80808080u;  // the highest bit of each such byte
  sh_padding[gl_LocalInvocationID.x] = (highest >> 7u) * 0x10204080u >> 28u;                 // these four bits, packed
}

// Bit j: the padding keeps key j of the tile.
uint kept_by_padding(Task t, uint tile) {
  uint first = padding_at(t, tile) % 4u, set = 0u;
  [[unroll]] for (uint n = 0u; n < BK / 4u; ++n) set |= sh_padding[n] << (n * 4u);
  set = set >> first | sh_padding[BK / 4u] << 1u << (BK - 1u - first);
  return has(HEED_SOFTMAX_KEY_PADDING_KEEP) ? set : ~set;
}

// The tile after one, or the last one again, so that no load is inside a branch.
uint tile_behind(Task t, uint tile) { return t.end - tile > BK ? tile + BK : tile; }

// A tile in shared memory.
struct Kept {
  uint bits;   // keys that the padding keeps
  bool hides;  // some query may not see all of these keys
};

// Whether an infinite or NaN value may be multiplied by a weight of 0, or by a second summand of a weight that is 0.
bool is_watched(bool hides) { return TERMS > 1u || hides; }

// Loads a tile into registers, except keys and values that are not loaded ahead.
void read_tile(Task t, uint k_base, uint v_base, uint tile) {
  uint count = min(BK, t.end - tile);
  read_padding(t, tile);
  if (!AHEAD) return;
  read_keys(k_base + tile * p.k_s, p.k_s, count);
  read_values(v_base + tile * p.v_s, p.v_s, count);
}

// Stores in shared memory a tile for which read_tile was called.
Kept fill(Task t, uint k_base, uint v_base, uint tile) {
  uint count = min(BK, t.end - tile), in_range = first_bits(count), k_tile = k_base + tile * p.k_s, v_tile = v_base + tile * p.v_s;
  Kept kept = Kept(in_range, may_hide(t, tile, tile + count));
  if (has(HEED_SOFTMAX_KEY_PADDING)) kept.bits &= kept_by_padding(t, tile);
  if (!AHEAD) {
    read_keys(k_tile, p.k_s, count);
    if (TOGETHER) read_values(v_tile, p.v_s, count);
  }
  keep_keys(k_tile, p.k_s, count);
  if (!TOGETHER) read_values(v_tile, p.v_s, count);
  uint wanted = has(HEED_SOFTMAX_FILL) ? in_range : kept.bits;
  bool strange = keep_values(v_tile, p.v_s, count, wanted, is_watched(kept.hides));
  if (is_watched(kept.hides)) put_strange(strange);
  return kept;
}

// For a tile in which some values are infinite or NaN and may have a weight of 0: adds the infinities to the sums, and sets these values to
// zero in shared memory.
const uint V_WORDS = (V_PADDED * (BK / 4u) + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
void separate() {
  uvec2 words[V_WORDS];
  [[unroll]] for (uint n = 0u; n < V_WORDS; ++n) {
    uint i = min(gl_LocalInvocationID.x + n * gl_WorkGroupSize.x, V_PADDED * (BK / 4u) - 1u);
    words[n] = sh_v[i / (BK / 4u) * V_ROW + i % (BK / 4u)];
  }
  [[dont_unroll]] for (uint pick = PICK_INFINITE; pick <= PICK_FINITE; ++pick) {
    barrier();
    [[unroll]] for (uint n = 0u; n < V_WORDS; ++n) {
      uint i = gl_LocalInvocationID.x + n * gl_WorkGroupSize.x;
      if (i < V_PADDED * (BK / 4u))
        sh_v[i / (BK / 4u) * V_ROW + i % (BK / 4u)] = uvec2(picked(pick, words[n].x), picked(pick, words[n].y));
    }
    barrier();
    if (pick != PICK_FINITE) add_infinities(uintBitsToFloat(pick == PICK_INFINITE ? 0x7f800000u : 0xff800000u));
  }
}

// Waits for the weights of the subgroups that share queries, and rescales their sums if needed. On software drivers a subgroup barrier
// waits for the whole workgroup, so it must not be inside the branch.
void shrink_sums(bool shrinks, uint turn) {
  // Each turn has its own mark, so that no one has to clear it. Subgroups that share queries rescale at every turn.
  if (WAVES_N == 1u && shrinks) atomicMax(sh_shrinks[gl_SubgroupID], turn + 1u);
  [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r) put_scale(row_of(r), shrink[r]);
  sync();
  if (WAVES_N > 1u || sh_shrinks[gl_SubgroupID] == turn + 1u) scale_sums();
}

void main() {
  Task t = task_of(workgroup_index(), BM, BK);
  uint k_base = p.offset[1] + t.b * p.k_b + t.h / GROUP * p.k_h;
  uint v_base = p.offset[2] + t.b * p.v_b + t.h / GROUP * p.v_h;
  load_queries(t);
  [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
    sums[i] = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
  [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r) {
    shift[r] = LOWEST;
    total[r] = 0.0;
  }
  if (gl_SubgroupInvocationID == 0u) sh_shrinks[gl_SubgroupID] = 0u;
  if (is_watched(may_hide(t, t.begin, t.end))) clear_strange();

  Kept kept = Kept(0u, false);
  if (t.begin < t.end) {
    read_tile(t, k_base, v_base, t.begin);
    keep_padding();
    if (has(HEED_SOFTMAX_KEY_PADDING)) barrier();
    kept = fill(t, k_base, v_base, t.begin);
  }
  uint turn = 0u;
  for (uint tile = t.begin; tile < t.end; tile += BK, ++turn) {
    barrier();
    bool strange = is_watched(kept.hides) && any_strange();
    uint next = tile_behind(t, tile);
    read_tile(t, k_base, v_base, next);
    if (!has(HEED_SOFTMAX_KEY_PADDING) || has(HEED_SOFTMAX_FILL) || kept.bits != 0u) {
      make_logits();
      store_logits();
      sync();
      bool shrinks = false, masked = ALWAYS_MASKED || kept.hides || kept.bits != ALL_KEYS;
      [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r)
        if (weigh(r, t, tile, masked, kept.bits)) shrinks = true;
      shrink_sums(shrinks, turn);
      if (strange) separate();
      mix_values();
    }
    keep_padding();
    barrier();
    kept = fill(t, k_base, v_base, next);
  }

  [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r) finish(r, t);
  sync();
  scale_sums();
  sync();
  store_sums(t);
}
