// Fused attention; see shared/attention.h. Online softmax over tiles of keys (Milakov & Gimelshein 2018,
// arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135): no score ever leaves the workgroup.
//
// A tile of BK keys and values lies in shared memory. LANES invocations share TQ queries; each holds every LANES-th
// group of four elements of the queries and of their outputs. They exchange partial dot products, so that all of
// them know all logits of their queries and no other reduction is needed.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/attention.glsl"

layout(constant_id = 11) const uint LANES = 1;
layout(constant_id = 12) const uint TQ = 1;  // queries per invocation
layout(constant_id = 13) const uint TK = 8;  // keys whose logits are in registers at a time
layout(constant_id = 14) const uint BK = 8;  // a multiple of TK, at most 32
layout(constant_id = 15) const uint PARTIALS = 1;  // LANES > 1: invocations * TQ * TK

const uint K_VECS = (D_K + 4u * LANES - 1u) / (4u * LANES);
const uint V_VECS = (D_V + 4u * LANES - 1u) / (4u * LANES);
const uint K_ROW = K_VECS * LANES;  // vec4s of one key
const uint V_ROW = V_VECS * LANES;

shared vec4 sh_k[BK * K_ROW];
shared vec4 sh_v[BK * V_ROW];
shared float sh_partial[PARTIALS];
// Bit j: key j of the tile is kept by the padding. Three in turn: one is read, one collected, one cleared.
shared uint sh_kept[3];

// Of one invocation.
const uint LOGITS = TQ * TK;
float logits[LOGITS];

// All lanes of a query get the sums of their parts of the logits.
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

// Which of `count` keys from `tile` on the padding keeps. Reached by the whole workgroup.
uint kept_by_padding(uint b, uint tile, uint count, uint turn) {
  uint tid = gl_LocalInvocationID.x;
  if (tid == 0u) sh_kept[(turn + 1u) % 3u] = 0u;
  for (uint j = tid; j < count; j += gl_WorkGroupSize.x)
    if (!padding_hides(b, tile + j)) atomicOr(sh_kept[turn % 3u], 1u << j);
  barrier();
  return sh_kept[turn % 3u];
}

// Keys whose bit is not set become zeros: what lies in their memory must not reach a product.
void load_tile(uint k_base, uint v_base, uint tile, uint bits) {
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
    sh_v[n] = wanted ? load_v(v_base + (tile + j) * p.v_s, n % V_ROW * 4u, whole) : vec4(0.0);
  }
}

void main() {
  const uint slots = gl_WorkGroupSize.x / LANES;
  uint tid = gl_LocalInvocationID.x;
  uint lane = tid % LANES;
  uint tiles_q = (p.s_q + slots * TQ - 1u) / (slots * TQ);
  // With splits, each goes over its share of the keys: a multiple of the tile, so that every one but the last is full.
  uint splits = has(HEED_ATTENTION_PARTIAL) ? p.heads_splits >> 16 : 1u;
  uint index = workgroup_index();
  uint bh = index / tiles_q / splits;
  if (bh >= p.batch_heads) return;
  uint split = index / tiles_q % splits;
  uint first_query = (tiles_q - 1u - index % tiles_q) * slots * TQ;  // under causality the longest rows start first
  uint last_query = min(first_query + slots * TQ, p.s_q) - 1u;
  uint b = bh / heads(), h = bh % heads();
  uint k_base = p.offset[1] + b * p.k_b + h / GROUP * p.k_h;
  uint v_base = p.offset[2] + b * p.v_b + h / GROUP * p.v_h;

  // Invocations without a query of their own do the work of the last one, and store nothing.
  uint query[TQ], visible[TQ];
  vec4 q_part[TQ * K_VECS];
  vec4 sums[TQ * V_VECS];
  float largest[TQ], total[TQ];
  bool whole = whole_q();
  [[unroll]] for (uint r = 0u; r < TQ; ++r) {
    query[r] = first_query + tid / LANES + r * slots;
    uint i = min(query[r], last_query);
    visible[r] = visible_keys(i);
    uint at = p.offset[0] + b * p.q_b + h * p.q_h + i * p.q_s;
    [[unroll]] for (uint n = 0u; n < K_VECS; ++n)
      q_part[r * K_VECS + n] = load_q(at, (n * LANES + lane) * 4u, whole) * SCALE;
    [[unroll]] for (uint n = 0u; n < V_VECS; ++n) sums[r * V_VECS + n] = vec4(0.0);
    largest[r] = LOWEST;
    total[r] = 0.0;
  }

  // With a fill hidden keys have a logit; without, keys that causality hides from all queries need no look.
  uint begin = 0u, end = p.s_kv;
  if (has(HEED_ATTENTION_PARTIAL)) {
    uint share = (p.s_kv + splits * BK - 1u) / (splits * BK) * BK;
    begin = split * share;
    end = min(begin + share, p.s_kv);
  }
  if (has(HEED_SOFTMAX_CAUSAL) && !has(HEED_SOFTMAX_FILL)) end = min(end, visible_keys(last_query));
  if (has(HEED_SOFTMAX_KEY_PADDING)) {
    if (tid < 3u) sh_kept[tid] = 0u;
    barrier();
  }
  uint turn = 0u;
  for (uint tile = begin; tile < end; tile += BK, ++turn) {
    uint count = min(BK, end - tile);
    uint in_range = 0xffffffffu >> (32u - count);
    uint kept = in_range;
    if (has(HEED_SOFTMAX_KEY_PADDING)) {
      kept = kept_by_padding(b, tile, count, turn);
      if (kept == 0u && !has(HEED_SOFTMAX_FILL)) continue;
    }
    load_tile(k_base, v_base, tile, has(HEED_SOFTMAX_FILL) ? in_range : kept);
    barrier();

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
        uint mask_at = p.offset[4] + b * p.mask_b + h * p.mask_h + i * p.mask_q;
        uint bias_at = p.offset[5] + b * p.bias_b + h * p.bias_h + i * p.bias_q;
        float now_largest = largest[r];
        uint taking_part = 0u;  // bit t: key t has a weight
        [[unroll]] for (uint t = 0u; t < TK; ++t) {
          uint j = tile + j0 + t;
          float value = logits[r * TK + t];
          bool hidden = ((kept >> (j0 + t)) & 1u) == 0u;
          if (has(HEED_SOFTMAX_CAUSAL) && j >= visible[r]) hidden = true;
          if (has(HEED_SOFTMAX_MASK) && !hidden) hidden = mask_hides(mask_at, j);
          if (has(HEED_SOFTMAX_BIAS) && !hidden) value += float(bias[bias_at + j * p.bias_k]);
          if (hidden && has(HEED_SOFTMAX_FILL) && j < end) {
            hidden = false;
            value = FILL;
          }
          if (hidden || is_minus_infinity(value)) continue;
          taking_part |= 1u << t;
          logits[r * TK + t] = value;
          now_largest = max(now_largest, value);
        }
        float shrink = total[r] == 0.0 ? 0.0 : exp(largest[r] - now_largest);
        largest[r] = now_largest;
        float sum = 0.0;
        [[unroll]] for (uint t = 0u; t < TK; ++t) {
          float weight = (taking_part >> t & 1u) != 0u ? exp(logits[r * TK + t] - now_largest) : 0.0;
          sum += weight;
          if (has(HEED_ATTENTION_DROPOUT) && dropout_word(bh * p.s_q + i, tile + j0 + t) < DROPOUT_THRESHOLD)
            weight = 0.0;
          logits[r * TK + t] = weight;
        }
        total[r] = total[r] * shrink + sum;
        [[unroll]] for (uint n = 0u; n < V_VECS; ++n) sums[r * V_VECS + n] *= shrink;
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
      at = p.offset[6] + (row * splits + split) * (D_V + 2u);
      if (lane == 0u) {
        partial_result[at + D_V] = largest[r];
        partial_result[at + D_V + 1u] = total[r];
      }
    } else {
      factor = total[r] == 0.0 ? 0.0 : factor / total[r];  // the largest logit counts 1
      if (has(HEED_ATTENTION_LOG_SUM_EXP) && lane == 0u) store_log_sum_exp(row, largest[r], total[r]);
    }
    [[unroll]] for (uint n = 0u; n < V_VECS; ++n) {
      uint d = (n * LANES + lane) * 4u;
      vec4 x = sums[r * V_VECS + n] * factor;
      [[unroll]] for (uint c = 0u; c < 4u; ++c) {
        if (d + c >= D_V) break;
        if (has(HEED_ATTENTION_PARTIAL)) partial_result[at + d + c] = x[c];
        else result[at + d + c] = TO_OUT(x[c]);
      }
    }
  }
}
