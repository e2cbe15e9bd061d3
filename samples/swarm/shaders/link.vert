// Draws an arched line from the picked agent to each of the keys with the largest attention weights.
#version 450
#include "common.glsl"
layout(location = 0) out vec3 color;

void main() {
  uint n = gl_InstanceIndex, h = n / SWARM_LINKS;
  uint key = links[n].x;
  float weight = uintBitsToFloat(links[n].y) * frame.motives[h].w * frame.pointer.w;
  vec3 from = agent_position(picked);
  vec3 to = frame.counts.z == SWARM_CROSS ? targets[key * SWARM_ROW4].xyz : agent_position(key);
  vec3 apart = to - from;
  // Lines of different heads bend to different sides, so that two heads with the same key can be distinguished.
  float side = (float(h) - 0.5 * float(SWARM_HEADS - 1u)) / float(SWARM_HEADS);
  vec3 bend = length(apart) * (0.22 * frame.up.xyz + 0.45 * side * frame.right.xyz);

  float t = float(gl_VertexIndex / 2) / SWARM_BEND;
  vec3 point = from + apart * t + 2.0 * t * (1.0 - t) * bend;
  vec3 along = apart + 2.0 * (1.0 - 2.0 * t) * bend;
  vec3 across = cross(along, frame.eye.xyz - point);
  across = dot(across, across) > 1e-14 ? normalize(across) : vec3(0.0);
  float width = weight > 0.02 ? 0.0022 + 0.0035 * weight : 0.0;
  vec3 world = point + across * width * ((gl_VertexIndex & 1) * 2 - 1);
  color = frame.colors[h].rgb * (0.10 + 0.70 * weight) * smoothstep(-0.05, 0.35, t);
  gl_Position = frame.view_projection * vec4(world, 1.0);
}
