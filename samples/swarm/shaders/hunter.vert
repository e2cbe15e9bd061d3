// Draws a large dart for every hunter, dark while it rests.
#version 450
#include "common.glsl"
#include "dart.glsl"
layout(location = 0) out vec3 color;

void main() {
  uint h = gl_InstanceIndex;
  float rests = targets[h * SWARM_ROW4 + 2u].y;
  vec3 base = rests > 0.0 ? vec3(0.40, 0.02, 0.06) : vec3(1.2, 0.05, 0.10);
  vec3 world = dart_vertex(targets[h * SWARM_ROW4].xyz, targets[h * SWARM_ROW4 + 1u].xyz, vec3(0.0), 0.115, base, color);
  gl_Position = frame.view_projection * vec4(world, 1.0);
}
