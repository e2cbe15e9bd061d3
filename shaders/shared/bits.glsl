// Copies words, half words (two bytes) or bytes unchanged; elements.glsl explains how a part of a word is written.
//
//   HEED_BITS(0, x)           bits_x(at)
//   HEED_MOVED_BITS(1, y)     move_y(a, b, c, d)
#include "types.h"

layout(constant_id = HEED_TYPES_CONSTANT) const uint TYPES = 0u;
const uint BITS_TYPE = TYPES & 255u;
const uint SHIFT = BITS_TYPE == HEED_TYPE_F32 ? 0u : BITS_TYPE == HEED_TYPE_U8 ? 2u : 1u;
const uint EACH = 1u << SHIFT;  // elements that share a word; an invocation copies this many
const uint WIDTH = 32u >> SHIFT, MASK = 0xffffffffu >> (32u - WIDTH);

uint shift_in_word(uint at) { return (at & EACH - 1u) * WIDTH; }

// An element being copied, if it exists. The EACH elements of an invocation are separate variables, not an array: some compilers would keep
// a loop over an array, and index it in memory.
struct Moved {
  uint bits, place;
  bool is_there;
};
const Moved NONE = Moved(0u, 0u, false);

bool follows(Moved next, Moved first, uint e) { return next.is_there && next.place == first.place + e; }

#define HEED_BITS(place, name)                                                              \
  layout(set = 0, binding = place) readonly buffer name##_Words { uint name##_words[]; };   \
  uint bits_##name(uint at) { return name##_words[at >> SHIFT] >> shift_in_word(at) & MASK; }
// Writes the first EACH of four elements: a word, or part by part if some do not exist.
#define HEED_MOVED_BITS(at, name)                                                           \
  layout(set = 0, binding = at) buffer name##_Words { uint name##_words[]; };               \
  void move_part_##name(Moved part) {                                                       \
    if (!part.is_there) return;                                                             \
    uint shift = shift_in_word(part.place);                                                 \
    atomicAnd(name##_words[part.place >> SHIFT], ~(MASK << shift));                         \
    atomicOr(name##_words[part.place >> SHIFT], part.bits << shift);                        \
  }                                                                                         \
  void move_##name(Moved a, Moved b, Moved c, Moved d) {                                    \
    if (EACH == 1u) {                                                                       \
      if (a.is_there) name##_words[a.place] = a.bits;                                       \
      return;                                                                               \
    }                                                                                       \
    bool whole = a.is_there && (a.place & EACH - 1u) == 0u && follows(b, a, 1u);            \
    uint word = a.bits | b.bits << WIDTH % 32u;                                             \
    if (EACH == 4u) {                                                                       \
      whole = whole && follows(c, a, 2u) && follows(d, a, 3u);                              \
      word |= c.bits << 16u | d.bits << 24u;                                                \
    }                                                                                       \
    if (whole) {                                                                            \
      name##_words[a.place >> SHIFT] = word;                                                \
      return;                                                                               \
    }                                                                                       \
    move_part_##name(a);                                                                    \
    move_part_##name(b);                                                                    \
    if (EACH == 4u) {                                                                       \
      move_part_##name(c);                                                                  \
      move_part_##name(d);                                                                  \
    }                                                                                       \
  }
