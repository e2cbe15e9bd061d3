// Gradients of queries, or of keys and values; see shared/attention_backward.h. The rows that the workgroup owns and those that it visits
// are in shared memory; sums stay in registers, four neighbours each, and are added in a fixed order.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/attention_backward.glsl"

// Sums of an invocation; a workgroup has 128.
const uint K_SUMS = (OWN * K_ROW + 127u) / 128u, V_SUMS = (OWN * V_ROW + 127u) / 128u;

#ifdef MAKES_ROWS
// Computes for each own query the log-sum-exp, and the dot product of its output and its gradient.
void make_rows(uint b, uint h, uint first, uint count) {
  for (uint r = gl_LocalInvocationID.x; r < count; r += gl_WorkGroupSize.x) {
    uint at = p.offset[5] + ((b * p.s_q + first + r) * p.heads + h) * D_V, row = (b * p.heads + h) * p.s_q + first + r;
    float sum = 0.0;
    for (uint c = 0u; c < V_ROW; ++c) sum += dot(row_attended(at, c * 4u, D_V), sh_own_v[r * V_PITCH + c]);
    vec2 made = vec2(log_sum_exp[p.offset[6] + row], sum);
    sh_rows[r] = made;
    rows[p.offset[4] + row] = made;
  }
}
#endif

// sums[n] += the visited rows, each times its factor for the own row of n. If all sums of an invocation belong to the same columns, it
// reads these once.
#define HEED_ADD_VISITED(sums, SUMS_COUNT, ROW, PITCH, factors, rows)               \
  if (128u % ROW == 0u) {                                                           \
    for (uint visit = 0u; visit < there; ++visit) {                                 \
      vec4 x = rows[visit * PITCH + tid % ROW];                                     \
      [[unroll]] for (uint n = 0u; n < SUMS_COUNT; ++n) {                           \
        uint own = (n * 128u + tid) / ROW;                                          \
        if (own < OWN) sums[n] += factors[visit * OWN + own] * x;                   \
      }                                                                             \
    }                                                                               \
  } else {                                                                          \
    [[unroll]] for (uint n = 0u; n < SUMS_COUNT; ++n) {                             \
      uint e = n * 128u + tid, own = e / ROW;                                       \
      if (own >= OWN) continue;                                                     \
      for (uint visit = 0u; visit < there; ++visit)                                 \
        sums[n] += factors[visit * OWN + own] * rows[visit * PITCH + e % ROW];      \
    }                                                                               \
  }

HEED_OPERAND_OF(7, before, OUT_WIDE, (OUT_WIDE ? 0u : 1u), OUT_IS_BFLOAT)

// Sums that earlier dispatches have stored, in up to `count` elements.
vec4 sums_before(uint at, uint count) {
  vec4 sums = vec4(0.0);
  if (p.begin == 0u) return sums;
  [[unroll]] for (uint c = 0u; c < 4u; ++c)
    if (c < count) sums[c] = one_before(at + c);
  return sums;
}

void main() {
  uint index = workgroup_index();
  uint tid = gl_LocalInvocationID.x;
  uint owned = OWNS_KEYS ? p.s_kv : p.s_q, visited = OWNS_KEYS ? p.s_q : p.s_kv;
  uint blocks = (owned + OWN - 1u) / OWN;
  uint own_heads = OWNS_KEYS ? p.heads / GROUP : p.heads;
  uint b = index / blocks / own_heads, own_head = index / blocks % own_heads, first = index % blocks * OWN;
  if (b >= p.batches) return;
  uint count = min(OWN, owned - first);
  if (OWNS_KEYS) {
    HEED_LOAD_KEYS(sh_own_k, sh_own_v, b, own_head, first, count, OWN)
  } else {
    HEED_LOAD_QUERIES(sh_own_k, sh_own_v, b, own_head, first, count, OWN)
#ifdef MAKES_ROWS
    barrier();
    make_rows(b, own_head, first, count);
#else
    HEED_LOAD_ROWS(b, own_head, first, count, 0u)
#endif
  }

  vec4 k_sums[K_SUMS], v_sums[V_SUMS];
  [[unroll]] for (uint n = 0u; n < K_SUMS; ++n) k_sums[n] = vec4(0.0);
  [[unroll]] for (uint n = 0u; n < V_SUMS; ++n) v_sums[n] = vec4(0.0);

  int aligned = aligned_place(p.s_kv, p.s_q);
  uint begin_head = OWNS_KEYS ? own_head * GROUP : own_head, end_head = OWNS_KEYS ? begin_head + GROUP : own_head + 1u;
  for (uint h = begin_head; h < end_head; ++h) {
    for (uint at = p.begin; at < min(visited, p.begin + AT_ONCE); at += VISIT) {
      uint there = min(VISIT, visited - at);
      // Blocks whose queries see none of the keys are skipped.
      uint first_query = OWNS_KEYS ? at : first, last_query = first_query + (OWNS_KEYS ? there : count) - 1u;
      uint first_key = OWNS_KEYS ? first : at, last_key = first_key + (OWNS_KEYS ? count : there) - 1u;
      bool apart = first_key >= visible_to(int(last_query) + aligned, p.s_kv) ||
                   last_key < passed_by(int(first_query) + aligned, p.s_kv);
      if (apart && !has(HEED_SOFTMAX_FILL)) continue;
      barrier();
      if (OWNS_KEYS) {
        HEED_LOAD_QUERIES(sh_visit_k, sh_visit_v, b, h, at, there, VISIT)
#ifndef MAKES_ROWS
        HEED_LOAD_ROWS(b, h, at, there, OWN)
#endif
      } else {
        HEED_LOAD_KEYS(sh_visit_k, sh_visit_v, b, h / GROUP, at, there, VISIT)
      }
      barrier();
      float scores[PAIR_SUMS], steeps[PAIR_SUMS];
      multiply_pairs(tid, scores, steeps);
      [[unroll]] for (uint n = 0u; n < PAIR_SUMS; ++n) {
        uint pair = n * 128u + tid, own = pair % OWN, visit = pair / OWN;
        if (pair >= PAIRS) continue;
        float weight = 0.0, slope = 0.0;
        if (own < count && visit < there) {
          uint i = OWNS_KEYS ? at + visit : first + own, j = OWNS_KEYS ? first + own : at + visit;
          weigh(b, h, i, j, sh_rows[OWNS_KEYS ? OWN + visit : own], scores[n], steeps[n], weight, slope);
        }
        sh_weight[pair] = weight;
        sh_slope[pair] = SCALE * slope;
      }
      barrier();
      HEED_ADD_VISITED(k_sums, K_SUMS, K_ROW, K_PITCH, sh_slope, sh_visit_k)
      if (OWNS_KEYS) {
        HEED_ADD_VISITED(v_sums, V_SUMS, V_ROW, V_PITCH, sh_weight, sh_visit_v)
      }
    }
  }

  uint out_at = p.offset[7] + (b * owned + first) * OUT_TOKEN + own_head * OUT_HEAD;
  uint k_rows = !OWNS_KEYS || (STORES & 1u) != 0u ? count : 0u, v_rows = OWNS_KEYS && (STORES & 2u) != 0u ? count : 0u;
  [[unroll]] for (uint n = 0u; n < K_SUMS; ++n) {
    uint own = (n * 128u + tid) / K_ROW, d = (n * 128u + tid) % K_ROW * 4u, to = out_at + own * OUT_TOKEN + d;
    if (own < k_rows && d < D_K) put_some_result(to, D_K - d, k_sums[n] + sums_before(to, D_K - d));
  }
  [[unroll]] for (uint n = 0u; n < V_SUMS; ++n) {
    uint own = (n * 128u + tid) / V_ROW, d = (n * 128u + tid) % V_ROW * 4u, to = out_at + own * OUT_TOKEN + VALUE_AT + d;
    if (own < v_rows && d < D_V) put_some_result(to, D_V - d, v_sums[n] + sums_before(to, D_V - d));
  }
}
