// Fused attention for few queries, as in decoding; see shared/attention.h. Its time is that of reading keys and values, so each is read
// once for the TQ queries of a workgroup, directly into registers.
//
// LANES neighbouring invocations form a group, which processes every GROUPS-th key of the workgroup with its own online softmax (see
// attention.comp). There is no synchronization until all keys are read; then the workgroup combines the results of its groups, as
// attention_combine.comp does for workgroups.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "shared/attention.glsl"
#include "shared/attention_vector.h"
const uint INVOCATIONS = gl_WorkGroupSize.x;
const uint K_VECS = (D_K + 4u * LANES - 1u) / (4u * LANES);
#include "shared/attention_vector_memory.inc"

const bool WHOLE = (FLAGS & HEED_ATTENTION_VEC4) != 0u;

const uint LOGITS = TQ * TK;
float logits[LOGITS];

// Groups use shuffles if each lies within one subgroup, which a driver does not guarantee: it is true if all subgroups are full and no
// smaller than a group.
bool in_subgroups() {
  return gl_NumSubgroups * gl_SubgroupSize == INVOCATIONS && gl_SubgroupSize % LANES == 0u;
}

// Adds up the partial logits of the lanes of each group. Every lane gets the sums, with the same bits.
void add_lanes(uint tid, bool shuffles) {
  if (shuffles) {
    [[unroll]] for (uint n = 0u; n < LOGITS; ++n)
      [[unroll]] for (uint step = 1u; step < LANES; step *= 2u) logits[n] += subgroupShuffleXor(logits[n], step);
    return;
  }
  [[unroll]] for (uint n = 0u; n < LOGITS; ++n) {
    barrier();
    sh_sums[tid].x = logits[n];
    barrier();
    float sum = 0.0;
    for (uint i = 0u; i < LANES; ++i) sum += sh_sums[tid - tid % LANES + i].x;
    logits[n] = sum;
  }
}

void main() {
  Task task = task_of(workgroup_index(), TQ, GROUPS * TK);
  if (task.split >= task.splits) return;
  bool shuffles = in_subgroups();
  uint tid = shuffles ? gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID : gl_LocalInvocationID.x;
  uint lane = tid % LANES, group = tid / LANES;
  uint k_base = p.offset[1] + task.b * p.k_b + task.h / GROUP * p.k_h;
  uint v_base = p.offset[2] + task.b * p.v_b + task.h / GROUP * p.v_h;

  // Queries past the last one repeat it, and are not stored.
  uint query[TQ];
  Sight sight[TQ];
  vec4 q_part[TQ * K_VECS];
  vec4 sums[TQ * V_VECS];
  float largest[TQ], total[TQ];
  [[unroll]] for (uint r = 0u; r < TQ; ++r) {
    query[r] = min(task.first_query + r, task.last_query);
    sight[r] = sight_of(task, query[r]);
    uint at = p.offset[0] + task.b * p.q_b + task.h * p.q_h + query[r] * p.q_s;
    [[unroll]] for (uint n = 0u; n < K_VECS; ++n)
      q_part[r * K_VECS + n] = load_q(at, (n * LANES + lane) * 4u, WHOLE) * SCALE;
    [[unroll]] for (uint n = 0u; n < V_VECS; ++n) sums[r * V_VECS + n] = vec4(0.0);
    largest[r] = LOWEST;
    total[r] = 0.0;
  }

  for (uint first = task.begin; first < task.end; first += GROUPS * TK) {
    // All loads of the current keys and values are issued before the first is used. Keys past the end repeat the last one.
    vec4 keys[TK * K_VECS], values[TK * V_VECS];
    uint kept = 0u;
    [[unroll]] for (uint t = 0u; t < TK; ++t) {
      uint j = first + t * GROUPS + group;
      bool inside = j < task.end;
      j = min(j, task.end - 1u);
      if (inside && (!has(HEED_SOFTMAX_KEY_PADDING) || !padding_hides(task.b, j))) kept |= 1u << t;
      [[unroll]] for (uint n = 0u; n < K_VECS; ++n)
        keys[t * K_VECS + n] = load_k(k_base + j * p.k_s, (n * LANES + lane) * 4u, WHOLE);
      [[unroll]] for (uint n = 0u; n < V_VECS; ++n)
        values[t * V_VECS + n] = load_v(v_base + j * p.v_s, (n * LANES + lane) * 4u, WHOLE);
    }
    [[unroll]] for (uint r = 0u; r < TQ; ++r) {
      [[unroll]] for (uint t = 0u; t < TK; ++t) {
        float sum = 0.0;
        [[unroll]] for (uint n = 0u; n < K_VECS; ++n) sum += dot(q_part[r * K_VECS + n], keys[t * K_VECS + n]);
        logits[r * TK + t] = sum;
      }
    }
    if (LANES > 1u) add_lanes(tid, shuffles);

    [[unroll]] for (uint r = 0u; r < TQ; ++r) {
      float now_largest = largest[r];
      uint taking_part = 0u;  // bit t: key t has a weight
      [[unroll]] for (uint t = 0u; t < TK; ++t) {
        uint j = first + t * GROUPS + group;
        float value = logits[r * TK + t];
        if (!has_weight(sight[r], j, task.end, (kept >> t & 1u) != 0u, value)) continue;
        taking_part |= 1u << t;
        logits[r * TK + t] = value;
        now_largest = max(now_largest, value);
      }
      float shrink = total[r] == 0.0 ? 0.0 : exp(largest[r] - now_largest);
      largest[r] = now_largest;
      float sum = 0.0;
      [[unroll]] for (uint n = 0u; n < V_VECS; ++n) sums[r * V_VECS + n] *= shrink;
      [[unroll]] for (uint t = 0u; t < TK; ++t) {
        bool takes_part = (taking_part >> t & 1u) != 0u;
        float weight = takes_part ? exp(SUBTRACT_FIRST(logits[r * TK + t], now_largest)) : 0.0;
        sum += weight;
        if (has(HEED_ATTENTION_DROPOUT) &&
            dropout_word(task.bh * p.s_q + query[r], first + t * GROUPS + group) < DROPOUT_THRESHOLD)
          weight = 0.0;
        // Hidden keys are skipped, since 0 times an infinity or NaN in their memory would be NaN.
        if (may_hide() ? weight == 0.0 : !takes_part) continue;
        [[unroll]] for (uint n = 0u; n < V_VECS; ++n) sums[r * V_VECS + n] += weight * values[t * V_VECS + n];
      }
      total[r] = total[r] * shrink + sum;
    }
  }

  barrier();
  [[unroll]] for (uint r = 0u; r < TQ; ++r) {
    if (lane == 0u) sh_totals[r * GROUPS + group] = vec2(largest[r], total[r]);
    [[unroll]] for (uint n = 0u; n < V_VECS; ++n) sh_sums[(r * V_VECS + n) * INVOCATIONS + tid] = sums[r * V_VECS + n];
  }
  barrier();

  const uint FOURS = (D_V + 3u) / 4u;  // groups of four elements in an output row
  for (uint e = tid; e < TQ * FOURS; e += INVOCATIONS) {
    uint r = e / FOURS, d = e % FOURS * 4u;
    uint i = task.first_query + r;
    if (i > task.last_query) continue;
    float most = LOWEST, sum = 0.0;
    for (uint g = 0u; g < GROUPS; ++g)
      if (sh_totals[r * GROUPS + g].y != 0.0) most = max(most, sh_totals[r * GROUPS + g].x);
    vec4 x = vec4(0.0);
    uint from = (r * V_VECS + d / 4u / LANES) * INVOCATIONS + d / 4u % LANES;
    for (uint g = 0u; g < GROUPS; ++g) {
      vec2 of_group = sh_totals[r * GROUPS + g];
      if (of_group.y == 0.0) continue;
      float weight = exp(of_group.x - most);
      sum += weight * of_group.y;
      x += weight * sh_sums[from + g * LANES];
    }
    uint row = task.bh * p.s_q + i;
    float factor = has(HEED_ATTENTION_DROPOUT) ? KEEP_SCALE : 1.0;
    uint at = p.offset[6] + ((task.b * p.s_q + i) * heads() + task.h) * D_V;
    if (has(HEED_ATTENTION_PARTIAL)) {
      at = partial_at(task, row);
      if (d == 0u) {
        partial_result[at + D_V] = most;
        partial_result[at + D_V + 1u] = sum;
      }
    } else {
      factor = sum == 0.0 ? 0.0 : factor / sum;  // 0 only without a visible key
      if (has(HEED_ATTENTION_LOG_SUM_EXP) && d == 0u) store_log_sum_exp(row, most, sum);
    }
    x *= factor;
    if (d >= D_V) continue;
    if (!has(HEED_ATTENTION_PARTIAL)) {
      put_some_result(at + d, D_V - d, x);
      continue;
    }
    [[unroll]] for (uint c = 0u; c < 4u; ++c)
      if (d + c < D_V) partial_result[at + d + c] = x[c];
  }
}
