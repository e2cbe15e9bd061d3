// Matrix product on matrix units (VK_KHR_cooperative_matrix), with epilogue; see shared/matmul.h. One workgroup makes
// one BM x BN tile of one batch, each of its subgroups WM x WN of that, in fragments of MS x NS x KS, a size that the
// device lists. Slices of A and B go through shared memory, so that strides, offsets and edges may be any.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#include "shared/matmul.glsl"

layout(constant_id = 9) const uint BK = 32;
layout(constant_id = 10) const uint WM = 32;
layout(constant_id = 11) const uint WN = 32;
layout(constant_id = 12) const uint MS = 16;
layout(constant_id = 13) const uint NS = 16;
layout(constant_id = 14) const uint KS = 16;

const bool A_K_FAST = (FLAGS & HEED_MATMUL_A_K_FAST) != 0u;
const bool B_K_FAST = (FLAGS & HEED_MATMUL_B_K_FAST) != 0u;

// Slices lie as the operand does: its fast axis along the rows of shared memory. 16 bytes of padding keep
// neighbouring rows in different banks.
const uint A_FAST = A_K_FAST ? BK : BM;
const uint A_SLOW = A_K_FAST ? BM : BK;
const uint B_FAST = B_K_FAST ? BK : BN;
const uint B_SLOW = B_K_FAST ? BN : BK;
const uint A_ROW = A_FAST + 8u;
const uint B_ROW = B_FAST + 8u;
shared float16_t sh_a[A_SLOW * A_ROW];
shared float16_t sh_b[B_SLOW * B_ROW];

// One fragment of sums of each subgroup on its way to the epilogue.
const uint FRAGMENT = MS * NS;
const uint WAVES_N = BN / WN;
const uint WAVES = BM / WM * WAVES_N;
shared float sh_sums[WAVES * FRAGMENT];

const uint FM = WM / MS;  // fragments of one subgroup
const uint FN = WN / NS;

// Where a slice lies in memory: `slow` and `fast` count from its corner, up to the edges of the matrix.
struct Slice {
  uint at, slow_stride, fast_stride, slow_end, fast_end;
  bool aligned;  // 8 neighbours along the fast axis are one uvec4
};

Slice slice_of(uint at, uint slow_stride, uint fast_stride, uint slow_end, uint fast_end) {
  return Slice(at, slow_stride, fast_stride, slow_end, fast_end,
               fast_stride == 1u && ((at | slow_stride) & 7u) == 0u);
}

// Outside the matrix a slice is 0 on both sides, so that an infinity on one side never meets a padding 0.
#define HEED_LOAD_SLICE(name, scalars, vectors, target, SLOW, FAST, ROW)                     \
  void name(Slice s) {                                                                       \
    for (uint i = gl_LocalInvocationID.x; i < SLOW * FAST / 8u; i += gl_WorkGroupSize.x) {   \
      uint slow = i / (FAST / 8u);                                                           \
      uint fast = i % (FAST / 8u) * 8u;                                                      \
      uint to = slow * ROW + fast;                                                           \
      uint from = s.at + slow * s.slow_stride + fast * s.fast_stride;                        \
      if (s.aligned && slow < s.slow_end && fast + 8u <= s.fast_end) {                       \
        uvec4 eight = vectors[from / 8u];                                                    \
        [[unroll]] for (uint c = 0u; c < 4u; ++c) {                                          \
          f16vec2 two = unpackFloat2x16(eight[c]);                                           \
          target[to + 2u * c] = two.x;                                                       \
          target[to + 2u * c + 1u] = two.y;                                                  \
        }                                                                                    \
      } else {                                                                               \
        [[unroll]] for (uint c = 0u; c < 8u; ++c) {                                          \
          bool inside = slow < s.slow_end && fast + c < s.fast_end;                          \
          target[to + c] = inside ? scalars[from + c * s.fast_stride] : float16_t(0.0);      \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
  }
HEED_LOAD_SLICE(load_a, a, a16, sh_a, A_SLOW, A_FAST, A_ROW)
HEED_LOAD_SLICE(load_b, b, b16, sh_b, B_SLOW, B_FAST, B_ROW)

coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> sums[FM * FN];

void multiply_slices(uint wave_m, uint wave_n) {
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left[FM];
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  for (uint k = 0u; k < BK; k += KS) {
    [[unroll]] for (uint i = 0u; i < FM; ++i) {
      uint m = wave_m + i * MS;
      if (A_K_FAST) coopMatLoad(left[i], sh_a, m * A_ROW + k, A_ROW, gl_CooperativeMatrixLayoutRowMajor);
      else coopMatLoad(left[i], sh_a, k * A_ROW + m, A_ROW, gl_CooperativeMatrixLayoutColumnMajor);
    }
    [[unroll]] for (uint j = 0u; j < FN; ++j) {
      uint n = wave_n + j * NS;
      if (B_K_FAST) coopMatLoad(right, sh_b, n * B_ROW + k, B_ROW, gl_CooperativeMatrixLayoutColumnMajor);
      else coopMatLoad(right, sh_b, k * B_ROW + n, B_ROW, gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint i = 0u; i < FM; ++i)
        sums[i * FN + j] = coopMatMulAdd(left[i], right, sums[i * FN + j]);
    }
  }
}

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  Tile tile = tile_at(index);
  uint a_base = tile.a + tile.m * p.a_m, b_base = tile.b + tile.n * p.b_n;
  uint wave_m = gl_SubgroupID / WAVES_N * WM;
  uint wave_n = gl_SubgroupID % WAVES_N * WN;

  [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
    sums[i] = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
  for (uint k0 = 0u; k0 < p.k; k0 += BK) {
    if (A_K_FAST) load_a(slice_of(a_base + k0 * p.a_k, p.a_m, p.a_k, p.m - tile.m, p.k - k0));
    else load_a(slice_of(a_base + k0 * p.a_k, p.a_k, p.a_m, p.k - k0, p.m - tile.m));
    if (B_K_FAST) load_b(slice_of(b_base + k0 * p.b_k, p.b_n, p.b_k, p.n - tile.n, p.k - k0));
    else load_b(slice_of(b_base + k0 * p.b_k, p.b_k, p.b_n, p.k - k0, p.n - tile.n));
    barrier();
    multiply_slices(wave_m, wave_n);
    barrier();
  }

  uint mine = gl_SubgroupID * FRAGMENT;
  // The inner loop picks a fragment by constant indices: sums that are indexed at run time would leave the registers.
  for (uint f = 0u; f < FM * FN; ++f) {
    [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
      if (i == f) coopMatStore(sums[i], sh_sums, mine, NS, gl_CooperativeMatrixLayoutRowMajor);
    barrier();
    for (uint e = gl_SubgroupInvocationID; e < FRAGMENT; e += gl_SubgroupSize) {
      uint m = tile.m + wave_m + f / FN * MS + e / NS;
      uint n = tile.n + wave_n + f % FN * NS + e % NS;
      if (m < p.m && n < p.n) store_sum(tile, m, n, sh_sums[mine + e]);
    }
    barrier();
  }
}
