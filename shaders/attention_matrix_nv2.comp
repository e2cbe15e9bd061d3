// Fused attention on matrix units by VK_NV_cooperative_matrix2, with the online softmax of attention.comp; see
// shared/attention.h. A workgroup makes BM queries over tiles of BK keys with matrices of the whole workgroup: the driver cuts
// them up for its subgroups and stages them through shared memory. What a row has one of (its largest logit, the sum of its
// weights) is a matrix, too, with all columns alike, as reductions along rows give it.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#include "shared/attention.glsl"
#include "shared/kept_keys.glsl"

layout(constant_id = 11) const uint BM = 64;
layout(constant_id = 12) const uint K_PADDED = 64;  // heads with zeros behind them
layout(constant_id = 13) const uint V_PADDED = 64;
layout(constant_id = 14) const uint BK = 32;  // 32 or 64

#define CLAMP gl_CooperativeMatrixClampModeConstantNV
#define ROWS gl_CooperativeMatrixReduceRowNV
#define LOGITS coopmat<float, gl_ScopeWorkgroup, BM, BK, gl_MatrixUseAccumulator>
#define SUMS coopmat<float, gl_ScopeWorkgroup, BM, V_PADDED, gl_MatrixUseAccumulator>

// The smallest weights would be subnormal in f16, or 0. The sums are divided by this again.
const float ONE = 32768.0;
// Keys without a weight have the logit LOWEST; all others at least the next larger number.
const uint LEAST_BITS = 0xff7ffffeu;

Task here;
uint here_tile;   // the first key of the tile
uvec2 here_kept;  // bit j: key j of the tile is in range, and the padding keeps it

bool keeps(uint j) { return ((here_kept[j / 32u] >> (j & 31u)) & 1u) != 0u; }
uint first_bits(uint count) { return count == 0u ? 0u : 0xffffffffu >> (32u - min(count, 32u)); }
uvec2 first_keys(uint count) { return uvec2(first_bits(count), first_bits(max(count, 32u) - 32u)); }

// --- Of one element, by its row and column in the tile

float logit_of(const in uint row, const in uint column, const in float product) {
  uint i = min(here.first_query + row, here.last_query);
  float value = product * SCALE, least = uintBitsToFloat(LEAST_BITS);
  if (!has_weight(sight_of(here, i), here_tile + column, here.end, keeps(column), value)) return LOWEST;
  return value < least ? least : value;
}

float larger_of(const in float a, const in float b) { return max(a, b); }
float sum_of(const in float a, const in float b) { return a + b; }
float larger(const in uint row, const in uint column, const in float a, const in float b) { return max(a, b); }

// What the sums so far are multiplied by, when the largest logit grows.
float shrink_of(const in uint row, const in uint column, const in float total, const in float before, const in float now) {
  return total == 0.0 ? 0.0 : exp(before - now);
}

float weight_of(const in uint row, const in uint column, const in float logit, const in float largest) {
  return logit == LOWEST ? 0.0 : exp(logit - largest);
}

float after_dropout(const in uint row, const in uint column, const in float weight) {
  uint i = min(here.first_query + row, here.last_query);
  return dropout_word(here.bh * p.s_q + i, here_tile + column) < DROPOUT_THRESHOLD ? 0.0 : weight;
}

// What lies in memory where the padding hides a value may be anything, and 0 times it not 0.
float16_t kept_value(const in uint row, const in uint column, const in float16_t value) {
  return keeps(row) ? value : float16_t(0.0);
}

// What is left to do for a row when all keys are done: its log-sum-exp, or what the second pass wants to know, which the
// first column stores; and the scale of its sums.
float finish(const in uint row, const in uint column, const in float total, const in float largest) {
  uint query = here.first_query + row;
  bool stores = column == 0u && query <= here.last_query;
  float factor = has(HEED_ATTENTION_DROPOUT) ? KEEP_SCALE / ONE : 1.0 / ONE;
  if (has(HEED_ATTENTION_PARTIAL)) {
    uint at = p.offset[6] + ((here.bh * p.s_q + query) * here.splits + here.split) * (D_V + 2u) + D_V;
    if (stores) {
      partial_result[at] = largest;
      partial_result[at + 1u] = total;
    }
    return factor;
  }
  if (has(HEED_ATTENTION_LOG_SUM_EXP) && stores) store_log_sum_exp(here.bh * p.s_q + query, largest, total);
  return total == 0.0 ? 0.0 : factor / total;  // the largest logit counts 1
}

// Stored one by one: a matrix could be stored where rows begin at multiples of 16 bytes only.
float store_sum(const in uint row, const in uint d, const in float x) {
  uint query = here.first_query + row;
  if (query > here.last_query || d >= D_V) return x;
  if (has(HEED_ATTENTION_PARTIAL))
    partial_result[p.offset[6] + ((here.bh * p.s_q + query) * here.splits + here.split) * (D_V + 2u) + d] = x;
  else
    result[p.offset[6] + ((here.b * p.s_q + query) * heads() + here.h) * D_V + d] = TO_OUT(x);
  return x;
}

// Loads `count` rows from `first` on of a tensor of `rows` rows, each `size` long and `padded` with zeros. Two kinds of layout:
// one reads 0 outside of the tensor; the other is never read there and has rows on 16 bytes, which the mask tells the driver.
#define HEED_LOAD(matrix, elements, at, rows, size, stride, first, count, padded, view)                            \
  if (first + count <= rows && size == padded && (stride & 7u) == 0u) {                                            \
    tensorLayoutNV<2> inside = createTensorLayoutNV(2);                                                            \
    inside = setTensorLayoutDimensionNV(inside, rows, size);                                                       \
    inside = setTensorLayoutStrideNV(inside, stride & ~7u, 1u);                                                    \
    coopMatLoadTensorNV(matrix, elements, at, sliceTensorLayoutNV(inside, first, count, 0u, padded), view);        \
  } else {                                                                                                         \
    tensorLayoutNV<2, CLAMP> any = createTensorLayoutNV(2, CLAMP);                                                 \
    any = setTensorLayoutDimensionNV(any, rows, size);                                                             \
    any = setTensorLayoutStrideNV(any, stride, 1u);                                                                \
    coopMatLoadTensorNV(matrix, elements, at, sliceTensorLayoutNV(any, first, count, 0u, padded), view);           \
  }

// Whether every query of the workgroup sees every key of the tile, and nothing is added to their logits.
bool is_open() {
  if (has(HEED_SOFTMAX_MASK) || has(HEED_SOFTMAX_BIAS) || here_kept != first_keys(BK)) return false;
  return here_tile + BK <= visible_keys(here.first_query);
}

void main() {
  here = task_of(workgroup_index(), BM, BK);
  if (here.bh >= p.batch_heads) return;
  uint q_at = p.offset[0] + here.b * p.q_b + here.h * p.q_h;
  uint k_at = p.offset[1] + here.b * p.k_b + here.h / GROUP * p.k_h;
  uint v_at = p.offset[2] + here.b * p.v_b + here.h / GROUP * p.v_h;
  tensorViewNV<2, false, 0, 1> straight = createTensorViewNV(2, false, 0, 1);
  tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);

  coopmat<float16_t, gl_ScopeWorkgroup, BM, K_PADDED, gl_MatrixUseA> queries;
  HEED_LOAD(queries, q, q_at, p.s_q, D_K, p.q_s, here.first_query, BM, K_PADDED, straight)
  LOGITS largest = LOGITS(LOWEST), total = LOGITS(0.0);
  SUMS sums = SUMS(0.0);

  if (has(HEED_SOFTMAX_KEY_PADDING)) clear_kept();
  uint turn = 0u;
  [[dont_unroll]] for (here_tile = here.begin; here_tile < here.end; here_tile += BK) {
    uint count = min(BK, here.end - here_tile);
    here_kept = first_keys(count);
    if (has(HEED_SOFTMAX_KEY_PADDING)) {
      here_kept.x = kept_by_padding(here.b, here_tile, min(count, 32u), turn++);
      if (BK > 32u) here_kept.y = kept_by_padding(here.b, here_tile + 32u, max(count, 32u) - 32u, turn++);
      if (here_kept == uvec2(0u) && !has(HEED_SOFTMAX_FILL)) continue;
    }

    coopmat<float16_t, gl_ScopeWorkgroup, K_PADDED, BK, gl_MatrixUseB> keys;
    HEED_LOAD(keys, k, k_at, here.end, D_K, p.k_s, here_tile, BK, K_PADDED, turned)
    LOGITS logits = coopMatMulAdd(queries, keys, LOGITS(0.0));
    if (is_open()) logits = logits * SCALE;
    else coopMatPerElementNV(logits, logits, logit_of);

    LOGITS now, shrink, weights, added;
    coopMatReduceNV(now, logits, ROWS, larger_of);
    coopMatPerElementNV(now, now, larger, largest);
    coopMatPerElementNV(shrink, total, shrink_of, largest, now);
    coopMatPerElementNV(weights, logits, weight_of, now);
    coopMatReduceNV(added, weights, ROWS, sum_of);
    largest = now;
    total = total * shrink + added;
    if (has(HEED_ATTENTION_DROPOUT)) coopMatPerElementNV(weights, weights, after_dropout);

    SUMS shrink_sums;
    coopMatReduceNV(shrink_sums, shrink, ROWS, larger_of);  // columns are alike: any of them, as often as sums has columns
    sums = sums * shrink_sums;
    coopmat<float16_t, gl_ScopeWorkgroup, BK, V_PADDED, gl_MatrixUseB> values;
    HEED_LOAD(values, v, v_at, here.end, D_V, p.v_s, here_tile, BK, V_PADDED, straight)
    if (has(HEED_SOFTMAX_KEY_PADDING) && !has(HEED_SOFTMAX_FILL) && here_kept != first_keys(BK))
      coopMatPerElementNV(values, values, kept_value);
    sums = coopMatMulAdd(coopmat<float16_t, gl_ScopeWorkgroup, BM, BK, gl_MatrixUseA>(weights * ONE), values, sums);
  }

  LOGITS factor;
  coopMatPerElementNV(factor, total, finish, largest);
  SUMS scale;
  coopMatReduceNV(scale, factor, ROWS, larger_of);
  sums = sums * scale;
  coopMatPerElementNV(sums, sums, store_sum);
}
