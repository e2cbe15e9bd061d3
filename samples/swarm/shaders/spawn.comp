// Makes new agents from index `first` on: a loose ball of them at rest, each with a place in line and a tribe.
#version 450
#define AGENTS_ACCESS
#define TRAILS_ACCESS
#define PICK_ACCESS
#define TARGETS_ACCESS
#include "hunt.glsl"
layout(local_size_x = SWARM_GROUP) in;
layout(set = 0, binding = SWARM_BIND_COUNTS) buffer CountsBlock { Counts counts; };
layout(push_constant) uniform Push { uint first; } p;

// The number of places in line after which each turn repeats. The slowest one does not repeat within the longest line.
const float TURNS[4] = float[4](7.0, 29.0, 150.0, 3000.0);

// Hunters begin around the arena, at rest. The first agents have no earlier positions.
void begin_hunt(uint i) {
  lives[2u * i] = vec4(0.0);
  lives[2u * i + 1u] = vec4(0.0);
  if (p.first != 0u) return;
  if (i == 0u) counts = Counts(0u, 0u, 0u, 0u);
  if (i >= frame.counts.y) return;
  float turn = TAU * (float(i) + random(i, 9u)) / float(frame.counts.y);
  vec3 position = ARENA * vec3(cos(turn), random(i, 10u) - 0.5, sin(turn));
  targets[i * SWARM_ROW4 + 0u] = vec4(position, dot(position, position));
  targets[i * SWARM_ROW4 + 1u] = vec4(0.0, 0.0, 0.0, 1.0);
  targets[i * SWARM_ROW4 + 2u] = vec4(0.0, 0.5, -1.0, 0.0);
  targets[i * SWARM_ROW4 + 3u] = vec4(0.0);
  targets[i * SWARM_ROW4 + 4u] = vec4(1.0, 0.0, 0.0, random(i, 8u));
}

void main() {
  uint i = p.first + gl_GlobalInvocationID.x;
  if (p.first == 0u && i == 0u) picked = 0u;
  if (i >= frame.counts.x) return;
  float z = random(i, 0u) * 2.0 - 1.0, turn = random(i, 1u) * TAU;
  vec3 direction = vec3(sqrt(1.0 - z * z) * vec2(cos(turn), sin(turn)), z);
  vec3 position = direction * 1.7 * pow(random(i, 2u), 1.0 / 3.0);
  vec3 velocity = 0.4 * normalize(cross(direction, vec3(0.3, 1.0, 0.2)));

  float place = float(i / SWARM_TRIBES);
  vec4 fast = place * TAU / vec4(TURNS[0], TURNS[0], TURNS[1], TURNS[1]);
  vec4 slow = place * TAU / vec4(TURNS[2], TURNS[2], TURNS[3], TURNS[3]);
  float tribe = float(i % SWARM_TRIBES) * TAU / SWARM_TRIBES;
  agents[i * SWARM_ROW4 + 0u] = vec4(position, dot(position, position));
  agents[i * SWARM_ROW4 + 1u] = vec4(velocity, 1.0);
  agents[i * SWARM_ROW4 + 2u] = vec4(cos(fast.x), sin(fast.y), cos(fast.z), sin(fast.w));
  agents[i * SWARM_ROW4 + 3u] = vec4(cos(slow.x), sin(slow.y), cos(slow.z), sin(slow.w));
  agents[i * SWARM_ROW4 + 4u] = vec4(cos(tribe), sin(tribe), 0.0, random(i, 3u));
  if (frame.counts.z == SWARM_HUNT) begin_hunt(i);
  for (uint k = 0u; k < SWARM_TRAIL; ++k) trails[i * SWARM_TRAIL + k] = vec4(position, 0.0);
}
