// Draws a red light around every hunter.
#version 450
#include "common.glsl"
layout(location = 0) out vec2 at;
layout(location = 1) flat out vec4 color;  // w: sharpness of the core

void main() {
  uint h = gl_InstanceIndex;
  at = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2.0 - 1.0;
  vec3 position = targets[h * SWARM_ROW4].xyz;
  bool rests = targets[h * SWARM_ROW4 + 2u].y > 0.0;
  color = vec4(vec3(1.0, 0.04, 0.10) * haze(position) * (rests ? 0.10 : 0.34), 0.0);
  vec3 world = position + 0.22 * (frame.right.xyz * at.x + frame.up.xyz * at.y);
  gl_Position = frame.view_projection * vec4(world, 1.0);
}
