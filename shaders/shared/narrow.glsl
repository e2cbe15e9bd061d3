#include "arithmetic.glsl"

// Elements of two bytes, two to a word, as f32. Reading words needs no 16-bit storage.

// Both elements of a word, the lower half first. The bits of a bf16 are the upper half of an f32's. Both interpretations are computed
// without a branch: `bfloat` is a constant, and compilers remove the other one. SwiftShader's compiler would keep branches, and takes
// minutes for some dozens of them.
vec2 widen(uint word, bool bfloat) {
  vec2 halves = HALVES(word);
  vec2 bfloats = vec2(uintBitsToFloat(word << 16), uintBitsToFloat(word & 0xffff0000u));
  return bfloat ? bfloats : halves;
}
vec4 widen(uvec2 words, bool bfloat) { return vec4(widen(words.x, bfloat), widen(words.y, bfloat)); }
