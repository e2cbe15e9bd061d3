// Draws a soft light around every agent.
#version 450
#include "common.glsl"
layout(location = 0) out vec2 at;
layout(location = 1) flat out vec4 color;  // w: sharpness of the core
void main() {
  uint i = gl_InstanceIndex;
  at = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2.0 - 1.0;
  vec3 position = agent_position(i);
  bool chosen = frame.pointer.w != 0.0 && i == picked;
  color = vec4(agent_color(i, position, agent_velocity(i)) * haze(position) * (chosen ? 0.6 : 0.075), 0.0);
  float size = frame.up.w * (chosen ? 4.5 : 3.4);
  vec3 world = position + size * (frame.right.xyz * at.x + frame.up.xyz * at.y);
  gl_Position = frame.view_projection * vec4(world, 1.0);
}
