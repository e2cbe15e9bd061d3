// f32 addition and multiplication in kernels: with the driver's rounding, or, in kernels that define CANON, with the same bits everywhere
// (shared/canon.glsl).
//
// Vulkan lets a driver reassociate additions and multiplications: (x * a) * b may become x * (a * b). MULTIPLY_FIRST and SUBTRACT_FIRST are
// not reassociated: use them for x * a if a * b may overflow f32, and for x - a if x or a is far larger than their difference.
// shaders/compile.sh must not unroll loops around them, since copies lose this property: such loops must not have a literal number of
// iterations.
#ifndef HEED_ARITHMETIC_GLSL
#define HEED_ARITHMETIC_GLSL
#ifdef CANON
#include "canon.glsl"
#define FLUSHED(x) flushed(x)
#define ADD(a, b) plus(a, b)
#define ADD_TO(sum, x) sum = plus(sum, x)
#define MULTIPLY_BY(product, x) product = times(product, x)
#define SUBTRACT(a, b) minus(a, b)
#define MULTIPLY(a, b) times(a, b)
#define MULTIPLY_FIRST(a, b) times(a, b)
#define SUBTRACT_FIRST(a, b) minus(a, b)
// Sums of values from FLUSH_FOR_SUM, and products of values from FLUSH_FOR_PRODUCT.
#define ADD_FLUSHED(sum, x) sum = sum_of(sum, x)
#define MULTIPLY_FLUSHED(a, b) product_of(a, b)
#define FLUSH_FOR_SUM(x) flush_for_sum(x)
#define FLUSH_FOR_PRODUCT(x) flush_for_product(x)
#define SUBTRACT_FROM(x, y) x = minus(x, y)
#define DIVIDE_BY_COUNT(x, n) times(x, reciprocal(float(n)))
#define DIVIDE(a, b) times(a, reciprocal(b))
#define INVERSE(x) reciprocal(x)
#define ROOT(x) canon_root(x)
#define LOG(x) canon_log(x)
#define STORED(x) canonical(x)
#define INVERSE_ROOT(x) reciprocal_root(x)
#define NOT_NEGATIVE(x) positive_part(x)
#define EXP(x) canon_exp(x)
#define EXACT_PRODUCT(a, b) product_of(a, b)
#define ADD_ONCE(a, b) sum_of(a, b)
#define SUBTRACT_ONCE(a, b) sum_of(a, -(b))
#define SCALE_EXACTLY(x, by) x = product_of(x, by)
#define HALVES(word) halves_of(word)
#else
float first_product(float a, float b) {
  precise float result = a * b;
  return result;
}
vec4 first_product(vec4 a, float b) {
  precise vec4 result = a * b;
  return result;
}
float first_difference(float a, float b) {
  precise float result = a - b;
  return result;
}
vec4 first_difference(vec4 a, float b) {
  precise vec4 result = a - b;
  return result;
}
// A driver may compute a root as x * (1 / sqrt(x)), as NVIDIA's seems to, which is NaN for 0.
float root_of(float x) { return x == 0.0 ? 0.0 : sqrt(x); }
#define FLUSHED(x) (x)
#define ADD(a, b) ((a) + (b))
#define ADD_TO(sum, x) sum += x
#define MULTIPLY_BY(product, x) product *= x
#define SUBTRACT(a, b) ((a) - (b))
#define MULTIPLY(a, b) ((a) * (b))
#define MULTIPLY_FIRST(a, b) first_product(a, b)
#define SUBTRACT_FIRST(a, b) first_difference(a, b)
#define ADD_FLUSHED(sum, x) sum += x
#define MULTIPLY_FLUSHED(a, b) ((a) * (b))
#define FLUSH_FOR_SUM(x) (x)
#define FLUSH_FOR_PRODUCT(x) (x)
#define SUBTRACT_FROM(x, y) x -= y
#define DIVIDE_BY_COUNT(x, n) ((x) / float(n))
#define DIVIDE(a, b) ((a) / (b))
#define INVERSE(x) (1.0 / (x))
#define ROOT(x) root_of(x)
#define LOG(x) log(x)
#define STORED(x) (x)
#define INVERSE_ROOT(x) inversesqrt(x)
#define NOT_NEGATIVE(x) max(x, 0.0)
#define EXP(x) exp(x)
#define EXACT_PRODUCT(a, b) ((a) * (b))
#define ADD_ONCE(a, b) ((a) + (b))
#define SUBTRACT_ONCE(a, b) ((a) - (b))
#define SCALE_EXACTLY(x, by) x *= by
#define HALVES(word) unpackHalf2x16(word)
#endif
#endif
