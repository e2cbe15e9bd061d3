// Arithmetic with the same bits on every device (CompileOptions::reproducible). tests/reproducible/README.md has the rules,
// engine/cpu/reproducible/canon-inl.hpp the same functions for the CPU.
//
// Every addition and multiplication rounds to nearest even; `precise` keeps a compiler from contracting, and the execution modes from
// assuming that there are no infinities and NaN. Whether a device keeps subnormals does not matter: a comparison sets values that may be
// subnormal to 0.
#ifndef HEED_CANON_GLSL
#define HEED_CANON_GLSL
#ifndef __cplusplus  // a test compiles this file, too
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4467], 4462, 32);  // RoundingModeRTE
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);  // SignedZeroInfNanPreserve
#endif

#include "classify.glsl"

const float CANON_LEAST = 1.17549435e-38;          // 2^-126: a device may flush or round magnitudes up to this
const float CANON_LEAST_FACTOR = 4.44089210e-16;   // 2^-51: products of magnitudes from here on are multiples of 2^-125
const float CANON_LEAST_SUMMAND = 1.97215226e-31;  // 2^-102: magnitudes from here on are multiples of 2^-125

// x, or 0 if a device may have flushed it, or rounded it up to the least normal number.
float flushed(float x) { return abs(x) <= CANON_LEAST ? 0.0 : x; }
vec4 flushed(vec4 x) { return vec4(flushed(x.x), flushed(x.y), flushed(x.z), flushed(x.w)); }
// These set small magnitudes to 0. Sums of values from flush_for_sum, and of products of values from flush_for_product, are multiples of
// 2^-125, so that none of them is subnormal.
float flush_for_product(float x) { return abs(x) < CANON_LEAST_FACTOR ? 0.0 : x; }
vec4 flush_for_product(vec4 x) {
  return vec4(flush_for_product(x.x), flush_for_product(x.y), flush_for_product(x.z), flush_for_product(x.w));
}
float flush_for_sum(float x) { return abs(x) < CANON_LEAST_SUMMAND ? 0.0 : x; }
vec4 flush_for_sum(vec4 x) { return vec4(flush_for_sum(x.x), flush_for_sum(x.y), flush_for_sum(x.z), flush_for_sum(x.w)); }
// Results are stored in this form: all NaN get the same bits.
float canonical(float x) { return is_nan(x) ? uintBitsToFloat(0x7fc00000u) : flushed(x); }
vec4 canonical(vec4 x) { return vec4(canonical(x.x), canonical(x.y), canonical(x.z), canonical(x.w)); }

float times(float a, float b) {
  precise float result = a * b;
  return flushed(result);
}
float plus(float a, float b) {
  precise float result = a + b;
  return flushed(result);
}
float minus(float a, float b) {
  precise float result = a - b;
  return flushed(result);
}
vec4 times(vec4 a, vec4 b) {
  precise vec4 result = a * b;
  return flushed(result);
}
vec4 times(vec4 a, float b) { return times(a, vec4(b)); }
vec4 plus(vec4 a, vec4 b) {
  precise vec4 result = a + b;
  return flushed(result);
}
vec4 minus(vec4 a, vec4 b) {
  precise vec4 result = a - b;
  return flushed(result);
}
vec4 minus(vec4 a, float b) { return minus(a, vec4(b)); }
// Addition and multiplication for values whose results cannot be subnormal.
float sum_of(float a, float b) {
  precise float result = a + b;
  return result;
}
vec4 sum_of(vec4 a, vec4 b) {
  precise vec4 result = a + b;
  return result;
}
float product_of(float a, float b) {
  precise float result = a * b;
  return result;
}
vec4 product_of(vec4 a, vec4 b) {
  precise vec4 result = a * b;
  return result;
}
float positive_part(float x) { return x < 0.0 ? 0.0 : x; }
// c + a b, with two roundings.
float multiply_add(float a, float b, float c) {
  precise float product = a * b;
  precise float result = product + c;
  return result;
}

vec4 product_of(float a, vec4 b) { return product_of(vec4(a), b); }
vec2 product_of(vec2 a, vec2 b) { return vec2(product_of(a.x, b.x), product_of(a.y, b.y)); }
vec4 sum_of(vec4 a, float b) { return sum_of(a, vec4(b)); }

// The f16 in the lower half of a word. A device's conversion may flush subnormal f16.
float half_of(uint word) {
  uint magnitude = word & 0x7fffu;
  float small = product_of(float(magnitude), 5.96046448e-8);  // 2^-24
  float value = uintBitsToFloat((magnitude << 13) + (magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u));
  value = magnitude < 0x0400u ? small : value;
  return (word & 0x8000u) != 0u ? -value : value;
}
// The nearest f16, ties to even.
uint half_bits(float x) {
  uint bits = floatBitsToUint(x), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return sign | 0x7e00u;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and more round to infinity
  // Below 2^-14 f16 has steps of 2^-24, as f32 has from 0.5 on.
  uint small = floatBitsToUint(sum_of(uintBitsToFloat(magnitude), 0.5)) - 0x3f000000u;
  uint large = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  return sign | (magnitude < 0x38800000u ? small : large);
}
vec2 halves_of(uint word) { return vec2(half_of(word), half_of(word >> 16)); }

// The upper 12 bits of x's mantissa; the rest has 12, too, so that products of such parts are exact.
float upper_part(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u); }

// 1 / x for 2^-64 <= x <= 2^64, with an error below 1 ulp: three Newton steps, then one with an exact remainder.
float reciprocal(float x) {
  float y = uintBitsToFloat(0x7ef311c3u - floatBitsToUint(x));
  for (uint i = 0u; i < 3u; ++i) y = product_of(y, sum_of(2.0, -product_of(x, y)));
  float xh = upper_part(x), xl = sum_of(x, -xh), yh = upper_part(y), yl = sum_of(y, -yh);
  float rest = sum_of(1.0, -product_of(xh, yh));
  rest = sum_of(rest, -product_of(xh, yl));
  rest = sum_of(rest, -product_of(xl, yh));
  rest = sum_of(rest, -product_of(xl, yl));
  return multiply_add(y, rest, y);
}

// 1 / sqrt(x), with an error below 2 ulp for 2^-126 < x <= 2^64; some finite number for 0.
float reciprocal_root(float x) {
  float y = uintBitsToFloat(0x5f375a86u - (floatBitsToUint(x) >> 1)), half_x = product_of(0.5, x);
  for (uint i = 0u; i < 4u; ++i)
    y = product_of(y, sum_of(1.5, -product_of(product_of(half_x, y), y)));
  return y;
}

// sqrt(x), with an error below 3 ulp; 0 below 2^-102.
float canon_root(float x) {
  float y = flush_for_sum(x);
  return y == 0.0 ? 0.0 : times(y, reciprocal_root(y));
}

#include "series.glsl"
float canon_log(float x) { return log_by_series(x); }

// e^x, with an error below 2 ulp; 0 below -87, e^88 above 88.
float canon_exp(float any) {
  float x = abs(any) < 9.31322575e-10 ? 0.0 : any;  // 2^-30, so that no power of the remainder is subnormal
  x = x > 88.0 ? 88.0 : x < -87.0 ? -87.0 : x;
  float shifted = multiply_add(x, 1.44269504, 12582912.0), n = sum_of(shifted, -12582912.0);
  float r = sum_of(x, -product_of(n, 0.693359375));
  r = sum_of(r, product_of(n, 2.12194440e-4));
  float e = 1.38145406e-3;
  e = multiply_add(e, r, 8.36874545e-3);
  e = multiply_add(e, r, 4.16683890e-2);
  e = multiply_add(e, r, 1.66665211e-1);
  e = multiply_add(e, r, 0.5);
  e = multiply_add(e, product_of(r, r), r);
  e = sum_of(e, 1.0);
  float power = uintBitsToFloat((floatBitsToUint(shifted) << 23) + 0x3f800000u);
  return any < -87.0 ? 0.0 : product_of(e, power);
}

// 1 / (1 + e^-x), within (0, 1).
float canon_sigmoid(float x) {
  float e = canon_exp(-abs(x)), whole = reciprocal(sum_of(1.0, e));
  return x < 0.0 ? times(e, whole) : whole;
}

// 1 - e^x for x <= 0, by a series where the difference would lose all digits.
float one_less_power(float x) { return x < -0.5 ? sum_of(1.0, -canon_exp(x)) : one_less_power_near_0(x); }

// Phi(-t) = 2^(polynomial of t) for 0 <= t <= 6: see engine/cpu/simd/vector_math-inl.hpp.
float canon_normal_tail(float t) {
  float t2 = product_of(t, t);
  float q = multiply_add(-1.74112724e-8, t2, multiply_add(5.65994128e-7, t, -7.84307213e-6));
  q = multiply_add(q, t2, multiply_add(5.84889312e-5, t, -2.19328926e-4));
  q = multiply_add(q, t2, multiply_add(-1.19846773e-4, t, 7.08339456e-3));
  q = multiply_add(q, t2, multiply_add(-5.25237918e-2, t, -4.59198058e-1));
  q = multiply_add(q, t2, multiply_add(-1.15110624, t, -1.0));
  float shifted = sum_of(q, 12582912.0), r = sum_of(q, -sum_of(shifted, -12582912.0));
  float e = 1.32647273e-3;
  e = multiply_add(e, r, 9.67151299e-3);
  e = multiply_add(e, r, 5.55073358e-2);
  e = multiply_add(e, r, 2.40222424e-1);
  e = multiply_add(e, r, 6.93147004e-1);
  e = multiply_add(e, r, 1.0);
  return product_of(e, uintBitsToFloat((floatBitsToUint(shifted) << 23) + 0x3f800000u));
}

// x Phi(x) = max(x, 0) - t Phi(-t), t = |x|.
float canon_gelu_erf(float x) {
  float positive = positive_part(x), t = abs(x) > 6.0 ? 6.0 : abs(x);
  return abs(x) > 6.0 ? positive : minus(positive, times(t, canon_normal_tail(t)));
}

float canon_gelu_tanh(float x) {
  float bounded = x > 1.0e4 ? 1.0e4 : x < -1.0e4 ? -1.0e4 : x;
  float cubic = multiply_add(product_of(bounded, bounded), 0.044715, 1.0);
  float twice = product_of(product_of(bounded, cubic), 1.59576912);
  return twice < -87.0 ? 0.0 : times(x, canon_sigmoid(twice));
}

float canon_silu(float x) { return x < -87.0 ? 0.0 : times(x, canon_sigmoid(x)); }

// An odd polynomial below 0.625, (1 - e) / (1 + e) with e = e^-2|x| above.
float canon_tanh(float x) {
  float t = abs(x), s = product_of(x, x);
  if (t < 0.625) {
    float p = -5.70493331e-3;
    p = multiply_add(p, s, 2.06390414e-2);
    p = multiply_add(p, s, -5.37397005e-2);
    p = multiply_add(p, s, 1.33314416e-1);
    p = multiply_add(p, s, -3.33332807e-1);
    return multiply_add(product_of(p, s), x, x);
  }
  float e = canon_exp(product_of(t, -2.0));
  float y = product_of(sum_of(1.0, -e), reciprocal(sum_of(1.0, e)));
  return x < 0.0 ? -y : y;
}


#endif
