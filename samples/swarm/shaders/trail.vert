// Draws a ribbon through the last positions of every agent. Older positions are thinner and darker.
#version 450
#include "common.glsl"
layout(location = 0) out vec3 color;

vec3 remembered(uint i, uint age) {
  return trails[i * SWARM_TRAIL + (frame.counts.w + SWARM_TRAIL - min(age, SWARM_TRAIL - 1u)) % SWARM_TRAIL].xyz;
}

void main() {
  uint i = gl_InstanceIndex, age = uint(gl_VertexIndex) / 2u;
  vec3 position = remembered(i, age);
  vec3 along = remembered(i, age == 0u ? 0u : age - 1u) - remembered(i, age + 1u);
  vec3 side = cross(along, frame.eye.xyz - position);
  float left = 1.0 - float(age) / float(SWARM_TRAIL - 1u);
  side = dot(side, side) > 1e-14 ? normalize(side) : vec3(0.0);
  vec3 world = position + side * ((gl_VertexIndex & 1) * 2 - 1) * frame.up.w * 0.30 * left;
  vec3 now = agent_position(i);
  color = agent_color(i, now, agent_velocity(i)) * haze(world) * 0.50 * left * left;
  gl_Position = frame.view_projection * vec4(world, 1.0);
}
