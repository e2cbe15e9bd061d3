// Rounding to two bytes. Operations are exact in f32, and only values that the type represents exactly are converted, since Vulkan leaves
// the rounding of conversions to the driver.
#ifndef HEED_ROUND_GLSL
#define HEED_ROUND_GLSL

// Rounds to the nearest f16, ties to even, as an f32.
float round_to_half(float value) {
  uint bits = floatBitsToUint(value);
  uint sign = bits & 0x80000000u;
  uint magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return value;                                  // NaN
  if (magnitude >= 0x477ff000u) return uintBitsToFloat(sign | 0x7f800000u);  // 65520 and more round to infinity
  if (magnitude < 0x38800000u) {
    // Below 2^-14 f16 is fixed point with steps of 2^-24, like f32 around 0.5.
    precise float shifted = uintBitsToFloat(magnitude) + 0.5;
    precise float rounded = shifted - 0.5;
    return uintBitsToFloat(sign | floatBitsToUint(rounded));
  }
  magnitude = (magnitude + 0xfffu + ((magnitude >> 13) & 1u)) & ~0x1fffu;
  return uintBitsToFloat(sign | magnitude);
}

// The nearest bf16, ties to even, in the lower half. Infinities stay, and so does NaN, which rounding could turn into an infinity.
uint bfloat_bits(float value) {
  uint bits = floatBitsToUint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

#endif
