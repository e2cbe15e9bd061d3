// Moves every agent by one step: by its heads' demands and a little wind, within limits of speed. Reads heed's output.
#version 450
#define AGENTS_ACCESS
#define TRAILS_ACCESS
#include "common.glsl"
layout(local_size_x = SWARM_GROUP) in;

// The curl of a few waves: a flow without sources, so that agents do not collect anywhere.
vec3 wind(vec3 x, float time) {
  vec3 a = 1.7 * x + vec3(0.31, 0.23, 0.37) * time;
  vec3 b = 3.1 * x.yzx + vec3(1.3, 2.9, 0.7) - 0.21 * time;
  return vec3(cos(a.y) - sin(a.z), cos(a.z) - sin(a.x), cos(a.x) - sin(a.y)) +
         0.5 * vec3(cos(b.y) - sin(b.z), cos(b.z) - sin(b.x), cos(b.x) - sin(b.y));
}

// The path of the first agent of each line. All lines follow one knot, and start at equal distances along it.
vec3 path(uint tribe, float time) {
  float t = 0.8 * time + 2.0 * TAU * float(tribe) / SWARM_TRIBES;
  float ring = 1.2 + 0.5 * cos(1.5 * t);
  return vec3(ring * cos(t), 0.75 * sin(1.5 * t), ring * sin(t));
}

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (i >= frame.counts.x) return;
  vec3 position = agent_position(i), velocity = agent_velocity(i);
  float dt = frame.motion.x, time = frame.eye.w;

  vec3 force = vec3(0.0);
  for (uint h = 0u; h < SWARM_HEADS; ++h) force += urge(i, h, position, velocity);
  force += frame.home.y * (0.6 + 0.8 * random(i, 4u)) * wind(position, time);
  force += frame.home.z * cross(vec3(0.12, 1.0, 0.08), position);
  float outside = length(position) - frame.home.x;
  if (outside > 0.0) force -= 4.0 * outside * normalize(position);
  bool leads = frame.counts.z == SWARM_CONGA && i < SWARM_TRIBES;
  if (leads) force += frame.home.w * (path(i, time) - position);

  velocity = (velocity + force * dt) / (1.0 + frame.motion.w * dt);
  float speed = max(length(velocity), 1e-4);
  velocity *= clamp(speed, frame.motion.y, leads ? 10.0 : frame.motion.z) / speed;
  position += velocity * dt;

  agents[i * SWARM_ROW4 + 0u] = vec4(position, dot(position, position));
  agents[i * SWARM_ROW4 + 1u] = vec4(velocity, 1.0);
  trails[i * SWARM_TRAIL + frame.counts.w % SWARM_TRAIL] = vec4(position, 0.0);
}
