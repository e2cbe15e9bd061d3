// Shared by the attention kernels: bindings, the task of a workgroup, and which keys a query sees.
#include "elements.glsl"
#include "groups.glsl"
#include "philox.glsl"
#include "classify.glsl"
#include "log_sum_exp.glsl"
#include "attention.h"
#include "masks.glsl"
#define SCALE uintBitsToFloat(SCALE_BITS)
#define FILL uintBitsToFloat(FILL_BITS)
#define KEEP_SCALE uintBitsToFloat(KEEP_SCALE_BITS)

bool has(uint flag) { return (FLAGS & flag) != 0u; }

// Keys and values may be narrower than queries; a flag then gives their type.
const bool KEYS_ARE_BFLOAT = B_TYPE == HEED_TYPE_BF16 ? true : (FLAGS & HEED_ATTENTION_KEYS_BFLOAT) != 0u;
HEED_OPERAND4(0, q)
HEED_OPERAND4_OF(1, k, B_WIDE, B_SHIFT, KEYS_ARE_BFLOAT)
HEED_OPERAND4_OF(2, v, B_WIDE, B_SHIFT, KEYS_ARE_BFLOAT)
layout(set = 0, binding = 3) readonly buffer KeyPadding { uint key_padding[]; };
layout(set = 0, binding = 4) readonly buffer MaskBytes { uint mask[]; };
HEED_OPERAND(5, bias)
layout(set = 0, binding = 5) readonly buffer RowNumbers { uint row_numbers[]; };
#ifdef TWO_BYTES  // the elements of a word have different writers
#extension GL_EXT_shader_16bit_storage : require
layout(set = 0, binding = 6) writeonly buffer Out { uint16_t result[]; };
#else
HEED_RESULT4(6, result)
#endif
layout(set = 0, binding = 6) writeonly buffer Partial { float partial_result[]; };
layout(set = 0, binding = 7) writeonly buffer LogSumExp { float log_sum_exp[]; };
layout(set = 0, binding = 7) readonly buffer JoinedNumbers { uint joined_numbers[]; };

uint heads() { return p.heads_splits & 0xffffffu; }

// Elements d .. d + 3 of a row that starts at `at`; zeros from `size` on. `whole`: rows start at multiples of four elements.
#define HEED_LOAD4(name, size, WIDE, SHIFT, BFLOAT)                \
  HEED_OPERAND_ROW(name, WIDE, SHIFT, BFLOAT)                      \
  vec4 load_##name(uint at, uint d, bool whole) {                  \
    vec4 x = vec4(0.0);                                            \
    if (whole && (size) % 4u == 0u) {                              \
      if (d < (size)) x = four_##name(at + d);                     \
    } else {                                                       \
      x = row_##name(at, d, size);                                 \
    }                                                              \
    return x;                                                      \
  }
HEED_LOAD4(q, D_K, A_WIDE, A_SHIFT, A_IS_BFLOAT)
HEED_LOAD4(k, D_K, B_WIDE, B_SHIFT, KEYS_ARE_BFLOAT)
HEED_LOAD4(v, D_V, B_WIDE, B_SHIFT, KEYS_ARE_BFLOAT)
bool whole_q() { return ((p.offset[0] | p.q_b | p.q_h | p.q_s) & 3u) == 0u; }
bool whole_k() { return ((p.offset[1] | p.k_b | p.k_h | p.k_s) & 3u) == 0u; }
bool whole_v() { return ((p.offset[2] | p.v_b | p.v_h | p.v_s) & 3u) == 0u; }

// The task of a workgroup: queries first_query .. last_query of head h of batch b, over the keys begin .. end - 1.
struct Task {
  uint bh, b, h;
  uint keys;   // number of keys of this row of the batch, up to its length
  int offset;  // the position of query 0 among the keys
  uint first_query, last_query;
  uint split, splits;
  uint first_row;  // the dispatch's first row among the [B, H, S_q] rows of the weights
  uint begin, end;
};

// Lengths and positions share a binding if they are joined.
const bool JOINED = LENGTHS_AT == POSITIONS_AT;

// The length or position of row b. `at` is the number of the binding.
int row_number(uint at, uint b, uint column) {
  if (at == 3u) return int(key_padding[p.offset[3] + b * p.key_padding_b + column]);
  if (at == 4u) return int(mask[p.offset[4] + b * p.mask_b + column]);
  if (at == 7u) return int(joined_numbers[b * (JOINED ? 2u : 1u) + column]);
  return int(row_numbers[p.offset[5] + b * p.bias_b + column]);
}

uint keys_of(uint b) { return LENGTHS_AT == 0u ? p.s_kv : as_many_keys(row_number(LENGTHS_AT, b, 0u), p.s_kv); }
int offset_of(uint b, uint keys) {
  return POSITIONS_AT != 0u ? bounded_position(row_number(POSITIONS_AT, b, JOINED ? 1u : 0u)) : aligned_place(keys, p.s_q);
}

uint visible_keys(Task t, uint i) { return visible_to(int(i) + t.offset, t.keys); }
uint passed_keys(Task t, uint i) { return passed_by(int(i) + t.offset, t.keys); }

// The task of workgroup `index`. Each workgroup has `queries` queries and visits keys in tiles of `tile`. Past the end of the work `split`
// is not less than `splits`. With causality the longest rows of a head start first; with LONGEST_FIRST those of all heads, so that the
// cores of a GPU finish at about the same time. Software drivers give each processor consecutive workgroups, so that one would get all long
// rows.
Task task_of(uint index, uint queries, uint tile) {
  Task t;
  uint blocks_q = (p.s_q + queries - 1u) / queries;
  uint first = has(HEED_ATTENTION_PARTIAL) ? p.offset[7] : 0u, blocks = p.end_block - first;
  uint block = p.end_block - 1u - index % blocks;
#ifdef LONGEST_FIRST
  if (has(HEED_SOFTMAX_CAUSAL) && !has(HEED_ATTENTION_PARTIAL)) {
    uint rows = p.end_block / blocks_q;
    block = index % rows * blocks_q + block / rows;
  }
#endif
  t.splits = has(HEED_ATTENTION_PARTIAL) ? (p.heads_splits >> 24) + 1u : 1u;
  t.split = index / blocks;
  t.first_row = first / blocks_q * p.s_q + first % blocks_q * queries;
  t.bh = block / blocks_q;
  t.b = t.bh / heads();
  t.h = t.bh % heads();
  t.keys = keys_of(t.b);
  t.offset = offset_of(t.b, t.keys);
  t.first_query = block % blocks_q * queries;
  t.last_query = min(t.first_query + queries, p.s_q) - 1u;
  // With masked_fill hidden keys have a logit. Otherwise, keys that are hidden from all queries are not visited.
  t.begin = 0u;
  t.end = t.keys;
  if (WINDOW != 0u && !has(HEED_SOFTMAX_FILL)) {
    t.begin = passed_keys(t, t.first_query);
    t.end = visible_keys(t, t.last_query);
  }
  if (has(HEED_ATTENTION_PARTIAL)) {  // splits are multiples of the tile, so that every tile but the last is full
    uint first_key = t.begin, end_key = t.end;
    uint keys_each = (end_key - first_key + t.splits * tile - 1u) / (t.splits * tile) * tile;
    t.begin = first_key + t.split * keys_each;
    t.end = min(t.begin + keys_each, end_key);
  }
  if (has(HEED_SOFTMAX_CAUSAL) && !has(HEED_SOFTMAX_FILL)) t.end = min(t.end, visible_keys(t, t.last_query));
  return t;
}

// The offset at which a split stores its sums. `row` numbers the [B, H, S_q] rows of the weights.
uint partial_at(Task t, uint row) {
  return p.offset[6] + ((row - t.first_row) * t.splits + t.split) * (D_V + 2u);
}

// `row` is numbered as for partial_at.
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

// Which keys a query sees: the number that causality allows, how many of these the window excludes, and the offsets of its rows in the mask
// and the bias.
struct Sight {
  uint visible, passed, mask_at, bias_at;
};
Sight sight_of(Task t, uint i) {
  return Sight(visible_keys(t, i), passed_keys(t, i), p.offset[4] + t.b * p.mask_b + t.h * p.mask_h + i * p.mask_q,
               p.offset[5] + t.b * p.bias_b + t.h * p.bias_h + i * p.bias_q);
}

// The logit of key j for a query, where `value` is the scaled dot product; -inf if it is `hidden` or the mask hides it.
float logit_of(Sight sight, uint j, uint end, bool hidden, float value) {
  if (has(HEED_SOFTMAX_MASK) && !hidden) hidden = mask_hides(sight.mask_at, j);
  if (has(HEED_SOFTMAX_BIAS) && !hidden) value += one_bias(sight.bias_at + j * p.bias_k);
  float instead = has(HEED_SOFTMAX_FILL) && j < end ? FILL : MINUS_INFINITY;
  return hidden ? instead : value;
}

// Whether key j has a weight for a query; `kept`: the padding keeps it. Changes `value` from the scaled dot product to the logit.
bool has_weight(Sight sight, uint j, uint end, bool kept, inout float value) {
  bool hidden = !kept;
  if (has(HEED_SOFTMAX_CAUSAL) && j >= sight.visible) hidden = true;
  if (WINDOW != 0u && j < sight.passed) hidden = true;
  value = logit_of(sight, j, end, hidden, value);
  return !is_minus_infinity(value);
}

// Whether a key that the padding keeps may be hidden from a query, or dropped by dropout. Then a weight of 0 may be multiplied by an
// infinite or NaN value, which gives NaN.
bool may_hide() {
  return !has(HEED_SOFTMAX_FILL) && (has(HEED_SOFTMAX_CAUSAL) || has(HEED_SOFTMAX_MASK) || has(HEED_SOFTMAX_BIAS) ||
                                     has(HEED_ATTENTION_DROPOUT));
}
// The same for the keys begin .. end - 1.
bool may_hide(Task t, uint begin, uint end) {
  bool always = has(HEED_SOFTMAX_MASK) || has(HEED_SOFTMAX_BIAS) || has(HEED_ATTENTION_DROPOUT);
  return may_hide() &&
         (always || end > visible_keys(t, t.first_query) || (WINDOW != 0u && begin < passed_keys(t, t.last_query)));
}

#include "weight_word.glsl"
