// Draws a light at every target, and a larger one at the player's cursor.
#version 450
#include "common.glsl"
layout(location = 0) out vec2 at;
layout(location = 1) flat out vec4 color;
void main() {
  uint i = gl_InstanceIndex;
  at = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2.0 - 1.0;
  vec3 position = targets[i * SWARM_ROW4].xyz;
  vec4 traits = targets[i * SWARM_ROW4 + 4u];
  bool cursor = traits.z != 0.0;
  float pulse = 0.85 + 0.15 * sin(2.5 * frame.eye.w + TAU * traits.w);
  float size = cursor ? (frame.cursor.w > 0.0 ? 0.16 : 0.0) : 0.045 + 0.9 * frame.up.w;
  color = vec4((cursor ? vec3(1.0, 0.95, 0.85) : vec3(1.0, 0.72, 0.38)) * pulse * haze(position) * 0.8, 1.0);
  vec3 world = position + size * (frame.right.xyz * at.x + frame.up.xyz * at.y);
  gl_Position = frame.view_projection * vec4(world, 1.0);
}
