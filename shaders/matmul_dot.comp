// Matmul of f32 rows by quantized weights with dot products of bytes (SPV_KHR_integer_dot_product), with epilogue; see shared/matmul.h. One
// workgroup computes one BM x BN tile of one batch, each invocation TM x TN elements of it. Sums are integers within a span of
// shared/matmul_spans.glsl, and f32 across spans.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_integer_dot_product : require
#include "shared/matmul.glsl"
#include "shared/spread.glsl"
#include "shared/matmul_dot.h"
#include "shared/matmul_dot_memory.inc"
#include "shared/matmul_sums.glsl"

const uint INVOCATIONS = BM / TM * (BN / TN);
#include "shared/matmul_spans.glsl"

void keep_span_of_b(Place to, uvec4 words[2], vec2 scales) {
  sh_b[to.row * ROW + 2u * to.span] = words[0];
  sh_b[to.row * ROW + 2u * to.span + 1u] = words[1];
  sh_b_scales[to.span * BN + to.row] = scales;
}

const bool A_FOURS = (FLAGS & HEED_MATMUL_A_VEC4) != 0u;
const uint QUADS = SPAN / 4u;  // groups of four in a span
const uint A_LOADS = (BM * SPANS + INVOCATIONS - 1u) / INVOCATIONS;

vec4 next_a[A_LOADS * QUADS];

// An invocation also loads whole spans of A.
void read_a(Tile tile, uint k0) {
  [[unroll]] for (uint load = 0u; load < A_LOADS; ++load) {
    Place place = place_of(load);
    uint m = tile.m + place.row, k = k0 + SPAN * place.span, at = tile.a + m * p.a_m + k * p.a_k;
    bool inside = has_load(load, BM) && m < p.m && k < p.k;
    [[unroll]] for (uint quad = 0u; quad < QUADS; ++quad) {
      vec4 four = vec4(0.0);
      if (inside && A_FOURS) four = four_a(at + 4u * quad);
      if (inside && !A_FOURS)
        [[unroll]] for (uint c = 0u; c < 4u; ++c) four[c] = one_a(at + (4u * quad + c) * p.a_k);
      next_a[load * QUADS + quad] = four;
    }
  }
}

void store_a() {
  [[unroll]] for (uint load = 0u; load < A_LOADS; ++load) {
    if (!has_load(load, BM)) continue;
    uint largest = 0u;
    [[unroll]] for (uint quad = 0u; quad < QUADS; ++quad)
      largest = larger_magnitude(largest, next_a[load * QUADS + quad]);
    uvec4 words[2] = uvec4[2](uvec4(0u), uvec4(0u));
    int sum = 0;
    if (has_bytes(largest)) {
      float factor = factor_of_bytes(largest);
      [[unroll]] for (uint quad = 0u; quad < QUADS; ++quad) {
        uint word = bytes_of_whole(roundEven(next_a[load * QUADS + quad] * factor));
        words[quad / 4u][quad % 4u] = word;
        if (has_offsets()) sum += dotPacked4x8EXT(int(word), 0x01010101);
      }
    }
    Place to = place_of(load);
    sh_a[to.row * ROW + 2u * to.span] = words[0];
    sh_a[to.row * ROW + 2u * to.span + 1u] = words[1];
    sh_a_scales[to.span * BM + to.row] = vec2(scale_of_bytes(largest), float(sum));
  }
}

int add_dot(int sum, uvec4 a_bytes, uvec4 b_bytes) {
  [[unroll]] for (uint c = 0u; c < 4u; ++c) sum += dotPacked4x8EXT(int(a_bytes[c]), int(b_bytes[c]));
  return sum;
}

// The product of a scale of A and one of B could overflow f32, so a sum is multiplied by B's scale first.
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
    read_a(tile, k0);  // reads nothing past the end
    read_b(tile, k0);
    if (k0 > 0u) multiply_spans(row, column);
    if (k0 >= p.k) break;
    barrier();
    store_a();
    store_b(tile, k0);
    barrier();
  }
  store_sums(tile, row, column);
}
