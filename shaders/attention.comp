// Fused attention; see shared/attention.h. Online softmax over tiles of keys (Milakov & Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022,
// arXiv:2205.14135): scores are not written to memory.
//
// A tile of BK keys and values lies in shared memory. LANES invocations share TQ queries; each holds every LANES-th group of four elements
// of the queries and of their outputs. They exchange partial dot products, so that all of them know all logits of their queries and no
// other reduction is needed.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/attention.glsl"
#include "shared/kept_keys.glsl"
#include "shared/strange_values.glsl"
#include "shared/attention_tiles.h"
#include "shared/attention_tiles_memory.inc"

// The logits of an invocation's queries and the current TK keys, or its partial sums of them before add_lanes.
const uint LOGITS = TQ * TK;
float logits[LOGITS];

// Adds up the partial logits of the lanes of a query. Every lane gets the sums.
void add_lanes(bool first) {
  uint tid = gl_LocalInvocationID.x;
  if (!first) barrier();
  [[unroll]] for (uint n = 0u; n < LOGITS; ++n) sh_partial[n * gl_WorkGroupSize.x + tid] = logits[n];
  barrier();
  uint group = tid - tid % LANES;
  [[unroll]] for (uint n = 0u; n < LOGITS; ++n) {
    float sum = sh_partial[n * gl_WorkGroupSize.x + group];
    for (uint i = 1u; i < LANES; ++i) sum += sh_partial[n * gl_WorkGroupSize.x + group + i];
    logits[n] = sum;
  }
}

// Loads a tile of keys and values into shared memory. Those whose bit is not set become zeros, since infinite or NaN values in their memory
// must not be multiplied. If `watched`, returns whether this invocation has read an infinite or NaN value.
bool load_tile(uint k_base, uint v_base, uint tile, uint bits, bool watched) {
  bool strange = false;
  bool whole = whole_k();
  for (uint n = gl_LocalInvocationID.x; n < BK * K_ROW; n += gl_WorkGroupSize.x) {
    uint j = n / K_ROW;
    bool wanted = ((bits >> j) & 1u) != 0u;
    sh_k[n] = wanted ? load_k(k_base + (tile + j) * p.k_s, n % K_ROW * 4u, whole) : vec4(0.0);
  }
  whole = whole_v();
  for (uint n = gl_LocalInvocationID.x; n < BK * V_ROW; n += gl_WorkGroupSize.x) {
    uint j = n / V_ROW;
    bool wanted = ((bits >> j) & 1u) != 0u;
    vec4 value = wanted ? load_v(v_base + (tile + j) * p.v_s, n % V_ROW * 4u, whole) : vec4(0.0);
    if (watched && has_strange(value)) strange = true;
    sh_v[n] = value;
  }
  return strange;
}

void main() {
  const uint slots = gl_WorkGroupSize.x / LANES;
  uint tid = gl_LocalInvocationID.x;
  uint lane = tid % LANES;
  Task task = task_of(workgroup_index(), slots * TQ, BK);
  if (task.split >= task.splits) return;
  uint last_query = task.last_query;
  uint bh = task.bh, b = task.b, h = task.h;
  uint k_base = p.offset[1] + b * p.k_b + h / GROUP * p.k_h;
  uint v_base = p.offset[2] + b * p.v_b + h / GROUP * p.v_h;

  // Invocations without a query repeat the last one, and store nothing.
  uint query[TQ];
  vec4 q_part[TQ * K_VECS];
  vec4 sums[TQ * V_VECS];
  float largest[TQ], total[TQ];
  bool whole = whole_q();
  [[unroll]] for (uint r = 0u; r < TQ; ++r) {
    query[r] = task.first_query + tid / LANES + r * slots;
    uint i = min(query[r], last_query);
    uint at = p.offset[0] + b * p.q_b + h * p.q_h + i * p.q_s;
    [[unroll]] for (uint n = 0u; n < K_VECS; ++n)
      q_part[r * K_VECS + n] = load_q(at, (n * LANES + lane) * 4u, whole) * SCALE;
    [[unroll]] for (uint n = 0u; n < V_VECS; ++n) sums[r * V_VECS + n] = vec4(0.0);
    largest[r] = LOWEST;
    total[r] = 0.0;
  }

  if (has(HEED_SOFTMAX_KEY_PADDING)) clear_kept();
  if (may_hide(task, task.begin, task.end)) clear_strange();
  uint turn = 0u;
  for (uint tile = task.begin; tile < task.end; tile += BK, ++turn) {
    uint count = min(BK, task.end - tile);
    uint in_range = 0xffffffffu >> (32u - count);
    uint kept = in_range;
    if (has(HEED_SOFTMAX_KEY_PADDING)) {
      kept = kept_by_padding(b, tile, count, turn);
      if (kept == 0u && !has(HEED_SOFTMAX_FILL)) continue;
    }
    bool watched = may_hide(task, tile, tile + count);
    bool strange = load_tile(k_base, v_base, tile, has(HEED_SOFTMAX_FILL) ? in_range : kept, watched);
    if (watched) put_strange(strange);
    barrier();
    strange = watched && any_strange();

    for (uint j0 = 0u; j0 < BK; j0 += TK) {
      [[unroll]] for (uint n = 0u; n < LOGITS; ++n) logits[n] = 0.0;
      [[unroll]] for (uint n = 0u; n < K_VECS; ++n) {
        [[unroll]] for (uint t = 0u; t < TK; ++t) {
          vec4 key = sh_k[(j0 + t) * K_ROW + n * LANES + lane];
          [[unroll]] for (uint r = 0u; r < TQ; ++r) logits[r * TK + t] += dot(q_part[r * K_VECS + n], key);
        }
      }
      if (LANES > 1u) add_lanes(j0 == 0u);

      [[unroll]] for (uint r = 0u; r < TQ; ++r) {
        uint i = min(query[r], last_query);
        Sight sight = sight_of(task, i);
        float now_largest = largest[r];
        uint taking_part = 0u;  // bit t: key t has a weight
        [[unroll]] for (uint t = 0u; t < TK; ++t) {
          uint j = tile + j0 + t;
          float value = logits[r * TK + t];
          bool is_kept = ((kept >> (j0 + t)) & 1u) != 0u;
          if (!has_weight(sight, j, task.end, is_kept, value)) continue;
          taking_part |= 1u << t;
          logits[r * TK + t] = value;
          now_largest = max(now_largest, value);
        }
        float shrink = total[r] == 0.0 ? 0.0 : exp(largest[r] - now_largest);
        largest[r] = now_largest;
        float sum = 0.0;
        [[unroll]] for (uint t = 0u; t < TK; ++t) {
          float weight = (taking_part >> t & 1u) != 0u ? exp(SUBTRACT_FIRST(logits[r * TK + t], now_largest)) : 0.0;
          sum += weight;
          if (has(HEED_ATTENTION_DROPOUT) && dropout_word(bh * p.s_q + i, tile + j0 + t) < DROPOUT_THRESHOLD)
            weight = 0.0;
          logits[r * TK + t] = weight;
        }
        total[r] = total[r] * shrink + sum;
        [[unroll]] for (uint n = 0u; n < V_VECS; ++n) sums[r * V_VECS + n] *= shrink;
      }
      if (strange) {
        [[dont_unroll]] for (uint at = 0u; at < TK; ++at) {
          float weight[TQ];
          [[unroll]] for (uint r = 0u; r < TQ; ++r) {
            weight[r] = 0.0;
            // Selects a weight by constant indices: an array that is indexed at run time would not stay in registers.
            [[unroll]] for (uint t = 0u; t < TK; ++t)
              if (t == at) weight[r] = logits[r * TK + t];
          }
          [[unroll]] for (uint n = 0u; n < V_VECS; ++n) {
            vec4 value = sh_v[(j0 + at) * V_ROW + n * LANES + lane];
            [[unroll]] for (uint r = 0u; r < TQ; ++r)
              if (weight[r] != 0.0) sums[r * V_VECS + n] += weight[r] * value;
          }
        }
        continue;
      }
      [[unroll]] for (uint n = 0u; n < V_VECS; ++n) {
        [[unroll]] for (uint t = 0u; t < TK; ++t) {
          vec4 value = sh_v[(j0 + t) * V_ROW + n * LANES + lane];
          [[unroll]] for (uint r = 0u; r < TQ; ++r) sums[r * V_VECS + n] += logits[r * TK + t] * value;
        }
      }
    }
    barrier();
  }

  [[unroll]] for (uint r = 0u; r < TQ; ++r) {
    if (query[r] > last_query) continue;
    float factor = has(HEED_ATTENTION_DROPOUT) ? KEEP_SCALE : 1.0;
    uint row = bh * p.s_q + query[r];
    uint at = p.offset[6] + ((b * p.s_q + query[r]) * heads() + h) * D_V;
    if (has(HEED_ATTENTION_PARTIAL)) {
      at = partial_at(task, row);
      if (lane == 0u) {
        partial_result[at + D_V] = largest[r];
        partial_result[at + D_V + 1u] = total[r];
      }
    } else {
      factor = total[r] == 0.0 ? 0.0 : factor / total[r];  // 0 only without a visible key, since the largest logit adds
                                                           // 1
      if (has(HEED_ATTENTION_LOG_SUM_EXP) && lane == 0u) store_log_sum_exp(row, largest[r], total[r]);
    }
    [[unroll]] for (uint n = 0u; n < V_VECS; ++n) {
      uint d = (n * LANES + lane) * 4u;
      vec4 x = sums[r * V_VECS + n] * factor;
      if (d >= D_V) continue;
      if (!has(HEED_ATTENTION_PARTIAL)) {
        put_some_result(at + d, D_V - d, x);
        continue;
      }
      [[unroll]] for (uint c = 0u; c < 4u; ++c)
        if (d + c < D_V) partial_result[at + d + c] = x[c];
    }
  }
}
