// What the attention kernels share: bindings, and which keys a query sees.
#include "storage.glsl"
#include "groups.glsl"
#include "philox.glsl"
#include "masks.glsl"
#include "log_sum_exp.glsl"
#include "attention.h"

layout(constant_id = 3) const uint D_K = 64;
layout(constant_id = 4) const uint D_V = 64;
layout(constant_id = 5) const uint FLAGS = 0;
layout(constant_id = 6) const uint SCALE_BITS = 0;  // f32
layout(constant_id = 7) const uint FILL_BITS = 0;   // f32: the logit of hidden keys, with HEED_SOFTMAX_FILL
layout(constant_id = 8) const uint DROPOUT_THRESHOLD = 0;
layout(constant_id = 9) const uint KEEP_SCALE_BITS = 0;  // f32
layout(constant_id = 10) const uint GROUP = 1;           // heads of queries that share one head of keys and values
#define SCALE uintBitsToFloat(SCALE_BITS)
#define FILL uintBitsToFloat(FILL_BITS)
#define KEEP_SCALE uintBitsToFloat(KEEP_SCALE_BITS)

// Four neighbours of a row at once, where every row starts at a multiple of four.
layout(set = 0, binding = 0) readonly buffer Query { A_T q[]; };
layout(set = 0, binding = 0) readonly buffer Query4 { A_VEC4 q4[]; };
layout(set = 0, binding = 1) readonly buffer Key { A_T k[]; };
layout(set = 0, binding = 1) readonly buffer Key4 { A_VEC4 k4[]; };
layout(set = 0, binding = 2) readonly buffer Value { A_T v[]; };
layout(set = 0, binding = 2) readonly buffer Value4 { A_VEC4 v4[]; };
layout(set = 0, binding = 3) readonly buffer KeyPadding { uint key_padding[]; };
layout(set = 0, binding = 4) readonly buffer MaskBytes { uint mask[]; };
layout(set = 0, binding = 5) readonly buffer Bias { A_T bias[]; };
layout(set = 0, binding = 6) writeonly buffer Out { OUT_T result[]; };
layout(set = 0, binding = 6) writeonly buffer Partial { float partial_result[]; };
layout(set = 0, binding = 7) writeonly buffer LogSumExp { float log_sum_exp[]; };

uint heads() { return p.heads_splits & 0xffffffu; }

bool has(uint flag) { return (FLAGS & flag) != 0u; }

// Elements d .. d + 3 of a row that starts at `at`; zeros from `size` on.
#define HEED_LOAD4(name, scalars, vectors, size)                   \
  vec4 name(uint at, uint d, bool whole) {                         \
    if (whole && (size) % 4u == 0u) {                              \
      if (d >= (size)) return vec4(0.0);                           \
      return FROM_A4(vectors[(at + d) / 4u]);                      \
    }                                                              \
    vec4 x = vec4(0.0);                                            \
    if (d < (size)) x.x = FROM_A(scalars[at + d]);                 \
    if (d + 1u < (size)) x.y = FROM_A(scalars[at + d + 1u]);       \
    if (d + 2u < (size)) x.z = FROM_A(scalars[at + d + 2u]);       \
    if (d + 3u < (size)) x.w = FROM_A(scalars[at + d + 3u]);       \
    return x;                                                      \
  }
HEED_LOAD4(load_q, q, q4, D_K)
HEED_LOAD4(load_k, k, k4, D_K)
HEED_LOAD4(load_v, v, v4, D_V)
bool whole_q() { return ((p.offset[0] | p.q_b | p.q_h | p.q_s) & 3u) == 0u; }
bool whole_k() { return ((p.offset[1] | p.k_b | p.k_h | p.k_s) & 3u) == 0u; }
bool whole_v() { return ((p.offset[2] | p.v_b | p.v_h | p.v_s) & 3u) == 0u; }

// Keys that causality leaves to query i: the first 0..S_kv.
uint visible_keys(uint i) {
  if (!has(HEED_SOFTMAX_CAUSAL)) return p.s_kv;
  int offset = has(HEED_ATTENTION_BOTTOM_RIGHT) ? int(p.s_kv) - int(p.s_q) : 0;
  return uint(clamp(int(i) + offset + 1, 0, int(p.s_kv)));
}

// What a workgroup does: queries first_query .. last_query of head h of batch b, over the keys begin .. end - 1. bh is
// p.batch_heads or more in workgroups past the end of the work.
struct Task {
  uint bh, b, h;
  uint first_query, last_query;
  uint split, splits;
  uint begin, end;
};

// `queries` of a workgroup, which takes keys in tiles of `tile`.
Task task_of(uint index, uint queries, uint tile) {
  Task t;
  uint tiles_q = (p.s_q + queries - 1u) / queries;
  t.splits = has(HEED_ATTENTION_PARTIAL) ? (p.heads_splits >> 24) + 1u : 1u;
  t.bh = index / tiles_q / t.splits;
  t.split = index / tiles_q % t.splits;
  t.b = t.bh / heads();
  t.h = t.bh % heads();
  t.first_query = (tiles_q - 1u - index % tiles_q) * queries;  // under causality the longest rows start first
  t.last_query = min(t.first_query + queries, p.s_q) - 1u;
  t.begin = 0u;
  t.end = p.s_kv;
  if (has(HEED_ATTENTION_PARTIAL)) {  // a multiple of the tile each, so that every tile but the last is full
    uint share = (p.s_kv + t.splits * tile - 1u) / (t.splits * tile) * tile;
    t.begin = t.split * share;
    t.end = min(t.begin + share, p.s_kv);
  }
  // With a fill hidden keys have a logit; without, keys that causality hides from all queries need no look.
  if (has(HEED_SOFTMAX_CAUSAL) && !has(HEED_SOFTMAX_FILL)) t.end = min(t.end, visible_keys(t.last_query));
  return t;
}

// Of row `row` of the [B, H, S_q] rows of the weights.
void store_log_sum_exp(uint row, float largest, float total) {
  log_sum_exp[p.offset[7] + row] = log_sum_exp_of(largest, total);
}

bool padding_hides(uint b, uint j) {
  uint at = p.offset[3] + b * p.key_padding_b + j;
  return byte_hides(key_padding[at / 4u], at, has(HEED_SOFTMAX_KEY_PADDING_KEEP));
}

bool mask_hides(uint row_at, uint j) {
  uint at = row_at + j * p.mask_k;
  return byte_hides(mask[at / 4u], at, has(HEED_SOFTMAX_MASK_KEEP));
}

// What a query sees: the keys that causality leaves to it, and its rows of the mask and of the bias.
struct Sight {
  uint visible, mask_at, bias_at;
};
Sight sight_of(Task t, uint i) {
  return Sight(visible_keys(i), p.offset[4] + t.b * p.mask_b + t.h * p.mask_h + i * p.mask_q,
               p.offset[5] + t.b * p.bias_b + t.h * p.bias_h + i * p.bias_q);
}

// Whether key j, which the padding keeps or not, has a weight for a query; `value`, the scaled product, becomes its logit.
bool has_weight(Sight sight, uint j, uint end, bool kept, inout float value) {
  bool hidden = !kept;
  if (has(HEED_SOFTMAX_CAUSAL) && j >= sight.visible) hidden = true;
  if (has(HEED_SOFTMAX_MASK) && !hidden) hidden = mask_hides(sight.mask_at, j);
  if (has(HEED_SOFTMAX_BIAS) && !hidden) value += FROM_A(bias[sight.bias_at + j * p.bias_k]);
  if (hidden && has(HEED_SOFTMAX_FILL) && j < end) {
    hidden = false;
    value = FILL;
  }
  return !hidden && !is_minus_infinity(value);
}

// The random word of key j in row `row` of the [B, H, S_q] rows of the weights, which may be more than 2^32.
uint dropout_word(uint row, uint j) {
  uint high, low;
  umulExtended(row, p.s_kv, high, low);
  uint carry;
  low = uaddCarry(low, j, carry);
  high += carry;
  uvec4 counter = uvec4((high << 30) | (low >> 2), high >> 2, 0u, 0u);
  return philox4x32_10(counter, uvec2(p.seed, p.stream))[low & 3u];
}
