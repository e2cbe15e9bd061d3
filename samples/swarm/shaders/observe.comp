// Writes each agent's observations: see shaders/shared.h. Its neighbours are the strongest keys of heed's attention for the second head.
#version 450
#include "hunt.glsl"
layout(local_size_x = SWARM_GROUP) in;

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= frame.counts.x) return;
  vec3 position = agent_position(i), velocity = agent_velocity(i);
  uint at = i * SWARM_SEEN4;
  seen[at] = vec4(position, length(position)) / ARENA;
  seen[at + 1u] = vec4(velocity, 1.0);
  seen[at + 2u] = vec4(3.0 * (look[i * SWARM_LOOK4 + SWARM_VALUE4].xyz - position), 0.0);
  seen[at + 3u] = vec4(look[i * SWARM_LOOK4 + SWARM_VALUE4 + 1u].xyz - velocity, -1.0);
  for (uint h = 0u; h < SWARM_HUNTERS; ++h) {
    vec4 where = vec4(0.0), moves = vec4(0.0);
    if (h < frame.counts.y) {
      vec3 to = hunter_position(h) - position;
      float far = length(to), size = exp(-far / 0.6);
      where = vec4(to * (size / (far + 1e-4)), exp(-far / 0.3));
      moves = vec4((hunter_velocity(h) - velocity) * size, 0.0);
    }
    seen[at + 4u + 2u * h] = where;
    seen[at + 5u + 2u * h] = moves;
  }
}
