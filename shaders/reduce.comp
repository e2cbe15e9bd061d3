// Reductions over one axis, and cumulative sums along it; see shared/reduce.h. Local x numbers elements of out, local y the invocations
// that share one of them.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/elements.glsl"
#include "shared/rows.glsl"
#include "shared/reduce.h"

HEED_OPERAND(0, x)
layout(set = 0, binding = 1) readonly buffer MaskBytes { uint mask[]; };
HEED_RESULT(2, result)
layout(set = 0, binding = 3) buffer Parts { uint numbers[]; };

const float LOWEST = -3.402823466e38;
const uint INFINITY_BITS = 0x7f800000u;
const bool PARTS = (FLAGS & HEED_REDUCE_PARTS) != 0u;
const bool POWERS = KIND == HEED_REDUCE_LOG_SUM_EXP, SQUARES = KIND == HEED_REDUCE_L2, FACTORS = KIND == HEED_REDUCE_PRODUCT;

shared uint sh_count[HEED_ROW_INVOCATIONS];

uint slot_of() { return gl_LocalInvocationID.y * gl_WorkGroupSize.x + gl_LocalInvocationID.x; }

bool is_kept(uint mask_row, uint i) {
  if ((FLAGS & HEED_REDUCE_MASK) == 0u) return true;
  uint at = mask_row + i * p.mask_n;
  bool nonzero = ((mask[at / 4u] >> (8u * (at % 4u))) & 0xffu) != 0u;
  return nonzero == ((FLAGS & HEED_REDUCE_MASK_KEEP) != 0u);
}

// The power of two that scales the largest magnitude near 1, as the bits of its exponent.
uint exponent_of(float largest) { return clamp(floatBitsToUint(largest) >> 23 & 255u, 1u, 253u); }

// The summand for an element: a power relative to the largest element (never of an infinity), or the square of a scaled element; or its
// value for the search of the largest.
float part_of(float value, bool searches, float largest) {
  if (POWERS && is_minus_infinity(value)) return searches ? LOWEST : 0.0;
  if (searches) return SQUARES ? abs(value) : value;
  if (POWERS) return EXP(SUBTRACT_FIRST(value, largest));
  if (SQUARES) {
    float scaled = FLUSH_FOR_PRODUCT(MULTIPLY_FIRST(value, uintBitsToFloat((254u - exponent_of(largest)) << 23)));
    return MULTIPLY_FLUSHED(scaled, scaled);
  }
  return FACTORS ? value : FLUSH_FOR_SUM(value);
}

float joined(float a, float b, bool searches) {
  if (searches) return max_with_nan(a, b);
  if (FACTORS) return MULTIPLY(a, b);
  ADD_FLUSHED(a, b);
  return a;
}

float finished(float sum, uint count, float largest) {
  if (POWERS || SQUARES) {
    if ((floatBitsToUint(largest) & 0x7fffffffu) >= INFINITY_BITS) return largest;
    if (SQUARES) return MULTIPLY(ROOT(sum), uintBitsToFloat(exponent_of(largest) << 23));
    return sum == 0.0 ? MINUS_INFINITY : ADD(largest, LOG(sum));
  }
  if (KIND == HEED_REDUCE_MEAN) {
    uint of = (FLAGS & HEED_REDUCE_MASK) != 0u ? count : p.of;
    return of == 0u ? 0.0 : DIVIDE_BY_COUNT(sum, of);
  }
  return sum;
}

// One of the two numbers that an invocation keeps between parts: its sum is the second; the first is its largest element or its count.
uint kept_at(uint which, uint element) {
  return p.state + (which * gl_WorkGroupSize.y + gl_LocalInvocationID.y) * p.elements + element;
}
bool continues() { return PARTS && (p.part & HEED_PART_CONTINUES) != 0u; }
bool stores() { return PARTS && (p.part & HEED_PART_STORES) != 0u; }
bool searches_only() { return PARTS && (p.part & HEED_PART_SEARCHES) != 0u; }

// Joins the results of the invocations that share an element; the first of them then has the result.
void join_invocations(float made, uint count, bool searches) {
  uint slot = slot_of();
  sh_row[slot] = made;
  sh_count[slot] = count;
  for (uint height = gl_WorkGroupSize.y / 2u; height > 0u; height /= 2u) {
    barrier();
    if (gl_LocalInvocationID.y < height) {
      uint other = slot + height * gl_WorkGroupSize.x;
      sh_row[slot] = joined(sh_row[slot], sh_row[other], searches);
      sh_count[slot] += sh_count[other];
    }
  }
}

// Up to two walks along the axis. The first finds the largest element, where the sum needs it.
void reduce(uint element, uint n, uint x_row, uint mask_row, uint out_at) {
  float largest = 0.0, made = 0.0;
  uint count = 0u;
  for (uint walk = POWERS || SQUARES ? 0u : 1u; walk < 2u; ++walk) {
    bool searches = walk == 0u, walks = searches == searches_only() || !PARTS;
    made = searches && POWERS ? LOWEST : FACTORS ? 1.0 : 0.0;
    count = 0u;
    if (n > 0u && (continues() || !walks)) {
      made = uintBitsToFloat(numbers[kept_at(walk, element)]);
      if (!POWERS && !SQUARES) count = numbers[kept_at(0u, element)];
    }
    for (uint i = gl_LocalInvocationID.y; i < n && walks; i += gl_WorkGroupSize.y) {
      uint at = x_row + i * p.x_n;
      if (KIND == HEED_REDUCE_WHOLE) {
        count += x_words[at];
      } else if (is_kept(mask_row, i)) {
        made = joined(made, part_of(one_x(at), searches, largest), searches);
        ++count;
      }
    }
    if (walks && (stores() || searches_only())) {
      if (n > 0u) {
        numbers[kept_at(walk, element)] = floatBitsToUint(made);
        if (!POWERS && !SQUARES) numbers[kept_at(0u, element)] = count;
      }
      return;
    }
    join_invocations(made, count, searches);
    if (searches) {
      barrier();
      largest = sh_row[gl_LocalInvocationID.x];
      barrier();
    }
  }
  if (gl_LocalInvocationID.y == 0u && n > 0u) {
    uint slot = slot_of();
    if (KIND == HEED_REDUCE_WHOLE)
      result_words[out_at] = sh_count[slot];
    else
      put_result(out_at, finished(sh_row[slot], sh_count[slot], largest));
  }
}

// Processes as many elements at a time as an element of out has invocations: each adds the sum of the neighbour 1, 2, 4 and so on before
// it, then the sum of all earlier elements.
void sum_up(uint element, uint n, uint x_row, uint out_row) {
  uint slot = slot_of(), width = gl_WorkGroupSize.x, last = (gl_WorkGroupSize.y - 1u) * width + gl_LocalInvocationID.x;
  float before = continues() && n > 0u ? uintBitsToFloat(numbers[kept_at(0u, element)]) : 0.0;
  for (uint first = 0u; first < p.n; first += gl_WorkGroupSize.y) {
    uint i = first + gl_LocalInvocationID.y;
    uint at = (FLAGS & HEED_CUMSUM_REVERSE) != 0u ? n - 1u - i : i;
    float sum = i < n ? FLUSH_FOR_SUM(one_x(x_row + at * p.x_n)) : 0.0;
    sh_row[slot] = sum;
    for (uint distance = width; distance < width * gl_WorkGroupSize.y; distance *= 2u) {
      barrier();
      float neighbour = slot >= distance ? sh_row[slot - distance] : 0.0;
      barrier();
      ADD_FLUSHED(sum, neighbour);
      sh_row[slot] = sum;
    }
    barrier();
    if ((FLAGS & HEED_CUMSUM_EXCLUSIVE) != 0u) sum = slot >= width ? sh_row[slot - width] : 0.0;
    ADD_FLUSHED(sum, before);
    if (i < n) put_result(out_row + at * p.out_n, sum);
    ADD_FLUSHED(before, sh_row[last]);
    barrier();
  }
  if (stores() && n > 0u) numbers[kept_at(0u, element)] = floatBitsToUint(before);
}

void main() {
  uint element = workgroup_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  uint n = element < p.elements ? p.n : 0u;
  uvec4 at = UNRAVEL(element, p.dim);
  uint x_row = p.offset[0] + DOT4(at, p.x_stride), out_at = p.offset[2] + DOT4(at, p.out_stride);
  if (KIND == HEED_REDUCE_CUMSUM)
    sum_up(element, n, x_row, out_at);
  else
    reduce(element, n, x_row, p.offset[1] + DOT4(at, p.mask_stride), out_at);
}
