// Moves the targets of the cross flavour: lights that drift along a knot. The first target is the player's cursor.
#version 450
#define TARGETS_ACCESS
#include "common.glsl"
layout(local_size_x = SWARM_GROUP) in;

vec3 knot(float t) {
  float ring = 1.0 + 0.42 * cos(1.5 * t);
  return vec3(ring * cos(t), 0.62 * sin(1.5 * t), ring * sin(t));
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= frame.counts.y) return;
  uint tribe = i % SWARM_TRIBES;
  bool cursor = i == 0u;
  float t = 2.0 * TAU * (float(i) + 0.3 * random(i, 7u)) / float(frame.counts.y) + 0.05 * frame.eye.w;
  vec3 position = cursor ? frame.cursor.xyz : 1.05 * knot(t);
  float angle = float(tribe) * TAU / SWARM_TRIBES;
  targets[i * SWARM_ROW4 + 0u] = vec4(position, dot(position, position));
  targets[i * SWARM_ROW4 + 1u] = vec4(0.0, 0.0, 0.0, 1.0);
  targets[i * SWARM_ROW4 + 2u] = vec4(0.0);
  targets[i * SWARM_ROW4 + 3u] = vec4(0.0);
  targets[i * SWARM_ROW4 + 4u] = vec4(cos(angle), sin(angle), cursor ? 1.0 : 0.0, random(i, 8u));
}
