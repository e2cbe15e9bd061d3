// Squares of f32 overflow above 1e19 and underflow below 1e-19. Rows with such values are first multiplied by a power of two, which is
// exact. Other rows are multiplied by 1, which does not change their results.

// Bits of magnitudes compare like the magnitudes; NaN is the largest.
uvec4 larger_magnitudes(uvec4 largest, vec4 values) { return max(largest, floatBitsToUint(values) & 0x7fffffffu); }

#ifdef CANON
#define FAR_EXPONENT 20u  // squares keep their digits although FLUSH_FOR_PRODUCT sets small factors to 0
#define NEAR_ROOT_BITS(x) ((floatBitsToUint(x) >> 1) + 0x1fc00000u)
#else
#define FAR_EXPONENT 45u
#define NEAR_ROOT_BITS(x) floatBitsToUint(ROOT(x))
#endif

// x * scale * scale, in this order, since scale * scale may overflow f32.
float scaled_twice(float x, float scale) {
  return MULTIPLY_FIRST(MULTIPLY_FIRST(x, scale), scale);
}

// `largest`: bits of the largest magnitudes in this lane. Every lane of a row gets the row's factor.
float row_scale(uvec4 largest) {
  uint bits = max(max(largest.x, largest.y), max(largest.z, largest.w));
  float power = uintBitsToFloat(min(bits, 0x7f7fffffu) & 0x7f800000u);  // a power of two; finite, so that it can be
                                                                        // compared
  uint exponent = floatBitsToUint(row_max(power)) >> 23;
  if (exponent > 127u - FAR_EXPONENT && exponent < 127u + FAR_EXPONENT) return 1.0;
  return uintBitsToFloat((254u - clamp(exponent, 1u, 253u)) << 23);  // makes the largest 1 .. 4
}
