// Matmul of f32 rows by quantized weights on matrix units for bytes (VK_KHR_cooperative_matrix, shaderInt8), with epilogue; see
// shared/matmul.h. One workgroup computes one BM x BN tile of one batch, each of its subgroups WM x WN of that, in fragments of MS x NS x
// KS, a size that the device supports. Sums are integers within a span of shared/matmul_spans.glsl, and f32 across spans.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#include "shared/matmul.glsl"
#include "shared/spread.glsl"
#include "shared/matmul_matrix.h"
#include "shared/matmul_bytes_memory.inc"
#define SUMS sh_b
#define FINAL(sum) sum
#define FOUR_SUMS(from) uintBitsToFloat(uvec4(sh_b[from], sh_b[(from) + 1u]))
#include "shared/matmul_fragments.glsl"

#define INVOCATIONS gl_WorkGroupSize.x
#include "shared/matmul_spans.glsl"

// Neighbouring invocations store spans of the same row. Every other one begins with its second vector, which is in other banks.
void keep_span_of_b(Place to, uvec4 words[2], vec2 scales) {
  bool turned = to.span % 2u == 1u;
  uint at = to.row * ROW + 4u * to.span, first = turned ? 1u : 0u;
  [[unroll]] for (uint pair = 0u; pair < 2u; ++pair) {
    sh_b[at + 2u * pair + first] = turned ? words[pair].zw : words[pair].xy;
    sh_b[at + 2u * pair + 1u - first] = turned ? words[pair].xy : words[pair].zw;
  }
  sh_b_scales[to.span * B_NUMBERS + to.row] = scales.x;
  if (has_scale_of_half() || has_offsets()) sh_b_seconds[to.span * B_NUMBERS + to.row] = scales.y;
}

// Four neighbouring invocations of a subgroup load a span of A, eight elements each, and find its largest magnitude together.
const bool A_FOURS = (FLAGS & HEED_MATMUL_A_VEC4) != 0u;
const uint SHARERS = 4u;
const uint A_OCTETS = BM * SPANS * SHARERS;
const uint A_LOADS = (A_OCTETS + INVOCATIONS - 1u) / INVOCATIONS;

vec4 next_a[2u * A_LOADS];

uint octet_of(uint load) {
  return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID + load * INVOCATIONS;
}
bool has_octet(uint load) { return A_OCTETS % INVOCATIONS == 0u || octet_of(load) < A_OCTETS; }
Place place_of_octet(uint load) {
  uint i = octet_of(load) / SHARERS;
  return Place(spread(i / SPANS), i % SPANS);
}

void read_a(Tile tile, uint k0) {
  [[unroll]] for (uint load = 0u; load < A_LOADS; ++load) {
    Place place = place_of_octet(load);
    uint m = tile.m + place.row, k = k0 + SPAN * place.span + 8u * (octet_of(load) % SHARERS);
    uint at = tile.a + m * p.a_m + k * p.a_k;
    bool inside = has_octet(load) && m < p.m && k < p.k;
    [[unroll]] for (uint quad = 0u; quad < 2u; ++quad) {
      vec4 four = vec4(0.0);
      if (inside && A_FOURS) four = four_a(at + 4u * quad);
      if (inside && !A_FOURS)
        [[unroll]] for (uint c = 0u; c < 4u; ++c) four[c] = one_a(at + (4u * quad + c) * p.a_k);
      next_a[2u * load + quad] = four;
    }
  }
}

void store_a() {
  [[unroll]] for (uint load = 0u; load < A_LOADS; ++load) {
    vec4 low = next_a[2u * load], high = next_a[2u * load + 1u];
    uint largest = larger_magnitude(larger_magnitude(0u, low), high);
    [[unroll]] for (uint step = 1u; step < SHARERS; step *= 2u) largest = max(largest, subgroupShuffleXor(largest, step));
    if (has_bytes(largest)) {
      float factor = factor_of_bytes(largest);
      low = roundEven(low * factor);
      high = roundEven(high * factor);
    } else {
      low = high = vec4(0.0);
    }
    float sum = dot(low + high, vec4(1.0));  // a sum of integers, hence exact
    if (has_offsets())
      [[unroll]] for (uint step = 1u; step < SHARERS; step *= 2u) sum += subgroupShuffleXor(sum, step);
    if (!has_octet(load)) continue;
    Place to = place_of_octet(load);
    uint part = octet_of(load) % SHARERS;
    sh_a[to.row * ROW + SHARERS * to.span + part] = uvec2(bytes_of_whole(low), bytes_of_whole(high));
    if (part != 0u) continue;
    sh_a_scales[to.span * A_NUMBERS + to.row] = scale_of_bytes(largest);
    if (has_offsets()) sh_a_sums[to.span * A_NUMBERS + to.row] = sum;
  }
}

#define FRAGMENT coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>

// A fragment with one number for each of its rows, or for each of its columns: a stride of 0 repeats them.
#define HEED_ROWS_OF(fragment, numbers, at) coopMatLoad(fragment, numbers, at, 0u, gl_CooperativeMatrixLayoutColumnMajor)
#define HEED_COLUMNS_OF(fragment, numbers, at) coopMatLoad(fragment, numbers, at, 0u, gl_CooperativeMatrixLayoutRowMajor)

// The product of a scale of A and one of B could overflow f32, so a sum is multiplied by B's scale first.
void multiply_spans(uint wave_m, uint wave_n) {
  const uint STEPS = SPAN / KS;  // matrix instructions of a span
  coopmat<int8_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left[STEPS];
  coopmat<int8_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right[STEPS * FN];
  FRAGMENT b_scales[FN], b_seconds[FN], a_scales, a_sums;
  for (uint span = 0u; span < SPANS; ++span) {
    [[unroll]] for (uint j = 0u; j < FN; ++j) {
      uint n = wave_n + j * NS;
      [[unroll]] for (uint step = 0u; step < STEPS; ++step)
        coopMatLoad(right[j * STEPS + step], sh_b, n * ROW + 4u * span + step * KS / 8u, ROW,
                    gl_CooperativeMatrixLayoutColumnMajor);
      HEED_COLUMNS_OF(b_scales[j], sh_b_scales, span * B_NUMBERS + n);
      if (has_scale_of_half() || has_offsets()) HEED_COLUMNS_OF(b_seconds[j], sh_b_seconds, span * B_NUMBERS + n);
    }
    [[unroll]] for (uint i = 0u; i < FM; ++i) {
      uint m = wave_m + i * MS;
      [[unroll]] for (uint step = 0u; step < STEPS; ++step)
        coopMatLoad(left[step], sh_a, m * ROW + 4u * span + step * KS / 8u, ROW,
                    gl_CooperativeMatrixLayoutRowMajor);
      HEED_ROWS_OF(a_scales, sh_a_scales, span * A_NUMBERS + m);
      if (has_offsets()) HEED_ROWS_OF(a_sums, sh_a_sums, span * A_NUMBERS + m);
      [[unroll]] for (uint j = 0u; j < FN; ++j) {
        coopmat<int, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> whole =
            coopmat<int, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0);
        FRAGMENT sum;
        if (has_scale_of_half()) {
          // Only sizes with two or more instructions per span reach this point.
          sum = FRAGMENT(0.0);
          [[unroll]] for (uint step = 0u; step < STEPS; ++step) {
            whole = coopMatMulAdd(left[step], right[j * STEPS + step], whole);
            if (step + 1u == STEPS / 2u) {
              sum = FRAGMENT(whole) * b_scales[j];
              whole = coopmat<int, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0);
            }
          }
          sum += FRAGMENT(whole) * b_seconds[j];
        } else {
          [[unroll]] for (uint step = 0u; step < STEPS; ++step)
            whole = coopMatMulAdd(left[step], right[j * STEPS + step], whole);
          sum = FRAGMENT(whole) * b_scales[j];
        }
        if (has_offsets()) sum += a_sums * b_seconds[j];
        sums[i * FN + j] += a_scales * sum;
      }
    }
  }
}

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  Tile tile = tile_at(index);
  uint wave_m = gl_SubgroupID / WAVES_N * WM;
  uint wave_n = gl_SubgroupID % WAVES_N * WN;

  [[unroll]] for (uint i = 0u; i < FM * FN; ++i) sums[i] = FRAGMENT(0.0);
  for (uint k0 = 0u;; k0 += BK) {
    read_a(tile, k0);  // reads nothing past the end
    read_b(tile, k0);
    if (k0 > 0u) multiply_spans(wave_m, wave_n);
    if (k0 >= p.k) break;
    barrier();
    store_a();
    store_b(tile, k0);
    barrier();
  }
  store_fragments(tile, wave_m, wave_n);
}
