// Draws a paper dart for every agent, nose forward, leaning into its turns. Reads the agents and heed's output in place.
#version 450
#include "common.glsl"
#include "dart.glsl"
layout(location = 0) out vec3 color;

void main() {
  uint i = gl_InstanceIndex;
  vec3 position = agent_position(i), velocity = agent_velocity(i);
  vec3 urges = vec3(0.0);
  for (uint h = 0u; h < SWARM_HEADS; ++h) urges += urge(i, h, position, velocity);
  float size = frame.up.w * (0.8 + 0.4 * agents[i * SWARM_ROW4 + 4u].w);
  vec3 world = dart_vertex(position, velocity, urges, size, agent_color(i, position, velocity), color);
  gl_Position = frame.view_projection * vec4(world, 1.0);
}
