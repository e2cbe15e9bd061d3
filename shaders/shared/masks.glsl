#include "classify.glsl"

// Masks are bytes: `word` is the word of a mask that holds byte `at`.
bool byte_hides(uint word, uint at, bool keep) {
  bool nonzero = ((word >> (8u * (at % 4u))) & 0xffu) != 0u;
  return nonzero != keep;
}
