// Moves the agents of a hunt: by the action that the network chose, plus noise near hunters for exploration. A try lasts a third of a
// second, with constant noise. Then its reward is known: how much farther away the nearest hunter is. Caught agents start again elsewhere.
#version 450
#define AGENTS_ACCESS
#define TRAILS_ACCESS
#include "hunt.glsl"
layout(local_size_x = SWARM_GROUP) in;
layout(set = 0, binding = SWARM_BIND_ACTION) readonly buffer Action { vec4 actions[]; };
layout(set = 0, binding = SWARM_BIND_TRIED) buffer Tried { vec4 tried[]; };
layout(set = 0, binding = SWARM_BIND_PLACES) buffer Places { int places[]; };

const float STRENGTH = 8.0;  // acceleration of an action of length 1
const float NOISE = 0.7;
const float CALM = 1.0, HOME = 0.5;  // force away from hunters by distance; per second squared
const float LOSS = -0.5;  // the reward of a try in which the agent was caught
const float TEMPERATURE = 0.03, MOST_WEIGHT = 4.0;  // in the weight exp(advantage / TEMPERATURE)

void finish_try(uint i, float served) {
  vec4 life = lives[2u * i + 1u];
  uint at = i * SWARM_TRY4 + SWARM_SEEN4;
  bool got_away = life.z == 0.0;
  tried[at].w = got_away ? min(exp((served - life.y) / TEMPERATURE), MOST_WEIGHT) : 0.0;
  tried[at + 1u] = vec4(0.0, 0.0, 0.0, served);
  places[i] = 0;  // hunt.comp assigns the place in memory
}

void begin_try(uint i, vec3 action, vec3 noise, float near, float expected) {
  for (uint k = 0u; k < SWARM_SEEN4; ++k) tried[i * SWARM_TRY4 + k] = seen[i * SWARM_SEEN4 + k];
  tried[i * SWARM_TRY4 + SWARM_SEEN4] = vec4(action, 0.0);
  lives[2u * i] = vec4(noise, TRY_SECONDS);
  lives[2u * i + 1u].xy = vec2(near, expected);
}

// The one of four random places that is farthest from all hunters.
vec3 new_place(uint i) {
  vec3 best = vec3(0.0);
  float farthest = -1.0;
  for (uint k = 0u; k < 4u; ++k) {
    vec3 place = ARENA * lot_in_ball(i, 3u + 3u * k);
    float far = distance_to_hunters(place);
    if (far > farthest) {
      farthest = far;
      best = place;
    }
  }
  return best;
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= frame.counts.x) return;
  float dt = frame.motion.x;
  vec3 position = agent_position(i), velocity = agent_velocity(i);
  vec4 life = lives[2u * i + 1u];
  float left = lives[2u * i].w, near = distance_to_hunters(position);
  places[i] = -1;

  bool caught = life.z != 0.0;
  if (left > 0.0) {
    left = caught ? 0.0 : left - dt;
    if (left <= 0.0) finish_try(i, caught ? LOSS : near - life.x);
    lives[2u * i].w = left;
  }
  vec3 action = actions[i].xyz;
  if (caught) {
    position = new_place(i);
    velocity = vec3(0.0);
    lives[2u * i] = vec4(0.0);
    lives[2u * i + 1u] = vec4(0.0, 0.0, 0.0, life.w + 1.0);
    for (uint k = 0u; k < SWARM_TRAIL; ++k) trails[i * SWARM_TRAIL + k] = vec4(position, 0.0);
  } else if (left > 0.0) {
    action = at_most(action + lives[2u * i].xyz, 1.0);
  } else if (near < TRY_NEAR) {
    vec3 noise = NOISE * lot_in_ball(i, 0u);
    action = at_most(action + noise, 1.0);
    begin_try(i, action, noise, near, actions[i].w);
  }

  // Far from hunters the learned action does not move agents, and they return home.
  float alarm = clamp((CALM - near) / (CALM - TRY_NEAR), 0.0, 1.0);
  vec3 force = caught ? vec3(0.0) : STRENGTH * alarm * at_most(action, 1.0);
  force += (1.0 - alarm) * (HOME * cross(vec3(0.12, 1.0, 0.08), position) - HOME * position);
  for (uint h = 0u; h < SWARM_HEADS; ++h) force += caught ? vec3(0.0) : urge(i, h, position, velocity);
  float outside = length(position) - ARENA;
  if (outside > 0.0) force -= 12.0 * outside * normalize(position);
  velocity = (velocity + force * dt) / (1.0 + frame.motion.w * dt);
  velocity = at_most(velocity, frame.motion.z);
  position += velocity * dt;

  agents[i * SWARM_ROW4 + 0u] = vec4(position, dot(position, position));
  agents[i * SWARM_ROW4 + 1u] = vec4(velocity, 1.0);
  trails[i * SWARM_TRAIL + frame.counts.w % SWARM_TRAIL] = vec4(position, 0.0);
}
