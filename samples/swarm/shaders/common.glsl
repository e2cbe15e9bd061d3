// Buffers and small functions that the shaders share.
#extension GL_GOOGLE_include_directive : require
#include "shared.h"

#ifndef AGENTS_ACCESS
#define AGENTS_ACCESS readonly
#endif
#ifndef TARGETS_ACCESS
#define TARGETS_ACCESS readonly
#endif
#ifndef TRAILS_ACCESS
#define TRAILS_ACCESS readonly
#endif
#ifndef PICK_ACCESS
#define PICK_ACCESS readonly
#endif
#ifndef LINKS_ACCESS
#define LINKS_ACCESS readonly
#endif

layout(set = 0, binding = SWARM_BIND_AGENTS) AGENTS_ACCESS buffer Agents { vec4 agents[]; };
layout(set = 0, binding = SWARM_BIND_TARGETS) TARGETS_ACCESS buffer Targets { vec4 targets[]; };
layout(set = 0, binding = SWARM_BIND_LOOK) readonly buffer Look { vec4 look[]; };
layout(set = 0, binding = SWARM_BIND_TRAILS) TRAILS_ACCESS buffer Trails { vec4 trails[]; };
layout(set = 0, binding = SWARM_BIND_PICK) PICK_ACCESS buffer Pick {
  vec4 picked_row[SWARM_ROW4];
  uint picked;
};
// The strongest keys of each head, the strongest first: a key's index, and its weight relative to the first one's, as the bits of a float.
layout(set = 0, binding = SWARM_BIND_LINKS) LINKS_ACCESS buffer Links { uvec2 links[]; };

const float TAU = 6.28318530718;

vec3 agent_position(uint i) { return agents[i * SWARM_ROW4].xyz; }
vec3 agent_velocity(uint i) { return agents[i * SWARM_ROW4 + 1u].xyz; }

// Random numbers from an index (PCG; Jarzynski and Olano 2020).
uint mix_bits(uint x) {
  x = x * 747796405u + 2891336453u;
  x = ((x >> ((x >> 28u) + 4u)) ^ x) * 277803737u;
  return (x >> 22u) ^ x;
}
float random(uint i, uint stream) { return float(mix_bits(i * 16u + stream) >> 8) / 16777216.0; }

// The acceleration that head h demands of an agent: towards the mean position of its keys (or away from it, if the pull is negative), along
// with the mean velocity, and around the mean position.
vec3 urge(uint i, uint h, vec3 position, vec3 velocity) {
  vec4 motive = frame.motives[h];
  if (motive.w == 0.0) return vec3(0.0);
  vec3 to = look[i * SWARM_LOOK4 + h * SWARM_VALUE4].xyz - position;
  vec3 with = look[i * SWARM_LOOK4 + h * SWARM_VALUE4 + 1u].xyz - velocity;
  return motive.x * to + motive.y * with + motive.z * cross(vec3(0.0, 1.0, 0.0), to);
}

// In a hunt, agents light up where a hunter is near.
vec3 hunted_color(vec3 position, vec4 traits) {
  float danger = 0.0;
  for (uint h = 0u; h < frame.counts.y; ++h)
    danger = max(danger, exp(-3.5 * distance(position, targets[h * SWARM_ROW4].xyz)));
  vec3 calm = mix(vec3(0.03, 0.30, 0.55), vec3(0.04, 0.55, 0.50), traits.w);
  return mix(calm, vec3(1.3, 0.75, 0.16), smoothstep(0.08, 0.5, danger));
}

// Mixes the colours of the heads that move an agent, and shades the result by the agent's tribe.
vec3 agent_color(uint i, vec3 position, vec3 velocity) {
  if (frame.counts.z == SWARM_HUNT) return hunted_color(position, agents[i * SWARM_ROW4 + 4u]);
  vec3 color = vec3(0.0);
  float total = 1e-12;
  for (uint h = 0u; h < SWARM_HEADS; ++h) {
    vec3 u = urge(i, h, position, velocity);
    float share = dot(u, u) * frame.colors[h].w;
    share *= share;
    color += share * frame.colors[h].rgb;
    total += share;
  }
  vec4 traits = agents[i * SWARM_ROW4 + 4u];
  float angle = atan(traits.y, traits.x);
  vec3 shade = 1.0 + 0.38 * cos(angle - vec3(0.0, 2.1, 4.2));
  return color / total * shade * (0.8 + 0.4 * traits.w);
}

// Makes distant things darker.
float haze(vec3 position) {
  float distance = length(position - frame.eye.xyz);
  return clamp(1.55 - 0.26 * distance, 0.10, 1.1);
}
