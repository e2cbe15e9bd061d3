// Words, halves of words (two bytes) or bytes that are moved as they are; elements.glsl says how a part of a word is written.
//
//   HEED_BITS(0, x)           bits_x(at)
//   HEED_MOVED_BITS(1, y)     move_y(run)
#extension GL_EXT_control_flow_attributes : require
#include "types.h"

layout(constant_id = HEED_TYPES_CONSTANT) const uint TYPES = 0u;
const uint BITS_TYPE = TYPES & 255u;
const uint SHIFT = BITS_TYPE == HEED_TYPE_F32 ? 0u : BITS_TYPE == HEED_TYPE_U8 ? 2u : 1u;
const uint EACH = 1u << SHIFT;  // that share a word, of which an invocation moves as many in turn
const uint WIDTH = 32u >> SHIFT, MASK = 0xffffffffu >> (32u - WIDTH);

uint shift_in_word(uint at) { return (at & EACH - 1u) * WIDTH; }

// EACH elements: where they go, and those that are none.
struct Run {
  uint bits[4], places[4];
  bool is_there[4];
};

// Whether a run is a word of the result.
bool is_word(Run run) {
  bool whole = run.is_there[0] && (run.places[0] & EACH - 1u) == 0u;
  [[unroll]] for (uint e = 1u; e < 4u; ++e)
    if (e < EACH) whole = whole && run.is_there[e] && run.places[e] == run.places[0] + e;
  return whole;
}
uint word_of(Run run) {
  uint word = run.bits[0];
  [[unroll]] for (uint e = 1u; e < 4u; ++e)
    if (e < EACH) word |= run.bits[e] << e * WIDTH;
  return word;
}

#define HEED_BITS(place, name)                                                              \
  layout(set = 0, binding = place) readonly buffer name##_Words { uint name##_words[]; };   \
  uint bits_##name(uint at) { return name##_words[at >> SHIFT] >> shift_in_word(at) & MASK; }
#define HEED_MOVED_BITS(place, name)                                                        \
  layout(set = 0, binding = place) buffer name##_Words { uint name##_words[]; };            \
  void move_##name(Run run) {                                                               \
    if (is_word(run)) {                                                                     \
      name##_words[run.places[0] >> SHIFT] = word_of(run);                                  \
    } else {                                                                                \
      [[unroll]] for (uint e = 0u; e < 4u; ++e)                                             \
        if (e < EACH && run.is_there[e]) {                                                  \
          uint shift = shift_in_word(run.places[e]);                                        \
          atomicAnd(name##_words[run.places[e] >> SHIFT], ~(MASK << shift));                \
          atomicOr(name##_words[run.places[e] >> SHIFT], run.bits[e] << shift);             \
        }                                                                                   \
    }                                                                                       \
  }
