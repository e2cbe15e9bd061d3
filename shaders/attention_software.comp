// Fused attention by single subgroups, with the online softmax of attention.comp; see shared/attention.h. For devices
// whose workgroups run one after the other on the cores of a CPU (see matmul_software.comp): it has no barrier, and
// uses what a lane reads as often as possible.
//
// A workgroup is one subgroup and makes TQ queries, over tiles of 4 * LANES keys. A lane makes the logits of four keys
// with all queries. Then it sums every LANES-th group of four elements of the outputs, with weights that it gets from
// the lanes that own the keys. TQ is less than LANES or a multiple of it.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "shared/attention.glsl"
#include "shared/attention_software.h"

const uint V_VECS = (D_V + 4u * LANES - 1u) / (4u * LANES);
const uint BK = 4u * LANES;

vec4 logits[TQ];  // of this lane's keys; then their weights
vec4 sums[TQ * V_VECS];
float largest[TQ];
float total[TQ];  // of this lane's keys

void add_products(uint r, vec4 query, mat4 keys) { logits[r] += query * keys; }

// Logits of the lane's keys j .. j + 3, which are clamped to the last one before `end`.
void multiply(uint q_base, uint first_query, uint last_query, uint k_base, uint j, uint end, bool whole) {
  uint lane = gl_LocalInvocationID.x;
  uvec4 rows = k_base + min(uvec4(j, j + 1u, j + 2u, j + 3u), uvec4(end - 1u)) * p.k_s;
  [[unroll]] for (uint r = 0u; r < TQ; ++r) logits[r] = vec4(0.0);
  for (uint d = 0u; d < D_K; d += 4u) {
    mat4 keys;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) keys[c] = load_k(rows[c], d, whole);
    if (TQ < LANES) {
      [[unroll]] for (uint r = 0u; r < TQ; ++r)
        add_products(r, load_q(q_base + min(first_query + r, last_query) * p.q_s, d, whole), keys);
    } else {
      [[unroll]] for (uint first = 0u; first < TQ; first += LANES) {
        vec4 mine = load_q(q_base + min(first_query + first + lane, last_query) * p.q_s, d, whole);
        [[unroll]] for (uint l = 0u; l < LANES; ++l) add_products(first + l, subgroupShuffle(mine, l), keys);
      }
    }
  }
  [[unroll]] for (uint r = 0u; r < TQ; ++r) logits[r] *= SCALE;
}

// Turns the logits of query i = row r into weights. Bit c of `kept`: key j + c is within the keys and kept by the
// padding.
void weigh(uint r, uint i, Task t, uint j, uint kept) {
  Sight sight = sight_of(t, i);
  uint taking_part = 0u;
  float now_largest = largest[r];
  [[unroll]] for (uint c = 0u; c < 4u; ++c) {
    float value = logits[r][c];
    if (!has_weight(sight, j + c, t.end, (kept >> c & 1u) != 0u, value)) continue;
    taking_part |= 1u << c;
    logits[r][c] = value;
    now_largest = max(now_largest, value);
  }
  now_largest = subgroupMax(now_largest);
  // A fill may be as low as LOWEST; sums with its weight must stay.
  float shrink = largest[r] == LOWEST && now_largest != LOWEST ? 0.0 : exp(largest[r] - now_largest);
  largest[r] = now_largest;
  float sum = 0.0;
  [[unroll]] for (uint c = 0u; c < 4u; ++c) {
    float weight = (taking_part >> c & 1u) != 0u ? exp(SUBTRACT_FIRST(logits[r][c], now_largest)) : 0.0;
    sum += weight;
    logits[r][c] = weight;
  }
  if (has(HEED_ATTENTION_DROPOUT)) {
    [[dont_unroll]] for (uint c = 0u; c < 4u; ++c)
      if (dropout_word(t.bh * p.s_q + i, j + c) < DROPOUT_THRESHOLD) logits[r][c] = 0.0;
  }
  total[r] = total[r] * shrink + sum;
  [[unroll]] for (uint n = 0u; n < V_VECS; ++n) sums[r * V_VECS + n] *= shrink;
}

// Adds the values of the tile's keys. What lies in the memory of hidden keys must not reach a product: 0 times infinity is
// NaN. A driver for CPUs takes a branch both ways, so that the choice costs less. It takes long to compile loads, products
// and choices; the loops have them once.
void mix_values(uint v_base, uint tile, uint count, uint wanted, bool whole) {
  [[dont_unroll]] for (uint c = 0u; c < 4u; ++c) {
    float weights[TQ];
    [[unroll]] for (uint r = 0u; r < TQ; ++r) weights[r] = logits[r][c];
    [[dont_unroll]] for (uint l = 0u; l * 4u + c < count; ++l) {
      uint at = v_base + (tile + l * 4u + c) * p.v_s;
      bool is_wanted = (subgroupShuffle(wanted, l) >> c & 1u) != 0u;
      vec4 values[V_VECS];
      [[unroll]] for (uint n = 0u; n < V_VECS; ++n) {
        values[n] = load_v(at, min((n * LANES + gl_LocalInvocationID.x) * 4u, (D_V - 1u) / 4u * 4u), whole);
        if (!is_wanted) values[n] = vec4(0.0);
      }
      [[unroll]] for (uint r = 0u; r < TQ; ++r) {
        float weight = subgroupShuffle(weights[r], l);
        [[unroll]] for (uint n = 0u; n < V_VECS; ++n)
          sums[r * V_VECS + n] += weight * (may_hide() && weight == 0.0 ? vec4(0.0) : values[n]);
      }
    }
  }
}

void store(uint r, Task t, uint i) {
  float sum = subgroupAdd(total[r]);
  float factor = has(HEED_ATTENTION_DROPOUT) ? KEEP_SCALE : 1.0;
  factor = sum == 0.0 ? 0.0 : factor / sum;  // 0 only without a visible key: the largest logit adds 1
  if (has(HEED_ATTENTION_LOG_SUM_EXP) && gl_LocalInvocationID.x == 0u)
    store_log_sum_exp(t.bh * p.s_q + i, largest[r], sum);
  uint at = p.offset[6] + ((t.b * p.s_q + i) * heads() + t.h) * D_V;
  [[unroll]] for (uint n = 0u; n < V_VECS; ++n) {
    uint d = (n * LANES + gl_LocalInvocationID.x) * 4u;
    [[dont_unroll]] for (uint c = 0u; c < 4u; ++c)
      if (d + c < D_V) result[at + d + c] = TO_OUT(sums[r * V_VECS + n][c] * factor);
  }
}

void main() {
  uint lane = gl_LocalInvocationID.x;
  Task t = task_of(workgroup_index(), TQ, BK);
  if (t.split >= t.splits) return;
  uint first_query = t.first_query, last_query = t.last_query;
  uint b = t.b, h = t.h, end = t.end;
  uint q_base = p.offset[0] + b * p.q_b + h * p.q_h;
  uint k_base = p.offset[1] + b * p.k_b + h / GROUP * p.k_h;
  uint v_base = p.offset[2] + b * p.v_b + h / GROUP * p.v_h;
  const bool whole = has(HEED_ATTENTION_VEC4);

  [[unroll]] for (uint r = 0u; r < TQ; ++r) {
    largest[r] = LOWEST;
    total[r] = 0.0;
    [[unroll]] for (uint n = 0u; n < V_VECS; ++n) sums[r * V_VECS + n] = vec4(0.0);
  }

  for (uint tile = t.begin; tile < end; tile += BK) {
    uint j = tile + lane * 4u;
    uint in_range = 0u, kept = 0u;
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
      if (j + c >= end) continue;
      in_range |= 1u << c;
      if (!has(HEED_SOFTMAX_KEY_PADDING) || !padding_hides(b, j + c)) kept |= 1u << c;
    }
    if (has(HEED_SOFTMAX_KEY_PADDING) && !has(HEED_SOFTMAX_FILL) && subgroupOr(kept) == 0u) continue;
    multiply(q_base, first_query, last_query, k_base, j, end, whole);
    // Rows past the last query repeat it, and store nothing.
    [[unroll]] for (uint r = 0u; r < TQ; ++r) weigh(r, min(first_query + r, last_query), t, j, kept);
    mix_values(v_base, tile, min(BK, end - tile), has(HEED_SOFTMAX_FILL) ? in_range : kept, whole);
  }
  [[unroll]] for (uint r = 0u; r < TQ; ++r)
    if (first_query + r <= last_query) store(r, t, first_query + r);
}
