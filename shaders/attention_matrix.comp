// Fused attention on matrix units (VK_KHR_cooperative_matrix), with the online softmax of attention.comp; see
// shared/attention.h.
//
// A workgroup is a grid of WAVES_M x WAVES_N subgroups. The subgroups of a grid row share WM queries: each makes the
// logits of BN of a tile's BK keys, and some columns of the outputs. Fragments are MS x NS x KS, a size that the device
// lists. Vulkan does not say which invocation holds which element of a fragment, so that logits go through shared
// memory to the softmax, and weights in f16 go back to the matrix units; so do the factors of the sums.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#include "shared/attention.glsl"
#include "shared/kept_keys.glsl"
#include "shared/strange_values.glsl"
#include "shared/subgroup_sync.glsl"
#include "shared/attention_matrix.h"
#include "shared/attention_matrix_memory.inc"

// Operands that are read 16 bytes at a time, where rows are aligned to that.
layout(set = 0, binding = 0) readonly buffer Query16 { uvec4 q16[]; };
layout(set = 0, binding = 1) readonly buffer Key16 { uvec4 k16[]; };
layout(set = 0, binding = 2) readonly buffer Value16 { uvec4 v16[]; };

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
const float ONE = 32768.0;

// A subgroup's first query in the workgroup, and its number among the subgroups that share that query.
uint wave_row() { return gl_SubgroupID / WAVES_N * WM; }
uint wave_column() { return gl_SubgroupID % WAVES_N; }

// Waits for the subgroups that share queries.
void sync() {
  if (WAVES_N == 1u) subgroup_sync();
  else barrier();
}

// Whether rows that start at `at`, `stride` apart, can be read 16 bytes at a time.
bool is_whole(uint at, uint stride, uint size) { return ((at | stride) & 7u) == 0u && size % 8u == 0u; }

// Fills BK rows of sh_rows from row `to` on, eight elements at a time. A row whose bit is not set becomes zeros: what lies in
// its memory must not reach a product.
#define HEED_STAGE(name, scalars, vectors)                                                                         \
  void name(uint to, uint at, uint stride, uint bits) {                                                            \
    bool whole = is_whole(at, stride, D_K);                                                                        \
    for (uint n = gl_LocalInvocationID.x; n < BK * (K_PADDED / 8u); n += gl_WorkGroupSize.x) {                     \
      uint row = n / (K_PADDED / 8u), d = n % (K_PADDED / 8u) * 8u, from = at + row * stride + d;                  \
      bool wanted = d < D_K && ((bits >> row) & 1u) != 0u;                                                         \
      uvec4 eight = uvec4(0u);                                                                                     \
      if (wanted && whole) eight = vectors[from / 8u];                                                             \
      if (wanted && !whole) {                                                                                      \
        [[unroll]] for (uint c = 0u; c < 4u; ++c) {                                                                \
          f16vec2 two = f16vec2(0.0);                                                                              \
          if (d + 2u * c < D_K) two.x = scalars[from + 2u * c];                                                    \
          if (d + 2u * c + 1u < D_K) two.y = scalars[from + 2u * c + 1u];                                          \
          eight[c] = packFloat2x16(two);                                                                           \
        }                                                                                                          \
      }                                                                                                            \
      sh_rows[(to + row) * K_ROW + d / 8u] = eight;                                                                \
    }                                                                                                              \
  }
HEED_STAGE(stage_queries, q, q16)
HEED_STAGE(stage_keys, k, k16)

// Ways in which stage_values changes values. NaN counts as both infinities.
#define PICK_ALL 0u             // all stay as they are
#define PICK_FINITE 1u          // infinities and NaN become 0
#define PICK_INFINITE 2u        // infinity becomes 1, all else 0
#define PICK_MINUS_INFINITE 3u  // minus infinity becomes 1, all else 0

bool is_strange_half(uint half_bits) { return (half_bits & 0x7c00u) == 0x7c00u; }
bool has_strange_half(uint word) { return is_strange_half(word) || is_strange_half(word >> 16); }

uint picked_half(uint pick, uint half_bits) {
  if (pick == PICK_FINITE) return is_strange_half(half_bits) ? 0u : half_bits;
  bool nan = (half_bits & 0x3ffu) != 0u, negative = (half_bits & 0x8000u) != 0u;
  return is_strange_half(half_bits) && (nan || negative == (pick == PICK_MINUS_INFINITE)) ? 0x3c00u : 0u;
}
// The same for the two halves of a word.
uint picked(uint pick, uint word) {
  return pick == PICK_ALL ? word : picked_half(pick, word & 0xffffu) | picked_half(pick, word >> 16) << 16;
}

// Fills sh_v column by column. Matrix units read both factors of a product along the sum, here the keys; since values
// are turned here, once, every subgroup reads many keys at a time. Returns whether this invocation has read an infinite
// or NaN value, if `watched`.
bool stage_values(uint at, uint stride, uint bits, bool watched, uint pick) {
  bool strange = false;
  if (!is_whole(at, stride, D_V)) {
    for (uint n = gl_LocalInvocationID.x; n < BK * V_PADDED; n += gl_WorkGroupSize.x) {
      uint row = n / V_PADDED, d = n % V_PADDED;
      bool wanted = d < D_V && ((bits >> row) & 1u) != 0u;
      uint word = wanted ? packFloat2x16(f16vec2(v[at + row * stride + d], float16_t(0.0))) : 0u;
      if (watched && has_strange_half(word)) strange = true;
      sh_v[d * V_ROW + row / 4u][row % 4u] = unpackFloat2x16(picked(pick, word)).x;
    }
    return strange;
  }
  // Invocations that store at a time have the same quads of several octets of columns. They begin with different columns of
  // these, since columns eight apart lie in the same banks.
  const uint quads = BK / 4u;  // of keys
  for (uint n = gl_LocalInvocationID.x; n < quads * (V_PADDED / 8u); n += gl_WorkGroupSize.x) {
    uint quad = n % quads, octet = n / quads, d = octet * 8u;
    bool by_four = (octet & 1u) != 0u, by_two = quads < 8u && (octet & 2u) != 0u;
    uint first = (by_four ? 4u : 0u) | (by_two ? 2u : 0u);
    uvec4 eight[4];
    [[unroll]] for (uint key = 0u; key < 4u; ++key) {
      bool wanted = d < D_V && ((bits >> (quad * 4u + key)) & 1u) != 0u;
      eight[key] = wanted ? v16[(at + (quad * 4u + key) * stride + d) / 8u] : uvec4(0u);
      [[unroll]] for (uint c = 0u; c < 4u; ++c) {
        if (watched && has_strange_half(eight[key][c])) strange = true;
        eight[key][c] = picked(pick, eight[key][c]);
      }
      if (by_four) eight[key] = eight[key].zwxy;
      if (by_two) eight[key] = eight[key].yxwz;
    }
    [[unroll]] for (uint c = 0u; c < 8u; ++c) {
      f16vec4 column;
      [[unroll]] for (uint key = 0u; key < 4u; ++key) column[key] = unpackFloat2x16(eight[key][c / 2u])[c % 2u];
      sh_v[(d + (c ^ first)) * V_ROW + quad] = column;
    }
  }
  return strange;
}

// Bits of the first `count` rows of a tile.
uint first_bits(uint count) { return count == 0u ? 0u : 0xffffffffu >> (32u - min(count, 32u)); }

coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> queries[HOLD_Q ? FM * FK : 1u];
coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> logits[FM * FB];
coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> sums[FM * FN];

void load_queries(Task t) {
  uint at = p.offset[0] + t.b * p.q_b + t.h * p.q_h + t.first_query * p.q_s;
  uint count = t.last_query - t.first_query + 1u;
  for (uint first = 0u; first < BM; first += BK) {
    uint bits = first_bits(count > first ? count - first : 0u);
    stage_queries(HOLD_Q ? 0u : first, at + first * p.q_s, p.q_s, bits);
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
  barrier();  // logits replace keys that other subgroups read
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

// Turns the logits of row r, keys `tile` and on, into weights. Bit j of `kept`: the padding keeps key j of the tile.
void weigh(uint r, Task t, uint tile, uint kept) {
  uint row = row_of(r), i = min(t.first_query + row, t.last_query);
  Sight sight = sight_of(t, i);
  vec4 values[VECS];
  uint taking_part = 0u;
  float now_largest = largest[r];
  [[unroll]] for (uint n = 0u; n < VECS; ++n) {
    uint group = group_of(n);
    values[n] = uintBitsToFloat(sh_rows[KEYS_AT + row * S_ROW + group]) * SCALE;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      float value = values[n][c];
      uint j = group * 4u + c;
      if (!has_weight(sight, tile + j, t.end, ((kept >> j) & 1u) != 0u, value)) continue;
      taking_part |= 1u << (n * 4u + c);
      values[n][c] = value;
      now_largest = max(now_largest, value);
    }
  }
  [[unroll]] for (uint step = 1u; step < ROW_LANES; step *= 2u)
    now_largest = max(now_largest, subgroupShuffleXor(now_largest, step * ROWS_AT_ONCE));
  float shrink = total[r] == 0.0 ? 0.0 : exp(largest[r] - now_largest);
  largest[r] = now_largest;
  subgroup_sync();  // weights replace logits that other lanes of the row read
  float sum = 0.0;
  uvec4 eight;
  [[unroll]] for (uint n = 0u; n < VECS; ++n) {
    uint group = group_of(n);
    vec4 weights;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      float weight = ((taking_part >> (n * 4u + c)) & 1u) != 0u ? exp(SUBTRACT_FIRST(values[n][c], now_largest)) : 0.0;
      sum += weight;
      if (has(HEED_ATTENTION_DROPOUT) && dropout_word(t.bh * p.s_q + i, tile + group * 4u + c) < DROPOUT_THRESHOLD)
        weight = 0.0;
      weights[c] = weight * ONE;
    }
    f16vec4 rounded = f16vec4(weights);
    uint words[2] = {packFloat2x16(rounded.xy), packFloat2x16(rounded.zw)};
    if (VECS == 1u) {
      [[unroll]] for (uint c = 0u; c < 2u; ++c) sh_rows[KEYS_AT + row * S_ROW + WEIGHTS_AT + group / 2u][group % 2u * 2u + c] = words[c];
    } else {
      eight = n % 2u == 0u ? uvec4(words[0], words[1], 0u, 0u) : uvec4(eight.xy, words[0], words[1]);
      if (n % 2u == 1u) sh_rows[KEYS_AT + row * S_ROW + WEIGHTS_AT + group / 2u] = eight;
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
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left[FM];
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  for (uint key = 0u; key < BK; key += KS) {
    [[unroll]] for (uint i = 0u; i < FM; ++i)
      coopMatLoad(left[i], sh_rows, KEYS_AT + (wave_row() + i * MS) * S_ROW + WEIGHTS_AT + key / 8u, S_ROW,
                  gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint j = 0u; j < FN; ++j) {
      coopMatLoad(right, sh_v, (wave_column() * FN + j) * NS * V_ROW + key / 4u, V_ROW,
                  gl_CooperativeMatrixLayoutColumnMajor);
      [[unroll]] for (uint i = 0u; i < FM; ++i) sums[i * FN + j] = coopMatMulAdd(left[i], right, sums[i * FN + j]);
    }
  }
}

// Adds `infinity` to each sum whose query has a weight for a value that stage_values made 1.
void add_infinities(float infinity) {
  uint mine = wave_column() * NS / 4u;
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left;
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> found;
  [[unroll]] for (uint i = 0u; i < FM; ++i) {
    uint place = (wave_row() + i * MS) * S_ROW + mine;
    [[unroll]] for (uint j = 0u; j < FN; ++j) {
      found = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
      [[dont_unroll]] for (uint key = 0u; key < BK; key += KS) {
        coopMatLoad(left, sh_rows, KEYS_AT + (wave_row() + i * MS) * S_ROW + WEIGHTS_AT + key / 8u, S_ROW,
                    gl_CooperativeMatrixLayoutRowMajor);
        coopMatLoad(right, sh_v, (wave_column() * FN + j) * NS * V_ROW + key / 4u, V_ROW,
                    gl_CooperativeMatrixLayoutColumnMajor);
        found = coopMatMulAdd(left, right, found);
      }
      coopMatStore(found, sh_rows, KEYS_AT + place, S_ROW, gl_CooperativeMatrixLayoutRowMajor);
      subgroup_sync();
      for (uint e = gl_SubgroupInvocationID; e < MS * NS / 4u; e += LANES) {
        uint at = place + e / (NS / 4u) * S_ROW + e % (NS / 4u);
        [[unroll]] for (uint c = 0u; c < 4u; ++c)
          sh_rows[KEYS_AT + at][c] = uintBitsToFloat(sh_rows[KEYS_AT + at][c]) == 0.0 ? 0u : floatBitsToUint(infinity);
      }
      subgroup_sync();
      coopMatLoad(found, sh_rows, KEYS_AT + place, S_ROW, gl_CooperativeMatrixLayoutRowMajor);
      sums[i * FN + j] = sums[i * FN + j] + found;
      subgroup_sync();
    }
  }
}

// Finishes row r after the last key: stores the log-sum-exp, or what attention_combine.comp reads, and puts the factor
// of its sums.
void finish(uint r, Task t) {
  uint query = t.first_query + row_of(r);
  float factor = has(HEED_ATTENTION_DROPOUT) ? KEEP_SCALE / ONE : 1.0 / ONE;
  bool stores = query <= t.last_query && row_lane() == 0u;
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
    // Picks a column by constant indices: sums that are indexed at run time would leave the registers.
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
      if (query > t.last_query || d >= D_V) continue;
      float x = uintBitsToFloat(sh_rows[KEYS_AT + row * S_ROW + mine + column / 4u][column % 4u]);
      if (has(HEED_ATTENTION_PARTIAL)) partial_result[partial_at(t, t.bh * p.s_q + query) + d] = x;
      else result[p.offset[6] + ((t.b * p.s_q + query) * heads() + t.h) * D_V + d] = TO_OUT(x);
    }
    subgroup_sync();
  }
}

void main() {
  Task t = task_of(workgroup_index(), BM, BK);
  if (t.split >= t.splits) return;
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
    stage_keys(KEYS_AT / K_ROW, k_base + tile * p.k_s, p.k_s, wanted);
    uint v_tile = v_base + tile * p.v_s;
    bool watched = may_hide(t, tile, tile + count);
    bool strange = stage_values(v_tile, p.v_s, wanted, watched, PICK_ALL);
    if (watched) put_strange(strange);
    barrier();
    strange = watched && any_strange();
    if (strange) {
      stage_values(v_tile, p.v_s, wanted, false, PICK_FINITE);
      barrier();
    }
    make_logits();
    sync();
    [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r) weigh(r, t, tile, kept);
    sync();
    scale_sums();
    mix_values();
    barrier();
    if (strange) {
      [[dont_unroll]] for (uint pick = PICK_INFINITE; pick <= PICK_MINUS_INFINITE; ++pick) {
        stage_values(v_tile, p.v_s, wanted, false, pick);
        barrier();
        add_infinities(uintBitsToFloat(pick == PICK_INFINITE ? 0x7f800000u : 0xff800000u));
        barrier();
      }
    }
  }

  [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r) finish(r, t);
  sync();
  scale_sums();
  sync();
  store_sums(t);
}
