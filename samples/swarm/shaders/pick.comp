// Picks the agent nearest to the pointer on the screen, if requested, and copies the picked agent's row to the query that heed reads. Runs
// as one workgroup.
#version 450
#define PICK_ACCESS
#include "common.glsl"
layout(local_size_x = SWARM_GROUP) in;

shared float sh_distance[SWARM_GROUP];
shared uint sh_index[SWARM_GROUP];

float distance_on_screen(uint i) {
  vec3 position = agent_position(i);
  vec4 clip = frame.view_projection * vec4(position, 1.0);
  if (clip.w <= 0.0) return 1e30;
  vec2 apart = (clip.xy / clip.w - frame.pointer.xy) * vec2(frame.right.w, 1.0);
  // The second summand prefers the nearer one of two agents at the same place on the screen.
  return length(apart) + 0.01 * length(position - frame.eye.xyz);
}

void main() {
  uint tid = gl_LocalInvocationID.x;
  float best = 1e30;
  uint index = 0u;
  if (frame.pointer.z != 0.0)
    for (uint i = tid; i < frame.counts.x; i += SWARM_GROUP) {
      float distance = distance_on_screen(i);
      if (distance < best) {
        best = distance;
        index = i;
      }
    }
  sh_distance[tid] = best;
  sh_index[tid] = index;
  barrier();
  for (uint n = SWARM_GROUP / 2u; n > 0u; n /= 2u) {
    if (tid < n && sh_distance[tid + n] < sh_distance[tid]) {
      sh_distance[tid] = sh_distance[tid + n];
      sh_index[tid] = sh_index[tid + n];
    }
    barrier();
  }
  if (tid != 0u) return;
  uint chosen = frame.pointer.z != 0.0 ? sh_index[0] : min(picked, frame.counts.x - 1u);
  picked = chosen;
  for (uint n = 0u; n < SWARM_ROW4; ++n) picked_row[n] = agents[chosen * SWARM_ROW4 + n];
}
