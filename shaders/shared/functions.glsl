// The elementwise functions of engine/graph/functions.inc: apply(step, a, b, c), where values are bits of f32, or integers.
// engine/cpu/simd/functions-inl.hpp has the same functions for the CPU; with CANON they give the same bits.
#include "activation_backward.glsl"

#ifndef CANON
// As in canon.glsl, without the rules for subnormals.
float product_of(float a, float b) {
  precise float result = a * b;
  return result;
}
float sum_of(float a, float b) {
  precise float result = a + b;
  return result;
}
float multiply_add(float a, float b, float c) { return sum_of(product_of(a, b), c); }
float times(float a, float b) { return product_of(a, b); }
float upper_part(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u); }
#include "series.glsl"
#endif

#define HEED_INFINITY uintBitsToFloat(0x7f800000u)
#define HEED_NAN uintBitsToFloat(0x7fc00000u)
bool is_infinite(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }
float with_sign(float magnitude, bool negative) { return negative ? -magnitude : magnitude; }

#ifdef CANON
// a / b: divides mantissas between 1 and 2, with one correction by an exact remainder, and subtracts exponents.
float quotient(float a, float b) {
  uint x = floatBitsToUint(a), y = floatBitsToUint(b);
  bool negative = ((x ^ y) & 0x80000000u) != 0u;
  if (is_nan(a) || is_nan(b)) return HEED_NAN;
  if (is_infinite(a)) return is_infinite(b) ? HEED_NAN : with_sign(HEED_INFINITY, negative);
  if (b == 0.0) return a == 0.0 ? HEED_NAN : with_sign(HEED_INFINITY, negative);
  if (a == 0.0 || is_infinite(b)) return 0.0;
  float m = uintBitsToFloat((x & 0x7fffffu) | 0x3f800000u), n = uintBitsToFloat((y & 0x7fffffu) | 0x3f800000u);
  float inverse = reciprocal(n), q = product_of(m, inverse);
  float qh = upper_part(q), ql = sum_of(q, -qh), nh = upper_part(n), nl = sum_of(n, -nh);
  float rest = sum_of(m, -product_of(qh, nh));
  rest = sum_of(rest, -product_of(qh, nl));
  rest = sum_of(rest, -product_of(ql, nh));
  rest = sum_of(rest, -product_of(ql, nl));
  q = multiply_add(rest, inverse, q);
  int exponent = int(floatBitsToUint(q) >> 23) + int(x >> 23 & 255u) - int(y >> 23 & 255u);
  float result = exponent >= 255  ? HEED_INFINITY
                 : exponent <= 0 ? 0.0
                                 : uintBitsToFloat((floatBitsToUint(q) & 0x7fffffu) | uint(exponent) << 23);
  return with_sign(flushed(result), negative);
}
// x = m 4^k with m from 1 to 4.
float split_for_root(float x, out int k) {
  uint bits = floatBitsToUint(x);
  k = (int(bits >> 23) - 127) >> 1;
  return uintBitsToFloat(bits - (uint(k) << 24));
}
float times_power(float x, int k) { return uintBitsToFloat(floatBitsToUint(x) + (uint(k) << 23)); }
float square_root(float x) {
  if (x == 0.0) return 0.0;
  if (x < 0.0) return HEED_NAN;
  if (is_infinite(x)) return x;
  int k;
  float m = split_for_root(x, k), y = reciprocal_root(m), r = product_of(m, y);
  float rh = upper_part(r), rl = sum_of(r, -rh), cross = product_of(rh, rl);
  float rest = sum_of(sum_of(sum_of(m, -product_of(rh, rh)), -sum_of(cross, cross)), -product_of(rl, rl));
  return times_power(multiply_add(product_of(rest, 0.5), y, r), k);
}
float inverse_square_root(float x) {
  if (x == 0.0) return HEED_INFINITY;
  if (x < 0.0) return HEED_NAN;
  if (is_infinite(x)) return 0.0;
  int k;
  float m = split_for_root(x, k);
  return times_power(reciprocal_root(m), -k);
}
float sigmoid_of(float x) { return x < -87.0 ? 0.0 : canon_sigmoid(x); }
float tanh_of(float x) { return flushed(canon_tanh(x)); }
// canon_exp is clamped at e^88.
float power_of_e(float x) {
  bool far = x > 87.0 || x < -87.0;
  float e = canon_exp(far ? product_of(x, 0.5) : x);
  return far ? times(e, e) : e;
}
#else
float quotient(float a, float b) { return a / b; }
float square_root(float x) { return x < 0.0 ? HEED_NAN : root_of(x); }
float inverse_square_root(float x) { return x < 0.0 ? HEED_NAN : inversesqrt(x); }
float sigmoid_of(float x) { return sigmoid(x); }
float tanh_of(float x) { return tanh_f32(x); }
float power_of_e(float x) { return exp(x); }
float one_less_power(float x) { return x < -0.5 ? 1.0 - exp(x) : one_less_power_near_0(x); }
#endif

float logarithm(float x) {
  if (x == 0.0) return -HEED_INFINITY;
  if (x < 0.0) return HEED_NAN;
  return is_infinite(x) ? x : log_by_series(x);
}

// log(1 + e^x) = max(x, 0) + log(1 + e) with e = e^-|x|. The rounding error of 1 + e is corrected by e / ((1 + e) - 1).
float softplus(float x) {
  float e = EXP(-abs(x)), whole = sum_of(1.0, e), kept = sum_of(whole, -1.0);
  float rest = kept == 0.0 ? e : times(log_by_series(whole), DIVIDE(e, kept == 0.0 ? 1.0 : kept));
  return ADD(NOT_NEGATIVE(x), rest);
}

// An odd polynomial below 0.87, 1 - e^(polynomial of |x|) above, up to where the result is 1.
float erf_of(float x) {
  float t = abs(x) > 4.0 ? 4.0 : abs(x), s = times(x, x);
  if (t < 0.87) {
    float p = -6.09100505e-4;
    p = multiply_add(p, s, 5.01210708e-3);
    p = multiply_add(p, s, -2.67790258e-2);
    p = multiply_add(p, s, 1.12821452e-1);
    p = multiply_add(p, s, -3.76125246e-1);
    p = multiply_add(p, s, 1.28379151e-1);
    return sum_of(times(p, x), x);
  }
  float q = -2.00197901e-5;
  q = multiply_add(q, t, 4.22199781e-4);
  q = multiply_add(q, t, -4.11254866e-3);
  q = multiply_add(q, t, 2.49679293e-2);
  q = multiply_add(q, t, -1.08050108e-1);
  q = multiply_add(q, t, -6.33551717e-1);
  q = multiply_add(q, t, -1.12941575);
  q = multiply_add(q, t, 1.54524692e-4);
  return with_sign(sum_of(1.0, -EXP(q)), x < 0.0);
}

// The sine of x, or of x plus some quarter turns. x = n pi/2 + r: pi/2 is the sum of three numbers, of which the first two have eight
// significant bits, so that their products with the 12 upper and 12 lower bits of n are exact.
float turned_sine(float x, uint quarters) {
  if (is_infinite(x)) return HEED_NAN;
  float bounded = x > 1.0e7 ? 1.0e7 : x < -1.0e7 ? -1.0e7 : x;
  float shifted = sum_of(product_of(bounded, 0.636619747), 0.5), n = floor(shifted);
  float high = upper_part(n), low = sum_of(n, -high), r = bounded;
  r = sum_of(sum_of(r, -product_of(high, 1.5703125)), -product_of(low, 1.5703125));
  r = sum_of(sum_of(r, -product_of(high, 4.825592041015625e-4)), -product_of(low, 4.825592041015625e-4));
  r = sum_of(r, -product_of(n, 1.26759085e-6));
  r = r > 1.0 ? 1.0 : r < -1.0 ? -1.0 : r;
  float z = times(r, r);
  float s = multiply_add(z, -1.95172979e-4, 8.332178e-3);
  s = multiply_add(z, s, -1.66666552e-1);
  s = sum_of(times(times(r, z), s), r);
  float c = multiply_add(z, 2.44384501e-5, -1.38873677e-3);
  c = multiply_add(z, c, 4.16666456e-2);
  c = multiply_add(times(z, z), c, sum_of(1.0, -product_of(0.5, z)));
  uint turn = uint(int(n)) + quarters;
  return with_sign((turn & 1u) == 0u ? s : c, (turn & 2u) != 0u);
}

// The remainder with b's sign.
float modulo(float a, float b) {
  if (is_infinite(a) || b == 0.0) return HEED_NAN;
  if (is_infinite(b)) return a == 0.0 || (a < 0.0) == (b < 0.0) ? a : b;
  float q = floor(quotient(a, b));
  float qh = upper_part(q), ql = sum_of(q, -qh), bh = upper_part(b), bl = sum_of(b, -bh);
  float r = sum_of(a, -times(qh, bh));
  r = sum_of(r, -times(qh, bl));
  r = sum_of(r, -times(ql, bh));
  r = FLUSHED(sum_of(r, -times(ql, bl)));
  // The quotient may have been rounded up to the next integer. If |a| < |b|, the remainder may round to b.
  bool large = abs(a) >= abs(b);
  if (b > 0.0) return FLUSHED(r < 0.0 ? sum_of(r, b) : large && r >= b ? sum_of(r, -b) : r);
  return FLUSHED(r > 0.0 ? sum_of(r, b) : large && r <= b ? sum_of(r, -b) : r);
}

// 2^(b log2 a) for a > 0, both finite: b times the exponent of a is exact, b times the rest is rounded.
float positive_power(float a, float b) {
  float n, f;
  split_for_log(a, n, f);
  float l = sum_of(f, sum_of(log_series(f), product_of(product_of(f, f), -0.5)));
  float bounded = b > 1.0e10 ? 1.0e10 : b < -1.0e10 ? -1.0e10 : b;
  float bh = upper_part(bounded), bl = sum_of(bounded, -bh), p = product_of(bounded, n);
  float lost = sum_of(sum_of(product_of(bh, n), -p), product_of(bl, n)), q = times(bounded, times(l, 1.44269504));
  float sum = sum_of(p, q), limited = sum > 250.0 ? 250.0 : sum < -250.0 ? -250.0 : sum;
  float k = floor(sum_of(limited, 0.5)), rest = sum_of(sum_of(sum_of(p, -k), q), lost);
  rest = rest > 1.0 ? 1.0 : rest < -1.0 ? -1.0 : rest;
  int whole = int(k), half_of_it = whole >> 1;
  float y = EXP(product_of(rest, 0.693147181));
  y = product_of(y, uintBitsToFloat(uint(half_of_it + 127) << 23));
  return times(y, uintBitsToFloat(uint(whole - half_of_it + 127) << 23));
}

float power(float a, float b) {
  if (!is_nan(b) && b == 0.0) return 1.0;
  if (!is_nan(a) && a == 1.0) return 1.0;
  if (is_nan(a) || is_nan(b)) return HEED_NAN;
  float m = abs(a);
  bool large = is_infinite(m), whole = floor(b) == b, odd = whole && abs(b) < 16777216.0 && (int(b) & 1) != 0;
  if (a < 0.0 && !whole && !large) return HEED_NAN;
  bool negative = (floatBitsToUint(a) & 0x80000000u) != 0u && odd;
  float y;
  if (m < 1.17549435e-38)
    y = b < 0.0 ? HEED_INFINITY : 0.0;
  else if (large)
    y = b < 0.0 ? 0.0 : HEED_INFINITY;
  else if (is_infinite(b))
    y = m == 1.0 ? 1.0 : (m > 1.0) == (b > 0.0) ? HEED_INFINITY : 0.0;
  else
    y = positive_power(m, b);
  return with_sign(y, negative);
}

bool are_equal(float a, float b) { return !is_nan(a) && !is_nan(b) && a == b; }
bool is_less(float a, float b) { return !is_nan(a) && !is_nan(b) && a < b; }

// Functions of one number that are not in activation.glsl; the argument is not NaN.
float apply_to_number(uint function, float x) {
  switch (function) {
    case HEED_FUNCTION_NEG: return -x;
    case HEED_FUNCTION_ABS: return abs(x);
    case HEED_FUNCTION_SIGN: return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
    case HEED_FUNCTION_RECIPROCAL: return quotient(1.0, x);
    case HEED_FUNCTION_SQRT: return square_root(x);
    case HEED_FUNCTION_RSQRT: return inverse_square_root(x);
    case HEED_FUNCTION_EXP: return power_of_e(x);
    case HEED_FUNCTION_LOG: return logarithm(x);
    case HEED_FUNCTION_SIN: return turned_sine(x, 0u);
    case HEED_FUNCTION_COS: return turned_sine(x, 1u);
    case HEED_FUNCTION_ERF: return erf_of(x);
    case HEED_FUNCTION_SIGMOID: return sigmoid_of(x);
    case HEED_FUNCTION_SOFTPLUS: return softplus(x);
    case HEED_FUNCTION_FLOOR: return floor(x);
    case HEED_FUNCTION_ROUND: return roundEven(x);
  }
  return x;
}

float apply_to_floats(uint function, float a, float b) {
  switch (function) {
    case HEED_FUNCTION_ADD: return ADD(a, b);
    case HEED_FUNCTION_SUB: return SUBTRACT(a, b);
    case HEED_FUNCTION_MUL: return MULTIPLY(a, b);
    case HEED_FUNCTION_DIV: return quotient(a, b);
    case HEED_FUNCTION_MOD: return is_nan(a) || is_nan(b) ? HEED_NAN : modulo(a, b);
    case HEED_FUNCTION_MIN: return is_nan(a) ? a : is_nan(b) ? b : a < b ? a : b;
    case HEED_FUNCTION_MAX: return is_nan(a) ? a : is_nan(b) ? b : a > b ? a : b;
    case HEED_FUNCTION_POW: return power(a, b);
    case HEED_FUNCTION_ELU:
      if (is_nan(a) || a > 0.0) return a;
      return MULTIPLY(-one_less_power(a), b);
  }
  if (function >= HEED_FUNCTION_RELU_BACKWARD && function <= HEED_FUNCTION_TANH_BACKWARD)
    return MULTIPLY(a, activation_derivative(function - HEED_FUNCTION_RELU_BACKWARD + HEED_ACTIVATION_RELU, b));
  if (function >= HEED_FUNCTION_RELU && function <= HEED_FUNCTION_TANH)
    return activate(function - HEED_FUNCTION_RELU + HEED_ACTIVATION_RELU, a);
  return is_nan(a) ? a : apply_to_number(function, a);
}

uint as_whole(float x, float least, float most) {
  float bounded = is_nan(x) ? 0.0 : x < least ? least : x > most ? most : x;
  return uint(int(bounded));
}

uint apply_to_float_bits(uint function, float a, float b) {
  switch (function) {
    case HEED_FUNCTION_EQ: return are_equal(a, b) ? 1u : 0u;
    case HEED_FUNCTION_NE: return are_equal(a, b) ? 0u : 1u;
    case HEED_FUNCTION_LT: return is_less(a, b) ? 1u : 0u;
    case HEED_FUNCTION_LE: return is_less(a, b) || are_equal(a, b) ? 1u : 0u;
    case HEED_FUNCTION_GT: return is_less(b, a) ? 1u : 0u;
    case HEED_FUNCTION_GE: return is_less(b, a) || are_equal(a, b) ? 1u : 0u;
    // 2^31 does not fit int; the next smaller f32 does.
    case HEED_FUNCTION_TO_WHOLE: return !is_nan(a) && a >= 2147483648.0 ? 0x7fffffffu : as_whole(a, -2147483648.0, 2147483520.0);
    case HEED_FUNCTION_TO_BYTE: return as_whole(a, 0.0, 255.0);
  }
  return floatBitsToUint(FLUSHED(apply_to_floats(function, a, b)));
}

uint whole_quotient(int a, int b) {
  bool wraps = b == 0 || b == -1;
  int q = a / (wraps ? 1 : b);
  return b == 0 ? 0u : b == -1 ? 0u - uint(a) : uint(q);
}
uint whole_remainder(int a, int b) {
  int r = int(uint(a) - uint(b) * whole_quotient(a, b));
  return b == 0 ? 0u : uint(r != 0 && (r < 0) != (b < 0) ? r + b : r);
}
// Both parts are exact, and their sum rounds to nearest even, which a conversion does not guarantee.
float whole_as_float(int x) { return sum_of(product_of(float(x >> 12), 4096.0), float(x & 4095)); }

uint apply_to_whole(uint function, uint a, uint b) {
  int x = int(a), y = int(b);
  switch (function) {
    case HEED_FUNCTION_ADD: return a + b;
    case HEED_FUNCTION_SUB: return a - b;
    case HEED_FUNCTION_MUL: return a * b;
    case HEED_FUNCTION_DIV: return whole_quotient(x, y);
    case HEED_FUNCTION_MOD: return whole_remainder(x, y);
    case HEED_FUNCTION_MIN: return uint(min(x, y));
    case HEED_FUNCTION_MAX: return uint(max(x, y));
    case HEED_FUNCTION_NEG: return 0u - a;
    case HEED_FUNCTION_ABS: return x < 0 ? 0u - a : a;
    case HEED_FUNCTION_SIGN: return uint(sign(x));
    case HEED_FUNCTION_EQ: return a == b ? 1u : 0u;
    case HEED_FUNCTION_NE: return a != b ? 1u : 0u;
    case HEED_FUNCTION_LT: return x < y ? 1u : 0u;
    case HEED_FUNCTION_LE: return x <= y ? 1u : 0u;
    case HEED_FUNCTION_GT: return x > y ? 1u : 0u;
    case HEED_FUNCTION_GE: return x >= y ? 1u : 0u;
    case HEED_FUNCTION_AND: return a != 0u && b != 0u ? 1u : 0u;
    case HEED_FUNCTION_OR: return (a | b) != 0u ? 1u : 0u;
    case HEED_FUNCTION_NOT: return a == 0u ? 1u : 0u;
    case HEED_FUNCTION_TO_FLOAT: return floatBitsToUint(whole_as_float(x));
    case HEED_FUNCTION_TO_BYTE: return a & 255u;
  }
  return a;
}

uint apply(uint step, uint a, uint b, uint c) {
  uint function = step & 255u;
  if (function == HEED_FUNCTION_WHERE) return a != 0u ? b : c;
  if (step >> 26 == 0u) return apply_to_float_bits(function, uintBitsToFloat(a), uintBitsToFloat(b));
  return apply_to_whole(function, a, b);
}
