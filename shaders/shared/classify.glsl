// Tests for NaN and infinities by their bits: drivers may assume that comparisons and arithmetic never see them, and remove such tests.
#ifndef HEED_CLASSIFY_GLSL
#define HEED_CLASSIFY_GLSL

bool is_nan(float value) { return (floatBitsToUint(value) & 0x7fffffffu) > 0x7f800000u; }
#define MINUS_INFINITY uintBitsToFloat(0xff800000u)
bool is_minus_infinity(float value) { return floatBitsToUint(value) == 0xff800000u; }
// Whether any element is infinite or NaN.
bool has_strange(vec4 x) {
  uvec4 magnitude = floatBitsToUint(x) & 0x7fffffffu;
  return max(max(magnitude.x, magnitude.y), max(magnitude.z, magnitude.w)) >= 0x7f800000u;
}

#endif
