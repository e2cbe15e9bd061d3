// Storage types. A_BITS (and OUT_BITS, where the result may differ) is 32 or 16; arithmetic is always f32.
#ifndef OUT_BITS
#define OUT_BITS A_BITS
#endif
#if A_BITS == 16 || OUT_BITS == 16
#extension GL_EXT_shader_16bit_storage : require
#endif

#if A_BITS == 16
#define A_T float16_t
#define A_VEC4 f16vec4
#else
#define A_T float
#define A_VEC4 vec4
#endif
#if OUT_BITS == 16
#define OUT_T float16_t
#define OUT_VEC4 f16vec4
#else
#define OUT_T float
#define OUT_VEC4 vec4
#endif

// Rounds to the nearest f16, ties to even, as an f32. Vulkan leaves the rounding of conversions to the driver; of a
// value that f16 holds exactly there is nothing left to choose.
float round_to_half(float value) {
  uint bits = floatBitsToUint(value);
  uint sign = bits & 0x80000000u;
  uint magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return value;                                  // NaN
  if (magnitude >= 0x477ff000u) return uintBitsToFloat(sign | 0x7f800000u);  // 65520 and more round to infinity
  if (magnitude < 0x38800000u) {
    // Below 2^-14 f16 is fixed point with steps of 2^-24, which is what f32 has around 0.5.
    precise float shifted = uintBitsToFloat(magnitude) + 0.5;
    precise float rounded = shifted - 0.5;
    return uintBitsToFloat(sign | floatBitsToUint(rounded));
  }
  magnitude = (magnitude + 0xfffu + ((magnitude >> 13) & 1u)) & ~0x1fffu;
  return uintBitsToFloat(sign | magnitude);
}

#if OUT_BITS == 16
#define TO_OUT(value) float16_t(round_to_half(value))
// As f32 until it is stored: a variable or result of 16 bits would ask the device for more than storage.
vec4 round_to_half4(vec4 x) {
  return vec4(round_to_half(x.x), round_to_half(x.y), round_to_half(x.z), round_to_half(x.w));
}
#define TO_OUT4(value) f16vec4(round_to_half4(value))
#else
#define TO_OUT(value) (value)
#define TO_OUT4(value) (value)
#endif
