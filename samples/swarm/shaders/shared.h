// Shared by C++ and shaders: sizes, bindings, and the data that all shaders get once per frame.
#ifndef SWARM_SHARED_H
#define SWARM_SHARED_H

// heed reads one row per agent or target. A row is five vec4:
//   0  position, |position|^2
//   1  velocity, 1
//   2  place in line: cos and sin of the two fastest turns
//   3  the two slowest turns
//   4  cos and sin of the tribe's angle, 1 for the player's cursor, a random number in [0, 1)
#define SWARM_ROW 20
#define SWARM_ROW4 5
#define SWARM_HEADS 4
// A head's result for an agent is two vec4, which are means over the head's keys:
//   0  position, cos of the tribe's angle
//   1  velocity, sin of the tribe's angle
#define SWARM_VALUE 8
#define SWARM_VALUE4 2
#define SWARM_LOOK4 (SWARM_HEADS * SWARM_VALUE4)

#define SWARM_TRIBES 6
#define SWARM_TRAIL 24  // stored positions of each agent's trail
#define SWARM_LINKS 8   // lines per head of the picked agent
#define SWARM_BEND 16   // segments per line
#define SWARM_GROUP 64  // invocations per workgroup

#define SWARM_FLOCK 0
#define SWARM_CONGA 1
#define SWARM_CROSS 2
#define SWARM_HUNT 3

// Data of learning in a hunt: see learn/policy.hpp. Hunters are rows of the targets, whose third vec4 is their mind (shaders/hunt.comp).
// An agent observes itself, its neighbours and each hunter as two vec4:
//   0  direction to it, scaled down with distance; how near it is
//   1  velocity relative to the agent, scaled likewise; 1: itself, -1: neighbours, 0: a hunter
// For itself these are position and distance from the middle in units of the arena's radius, and its velocity.
#define SWARM_HUNTERS 6
#define SWARM_TOKENS (2 + SWARM_HUNTERS)
#define SWARM_SEEN 8
#define SWARM_SEEN4 (SWARM_TOKENS * 2)
// A try is what an agent observed, then two vec4: the action, and its weight; three zeros, and its reward.
#define SWARM_TRY4 (SWARM_SEEN4 + 2)
#define SWARM_TRY (4 * SWARM_TRY4)
#define SWARM_MEMORY 4096  // capacity of the memory in tries; the oldest are overwritten
#define SWARM_BATCH 128    // tries in the batch of one step

#define SWARM_BIND_FRAME 0
#define SWARM_BIND_AGENTS 1
#define SWARM_BIND_TARGETS 2
#define SWARM_BIND_LOOK 3  // heed's output
#define SWARM_BIND_TRAILS 4
#define SWARM_BIND_PICK 5     // row of the picked agent, its index
#define SWARM_BIND_WEIGHTS 6  // heed's output: attention weights of the picked agent [heads, keys]
#define SWARM_BIND_LINKS 7
#define SWARM_BIND_BOXES 8
#define SWARM_BIND_SEEN 9     // of a hunt, like the following ones: the agents' observations
#define SWARM_BIND_ACTION 10  // heed's output: accelerations from -1 to 1, and the expected reward
#define SWARM_BIND_LIVES 11
#define SWARM_BIND_TRIED 12   // a finished try of each agent
#define SWARM_BIND_PLACES 13  // its place in the memory; -1: none
#define SWARM_BIND_PICKS 14   // indices of the next step's batch, and the mirrors of each
#define SWARM_BIND_COUNTS 15
#define SWARM_BIND_TALLY 16  // a copy for the host
#define SWARM_BIND_FONT 17
#define SWARM_BINDINGS 18

#ifdef __cplusplus
#include <cstdint>
#include <glm/glm.hpp>
namespace swarm {
using glm::mat4, glm::uvec4, glm::vec4;
using uint = uint32_t;
#endif

// Counts since a hunt began: chases that ended with a catch, failed chases, finished tries, frames.
struct Counts {
  uint caught, fled, tries, frames;
};

#ifdef __cplusplus
struct Frame {
#else
layout(set = 0, binding = SWARM_BIND_FRAME) uniform FrameBlock {
#endif
  mat4 view_projection;
  vec4 eye;                   // the camera's position; time in seconds
  vec4 right;                 // to the camera's right; aspect ratio
  vec4 up;                    // the camera's up; size of an agent
  vec4 cursor;                // the player's cursor in the world; how much it pulls, 0: not at all
  vec4 pointer;               // where to pick: x, y in [-1, 1]; 1: pick now; 1: show the lines
  vec4 motion;                // time step in seconds, slowest, fastest speed, drag in 1/s
  vec4 home;                  // radius of the free space, wander, swirl, strength of the leaders
  uvec4 counts;               // agents, targets, flavour, steps made so far
  vec4 motives[SWARM_HEADS];  // pull in 1/s^2, alignment in 1/s, swirl in 1/s^2, 1 if the head is on
  vec4 colors[SWARM_HEADS];   // linear; weight in the colour of an agent
  uvec4 hunt;                 // random seed of a hunt
  vec4 screen;                // width, height in pixels; 1 if targets are drawn
#ifdef __cplusplus
};

// A filled rectangle with round corners, or one letter of the font. Lengths are in pixels, colours linear.
struct Box {
  vec4 area;     // left, top, width, height
  vec4 texture;  // the letter in the font's image, in texels: left, top, width, height; width 0: no letter
  vec4 color;    // not premultiplied
  vec4 shape;    // corner radius, border width
};
}  // namespace swarm
#else
}
frame;
#endif
#endif
