// How elements lie in memory, of operands (A_BITS, A_BFLOAT) and of the result (OUT_BITS, OUT_BFLOAT, where they may
// differ): f32; f16; or bf16, which is the upper half of an f32 and needs no type of its own. Kernels read by FROM_A
// and FROM_A4 (four neighbours at once) and write by TO_OUT and TO_OUT4; arithmetic is always f32. They are macros,
// since a variable, argument or result of 16 bits would ask the device for more than storage.
#include "narrow.glsl"
#ifndef OUT_BITS
#define OUT_BITS A_BITS
#ifdef A_BFLOAT
#define OUT_BFLOAT
#endif
#endif
#if A_BITS == 16 || OUT_BITS == 16
#extension GL_EXT_shader_16bit_storage : require
#endif

#ifdef A_BFLOAT
#define A_T uint16_t
#define A_VEC4 uvec2
#define A_IS_BFLOAT true
#define FROM_A(element) uintBitsToFloat(uint(element) << 16)
#define FROM_A4(four) widen(four, true)
#else
#if A_BITS == 16
#define A_T float16_t
#define A_VEC4 f16vec4
#else
#define A_T float
#define A_VEC4 vec4
#endif
#define A_IS_BFLOAT false
#ifdef CANON
#define FROM_A(element) flushed(float(element))
#define FROM_A4(four) flushed(vec4(four))
#else
#define FROM_A(element) float(element)
#define FROM_A4(four) vec4(four)
#endif
#endif

#if defined(OUT_BFLOAT) || (OUT_BITS == 16 && defined(CANON))
#define OUT_T uint16_t
#define OUT_VEC4 uvec2
#elif OUT_BITS == 16
#define OUT_T float16_t
#define OUT_VEC4 f16vec4
#else
#define OUT_T float
#define OUT_VEC4 vec4
#endif

// Rounds to the nearest f16, ties to even, as an f32. Vulkan leaves the rounding of conversions to the driver, but a
// value that f16 holds exactly is not rounded.
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

// The nearest bf16, ties to even, in the lower half. Infinities stay; so does NaN, which rounding could make an
// infinity.
uint bfloat_bits(float value) {
  uint bits = floatBitsToUint(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40u;
  return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

#if OUT_BITS == 16 && defined(CANON)
// A conversion by the device may flush what is subnormal in f16.
#ifdef OUT_BFLOAT
uint bits_of_16(float x) { return bfloat_bits(canonical(x)); }
#else
uint bits_of_16(float x) { return half_bits(canonical(x)); }
#endif
#define TO_OUT(value) uint16_t(bits_of_16(value))
#define TO_OUT4(value) uvec2(bits_of_16(value.x) | bits_of_16(value.y) << 16, bits_of_16(value.z) | bits_of_16(value.w) << 16)
#elif defined(OUT_BFLOAT)
uvec2 bfloat_bits4(vec4 x) {
  return uvec2(bfloat_bits(x.x) | bfloat_bits(x.y) << 16, bfloat_bits(x.z) | bfloat_bits(x.w) << 16);
}
#define TO_OUT(value) uint16_t(bfloat_bits(value))
#define TO_OUT4(value) bfloat_bits4(value)
#elif OUT_BITS == 16
vec4 round_to_half4(vec4 x) {
  return vec4(round_to_half(x.x), round_to_half(x.y), round_to_half(x.z), round_to_half(x.w));
}
#define TO_OUT(value) float16_t(round_to_half(value))
#define TO_OUT4(value) f16vec4(round_to_half4(value))
#elif defined(CANON)
#define TO_OUT(value) canonical(value)
#define TO_OUT4(value) canonical(value)
#else
#define TO_OUT(value) (value)
#define TO_OUT4(value) (value)
#endif
