// The factors of a step from its gradients' norm; see shared/gradient_norm_combine.h. One workgroup.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/rows.glsl"
#include "shared/gradient_norm_combine.h"

layout(set = 0, binding = 0) readonly buffer Sums { float sums[]; };
layout(set = 0, binding = 1) readonly buffer Settings { float settings[]; };
layout(set = 0, binding = 2) buffer Step { float step_count[]; };
layout(set = 0, binding = 3) writeonly buffer Factors { float factors[]; };

// Added to the norm, as in PyTorch's clip_grad_norm_.
const float LEAST_NORM = 1e-6;

bool is_strange(float value) { return (floatBitsToUint(value) & 0x7fffffffu) >= 0x7f800000u; }

void main() {
  if (workgroup_index() > 0u) return;
  float sum = 0.0, strange = 0.0;
  for (uint i = lane(); i < p.sums; i += lanes()) {
    float value = sums[p.offset[0] + i];
    if (is_strange(value))
      strange = 1.0;
    else
      ADD_FLUSHED(sum, value);
  }
  sum = row_sum(sum);
  strange = row_max(strange);
  if (lane() > 0u) return;

  float factor = FLUSHED(settings[p.offset[1] + HEED_UPDATE_GRADIENT]);
  float most = FLUSHED(settings[p.offset[1] + HEED_UPDATE_MOST_NORM]);
  float norm = MULTIPLY(ROOT(sum), abs(factor));
  bool whole = strange == 0.0 && !is_strange(sum) && !is_strange(norm);
  bool applies = settings[p.offset[1] + HEED_UPDATE_APPLIES] != 0.0;
  float taken = !applies ? 0.0 : whole ? 1.0 : -1.0;
  if (whole && most > 0.0) {
    float clipped = DIVIDE(most, ADD(norm, LEAST_NORM));
    if (clipped < 1.0) MULTIPLY_BY(factor, clipped);
  }
  float count = step_count[p.offset[2]];
  if (taken > 0.0) {
    ADD_TO(count, 1.0);
    step_count[p.offset[2]] = count;
  }
  factors[p.offset[3] + HEED_FACTOR_GRADIENT] = taken > 0.0 ? factor : 0.0;
  factors[p.offset[3] + HEED_FACTOR_TAKEN] = taken;
  factors[p.offset[3] + HEED_FACTOR_NORM] = whole ? norm : uintBitsToFloat(0x7fc00000u);
  factors[p.offset[3] + HEED_FACTOR_STEP] = count;
}
