// Shared by the kernels of attention's gradients: operands, rows in shared memory, and recomputed weights.
#include "elements.glsl"
#include "groups.glsl"
#include "philox.glsl"
#include "classify.glsl"
#include "attention_backward.h"
#include "masks.glsl"
#include "weight_word.glsl"
#define SCALE uintBitsToFloat(SCALE_BITS)
#define FILL uintBitsToFloat(FILL_BITS)
#define KEEP_SCALE uintBitsToFloat(KEEP_SCALE_BITS)

HEED_OPERAND(0, q)
HEED_OPERAND(1, k)
HEED_OPERAND(2, v)
HEED_OPERAND(3, gradient)
#ifdef MAKES_ROWS
layout(set = 0, binding = 4) writeonly buffer Rows { vec2 rows[]; };
HEED_OPERAND(5, attended)
layout(set = 0, binding = 6) readonly buffer LogSumExp { float log_sum_exp[]; };
#else
layout(set = 0, binding = 4) readonly buffer Rows { vec2 rows[]; };
#endif
layout(set = 0, binding = 5) readonly buffer FirstBytes { uint first_bytes[]; };
HEED_OPERAND(5, first_floats)
layout(set = 0, binding = 6) readonly buffer SecondBytes { uint second_bytes[]; };
HEED_OPERAND(6, second_floats)
HEED_RESULT4(7, result)

// Rows in vectors of four, with one vector of padding so that neighbouring rows begin in other banks.
const uint K_ROW = (D_K + 3u) / 4u, V_ROW = (D_V + 3u) / 4u, K_PITCH = K_ROW + 1u, V_PITCH = V_ROW + 1u;
const uint PAIRS = OWN * VISIT;
// Pairs of an invocation: one own row with visited rows that are PAIR_STEP apart. A workgroup has 128 invocations, a multiple of OWN.
const uint PAIR_SUMS = (PAIRS + 127u) / 128u, PAIR_STEP = 128u / OWN;


// Keys and values, or queries and dO.
shared vec4 sh_own_k[OWN * K_PITCH];
shared vec4 sh_own_v[OWN * V_PITCH];
shared vec4 sh_visit_k[VISIT * K_PITCH];
shared vec4 sh_visit_v[VISIT * V_PITCH];
shared vec2 sh_rows[OWN + VISIT];  // numbers of the queries, whether they are own or visited
shared float sh_weight[PAIRS];
shared float sh_slope[PAIRS];

bool has(uint flag) { return (FLAGS & flag) != 0u; }

HEED_OPERAND_ROW(q, A_WIDE, A_SHIFT, A_IS_BFLOAT)
HEED_OPERAND_ROW(k, A_WIDE, A_SHIFT, A_IS_BFLOAT)
HEED_OPERAND_ROW(v, A_WIDE, A_SHIFT, A_IS_BFLOAT)
HEED_OPERAND_ROW(gradient, A_WIDE, A_SHIFT, A_IS_BFLOAT)
#ifdef MAKES_ROWS
HEED_OPERAND_ROW(attended, A_WIDE, A_SHIFT, A_IS_BFLOAT)
#endif

// Loads `count` queries and their gradients, or keys and values, from number `first` on; further ones up to `all` become zeros.
#define HEED_LOAD_QUERIES(sh_k, sh_v, b, h, first, count, all)                                         \
  for (uint n = gl_LocalInvocationID.x; n < (all) * K_ROW; n += gl_WorkGroupSize.x) {                           \
    uint r = n / K_ROW, c = n % K_ROW;                                                                          \
    sh_k[r * K_PITCH + c] =                                                                                     \
        r < (count) ? row_q(p.offset[0] + (b) * p.q_b + (h) * p.q_h + ((first) + r) * p.q_s, c * 4u, D_K) : vec4(0.0); \
  }                                                                                                             \
  for (uint n = gl_LocalInvocationID.x; n < (all) * V_ROW; n += gl_WorkGroupSize.x) {                           \
    uint r = n / V_ROW, c = n % V_ROW;                                                                          \
    uint at = p.offset[3] + (((b) * p.s_q + (first) + r) * p.heads + (h)) * D_V;                                \
    sh_v[r * V_PITCH + c] = r < (count) ? row_gradient(at, c * 4u, D_V) : vec4(0.0);                                    \
  }
// Loads the rows of `count` queries.
#define HEED_LOAD_ROWS(b, h, first, count, rows_at)                           \
  for (uint r = gl_LocalInvocationID.x; r < (count); r += gl_WorkGroupSize.x) \
    sh_rows[(rows_at) + r] = rows[p.offset[4] + ((b) * p.heads + (h)) * p.s_q + (first) + r];
#define HEED_LOAD_KEYS(sh_k, sh_v, b, g, first, count, all)                                                     \
  for (uint n = gl_LocalInvocationID.x; n < (all) * K_ROW; n += gl_WorkGroupSize.x) {                           \
    uint r = n / K_ROW, c = n % K_ROW;                                                                          \
    sh_k[r * K_PITCH + c] =                                                                                     \
        r < (count) ? row_k(p.offset[1] + (b) * p.k_b + (g) * p.k_h + ((first) + r) * p.k_s, c * 4u, D_K) : vec4(0.0);   \
  }                                                                                                             \
  for (uint n = gl_LocalInvocationID.x; n < (all) * V_ROW; n += gl_WorkGroupSize.x) {                           \
    uint r = n / V_ROW, c = n % V_ROW;                                                                          \
    sh_v[r * V_PITCH + c] =                                                                                     \
        r < (count) ? row_v(p.offset[2] + (b) * p.v_b + (g) * p.v_h + ((first) + r) * p.v_s, c * 4u, D_V) : vec4(0.0); \
  }

uint mask_at(uint binding, uint b, uint h, uint i, uint j) {
  return binding == 5u ? p.offset[5] + b * p.first_b + h * p.first_h + i * p.first_q + j * p.first_k
                       : p.offset[6] + b * p.second_b + h * p.second_h + i * p.second_q + j * p.second_k;
}
bool byte_of_mask_hides(uint binding, uint at, bool keep) {
  return byte_hides(binding == 5u ? first_bytes[at / 4u] : second_bytes[at / 4u], at, keep);
}
bool is_hidden(uint b, uint h, uint i, uint j) {
  int place = int(i) + aligned_place(p.s_kv, p.s_q);
  bool hidden = j >= visible_to(place, p.s_kv) || j < passed_by(place, p.s_kv);
  if (PADDING_AT != 0u && !hidden)
    hidden = byte_of_mask_hides(PADDING_AT, mask_at(PADDING_AT, b, 0u, 0u, j), has(HEED_SOFTMAX_KEY_PADDING_KEEP));
  if (MASK_AT != 0u && !hidden)
    hidden = byte_of_mask_hides(MASK_AT, mask_at(MASK_AT, b, h, i, j), has(HEED_SOFTMAX_MASK_KEEP));
  return hidden;
}

// The weight of key j for query i after dropout, and the slope of its logit. `score` is the dot product of query and key, `steep` that of
// the query's gradient and the value.
void weigh(uint b, uint h, uint i, uint j, vec2 row, float score, float steep, out float weight, out float slope) {
  weight = 0.0;
  slope = 0.0;
  if (is_minus_infinity(row.x)) return;  // the query sees no key
  bool hidden = is_hidden(b, h, i, j);
  if (hidden && !has(HEED_SOFTMAX_FILL)) return;
  float logit = FILL;
  if (!hidden) {
    logit = score * SCALE;
    if (BIAS_AT != 0u) {
      uint at = mask_at(BIAS_AT, b, h, i, j);
      float added = 0.0;
      if (BIAS_AT == 5u) added = one_first_floats(at);
      else added = one_second_floats(at);
      if (is_minus_infinity(added)) return;
      logit += added;
    }
  }
  weight = exp(SUBTRACT_FIRST(logit, row.x));
  float kept = 1.0;
  if (has(HEED_ATTENTION_DROPOUT))
    kept = dropout_word((b * p.heads + h) * p.s_q + i, j) < DROPOUT_THRESHOLD ? 0.0 : KEEP_SCALE;
  if (!hidden) slope = weight * (kept * steep - row.y);
  weight *= kept;
}

// The dot products of an invocation's pairs: of queries and keys, and of gradients and values.
void multiply_pairs(uint tid, out float scores[PAIR_SUMS], out float steeps[PAIR_SUMS]) {
  uint own = tid % OWN, visit = min(tid / OWN, VISIT - 1u);
  [[unroll]] for (uint n = 0u; n < PAIR_SUMS; ++n) scores[n] = steeps[n] = 0.0;
  for (uint c = 0u; c < K_ROW; ++c) {
    vec4 x = sh_own_k[own * K_PITCH + c];
    [[unroll]] for (uint n = 0u; n < PAIR_SUMS; ++n)
      scores[n] += dot(x, sh_visit_k[(visit + n * PAIR_STEP) * K_PITCH + c]);
  }
  for (uint c = 0u; c < V_ROW; ++c) {
    vec4 x = sh_own_v[own * V_PITCH + c];
    [[unroll]] for (uint n = 0u; n < PAIR_SUMS; ++n)
      steeps[n] += dot(x, sh_visit_v[(visit + n * PAIR_STEP) * V_PITCH + c]);
  }
}
