// Buffers and constants of a hunt.
#include "common.glsl"

#ifndef HUNT_ACCESS
#define HUNT_ACCESS
#endif

layout(set = 0, binding = SWARM_BIND_SEEN) HUNT_ACCESS buffer Seen { vec4 seen[]; };
// An agent's mind: the present try, if it has not ended, and then
//   0  noise that is added to its action; seconds that are left of the try
//   1  distance to the nearest hunter at the start of the try; its expected reward; 1: caught; number of lives so far
layout(set = 0, binding = SWARM_BIND_LIVES) HUNT_ACCESS buffer Lives { vec4 lives[]; };

const float ARENA = 1.2;       // radius of the free space, as frame.home.x
const float CATCH = 0.07;      // a hunter catches within this distance
const float TRY_NEAR = 0.75;   // a try begins at this distance from a hunter
const float TRY_SECONDS = 0.33;

// A random number in [0, 1) for this step of the crowd.
float lot(uint i, uint stream) {
  return float(mix_bits(mix_bits(mix_bits(i * 32u + stream) ^ frame.counts.w) ^ frame.hunt.x) >> 8) / 16777216.0;
}

// A point in the ball of radius 1.
vec3 lot_in_ball(uint i, uint stream) {
  float z = lot(i, stream) * 2.0 - 1.0, turn = lot(i, stream + 1u) * TAU;
  return vec3(sqrt(1.0 - z * z) * vec2(cos(turn), sin(turn)), z) * pow(lot(i, stream + 2u), 1.0 / 3.0);
}

vec4 hunter_mind(uint h) { return targets[h * SWARM_ROW4 + 2u]; }  // see shaders/hunt.comp
vec3 hunter_position(uint h) { return targets[h * SWARM_ROW4].xyz; }
vec3 hunter_velocity(uint h) { return targets[h * SWARM_ROW4 + 1u].xyz; }

float distance_to_hunters(vec3 position) {
  float nearest = 1e9;
  for (uint h = 0u; h < frame.counts.y; ++h) nearest = min(nearest, distance(position, hunter_position(h)));
  return nearest;
}

vec3 at_most(vec3 v, float most) {
  float l = length(v);
  return l > most ? v * (most / l) : v;
}
