// One step of AdamW or SGD; see shared/update.h. An element is read and written by one invocation.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/groups.glsl"
#include "shared/arithmetic.glsl"
#include "shared/update.h"

layout(set = 0, binding = 0) buffer Gradient { float gradient[]; };
layout(set = 0, binding = 1) readonly buffer Factors { float factors[]; };
layout(set = 0, binding = 2) readonly buffer Settings { float settings[]; };
layout(set = 0, binding = 3) buffer Weights { float weights[]; };
layout(set = 0, binding = 4) buffer First { float first[]; };
layout(set = 0, binding = 5) buffer Second { float second[]; };

float setting(uint word) { return FLUSHED(settings[p.offset[2] + word]); }

#ifndef CANON
// 1 - e^x for x < 0, by a series where the difference would lose all digits.
float one_less_power(float x) {
  if (x < -0.5) return 1.0 - exp(x);
  float series = 1.0;
  for (float k = 9.0; k > 1.5; k -= 1.0) series = 1.0 + series * x / k;
  return -x * series;
}
#endif

void adamw(uint i, float g, float rate, float second_scale) {
  float m = ADD(MULTIPLY(setting(HEED_UPDATE_FIRST), FLUSHED(first[p.offset[4] + i])),
                MULTIPLY(setting(HEED_UPDATE_FIRST_REST), g));
  float v = ADD(MULTIPLY(setting(HEED_UPDATE_SECOND), FLUSHED(second[p.offset[5] + i])),
                MULTIPLY(MULTIPLY(setting(HEED_UPDATE_SECOND_REST), g), g));
  float w = FLUSHED(weights[p.offset[3] + i]);
  float root = ADD(ROOT(MULTIPLY(v, second_scale)), setting(HEED_UPDATE_EPS));
  first[p.offset[4] + i] = STORED(m);
  second[p.offset[5] + i] = STORED(v);
  float change = ADD(MULTIPLY(setting(HEED_UPDATE_DECAY), w), MULTIPLY(rate, DIVIDE(m, root)));
  weights[p.offset[3] + i] = STORED(SUBTRACT(w, change));
}

void sgd(uint i, float g) {
  float w = FLUSHED(weights[p.offset[3] + i]);
  ADD_TO(g, MULTIPLY(setting(HEED_UPDATE_DECAY), w));
  float moved = g;
  if ((FLAGS & HEED_UPDATE_MOMENT) != 0u) {
    float m = ADD(MULTIPLY(setting(HEED_UPDATE_FIRST), FLUSHED(first[p.offset[4] + i])),
                  MULTIPLY(setting(HEED_UPDATE_FIRST_REST), g));
    first[p.offset[4] + i] = STORED(m);
    moved = (FLAGS & HEED_UPDATE_NESTEROV) != 0u ? ADD(g, MULTIPLY(setting(HEED_UPDATE_FIRST), m)) : m;
  }
  weights[p.offset[3] + i] = STORED(SUBTRACT(w, MULTIPLY(setting(HEED_UPDATE_RATE), moved)));
}

void main() {
  uint begin = workgroup_index() * gl_WorkGroupSize.x * HEED_UPDATE_EACH + gl_LocalInvocationID.x;
  float taken = factors[p.offset[1] + HEED_FACTOR_TAKEN];
  if (begin >= p.n || taken == 0.0) return;
  float factor = factors[p.offset[1] + HEED_FACTOR_GRADIENT], rate = 0.0, second_scale = 0.0;
  if ((FLAGS & HEED_UPDATE_ADAMW) != 0u) {
    float count = factors[p.offset[1] + HEED_FACTOR_STEP];
    rate = DIVIDE(setting(HEED_UPDATE_RATE), one_less_power(MULTIPLY(count, setting(HEED_UPDATE_LOG_FIRST))));
    second_scale = INVERSE(one_less_power(MULTIPLY(count, setting(HEED_UPDATE_LOG_SECOND))));
  }
  for (uint e = 0u; e < HEED_UPDATE_EACH; ++e) {
    uint i = begin + e * gl_WorkGroupSize.x;
    if (i >= p.n) return;
    if (taken > 0.0) {
      float g = MULTIPLY(FLUSHED(gradient[p.offset[0] + i]), factor);
      if ((FLAGS & HEED_UPDATE_ADAMW) != 0u)
        adamw(i, g, rate, second_scale);
      else
        sgd(i, g);
    }
    if ((FLAGS & HEED_UPDATE_CLEARS) != 0u) gradient[p.offset[0] + i] = 0.0;
  }
}
