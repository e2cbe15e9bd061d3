// Finds the keys to which the picked agent gives its largest attention weights, except the agent itself. There is one workgroup per head.
#version 450
#define LINKS_ACCESS
#include "common.glsl"
layout(local_size_x = SWARM_GROUP) in;
layout(set = 0, binding = SWARM_BIND_WEIGHTS) readonly buffer Weights { float weights[]; };

shared float sh_weight[SWARM_GROUP];
shared uint sh_index[SWARM_GROUP];
const uint NONE = 0xffffffffu;

// Whether `a` comes before `b` in the order of weights; equal weights are ordered by index.
bool before(float a, uint i, float b, uint j) { return a > b || (a == b && i < j); }

void main() {
  uint tid = gl_LocalInvocationID.x, h = gl_WorkGroupID.x;
  bool targets_are_keys = frame.counts.z == SWARM_CROSS;
  uint count = targets_are_keys ? frame.counts.y : frame.counts.x;
  // Removing keys changes a softmax only by a factor, so that a causal mask may be applied here, after the softmax.
  uint seen = frame.counts.z == SWARM_CONGA ? picked : count;
  uint self = targets_are_keys ? NONE : picked;

  float last = 1e30, largest = 0.0;
  uint last_index = 0u;
  for (uint n = 0u; n < SWARM_LINKS; ++n) {
    float best = 0.0;
    uint index = NONE;
    for (uint j = tid; j < seen; j += SWARM_GROUP) {
      float weight = weights[h * count + j];
      if (j == self || weight <= 0.0 || !before(last, last_index, weight, j)) continue;
      if (before(weight, j, best, index)) {
        best = weight;
        index = j;
      }
    }
    sh_weight[tid] = best;
    sh_index[tid] = index;
    barrier();
    for (uint m = SWARM_GROUP / 2u; m > 0u; m /= 2u) {
      if (tid < m && before(sh_weight[tid + m], sh_index[tid + m], sh_weight[tid], sh_index[tid])) {
        sh_weight[tid] = sh_weight[tid + m];
        sh_index[tid] = sh_index[tid + m];
      }
      barrier();
    }
    last = sh_weight[0];
    last_index = sh_index[0];
    if (n == 0u) largest = last;
    bool some = last_index != NONE && largest > 0.0;
    if (tid == 0u)
      links[h * SWARM_LINKS + n] = uvec2(some ? last_index : 0u, some ? floatBitsToUint(last / largest) : 0u);
    barrier();
  }
}
