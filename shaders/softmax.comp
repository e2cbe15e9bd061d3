// Masked softmax over rows of any length; see shared/softmax.h. Three loops over the row: maximum, sum, weights. Hidden keys are excluded
// by predicate; infinities are never used in arithmetic. A row that is held in registers is read once: it holds logits, then weights, and
// -inf for excluded keys.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/row_groups.glsl"
#include "shared/classify.glsl"
#include "shared/softmax.h"
#include "shared/masks.glsl"

HEED_OPERAND4(0, x)
layout(set = 0, binding = 1) readonly buffer KeyPadding { uint key_padding[]; };
layout(set = 0, binding = 2) readonly buffer MaskBytes { uint mask[]; };
HEED_OPERAND4(3, bias)
layout(set = 0, binding = 4) readonly buffer Lengths { int lengths[]; };
layout(set = 0, binding = 5) readonly buffer Positions { int positions[]; };
HEED_RESULT4(6, result)
#ifdef CANON
layout(set = 0, binding = 7) writeonly buffer LogSumExp { float log_sum_exp[]; };
#endif

HEED_LOAD_GROUP(x)
HEED_LOAD_GROUP(bias)
HEED_STORE_GROUP(result)

const float LOWEST = -3.402823466e38;

struct Row {
  uint x, key_padding, mask, bias;  // offsets of the row in each operand
  uint keys;                        // number of keys up to the row's length
  uint visible;                     // number of leading keys that causality allows: 0..keys
  uint passed;                      // how many of these are before the window
};

// Computes which keys query `query` of batch d0 may see, by its position.
void place(inout Row row, uint d0, uint query) {
  row.keys = p.dim[3];
  if ((FLAGS & HEED_SOFTMAX_LENGTHS) != 0u) row.keys = as_many_keys(lengths[p.offset[4] + d0], p.dim[3]);
  int first = aligned_place(row.keys, p.dim[2]);
  if ((FLAGS & HEED_SOFTMAX_POSITIONS) != 0u) first = bounded_position(positions[p.offset[5] + d0]);
  row.visible = visible_to(int(query) + first, row.keys);
  row.passed = passed_by(int(query) + first, row.keys);
}

bool is_masked(Row row, uint j) {
  if ((FLAGS & HEED_SOFTMAX_CAUSAL) != 0u && j >= row.visible) return true;
  if (WINDOW != 0u && j < row.passed) return true;
  if ((FLAGS & HEED_SOFTMAX_KEY_PADDING) != 0u) {
    uint at = row.key_padding + j * p.key_padding_stride[3];
    if (byte_hides(key_padding[at / 4u], at, (FLAGS & HEED_SOFTMAX_KEY_PADDING_KEEP) != 0u)) return true;
  }
  if ((FLAGS & HEED_SOFTMAX_MASK) != 0u) {
    uint at = row.mask + j * p.mask_stride[3];
    if (byte_hides(mask[at / 4u], at, (FLAGS & HEED_SOFTMAX_MASK_KEEP) != 0u)) return true;
  }
  return false;
}

// The logits of keys j .. j + 3. An excluded key has -inf: it is masked, or x, the bias or their sum is -inf, as some callers write masks.
// The lowest finite value is an ordinary logit.
vec4 logits_at(Row row, uint j, uint n) {
  vec4 logits = load_x(row.x, p.x_stride[3], j, n);
  vec4 added = vec4(0.0);
  if ((FLAGS & HEED_SOFTMAX_BIAS) != 0u) added = load_bias(row.bias, p.bias_stride[3], j, n);
  [[unroll]] for (uint c = 0u; c < 4u; ++c) {
#ifdef CANON
    float logit = times(logits[c], p.scale);
    bool hidden = is_minus_infinity(logit) || is_minus_infinity(added[c]);
#else
    bool hidden = (is_minus_infinity(logits[c]) && p.scale > 0.0) || is_minus_infinity(added[c]);
    float logit = logits[c] * p.scale;
#endif
    if ((FLAGS & HEED_SOFTMAX_BIAS) != 0u) ADD_TO(logit, added[c]);
    if (is_masked(row, min(j + c, n - 1u))) {
      hidden = (FLAGS & HEED_SOFTMAX_FILL) == 0u;
      logit = uintBitsToFloat(FILL_BITS);
    }
    if ((FLAGS & HEED_SOFTMAX_LENGTHS) != 0u && j + c >= row.keys) hidden = true;
    if (hidden || !in_row(j, c, n)) logit = MINUS_INFINITY;
    logits[c] = logit;
  }
  return logits;
}

vec4 weights_of(vec4 logits, float largest) {
  vec4 weights;
  [[unroll]] for (uint c = 0u; c < 4u; ++c)
    weights[c] = is_minus_infinity(logits[c]) ? 0.0 : EXP(SUBTRACT(logits[c], largest));
  return weights;
}

void main() {
  uint index = row_index();
  bool in_range = index < p.dim[0] * p.dim[1] * p.dim[2];
  uint n = in_range ? p.dim[3] : 0u;
  uint query = index % p.dim[2];
  uint d1 = index / p.dim[2] % p.dim[1];
  uint d0 = index / (p.dim[2] * p.dim[1]);

  Row row;
  row.x = p.offset[0] + d0 * p.x_stride[0] + d1 * p.x_stride[1] + query * p.x_stride[2];
  row.key_padding = p.offset[1] + d0 * p.key_padding_stride[0] + d1 * p.key_padding_stride[1] +
                    query * p.key_padding_stride[2];
  row.mask = p.offset[2] + d0 * p.mask_stride[0] + d1 * p.mask_stride[1] + query * p.mask_stride[2];
  row.bias = p.offset[3] + d0 * p.bias_stride[0] + d1 * p.bias_stride[1] + query * p.bias_stride[2];
  row.keys = row.visible = row.passed = 0u;
  if (in_range) place(row, d0, query);
  // Keys from `walked` on are not visited: they have no weight, and masked_fill does not apply to them.
  uint walked = (FLAGS & HEED_SOFTMAX_FILL) != 0u ? row.keys : row.visible;

  uint groups = group_count(n);
  float largest = LOWEST;
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint j = group_start(g);
    if (j >= walked) continue;
    vec4 logits = logits_at(row, j, n);
    if (HELD > 0u) held[g] = logits;
    [[unroll]] for (uint c = 0u; c < 4u; ++c)
      if (!is_minus_infinity(logits[c])) largest = max_with_nan(largest, logits[c]);
  }
  largest = row_max(largest);

#ifdef CANON
  vec4 sums = vec4(0.0);
#else
  float sum = 0.0;
#endif
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint j = group_start(g);
    if (j >= walked) continue;
    vec4 weights = weights_of(HELD > 0u ? held[g] : logits_at(row, j, n), largest);
    if (HELD > 0u) held[g] = weights;
#ifdef CANON
    sums = sum_of(sums, weights);
#else
    sum += sum_of_four(weights);
#endif
  }
#ifdef CANON
  float sum = sum_of_row(sums);
#else
  sum = row_sum(sum);
#endif

  // The largest visible key adds 1, so a sum of 0 means that no key is visible.
#ifdef CANON
  float inverse = reciprocal(sum);
  if ((FLAGS & HEED_SOFTMAX_LOG_SUM_EXP) != 0u && in_range && lane() == 0u) {
    float stored = (floatBitsToUint(largest) & 0x7fffffffu) < 0x7f800000u ? canonical(plus(largest, canon_log(sum))) : uintBitsToFloat(0x7fc00000u);
    log_sum_exp[index] = sum == 0.0 ? MINUS_INFINITY : stored;
  }
#else
  float inverse = sum != 0.0 ? 1.0 / sum : 0.0;
#endif
  uint out_row = p.offset[6] + d0 * p.out_stride[0] + d1 * p.out_stride[1] + query * p.out_stride[2];
  [[unroll]] for (uint g = 0u; g < groups; ++g) {
    uint j = group_start(g);
    if (j >= n) continue;
    vec4 weights = vec4(0.0);
    if (sum != 0.0 && j < walked) {
      weights = HELD > 0u ? held[g] : weights_of(logits_at(row, j, n), largest);
      // In a row whose sum is NaN, hidden keys still get 0.
      [[unroll]] for (uint c = 0u; c < 4u; ++c)
        weights[c] = floatBitsToUint(weights[c]) == 0u ? 0.0 : MULTIPLY(weights[c], inverse);
    }
    store_result(out_row, p.out_stride[3], j, n, weights);
  }
}
