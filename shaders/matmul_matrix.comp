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
#include "shared/subgroup_sync.glsl"

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
const uint A_ROW = A_FAST / 8u + 1u;
const uint B_ROW = B_FAST / 8u + 1u;
shared uvec4 sh_a[A_SLOW * A_ROW];  // 8 elements each
shared uvec4 sh_b[B_SLOW * B_ROW];

// One fragment of sums of each subgroup on its way to the epilogue.
const uint FRAGMENT = MS * NS;
const uint WAVES_N = BN / WN;
const uint WAVES = BM / WM * WAVES_N;
shared float sh_sums[WAVES * FRAGMENT];

const uint FM = WM / MS;  // fragments of one subgroup
const uint FN = WN / NS;

// A slice comes in octets, 8 elements along its fast axis; those of one invocation lie a workgroup apart.
const uint A_OCTETS = A_SLOW * A_FAST / 8u;
const uint B_OCTETS = B_SLOW * B_FAST / 8u;
const uint A_PARTS = (A_OCTETS + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
const uint B_PARTS = (B_OCTETS + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;

// Where a slice lies in memory: `slow` and `fast` count from its corner, up to the edges of the matrix.
struct Slice {
  uint at, slow_stride, fast_stride, slow_end, fast_end;
  bool aligned;  // an octet is one uvec4, and either inside the matrix or outside
};

Slice slice_of(uint at, uint slow_stride, uint fast_stride, uint slow_end, uint fast_end) {
  return Slice(at, slow_stride, fast_stride, slow_end, fast_end,
               fast_stride == 1u && ((at | slow_stride | fast_end) & 7u) == 0u);
}

// The same at every k0, which is a multiple of 8: how a slice is aligned.
Slice slice_of_a(Tile tile, uint k0) {
  uint at = tile.a + tile.m * p.a_m + k0 * p.a_k, rows = p.m - tile.m, depth = max(p.k, k0) - k0;
  if (A_K_FAST) return slice_of(at, p.a_m, p.a_k, rows, depth);
  return slice_of(at, p.a_k, p.a_m, depth, rows);
}
Slice slice_of_b(Tile tile, uint k0) {
  uint at = tile.b + tile.n * p.b_n + k0 * p.b_k, columns = p.n - tile.n, depth = max(p.k, k0) - k0;
  if (B_K_FAST) return slice_of(at, p.b_n, p.b_k, columns, depth);
  return slice_of(at, p.b_k, p.b_n, depth, columns);
}

// The row of octet i of a slice. Eight invocations store at a time. Where those are two rows of four octets, rows that are four
// apart lie in different banks, and neighbours do not.
uint row_of(uint i, uint octets) {
  uint row = i / octets;
  return octets == 4u ? (row & ~7u) | (row & 1u) << 2u | (row >> 1u & 3u) : row;
}

// read: into registers, what is aligned. keep: from there to shared memory. carry: to shared memory at once, what is not
// aligned. Outside the matrix a slice is 0 on both sides, so that an infinity on one side never meets a padding 0.
#define HEED_SLICE(read, keep, carry, next, scalars, vectors, target, PARTS, OCTETS, FAST, ROW)           \
  uvec4 next[PARTS];                                                                                      \
  void read(Slice s) {                                                                                    \
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {                                               \
      uint i = gl_LocalInvocationID.x + part * gl_WorkGroupSize.x;                                        \
      uint slow = row_of(i, FAST / 8u), fast = i % (FAST / 8u) * 8u;                                      \
      next[part] = uvec4(0u);                                                                             \
      if ((OCTETS % gl_WorkGroupSize.x == 0u || i < OCTETS) && slow < s.slow_end && fast < s.fast_end)    \
        next[part] = vectors[(s.at + slow * s.slow_stride + fast) / 8u];                                  \
    }                                                                                                     \
  }                                                                                                       \
  void keep() {                                                                                           \
    [[unroll]] for (uint part = 0u; part < PARTS; ++part) {                                               \
      uint i = gl_LocalInvocationID.x + part * gl_WorkGroupSize.x;                                        \
      if (OCTETS % gl_WorkGroupSize.x == 0u || i < OCTETS)                                                \
        target[row_of(i, FAST / 8u) * ROW + i % (FAST / 8u)] = next[part];                                \
    }                                                                                                     \
  }                                                                                                       \
  void carry(Slice s) {                                                                                   \
    for (uint i = gl_LocalInvocationID.x; i < OCTETS; i += gl_WorkGroupSize.x) {                          \
      uint slow = row_of(i, FAST / 8u), fast = i % (FAST / 8u) * 8u;                                      \
      uint from = s.at + slow * s.slow_stride + fast * s.fast_stride;                                     \
      uvec4 octet = uvec4(0u);                                                                            \
      [[unroll]] for (uint c = 0u; c < 4u; ++c) {                                                         \
        f16vec2 two = f16vec2(0.0);                                                                       \
        bool inside = slow < s.slow_end;                                                                  \
        if (inside && fast + 2u * c < s.fast_end) two.x = scalars[from + 2u * c * s.fast_stride];         \
        if (inside && fast + 2u * c + 1u < s.fast_end) two.y = scalars[from + (2u * c + 1u) * s.fast_stride]; \
        octet[c] = packFloat2x16(two);                                                                    \
      }                                                                                                   \
      target[slow * ROW + i % (FAST / 8u)] = octet;                                                       \
    }                                                                                                     \
  }
HEED_SLICE(read_a, keep_a, carry_a, next_a, a, a16, sh_a, A_PARTS, A_OCTETS, A_FAST, A_ROW)
HEED_SLICE(read_b, keep_b, carry_b, next_b, b, b16, sh_b, B_PARTS, B_OCTETS, B_FAST, B_ROW)

coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator> sums[FM * FN];

void multiply_slices(uint wave_m, uint wave_n) {
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left[FM];
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right;
  for (uint k = 0u; k < BK; k += KS) {
    [[unroll]] for (uint i = 0u; i < FM; ++i) {
      uint m = wave_m + i * MS;
      if (A_K_FAST) coopMatLoad(left[i], sh_a, m * A_ROW + k / 8u, A_ROW, gl_CooperativeMatrixLayoutRowMajor);
      else coopMatLoad(left[i], sh_a, k * A_ROW + m / 8u, A_ROW, gl_CooperativeMatrixLayoutColumnMajor);
    }
    [[unroll]] for (uint j = 0u; j < FN; ++j) {
      uint n = wave_n + j * NS;
      if (B_K_FAST) coopMatLoad(right, sh_b, n * B_ROW + k / 8u, B_ROW, gl_CooperativeMatrixLayoutColumnMajor);
      else coopMatLoad(right, sh_b, k * B_ROW + n / 8u, B_ROW, gl_CooperativeMatrixLayoutRowMajor);
      [[unroll]] for (uint i = 0u; i < FM; ++i)
        sums[i * FN + j] = coopMatMulAdd(left[i], right, sums[i * FN + j]);
    }
  }
}

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  Tile tile = tile_at(index);
  uint wave_m = gl_SubgroupID / WAVES_N * WM;
  uint wave_n = gl_SubgroupID % WAVES_N * WN;

  [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
    sums[i] = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
  // An aligned slice comes into registers while the one before is multiplied, and waits there until all are done with
  // shared memory.
  Slice from_a = slice_of_a(tile, 0u), from_b = slice_of_b(tile, 0u);
  for (uint k0 = 0u;; k0 += BK) {
    if (from_a.aligned) read_a(from_a);  // past the end this reads nothing
    if (from_b.aligned) read_b(from_b);
    if (k0 > 0u) multiply_slices(wave_m, wave_n);
    if (k0 >= p.k) break;
    barrier();
    if (from_a.aligned) keep_a(); else carry_a(from_a);
    if (from_b.aligned) keep_b(); else carry_b(from_b);
    barrier();
    from_a = slice_of_a(tile, k0 + BK);
    from_b = slice_of_b(tile, k0 + BK);
  }

  uint mine = gl_SubgroupID * FRAGMENT;  // of sh_sums, which no other subgroup reads
  // The inner loop picks a fragment by constant indices: sums that are indexed at run time would leave the registers.
  for (uint f = 0u; f < FM * FN; ++f) {
    [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
      if (i == f) coopMatStore(sums[i], sh_sums, mine, NS, gl_CooperativeMatrixLayoutRowMajor);
    subgroup_sync();
    for (uint e = gl_SubgroupInvocationID; e < FRAGMENT; e += gl_SubgroupSize) {
      uint m = tile.m + wave_m + f / FN * MS + e / NS;
      uint n = tile.n + wave_n + f % FN * NS + e % NS;
      if (m < p.m && n < p.n) store_sum(tile, m, n, sh_sums[mine + e]);
    }
    subgroup_sync();
  }
}
