// Fused attention on matrix units (VK_KHR_cooperative_matrix), with the online softmax of attention.comp; see
// shared/attention.h.
//
// A workgroup is a grid of WAVES_M x WAVES_N subgroups. Those of one row of it share WM queries: of a tile of BK keys each
// has a part of the logits, and of the outputs a part of the columns. Fragments are MS x NS x KS, a size that the device
// lists. Nobody says which invocation holds which element of one, so that logits go through shared memory to the softmax,
// and from there weights in f16 back to the matrix units; what scales the sums takes the same way.
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
#include "shared/subgroup_sync.glsl"

layout(constant_id = 11) const uint WAVES_M = 4;
layout(constant_id = 12) const uint WAVES_N = 1;
layout(constant_id = 13) const uint WM = 16;
layout(constant_id = 14) const uint BK = 32;  // at most 32
layout(constant_id = 15) const uint MS = 16;
layout(constant_id = 16) const uint NS = 16;
layout(constant_id = 17) const uint KS = 16;
layout(constant_id = 18) const uint LANES = 32;     // of a subgroup
layout(constant_id = 19) const bool HOLD_Q = true;  // subgroups keep their queries in registers

// 16 bytes of them, where rows allow it.
layout(set = 0, binding = 0) readonly buffer Query16 { uvec4 q16[]; };
layout(set = 0, binding = 1) readonly buffer Key16 { uvec4 k16[]; };
layout(set = 0, binding = 2) readonly buffer Value16 { uvec4 v16[]; };

const uint BM = WAVES_M * WM;
const uint BN = BK / WAVES_N;  // keys of a subgroup
// Heads are padded with zeros to whole fragments, and to 16 bytes.
const uint STEP_K = KS > 8u ? KS : 8u;
const uint STEP_V = NS * WAVES_N > 8u ? NS * WAVES_N : 8u;
const uint K_PADDED = (D_K + STEP_K - 1u) / STEP_K * STEP_K;
const uint V_PADDED = (D_V + STEP_V - 1u) / STEP_V * STEP_V;
const uint FM = WM / MS;  // fragments of one subgroup
const uint FK = K_PADDED / KS;
const uint FB = BN / NS;
const uint FN = V_PADDED / WAVES_N / NS;

// Rows of shared memory in groups of four elements; 16 bytes between them keep neighbouring rows in different banks.
const uint K_ROW = K_PADDED / 4u + 2u;
const uint V_ROW = BK / 4u + 2u;
const uint P_ROW = BK / 4u + 2u;
const uint S_ROW = BK / 4u + 1u;
// Queries go through the place of the keys into registers, or lie behind it.
shared f16vec4 sh_k[(BK + (HOLD_Q ? 0u : BM)) * K_ROW];
shared f16vec4 sh_v[V_PADDED * V_ROW];  // column by column: neighbours are keys
shared f16vec4 sh_weights[BM * P_ROW];
shared vec4 sh_logits[BM * S_ROW];  // also scales and sums, of NS columns for each subgroup

// Rows of a subgroup in the softmax, the lanes that share one, and the rows and groups of four logits of each lane.
const uint ROWS = WM / WAVES_N;
const uint PARTS = LANES > ROWS ? LANES / ROWS : 1u;
const uint ROWS_EACH = ROWS * PARTS / LANES;
const uint VECS = BK / 4u / PARTS;
float largest[ROWS_EACH], total[ROWS_EACH];

// The smallest weights would be subnormal in f16, or 0. The sums are divided by this again.
const float ONE = 32768.0;

// The place of a subgroup: its first query in the workgroup, and its number among those that share it.
uint wave_row() { return gl_SubgroupID / WAVES_N * WM; }
uint wave_column() { return gl_SubgroupID % WAVES_N; }

// Among the subgroups that share queries.
void sync() {
  if (WAVES_N == 1u) subgroup_sync();
  else barrier();
}

// Whether rows that start at `at`, `stride` apart, can be read 16 bytes at a time.
bool is_whole(uint at, uint stride, uint size) { return ((at | stride) & 7u) == 0u && size % 8u == 0u; }

// BK rows of `target` from row `to` on. A row whose bit is not set becomes zeros: what lies in its memory must not reach a
// product.
#define HEED_STAGE(name, scalars, vectors)                                                         \
  void name(uint to, uint at, uint stride, uint bits) {                                            \
    if (!is_whole(at, stride, D_K)) {                                                              \
      for (uint n = gl_LocalInvocationID.x; n < BK * K_PADDED; n += gl_WorkGroupSize.x) {          \
        uint row = n / K_PADDED, d = n % K_PADDED;                                                 \
        bool wanted = d < D_K && ((bits >> row) & 1u) != 0u;                                       \
        sh_k[(to + row) * K_ROW + d / 4u][d % 4u] = wanted ? scalars[at + row * stride + d] : float16_t(0.0); \
      }                                                                                            \
      return;                                                                                      \
    }                                                                                              \
    for (uint n = gl_LocalInvocationID.x; n < BK * (K_PADDED / 8u); n += gl_WorkGroupSize.x) {     \
      uint row = n / (K_PADDED / 8u), d = n % (K_PADDED / 8u) * 8u;                                \
      uvec4 eight = uvec4(0u);                                                                     \
      if (d < D_K && ((bits >> row) & 1u) != 0u) eight = vectors[(at + row * stride + d) / 8u];    \
      uint place = (to + row) * K_ROW + d / 4u;                                                    \
      sh_k[place] = f16vec4(unpackFloat2x16(eight.x), unpackFloat2x16(eight.y));                   \
      sh_k[place + 1u] = f16vec4(unpackFloat2x16(eight.z), unpackFloat2x16(eight.w));              \
    }                                                                                              \
  }
HEED_STAGE(stage_queries, q, q16)
HEED_STAGE(stage_keys, k, k16)

// Values lie column by column. Matrix units read both factors of a product along the sum, here the keys; turned here, once,
// every subgroup reads many of them at a time.
void stage_values(uint at, uint stride, uint bits) {
  if (!is_whole(at, stride, D_V)) {
    for (uint n = gl_LocalInvocationID.x; n < BK * V_PADDED; n += gl_WorkGroupSize.x) {
      uint row = n / V_PADDED, d = n % V_PADDED;
      bool wanted = d < D_V && ((bits >> row) & 1u) != 0u;
      sh_v[d * V_ROW + row / 4u][row % 4u] = wanted ? v[at + row * stride + d] : float16_t(0.0);
    }
    return;
  }
  const uint quads = BK / 4u;  // of keys
  for (uint n = gl_LocalInvocationID.x; n < quads * (V_PADDED / 8u); n += gl_WorkGroupSize.x) {
    uint quad = n % quads, d = n / quads * 8u;
    uvec4 eight[4];
    [[unroll]] for (uint key = 0u; key < 4u; ++key) {
      bool wanted = d < D_V && ((bits >> (quad * 4u + key)) & 1u) != 0u;
      eight[key] = wanted ? v16[(at + (quad * 4u + key) * stride + d) / 8u] : uvec4(0u);
    }
    [[unroll]] for (uint c = 0u; c < 8u; ++c) {
      f16vec4 column;
      [[unroll]] for (uint key = 0u; key < 4u; ++key) column[key] = unpackFloat2x16(eight[key][c / 2u])[c % 2u];
      sh_v[(d + c) * V_ROW + quad] = column;
    }
  }
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
    stage_queries(HOLD_Q ? 0u : BK + first, at + first * p.q_s, p.q_s, bits);
    if (!HOLD_Q) continue;
    barrier();
    [[unroll]] for (uint i = 0u; i < FM; ++i) {
      uint row = wave_row() + i * MS - first;  // wraps around, then beyond BK, in earlier rows
      if (row >= BK) continue;
      [[unroll]] for (uint n = 0u; n < FK; ++n)
        coopMatLoad(queries[i * FK + n], sh_k, row * K_ROW + n * KS / 4u, K_ROW, gl_CooperativeMatrixLayoutRowMajor);
    }
    barrier();
  }
}

// Adds to the logits the products of elements n * KS .. of the subgroup's queries and keys.
void multiply(uint n) {
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left[FM];
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  [[unroll]] for (uint i = 0u; i < FM; ++i) {
    if (HOLD_Q) left[i] = queries[i * FK + n];
    else
      coopMatLoad(left[i], sh_k, (BK + wave_row() + i * MS) * K_ROW + n * KS / 4u, K_ROW,
                  gl_CooperativeMatrixLayoutRowMajor);
  }
  [[unroll]] for (uint j = 0u; j < FB; ++j) {
    coopMatLoad(right, sh_k, (wave_column() * BN + j * NS) * K_ROW + n * KS / 4u, K_ROW,
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
  [[unroll]] for (uint i = 0u; i < FM; ++i)
    [[unroll]] for (uint j = 0u; j < FB; ++j)
      coopMatStore(logits[i * FB + j], sh_logits, (wave_row() + i * MS) * S_ROW + (wave_column() * BN + j * NS) / 4u,
                   S_ROW, gl_CooperativeMatrixLayoutRowMajor);
}

// Row r of this invocation, within the workgroup's queries; `part` is the invocation's number among those of the row.
uint row_of(uint r) {
  return wave_row() + wave_column() * ROWS + gl_SubgroupInvocationID / PARTS + r * (LANES / PARTS);
}
uint part() { return gl_SubgroupInvocationID % PARTS; }

// Columns 0 .. NS - 1 of a row become `scale`. The lane that writes a group of four is the one that read its logits, so that
// nobody has to wait.
void put_scale(uint row, float scale) {
  for (uint n = part(); n < NS / 4u; n += PARTS) sh_logits[row * S_ROW + n] = vec4(scale);
}

// Turns the logits of row r, keys `tile` and on, into weights. Bit j of `kept`: the padding keeps key j of the tile.
void weigh(uint r, Task t, uint tile, uint kept) {
  uint row = row_of(r), i = min(t.first_query + row, t.last_query);
  Sight sight = sight_of(t, i);
  vec4 values[VECS];
  uint taking_part = 0u;
  float now_largest = largest[r];
  [[unroll]] for (uint n = 0u; n < VECS; ++n) {
    uint group = n * PARTS + part();
    values[n] = sh_logits[row * S_ROW + group] * SCALE;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      float value = values[n][c];
      uint j = group * 4u + c;
      if (!has_weight(sight, tile + j, t.end, ((kept >> j) & 1u) != 0u, value)) continue;
      taking_part |= 1u << (n * 4u + c);
      values[n][c] = value;
      now_largest = max(now_largest, value);
    }
  }
  [[unroll]] for (uint step = 1u; step < PARTS; step *= 2u)
    now_largest = max(now_largest, subgroupShuffleXor(now_largest, step));
  float shrink = total[r] == 0.0 ? 0.0 : exp(largest[r] - now_largest);
  largest[r] = now_largest;
  float sum = 0.0;
  [[unroll]] for (uint n = 0u; n < VECS; ++n) {
    uint group = n * PARTS + part();
    vec4 weights;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      float weight = ((taking_part >> (n * 4u + c)) & 1u) != 0u ? exp(values[n][c] - now_largest) : 0.0;
      sum += weight;
      if (has(HEED_ATTENTION_DROPOUT) && dropout_word(t.bh * p.s_q + i, tile + group * 4u + c) < DROPOUT_THRESHOLD)
        weight = 0.0;
      weights[c] = weight * ONE;
    }
    sh_weights[row * P_ROW + group] = f16vec4(weights);
  }
  [[unroll]] for (uint step = 1u; step < PARTS; step *= 2u) sum += subgroupShuffleXor(sum, step);
  total[r] = total[r] * shrink + sum;
  put_scale(row, shrink);
}

// Multiplies the sums of each row by what put_scale left for it.
void scale_sums() {
  coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> scale;
  [[unroll]] for (uint i = 0u; i < FM; ++i) {
    coopMatLoad(scale, sh_logits, (wave_row() + i * MS) * S_ROW, S_ROW, gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint j = 0u; j < FN; ++j) sums[i * FN + j] = sums[i * FN + j] * scale;
  }
}

void mix_values() {
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left[FM];
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  for (uint key = 0u; key < BK; key += KS) {
    [[unroll]] for (uint i = 0u; i < FM; ++i)
      coopMatLoad(left[i], sh_weights, (wave_row() + i * MS) * P_ROW + key / 4u, P_ROW,
                  gl_CooperativeMatrixLayoutRowMajor);
    [[unroll]] for (uint j = 0u; j < FN; ++j) {
      coopMatLoad(right, sh_v, (wave_column() * FN + j) * NS * V_ROW + key / 4u, V_ROW,
                  gl_CooperativeMatrixLayoutColumnMajor);
      [[unroll]] for (uint i = 0u; i < FM; ++i) sums[i * FN + j] = coopMatMulAdd(left[i], right, sums[i * FN + j]);
    }
  }
}

// What is left to do for row r when all keys are done: its log-sum-exp, or what the second pass wants to know, and the scale
// of its sums.
void finish(uint r, Task t) {
  uint query = t.first_query + row_of(r);
  float factor = has(HEED_ATTENTION_DROPOUT) ? KEEP_SCALE / ONE : 1.0 / ONE;
  bool stores = query <= t.last_query && part() == 0u;
  if (has(HEED_ATTENTION_PARTIAL)) {
    uint at = p.offset[6] + ((t.bh * p.s_q + query) * t.splits + t.split) * (D_V + 2u) + D_V;
    if (stores) {
      partial_result[at] = largest[r];
      partial_result[at + 1u] = total[r];
    }
  } else {
    factor = total[r] == 0.0 ? 0.0 : factor / total[r];  // the largest logit counts 1
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
        coopMatStore(sums[i * FN + n], sh_logits, (wave_row() + i * MS) * S_ROW + mine, S_ROW,
                     gl_CooperativeMatrixLayoutRowMajor);
    }
    subgroup_sync();
    for (uint e = gl_SubgroupInvocationID; e < WM * NS; e += LANES) {
      uint row = wave_row() + e / NS, column = e % NS;
      uint query = t.first_query + row, d = (wave_column() * FN + j) * NS + column;
      if (query > t.last_query || d >= D_V) continue;
      float x = sh_logits[row * S_ROW + mine + column / 4u][column % 4u];
      if (has(HEED_ATTENTION_PARTIAL))
        partial_result[p.offset[6] + ((t.bh * p.s_q + query) * t.splits + t.split) * (D_V + 2u) + d] = x;
      else
        result[p.offset[6] + ((t.b * p.s_q + query) * heads() + t.h) * D_V + d] = TO_OUT(x);
    }
    subgroup_sync();
  }
}

void main() {
  Task t = task_of(workgroup_index(), BM, BK);
  if (t.bh >= p.batch_heads) return;
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
  uint turn = 0u;
  for (uint tile = t.begin; tile < t.end; tile += BK, ++turn) {
    uint count = min(BK, t.end - tile);
    uint in_range = first_bits(count), kept = in_range;
    if (has(HEED_SOFTMAX_KEY_PADDING)) {
      kept = kept_by_padding(t.b, tile, count, turn);
      if (kept == 0u && !has(HEED_SOFTMAX_FILL)) continue;
    }
    uint wanted = has(HEED_SOFTMAX_FILL) ? in_range : kept;
    stage_keys(0u, k_base + tile * p.k_s, p.k_s, wanted);
    stage_values(v_base + tile * p.v_s, p.v_s, wanted);
    barrier();
    make_logits();
    sync();
    [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r) weigh(r, t, tile, kept);
    sync();
    scale_sums();
    mix_values();
    barrier();
  }

  [[unroll]] for (uint r = 0u; r < ROWS_EACH; ++r) finish(r, t);
  sync();
  scale_sums();
  sync();
  store_sums(t);
}
