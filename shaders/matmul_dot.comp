// Product of f32 rows by quantized weights through dot products of bytes (SPV_KHR_integer_dot_product), with epilogue; see
// shared/matmul.h. One workgroup makes one BM x BN tile of one batch, each invocation TM x TN elements of it. Rows are rounded
// on their way to shared memory as the CPU rounds them (cpu/rounded_row.hpp): a span is 32 neighbours, each as 8 bits, with
// one scale. The weights' whole numbers are bytes without rounding. Sums are whole numbers within a span, and f32 across spans.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_integer_dot_product : require
#include "shared/matmul.glsl"
#include "shared/spread.glsl"
#include "shared/matmul_dot.h"
#include "shared/matmul_dot_memory.inc"
#include "shared/matmul_sums.glsl"

const bool A_FOURS = (FLAGS & HEED_MATMUL_A_VEC4) != 0u;
const uint SPAN = 32u, QUADS = 8u;  // elements of a span, and fours of them
const uint INVOCATIONS = BM / TM * (BN / TN);
const uint A_LOADS = (BM * SPANS + INVOCATIONS - 1u) / INVOCATIONS;
const uint B_LOADS = (BN * SPANS + INVOCATIONS - 1u) / INVOCATIONS;

bool has_scale_of_half() { return BLOCK_TYPE == HEED_BLOCKS_Q6_K; }
bool has_offsets() { return has_offset(BLOCK_TYPE) || has_pairs(BLOCK_TYPE); }

// An invocation loads whole spans: of a row of A or a column of B.
struct Place {
  uint row, span;
};
Place place_of(uint load) {
  uint i = gl_LocalInvocationID.x + load * INVOCATIONS;
  return Place(spread(i / SPANS), i % SPANS);
}
// Only some invocations may have a last load.
bool has_load(uint load, uint rows) {
  return rows * SPANS % INVOCATIONS == 0u || gl_LocalInvocationID.x + load * INVOCATIONS < rows * SPANS;
}

// Where a load lies in the quantized weight: a block, and the number of the span in it.
uvec2 span_of_load(Tile tile, Place place, uint k0) {
  uint at = tile.b + (tile.n + place.row) * p.b_n + k0 + SPAN * place.span;
  return uvec2(at / BLOCK, at % BLOCK / SPAN);
}

// The next spans, as they lie in memory: nothing waits for them while those before are multiplied. Past the end of k, where
// whole spans lie, all is 0.
vec4 next_a[A_LOADS * QUADS];
Words next_b[B_LOADS * 2u];  // of each span, where blocks are long: its first and its last four eights

void read_spans(Tile tile, uint k0) {
  [[unroll]] for (uint load = 0u; load < A_LOADS; ++load) {
    Place place = place_of(load);
    uint m = tile.m + place.row, k = k0 + SPAN * place.span, at = tile.a + m * p.a_m + k * p.a_k;
    bool inside = has_load(load, BM) && m < p.m && k < p.k;
    [[unroll]] for (uint quad = 0u; quad < QUADS; ++quad) {
      vec4 four = vec4(0.0);
      if (inside && A_FOURS) four = a4_at(at + 4u * quad);
      if (inside && !A_FOURS)
        [[unroll]] for (uint c = 0u; c < 4u; ++c) four[c] = a_at(at + (4u * quad + c) * p.a_k);
      next_a[load * QUADS + quad] = four;
    }
  }
  [[unroll]] for (uint load = 0u; load < B_LOADS; ++load) {
    Place place = place_of(load);
    next_b[2u * load] = next_b[2u * load + 1u] = Words(uvec4(0u), uvec4(0u), uvec4(0u), 0u);
    if (!has_load(load, BN) || tile.n + place.row >= p.n || k0 + SPAN * place.span >= p.k) continue;
    uvec2 from = span_of_load(tile, place, k0);
    uint v = half_of_four(BLOCK_TYPE, SPAN * from.y).x;
    next_b[2u * load] = read_words(BLOCK_TYPE, blocks_of_b(), from.x, v, true, true);
    if (is_long(BLOCK_TYPE))
      next_b[2u * load + 1u] = read_words(BLOCK_TYPE, blocks_of_b(), from.x, v + 4u, true, true);
  }
}

// A span whose largest magnitude is below 2^-100 counts as zeros, since the quotient by it could be infinite. One that has
// an infinity or NaN gets NaN for its scale, and so does all that comes of it.
const uint LEAST = 0x0d800000u, STRANGE = 0x7f800000u, NOT_A_NUMBER = 0x7fc00000u;

void store_a(uint load) {
  uint largest = 0u;
  [[unroll]] for (uint quad = 0u; quad < QUADS; ++quad) {
    uvec4 bits = floatBitsToUint(next_a[load * QUADS + quad]) & 0x7fffffffu;
    largest = max(max(largest, max(bits.x, bits.y)), max(bits.z, bits.w));
  }
  uvec4 words[2] = uvec4[2](uvec4(0u), uvec4(0u));
  vec2 scale = vec2(largest >= STRANGE ? uintBitsToFloat(NOT_A_NUMBER) : 0.0, 0.0);
  if (largest >= LEAST && largest < STRANGE) {
    // A divisor above 2^126 may give anything.
    const float SHRINK = 0.0625;
    float factor = SHRINK * (127.0 / MULTIPLY_FIRST(uintBitsToFloat(largest), SHRINK));
    int sum = 0;
    [[unroll]] for (uint quad = 0u; quad < QUADS; ++quad) {
      uvec4 whole = uvec4(ivec4(roundEven(next_a[load * QUADS + quad] * factor))) & 255u;
      uint word = whole.x | whole.y << 8u | whole.z << 16u | whole.w << 24u;
      words[quad / 4u][quad % 4u] = word;
      if (has_offsets()) sum += dotPacked4x8EXT(int(word), 0x01010101);
    }
    scale = vec2(uintBitsToFloat(largest) / 127.0, float(sum));
  }
  Place to = place_of(load);
  sh_a[to.row * ROW + 2u * to.span] = words[0];
  sh_a[to.row * ROW + 2u * to.span + 1u] = words[1];
  sh_a_scales[to.span * BM + to.row] = scale;
}

void store_b(Tile tile, uint load, uint k0) {
  Place to = place_of(load);
  uvec2 from = span_of_load(tile, to, k0), at = half_of_four(BLOCK_TYPE, SPAN * from.y);
  Words first = next_b[2u * load], last = next_b[2u * load + 1u];
  uvec4 words[2];
  if (is_long(BLOCK_TYPE)) {
    words[0] = bytes_of(BLOCK_TYPE, first, at.x, at.y);
    words[1] = bytes_of(BLOCK_TYPE, last, at.x + 4u, at.y);
  } else {
    words[0] = bytes_of(BLOCK_TYPE, first, 0u, 0u);
    words[1] = bytes_of(BLOCK_TYPE, first, 0u, 1u);
  }
  sh_b[to.row * ROW + 2u * to.span] = words[0];
  sh_b[to.row * ROW + 2u * to.span + 1u] = words[1];
  sh_b_scales[to.span * BN + to.row] = scales_of_span(BLOCK_TYPE, first, from.x, from.y);
}

void store_spans(Tile tile, uint k0) {
  [[unroll]] for (uint load = 0u; load < A_LOADS; ++load)
    if (has_load(load, BM)) store_a(load);
  [[unroll]] for (uint load = 0u; load < B_LOADS; ++load)
    if (has_load(load, BN)) store_b(tile, load, k0);
}

int add_dot(int sum, uvec4 a_bytes, uvec4 b_bytes) {
  [[unroll]] for (uint c = 0u; c < 4u; ++c) sum += dotPacked4x8EXT(int(a_bytes[c]), int(b_bytes[c]));
  return sum;
}

// The product of a scale of A and one of B could leave the range of f32, so that one of B is multiplied by a sum first.
void multiply_spans(uint row, uint column) {
  for (uint span = 0u; span < SPANS; ++span) {
    uvec4 b_low[TN], b_high[TN];
    vec2 b_scales[TN];
    [[unroll]] for (uint j = 0u; j < TN; ++j) {
      uint n = column + j * COLUMNS_APART;
      b_low[j] = sh_b[n * ROW + 2u * span];
      b_high[j] = sh_b[n * ROW + 2u * span + 1u];
      b_scales[j] = sh_b_scales[span * BN + n];
    }
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
      uint m = row + i * ROWS_APART;
      uvec4 a_low = sh_a[m * ROW + 2u * span], a_high = sh_a[m * ROW + 2u * span + 1u];
      vec2 a_scale = sh_a_scales[span * BM + m];
      [[unroll]] for (uint j = 0u; j < TN; ++j) {
        int low = add_dot(0, a_low, b_low[j]), high = add_dot(has_scale_of_half() ? 0 : low, a_high, b_high[j]);
        float sum = MULTIPLY_FIRST(b_scales[j].x, float(has_scale_of_half() ? low : high));
        if (has_scale_of_half()) sum += b_scales[j].y * float(high);
        if (has_offsets()) sum += b_scales[j].y * a_scale.y;
        sums[i * TN + j] += a_scale.x * sum;
      }
    }
  }
}

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  Tile tile = tile_at(index);
  uint column = gl_LocalInvocationID.x % COLUMNS_APART;
  uint row = gl_LocalInvocationID.x / COLUMNS_APART;
  [[unroll]] for (uint i = 0u; i < TM * TN; ++i) sums[i] = 0.0;

  for (uint k0 = 0u;; k0 += SPANS * SPAN) {
    read_spans(tile, k0);  // past the end this reads nothing
    if (k0 > 0u) multiply_spans(row, column);
    if (k0 >= p.k) break;
    barrier();
    store_spans(tile, k0);
    barrier();
  }
  store_sums(tile, row, column);
}
