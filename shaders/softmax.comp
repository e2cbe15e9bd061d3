// Masked softmax over rows of any length; see shared/softmax.h. Three walks over the row: maximum, sum, weights. Hidden
// keys are left out by predicate in each; no infinity takes part in any arithmetic.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/rows.glsl"
#include "shared/masks.glsl"
#include "shared/softmax.h"

layout(constant_id = 3) const uint FLAGS = 0;

layout(set = 0, binding = 0) readonly buffer X { A_T x[]; };
layout(set = 0, binding = 1) readonly buffer KeyPadding { uint key_padding[]; };
layout(set = 0, binding = 2) readonly buffer MaskBytes { uint mask[]; };
layout(set = 0, binding = 3) readonly buffer Bias { A_T bias[]; };
layout(set = 0, binding = 4) writeonly buffer Out { OUT_T result[]; };

const float LOWEST = -3.402823466e38;

struct Row {
  uint x, key_padding, mask, bias;  // where the row starts in each operand
  uint visible;                     // keys that causality leaves: 0..S_k
};

bool is_masked(Row row, uint j) {
  if ((FLAGS & HEED_SOFTMAX_CAUSAL) != 0u && j >= row.visible) return true;
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

// Whether key j takes part, and its logit. It does not when masked, nor when x, bias or their sum is -inf, as some
// callers write their masks. The lowest finite value is a logit like any other.
bool is_visible(Row row, uint j, out float logit) {
  logit = p.fill;
  if (is_masked(row, j)) return (FLAGS & HEED_SOFTMAX_FILL) != 0u;
  float value = float(x[row.x + j * p.x_stride[3]]);
  if (is_minus_infinity(value) && p.scale > 0.0) return false;
  logit = value * p.scale;
  if ((FLAGS & HEED_SOFTMAX_BIAS) != 0u) {
    float added = float(bias[row.bias + j * p.bias_stride[3]]);
    if (is_minus_infinity(added)) return false;
    logit += added;
  }
  return !is_minus_infinity(logit);
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
  row.visible = uint(clamp(int(query) + p.causal_offset + 1, 0, int(p.dim[3])));
  // Keys past `walked` need no look: they are hidden and get no fill.
  uint walked = n;
  if ((FLAGS & HEED_SOFTMAX_CAUSAL) != 0u && (FLAGS & HEED_SOFTMAX_FILL) == 0u) walked = min(n, row.visible);

  float logit;
  float largest = LOWEST;
  for (uint j = lane(); j < walked; j += lanes())
    if (is_visible(row, j, logit)) largest = max_with_nan(largest, logit);
  largest = row_max(largest);

  float sum = 0.0;
  for (uint j = lane(); j < walked; j += lanes())
    if (is_visible(row, j, logit)) sum += exp(logit - largest);
  sum = row_sum(sum);

  // The largest visible key adds 1: a sum of 0 is a row without any.
  bool any = sum != 0.0;
  float inverse = any ? 1.0 / sum : 0.0;
  uint out_row = p.offset[4] + d0 * p.out_stride[0] + d1 * p.out_stride[1] + query * p.out_stride[2];
  for (uint j = lane(); j < n; j += lanes()) {
    float weight = 0.0;
    if (any && j < walked && is_visible(row, j, logit)) weight = exp(logit - largest) * inverse;
    result[out_row + j * p.out_stride[3]] = TO_OUT(weight);
  }
}
