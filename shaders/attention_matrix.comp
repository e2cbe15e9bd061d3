// Fused attention on matrix units (VK_KHR_cooperative_matrix), with the online softmax of attention.comp; see
// shared/attention.h.
//
// A workgroup is a grid of WAVES_M x WAVES_N subgroups. The subgroups of a grid row share WM queries: each makes the
// logits of BN of a tile's BK keys, and some columns of the outputs. Fragments are MS x NS x KS, a size that the device
// lists. Vulkan does not say which invocation holds which element of a fragment, so that logits go through shared
// memory to the softmax, and weights go back to the matrix units, in f16 or as two terms of bf16; so do the factors of the
// sums.
//
// Where operands are aligned, the loads of a tile's keys and values are under way before the first of them is waited for.
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
#include "shared/kept_keys.glsl"
#include "shared/strange_values.glsl"
#include "shared/subgroup_sync.glsl"
#include "shared/attention_matrix.h"
#ifdef A_BFLOAT
const uint TERMS = 2u;  // of which a weight is the sum
#else
const uint TERMS = 1u;
#endif
#include "shared/attention_matrix_memory.inc"

// Operands as they lie in memory, 16 bits each, be they f16 or bf16, and 16 bytes at a time.
layout(set = 0, binding = 0) readonly buffer QueryBits { uint16_t q_bits[]; };
layout(set = 0, binding = 1) readonly buffer KeyBits { uint16_t k_bits[]; };
layout(set = 0, binding = 2) readonly buffer ValueBits { uint16_t v_bits[]; };
layout(set = 0, binding = 0) readonly buffer Query16 { uvec4 q16[]; };
layout(set = 0, binding = 1) readonly buffer Key16 { uvec4 k16[]; };
layout(set = 0, binding = 2) readonly buffer Value16 { uvec4 v16[]; };

// Whether all operands can be read 16 bytes at a time.
const bool WHOLE = (FLAGS & HEED_ATTENTION_VEC4) != 0u;

const uint BN = BK / WAVES_N;  // keys of a subgroup
const uint FM = WM / MS;       // fragments of one subgroup
const uint FK = K_PADDED / KS;
const uint FB = BN / NS;
const uint FN = V_PADDED / WAVES_N / NS;

// The softmax:
const uint ROWS = WM / WAVES_N;                       // rows of a subgroup
const uint ROW_LANES = LANES > ROWS ? LANES / ROWS : 1u;  // lanes that divide a row
const uint ROWS_AT_ONCE = LANES / ROW_LANES;
const uint ROWS_EACH = ROWS / ROWS_AT_ONCE;               // rows of a lane
const uint VECS = BK / 4u / ROW_LANES;                    // groups of four logits of a lane in each row
float largest[ROWS_EACH], total[ROWS_EACH];

// Weights are multiplied by this, since the smallest would be subnormal in f16, or 0. Sums are divided by it again.
#ifdef A_BFLOAT
const float ONE = 1.0;
#else
const float ONE = 32768.0;
#endif

// A subgroup's first query in the workgroup, and its number among the subgroups that share that query.
uint wave_row() { return gl_SubgroupID / WAVES_N * WM; }
uint wave_column() { return gl_SubgroupID % WAVES_N; }

// Waits for the subgroups that share queries.
void sync() {
  if (WAVES_N == 1u) subgroup_sync();
  else barrier();
}

// BK rows of queries or keys are octets, elements d .. d + 7 of a row. An invocation has those a workgroup apart.
const uint K_OCTETS = BK * (K_PADDED / 8u);
const uint K_LOADS = (K_OCTETS + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
// A tile of values is blocks of an octet of columns by four keys, or by two where an invocation has no more.
const uint V_KEYS = BK / 4u * (V_PADDED / 8u) < gl_WorkGroupSize.x ? 2u : 4u;
const uint V_BLOCKS = BK / V_KEYS * (V_PADDED / 8u);
const uint V_LOADS = (V_BLOCKS + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
// Whether registers are enough to read values before keys are kept.
const bool TOGETHER = K_LOADS + V_LOADS * V_KEYS <= 8u;

// One octet of a row that starts at `at`. No load is behind a branch, behind which a compiler may wait for each: what the
// operand does not have is read elsewhere in it.
#define HEED_READ8(name, scalars, vectors, SIZE)                                \
  uvec4 name(uint at, uint d) {                                                 \
    if (WHOLE) return vectors[(at + (d < SIZE ? d : 0u)) / 8u];                 \
    uvec4 eight = uvec4(0u);                                                    \
    [[unroll]] for (uint c = 0u; c < 8u; ++c) {                                 \
      uint element = uint(scalars[at + min(d + c, SIZE - 1u)]);                 \
      eight[c / 2u] |= (d + c < SIZE ? element : 0u) << (c % 2u * 16u);         \
    }                                                                           \
    return eight;                                                               \
  }
HEED_READ8(octet_of_q, q_bits, q16, D_K)
HEED_READ8(octet_of_k, k_bits, k16, D_K)
HEED_READ8(octet_of_v, v_bits, v16, D_V)

// All bits if bit `row` is set and the octet lies in a row of `size` elements, else none.
uint kept_bits(uint bits, uint row, uint octet, uint size) {
  uint all = 0u - ((bits >> row) & 1u);
  return octet * 8u < size ? all : 0u;
}

// Puts an invocation's octet into sh_rows from row `to` on. A row whose bit is not set becomes zeros: what lies in its memory must
// not reach a product.
void keep_octet(uint load, uvec4 eight, uint to, uint bits) {
  uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x, row = i / (K_PADDED / 8u), octet = i % (K_PADDED / 8u);
  if (K_OCTETS % gl_WorkGroupSize.x == 0u || i < K_OCTETS)
    sh_rows[(to + row) * K_ROW + octet] = eight & kept_bits(bits, row, octet, D_K);
}

// `read` reads the first `count`, at least one, of BK rows, and keep_rows keeps them. Where operands are not aligned, `carry` reads and
// keeps one octet after the other instead.
uvec4 next_rows[WHOLE ? K_LOADS : 1u];
#define HEED_ROWS(next, read, carry, octet_of)                                                               \
  uvec4 next(uint load, uint at, uint stride, uint count) {                                                  \
    uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x, row = min(i / (K_PADDED / 8u), count - 1u); \
    return octet_of(at + row * stride, i % (K_PADDED / 8u) * 8u);                                            \
  }                                                                                                          \
  void read(uint at, uint stride, uint count) {                                                              \
    if (!WHOLE) return;                                                                                      \
    [[unroll]] for (uint load = 0u; load < K_LOADS; ++load) next_rows[load] = next(load, at, stride, count); \
  }                                                                                                          \
  void carry(uint at, uint stride, uint count, uint to, uint bits) {                                         \
    if (WHOLE) return;                                                                                       \
    [[dont_unroll]] for (uint load = 0u; load < K_LOADS; ++load)                                             \
      keep_octet(load, next(load, at, stride, count), to, bits);                                             \
  }
HEED_ROWS(next_of_q, read_queries, carry_queries, octet_of_q)
HEED_ROWS(next_of_k, read_keys, carry_keys, octet_of_k)

void keep_rows(uint to, uint bits) {
  if (!WHOLE) return;
  [[unroll]] for (uint load = 0u; load < K_LOADS; ++load) keep_octet(load, next_rows[load], to, bits);
}

// Ways in which keep_block changes values. NaN counts as both infinities.
#define PICK_ALL 0u             // all stay as they are
#define PICK_FINITE 1u          // infinities and NaN become 0
#define PICK_INFINITE 2u        // infinity becomes 1, all else 0
#define PICK_MINUS_INFINITE 3u  // minus infinity becomes 1, all else 0

// Bits of the two numbers of a word: the parts of each, 1, and the lowest of the exponent. What is added to them below does not
// carry from one number to the other.
#ifdef A_BFLOAT
const uint EXPONENTS = 0x7f807f80u, FRACTIONS = 0x007f007fu, ONES = 0x3f80u, LOWEST_OF_EXPONENTS = 0x00800080u;
#else
const uint EXPONENTS = 0x7c007c00u, FRACTIONS = 0x03ff03ffu, ONES = 0x3c00u, LOWEST_OF_EXPONENTS = 0x04000400u;
#endif
const uint SIGNS = 0x80008000u;

// The sign bit of each number in a word that is infinite or NaN; other bits may be set, too.
uint strange_of(uint word) { return (word & EXPONENTS) + LOWEST_OF_EXPONENTS; }

uint picked(uint pick, uint word) {
  if (pick == PICK_ALL) return word;
  uint strange = strange_of(word) & SIGNS;
  if (pick == PICK_FINITE) return word & ~((strange >> 15) * 0xffffu);
  uint nan = (word & FRACTIONS) + 0x7fff7fffu, sign = pick == PICK_INFINITE ? ~word : word;
  return ((strange & (nan | sign)) >> 15) * ONES;
}

void next_of_v(uint load, uint at, uint stride, uint count, out uvec4 eight[V_KEYS]) {
  uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x;
  [[unroll]] for (uint key = 0u; key < V_KEYS; ++key)
    eight[key] = octet_of_v(at + min(i % (BK / V_KEYS) * V_KEYS + key, count - 1u) * stride, i / (BK / V_KEYS) * 8u);
}

// Puts an invocation's block into sh_v column by column. Matrix units read both factors of a product along the sum, here the
// keys; since values are turned here, once, every subgroup reads many keys at a time. A key whose bit is not set becomes zeros.
// Returns whether a value is infinite or NaN, if `watched`.
bool keep_block(uint load, uvec4 eight[V_KEYS], uint bits, bool watched, uint pick) {
  uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x, first = i % (BK / V_KEYS) * V_KEYS, octet = i / (BK / V_KEYS);
  uint strange = 0u, quad = first / 4u;
  // Invocations that store at a time have the same keys of several octets of columns. They begin with different columns of
  // these, since columns eight apart lie in the same banks.
  bool by_four = (octet & 1u) != 0u, by_two = BK < 32u && (octet & 2u) != 0u;
  uint four = by_four ? 4u : 0u, two = by_two ? 2u : 0u;
  uint to[2] = {(octet * 8u + four) * V_ROW + quad, (octet * 8u + 4u - four) * V_ROW + quad};
  [[unroll]] for (uint key = 0u; key < V_KEYS; ++key) {
    eight[key] &= kept_bits(bits, first + key, octet, D_V);
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      if (watched) strange |= strange_of(eight[key][c]);
      eight[key][c] = picked(pick, eight[key][c]);
    }
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
  return (strange & SIGNS) != 0u;
}

// As read_keys and so on, for a tile of values.
uvec4 next_values[(WHOLE ? V_LOADS : 1u) * V_KEYS];
void read_values(uint at, uint stride, uint count) {
  if (!WHOLE) return;
  [[unroll]] for (uint load = 0u; load < V_LOADS; ++load) {
    uvec4 eight[V_KEYS];
    next_of_v(load, at, stride, count, eight);
    [[unroll]] for (uint key = 0u; key < V_KEYS; ++key) next_values[load * V_KEYS + key] = eight[key];
  }
}

// Keeps the values that read_values has read; where operands are not aligned, it reads them, too. Its loop is unrolled: Mesa 26's
// lavapipe crashed where a binding was first read in a loop that had no turn, and then again behind it.
bool keep_values(uint at, uint stride, uint count, uint bits, bool watched, uint pick) {
  bool strange = false;
  [[unroll]] for (uint load = 0u; load < V_LOADS; ++load) {
    uvec4 eight[V_KEYS];
    if (WHOLE)
      [[unroll]] for (uint key = 0u; key < V_KEYS; ++key) eight[key] = next_values[load * V_KEYS + key];
    else
      next_of_v(load, at, stride, count, eight);
    if (keep_block(load, eight, bits, watched, pick)) strange = true;
  }
  return strange;
}

// Bits of the first `count` rows of a tile.
uint first_bits(uint count) { return count == 0u ? 0u : 0xffffffffu >> (32u - min(count, 32u)); }

// compile.sh makes bf16 of the float16_t of matrices, the only ones, where operands are that.
coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> queries[HOLD_Q ? FM * FK : 1u];
coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> logits[FM * FB];
coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> sums[FM * FN];

void load_queries(Task t) {
  uint at = p.offset[0] + t.b * p.q_b + t.h * p.q_h + t.first_query * p.q_s;
  uint count = t.last_query - t.first_query + 1u;
  for (uint first = 0u; first < BM; first += BK) {
    uint here = count > first ? count - first : 0u;
    uint from = at + (here == 0u ? 0u : first * p.q_s), to = HOLD_Q ? 0u : first;
    read_queries(from, p.q_s, max(here, 1u));
    keep_rows(to, first_bits(here));
    carry_queries(from, p.q_s, max(here, 1u), to, first_bits(here));
    if (!HOLD_Q) continue;
    barrier();
    [[unroll]] for (uint i = 0u; i < FM; ++i) {
      uint row = wave_row() + i * MS - first;  // for rows before `first` it wraps around, and is more than BK
      if (row >= BK) continue;
      [[unroll]] for (uint n = 0u; n < FK; ++n)
        coopMatLoad(queries[i * FK + n], sh_rows, row * K_ROW + n * KS / 8u, K_ROW, gl_CooperativeMatrixLayoutRowMajor);
    }
    barrier();
  }
}

// Adds to the logits the products of elements n * KS .. n * KS + KS - 1 of the subgroup's queries and keys.
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
      coopMatStore(logits[i * FB + j], sh_rows, KEYS_AT + (wave_row() + i * MS) * S_ROW + (wave_column() * BN + j * NS) / 4u,
                   S_ROW, gl_CooperativeMatrixLayoutRowMajor);
}

// Row r of this invocation, counted among the workgroup's queries, and the invocation's number among the lanes of that
// row. Neighbours have different rows, which lie in different banks.
uint row_of(uint r) {
  return wave_row() + wave_column() * ROWS + gl_SubgroupInvocationID % ROWS_AT_ONCE + r * ROWS_AT_ONCE;
}
uint row_lane() { return gl_SubgroupInvocationID / ROWS_AT_ONCE; }

// The place in a row of this invocation's n-th group of logits. Two groups follow each other wherever it has two, so that
// it stores eight weights at a time.
uint group_of(uint n) {
  return VECS == 1u ? row_lane() : ((n / 2u) * ROW_LANES + row_lane()) * 2u + n % 2u;
}

// Puts `scale` into columns 0 .. NS - 1 of a row of sh_rows.
void put_scale(uint row, float scale) {
  [[unroll]] for (uint n = 0u; n < VECS; ++n)
    if (group_of(n) < NS / 4u) sh_rows[KEYS_AT + row * S_ROW + group_of(n)] = uvec4(floatBitsToUint(scale));
}

// Four weights as the matrix units take them.
#ifdef A_BFLOAT
// One bf16 would round them by 2^-8, as much again as the result is rounded when it is stored, so that they are two: the upper half
// of the f32, and that of what remains. Less than 2^-14 is left out. NaN stays NaN in one of them.
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

// Turns the logits of row r, keys `tile` and on, into weights. Bit j of `kept`: the padding keeps key j of the tile.
void weigh(uint r, Task t, uint tile, uint kept) {
  uint row = row_of(r), i = min(t.first_query + row, t.last_query);
  Sight sight = sight_of(t, i);
  if (has(HEED_SOFTMAX_CAUSAL)) kept &= first_bits(max(sight.visible, tile) - tile);
  if (WINDOW != 0u) kept &= ~first_bits(max(sight.passed, tile) - tile);
  vec4 values[VECS];
  float now_largest = largest[r];
  [[unroll]] for (uint n = 0u; n < VECS; ++n) {
    uint group = group_of(n);
    values[n] = uintBitsToFloat(sh_rows[KEYS_AT + row * S_ROW + group]) * SCALE;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      uint j = group * 4u + c;
      values[n][c] = logit_of(sight, tile + j, t.end, ((kept >> j) & 1u) == 0u, values[n][c]);
      now_largest = max(now_largest, values[n][c]);
    }
  }
  [[unroll]] for (uint step = 1u; step < ROW_LANES; step *= 2u)
    now_largest = max(now_largest, subgroupShuffleXor(now_largest, step * ROWS_AT_ONCE));
  float shrink = total[r] == 0.0 ? 0.0 : exp(largest[r] - now_largest);
  largest[r] = now_largest;
  subgroup_sync();  // weights replace logits that other lanes of the row read
  float sum = 0.0;
  uvec4 eight[TERMS];
  [[unroll]] for (uint n = 0u; n < VECS; ++n) {
    uint group = group_of(n);
    vec4 weights;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      float weight = exp(SUBTRACT_FIRST(values[n][c], now_largest));
      weight = is_minus_infinity(values[n][c]) ? 0.0 : weight;
      sum += weight;
      if (has(HEED_ATTENTION_DROPOUT) && dropout_word(t.bh * p.s_q + i, tile + group * 4u + c) < DROPOUT_THRESHOLD)
        weight = 0.0;
      weights[c] = weight * ONE;
    }
    [[unroll]] for (uint term = 0u; term < TERMS; ++term) {
      uvec2 words = take_term(weights);
      uint at = KEYS_AT + row * S_ROW + WEIGHTS_AT + term * (BK / 8u) + group / 2u;
      if (VECS == 1u) {
        [[unroll]] for (uint c = 0u; c < 2u; ++c) sh_rows[at][group % 2u * 2u + c] = words[c];
      } else {
        eight[term] = n % 2u == 0u ? uvec4(words, 0u, 0u) : uvec4(eight[term].xy, words);
        if (n % 2u == 1u) sh_rows[at] = eight[term];
      }
    }
  }
  [[unroll]] for (uint step = 1u; step < ROW_LANES; step *= 2u) sum += subgroupShuffleXor(sum, step * ROWS_AT_ONCE);
  total[r] = total[r] * shrink + sum;
  put_scale(row, shrink);
}

// Multiplies the sums of each row by the factor that put_scale left.
void scale_sums() {
  coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> scale;
  [[unroll]] for (uint i = 0u; i < FM; ++i) {
    coopMatLoad(scale, sh_rows, KEYS_AT + (wave_row() + i * MS) * S_ROW, S_ROW, gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint j = 0u; j < FN; ++j) sums[i * FN + j] = sums[i * FN + j] * scale;
  }
}

void mix_values() {
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left[FM * TERMS];
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  for (uint key = 0u; key < BK; key += KS) {
    [[unroll]] for (uint i = 0u; i < FM * TERMS; ++i)
      coopMatLoad(left[i], sh_rows,
                  KEYS_AT + (wave_row() + i / TERMS * MS) * S_ROW + WEIGHTS_AT + i % TERMS * (BK / 8u) + key / 8u, S_ROW,
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

// Adds `infinity` to each sum whose query has a weight for a value that stage_values made 1.
void add_infinities(float infinity) {
  uint mine = wave_column() * NS / 4u;
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left;
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> found;
  [[dont_unroll]] for (uint n = 0u; n < FM * FN; ++n) {
    uint row = wave_row() + n / FN * MS, place = KEYS_AT + row * S_ROW + mine;
    found = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
    [[dont_unroll]] for (uint key = 0u; key < BK; key += KS) {
      coopMatLoad(left, sh_rows, KEYS_AT + row * S_ROW + WEIGHTS_AT + key / 8u, S_ROW, gl_CooperativeMatrixLayoutRowMajor);
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
    // Picks a sum by constant indices: sums that are indexed at run time would leave the registers.
    [[unroll]] for (uint sum = 0u; sum < FM * FN; ++sum)
      if (sum == n) sums[sum] = sums[sum] + found;
    subgroup_sync();
  }
}

// Whether a workgroup has work: those past the end have no keys, and store nothing. They do not return early, since drivers for CPUs
// run the rest without an invocation at work, and lavapipe crashed at its reads.
bool is_work(Task t) { return t.split < t.splits; }

// Finishes row r after the last key: stores the log-sum-exp, or what attention_combine.comp reads, and puts the factor
// of its sums.
void finish(uint r, Task t) {
  uint query = t.first_query + row_of(r);
  float factor = has(HEED_ATTENTION_DROPOUT) ? KEEP_SCALE / ONE : 1.0 / ONE;
  bool stores = is_work(t) && query <= t.last_query && row_lane() == 0u;
  if (has(HEED_ATTENTION_PARTIAL)) {
    uint at = partial_at(t, t.bh * p.s_q + query) + D_V;
    if (stores) {
      partial_result[at] = largest[r];
      partial_result[at + 1u] = total[r];
    }
  } else {
    factor = total[r] == 0.0 ? 0.0 : factor / total[r];  // 0 only without a visible key: the largest logit adds 1
    if (has(HEED_ATTENTION_LOG_SUM_EXP) && stores) store_log_sum_exp(t.bh * p.s_q + query, largest[r], total[r]);
  }
  put_scale(row_of(r), factor);
}

void store_sums(Task t) {
  uint mine = wave_column() * NS / 4u;
  for (uint j = 0u; j < FN; ++j) {
    // Picks a column by constant indices, as add_infinities does.
    [[unroll]] for (uint n = 0u; n < FN; ++n) {
      if (n != j) continue;
      [[unroll]] for (uint i = 0u; i < FM; ++i)
        coopMatStore(sums[i * FN + n], sh_rows, KEYS_AT + (wave_row() + i * MS) * S_ROW + mine, S_ROW,
                     gl_CooperativeMatrixLayoutRowMajor);
    }
    subgroup_sync();
    for (uint e = gl_SubgroupInvocationID; e < WM * NS; e += LANES) {
      // Rows four apart are read at a time: neighbours would lie in the same banks.
      uint at = e / NS, row = wave_row() + ((at & ~7u) | (at & 1u) << 2u | (at >> 1u & 3u)), column = e % NS;
      uint query = t.first_query + row, d = (wave_column() * FN + j) * NS + column;
      if (!is_work(t) || query > t.last_query || d >= D_V) continue;
      float x = uintBitsToFloat(sh_rows[KEYS_AT + row * S_ROW + mine + column / 4u][column % 4u]);
      if (has(HEED_ATTENTION_PARTIAL)) partial_result[partial_at(t, t.bh * p.s_q + query) + d] = x;
      else result[p.offset[6] + ((t.b * p.s_q + query) * heads() + t.h) * D_V + d] =
          uint16_t(narrowed(x, OUT_IS_BFLOAT));
    }
    subgroup_sync();
  }
}

void main() {
  Task t = task_of(workgroup_index(), BM, BK);
  uint k_base = p.offset[1] + t.b * p.k_b + t.h / GROUP * p.k_h;
  uint v_base = p.offset[2] + t.b * p.v_b + t.h / GROUP * p.v_h;
  load_queries(t);
  [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
    sums[i] = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
  [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r) {
    largest[r] = LOWEST;
    total[r] = 0.0;
  }

  if (has(HEED_SOFTMAX_KEY_PADDING)) clear_kept();
  if (may_hide(t, t.begin, t.end)) clear_strange();
  uint turn = 0u;
  for (uint tile = t.begin; tile < t.end; tile += BK, ++turn) {
    uint count = min(BK, t.end - tile);
    uint in_range = first_bits(count), kept = in_range;
    if (has(HEED_SOFTMAX_KEY_PADDING)) {
      kept = kept_by_padding(t.b, tile, count, turn);
      if (kept == 0u && !has(HEED_SOFTMAX_FILL)) continue;
    }
    uint wanted = has(HEED_SOFTMAX_FILL) ? in_range : kept;
    uint k_tile = k_base + tile * p.k_s, v_tile = v_base + tile * p.v_s;
    bool watched = may_hide(t, tile, tile + count);
    read_keys(k_tile, p.k_s, count);
    if (TOGETHER) read_values(v_tile, p.v_s, count);
    keep_rows(KEYS_AT / K_ROW, wanted);
    carry_keys(k_tile, p.k_s, count, KEYS_AT / K_ROW, wanted);
    if (!TOGETHER) read_values(v_tile, p.v_s, count);
    bool strange = keep_values(v_tile, p.v_s, count, wanted, watched, PICK_ALL);
    if (watched) put_strange(strange);
    barrier();
    make_logits();
    barrier();  // logits replace keys that other subgroups read
    strange = watched && any_strange();
    store_logits();
    sync();
    [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r) weigh(r, t, tile, kept);
    sync();
    scale_sums();
    if (!strange) {
      mix_values();
      barrier();
      continue;
    }
    // Strange values are mixed in three turns.
    [[dont_unroll]] for (uint pick = PICK_FINITE; pick <= PICK_MINUS_INFINITE; ++pick) {
      if (pick == PICK_FINITE) barrier();  // values replace those that other subgroups may still read
      read_values(v_tile, p.v_s, count);
      keep_values(v_tile, p.v_s, count, wanted, false, pick);
      barrier();
      if (pick == PICK_FINITE) mix_values();
      else add_infinities(uintBitsToFloat(pick == PICK_INFINITE ? 0x7f800000u : 0xff800000u));
      barrier();
    }
  }

  [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r) finish(r, t);
  sync();
  scale_sums();
  sync();
  store_sums(t);
}
