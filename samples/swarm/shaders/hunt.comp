// Moves the hunters, one after the other, and then assigns each finished try a place in the memory. Runs as one workgroup, so that the
// order is fixed.
//
// A hunter chases the nearest agent, preferably one ahead of it, until it has caught it or is out of breath. Its mind is
//   seconds of this chase; seconds of rest that are left; index of the chased agent, or -1; 1: it has just caught one
#version 450
#define TARGETS_ACCESS coherent
#define HUNT_ACCESS coherent
#include "hunt.glsl"
layout(local_size_x = SWARM_GROUP) in;
layout(set = 0, binding = SWARM_BIND_PLACES) buffer Places { int places[]; };
layout(set = 0, binding = SWARM_BIND_PICKS) buffer Picks {
  int picks[SWARM_BATCH];
  vec4 mirrors[SWARM_BATCH];
};
layout(set = 0, binding = SWARM_BIND_COUNTS) buffer CountsBlock { Counts counts; };
layout(set = 0, binding = SWARM_BIND_TALLY) buffer TallyBlock { Counts tally; };

const float FASTEST = 1.4, AGILITY = 8.0;  // world units per second; per second squared
const float BREATH = 1.1;                  // seconds
const float REST = 0.25, MEAL = 0.1;        // seconds, after a failed chase and after a catch
const float FAITH = 0.15;                  // another agent must be nearer by this to be chased instead
const uint NOBODY = 0xffffffffu;

shared float sh_distance[SWARM_GROUP];
shared uint sh_index[SWARM_GROUP];

// The agent nearest to the hunter at `position`; the result is the same in all invocations.
uint nearest_prey(vec3 position, vec3 ahead, uint before) {
  uint tid = gl_LocalInvocationID.x;
  float best = 1e30;
  uint index = NOBODY;
  for (uint i = tid; i < frame.counts.x; i += SWARM_GROUP) {
    if (lives[2u * i + 1u].z != 0.0) continue;
    vec3 to = agent_position(i) - position;
    float far = length(to);
    far *= 1.3 - 0.3 * dot(to, ahead) / (far + 1e-4);
    if (i == before) far -= FAITH;
    if (far < best) {
      best = far;
      index = i;
    }
  }
  sh_distance[tid] = best;
  sh_index[tid] = index;
  barrier();
  for (uint n = SWARM_GROUP / 2u; n > 0u; n /= 2u) {
    if (tid < n && (sh_distance[tid + n] < sh_distance[tid] ||
                    (sh_distance[tid + n] == sh_distance[tid] && sh_index[tid + n] < sh_index[tid]))) {
      sh_distance[tid] = sh_distance[tid + n];
      sh_index[tid] = sh_index[tid + n];
    }
    barrier();
  }
  uint found = sh_index[0];
  barrier();
  return found;
}

vec3 steer(uint h, vec3 position, vec3 velocity, uint prey) {
  vec3 to = agent_position(prey) - position;
  vec3 aim = to + agent_velocity(prey) * (0.6 * length(to) / FASTEST);
  if (h == 0u && frame.cursor.w > 0.0) aim = frame.cursor.xyz - position;  // the player leads the first one
  aim *= FASTEST / (length(aim) + 1e-4);
  vec3 force = at_most(4.0 * (aim - velocity), AGILITY);
  float outside = length(position) - 1.1 * ARENA;
  if (outside > 0.0) force -= 12.0 * outside * normalize(position);
  for (uint o = 0u; o < frame.counts.y; ++o) {
    vec3 from = position - hunter_position(o);
    float far = length(from) + 1e-3;
    if (o != h && far < 0.5) force += from * (2.0 * (0.5 - far) / far);
  }
  return force;
}

// The first invocation moves hunter h, which chases `prey`.
void move_hunter(uint h, uint prey) {
  float dt = frame.motion.x;
  vec3 position = hunter_position(h), velocity = hunter_velocity(h);
  vec4 mind = hunter_mind(h);
  if (mind.y > 0.0 || prey == NOBODY) {
    mind = vec4(0.0, mind.y - dt, -1.0, 0.0);
    velocity /= 1.0 + 3.0 * dt;
  } else {
    velocity = at_most(velocity + steer(h, position, velocity, prey) * dt, FASTEST);
    mind = vec4(mind.x + dt, 0.0, float(prey), 0.0);
  }
  position += velocity * dt;
  if (mind.z >= 0.0 && distance(position, agent_position(prey)) < CATCH) {
    lives[2u * prey + 1u].z = 1.0;
    ++counts.caught;
    mind = vec4(0.0, MEAL, -1.0, 1.0);
  } else if (mind.x > BREATH) {
    ++counts.fled;
    mind = vec4(0.0, REST, -1.0, 0.0);
  }
  targets[h * SWARM_ROW4] = vec4(position, dot(position, position));
  targets[h * SWARM_ROW4 + 1u] = vec4(velocity, 1.0);
  targets[h * SWARM_ROW4 + 2u] = mind;
}

// Finished tries enter the memory in the order of their agents. If a frame has more than fit, the rest is dropped.
void place_tries() {
  uint tid = gl_LocalInvocationID.x, share = (frame.counts.x + SWARM_GROUP - 1u) / SWARM_GROUP;
  uint begin = min(tid * share, frame.counts.x), end = min(begin + share, frame.counts.x), mine = 0u;
  for (uint i = begin; i < end; ++i) mine += places[i] == 0 ? 1u : 0u;
  sh_index[tid] = mine;
  barrier();
  uint before = 0u, all = 0u;
  for (uint k = 0u; k < SWARM_GROUP; ++k) {
    if (k < tid) before += sh_index[k];
    all += sh_index[k];
  }
  uint tries = counts.tries;
  for (uint i = begin; i < end; ++i) {
    if (places[i] != 0) continue;
    places[i] = before < SWARM_MEMORY ? int((tries + before) % SWARM_MEMORY) : -1;
    ++before;
  }
  all = min(all, SWARM_MEMORY);

  // The batch of the next step. The hunt is symmetric in left and right, above and below, so that each try is mirrored.
  uint remembered = max(min(tries + all, SWARM_MEMORY), 1u);
  for (uint k = tid; k < SWARM_BATCH; k += SWARM_GROUP) {
    picks[k] = int(min(uint(lot(k, 16u) * float(remembered)), remembered - 1u));
    mirrors[k] = vec4(lot(k, 17u) < 0.5 ? 1.0 : -1.0, lot(k, 18u) < 0.5 ? 1.0 : -1.0, lot(k, 19u) < 0.5 ? 1.0 : -1.0, 1.0);
  }
  barrier();
  if (tid != 0u) return;
  counts.tries = tries + all;
  ++counts.frames;
  tally = counts;
}

void main() {
  for (uint h = 0u; h < frame.counts.y; ++h) {
    vec3 velocity = hunter_velocity(h);
    float before = hunter_mind(h).z;
    uint prey = nearest_prey(hunter_position(h), velocity / (length(velocity) + 1e-4), before < 0.0 ? NOBODY : uint(before));
    if (gl_LocalInvocationID.x == 0u) move_hunter(h, prey);
    memoryBarrierBuffer();
    barrier();
  }
  place_tries();
}
