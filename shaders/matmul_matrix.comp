// Matrix product on matrix units (VK_KHR_cooperative_matrix), with epilogue; see shared/matmul.h. One workgroup makes
// one BM x BN tile of one batch, each of its subgroups WM x WN of that, in fragments of MS x NS x KS, a size that the
// device lists. Blocks of A and B go through shared memory, so that strides, offsets and edges may be any. Elements of f32
// and quantized weights go there as one or two terms of f16 (shared/matmul_terms.glsl).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#if A_BITS == 16
#define TWO_BYTES
#endif
#include "shared/matmul.glsl"
#include "shared/spread.glsl"
#include "shared/matmul_matrix.h"

const bool A_K_FAST = (FLAGS & HEED_MATMUL_A_K_FAST) != 0u;
#ifdef BLOCKS
const bool B_K_FAST = true;
#define TERMS BLOCK_TERMS
#else
const bool B_K_FAST = (FLAGS & HEED_MATMUL_B_K_FAST) != 0u;
#define TERMS (A_BITS == 32 ? 2u : 1u)
#endif
#include "shared/matmul_matrix_memory.inc"

#define SUMS sh_a
#if A_BITS == 32
float unscaled(float sum);
#define FINAL(sum) unscaled(sum)
#else
#define FINAL(sum) sum
#endif
#include "shared/matmul_fragments.glsl"

// A block comes in octets, 8 elements along its fast axis; those of one invocation lie a workgroup apart.
const uint A_OCTETS = A_SLOW * A_FAST / 8u;
const uint B_OCTETS = B_SLOW * B_FAST / 8u;
const uint A_LOADS = (A_OCTETS + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
const uint B_LOADS = (B_OCTETS + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;

// Where a block lies in memory: `slow` and `fast` count from its corner, up to the edges of the matrix.
struct Block {
  uint at, slow_stride, fast_stride, slow_end, fast_end;
  bool aligned;  // an octet is one uvec4, and either inside the matrix or outside
};

// Whether that is known of all octets, so that no load waits for a branch. Loads of f32 ask for fours (matmul_terms.glsl).
#if A_BITS == 16
const bool ALIGNED = (FLAGS & HEED_MATMUL_A_VEC4) != 0u;
#else
const bool ALIGNED = false;
#endif

Block block_of(uint at, uint slow_stride, uint fast_stride, uint slow_end, uint fast_end) {
  return Block(at, slow_stride, fast_stride, slow_end, fast_end,
               ALIGNED || (fast_stride == 1u && ((at | slow_stride | fast_end) & 7u) == 0u));
}

// k0 is a multiple of 8, so that `aligned` is the same for all blocks of a tile.
Block block_of_a(Tile tile, uint k0) {
  uint at = tile.a + tile.m * p.a_m + k0 * p.a_k, rows = p.m - tile.m, depth = p.k - k0;
  if (A_K_FAST) return block_of(at, p.a_m, p.a_k, rows, depth);
  return block_of(at, p.a_k, p.a_m, depth, rows);
}
Block block_of_b(Tile tile, uint k0) {
  uint at = tile.b + tile.n * p.b_n + k0 * B_K, columns = p.n - tile.n, depth = p.k - k0;
  if (B_K_FAST) return block_of(at, p.b_n, B_K, columns, depth);
  return block_of(at, p.b_k, p.b_n, depth, columns);
}

// The row of octet i of a block. Eight invocations store at a time: two rows of four octets.
uint row_of(uint i, uint octets) { return octets == 4u ? spread(i / octets) : i / octets; }

#if A_BITS == 32
#include "shared/matmul_terms.glsl"
#else
// Operands as they lie in memory: what follows moves 16 bits, be they f16 or bf16.
layout(set = 0, binding = 0) readonly buffer ABits { uint16_t a_bits[]; };
layout(set = 0, binding = 1) readonly buffer BBits { uint16_t b_bits[]; };

// An aligned block goes into registers by `read` and from there to shared memory by `keep`. Any other goes to shared
// memory at once by `carry`. Blocks of A and B are both 0 past the end of k, so that an infinity of one never meets the
// padding of the other. `read` clamps addresses and `keep` masks, so that no load waits for a branch or for another.
#define HEED_BLOCK(read, keep, carry, next, scalars, vectors, target, LOADS, OCTETS, FAST, ROW)           \
  uvec4 next[LOADS];                                                                                      \
  void read(Block s) {                                                                                    \
    [[unroll]] for (uint load = 0u; load < LOADS; ++load) {                                               \
      uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x;                                        \
      uint slow = min(row_of(i, FAST / 8u), s.slow_end - 1u);                                             \
      uint fast = min(i % (FAST / 8u) * 8u, s.fast_end - 8u);                                             \
      next[load] = vectors[(s.at + slow * s.slow_stride + fast) / 8u];                                    \
    }                                                                                                     \
  }                                                                                                       \
  void keep(Block s) {                                                                                    \
    [[unroll]] for (uint load = 0u; load < LOADS; ++load) {                                               \
      uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x;                                        \
      uint slow = row_of(i, FAST / 8u), fast = i % (FAST / 8u) * 8u;                                      \
      uint inside = uint(slow < s.slow_end) & uint(fast < s.fast_end);                                    \
      if (OCTETS % gl_WorkGroupSize.x == 0u || i < OCTETS) target[slow * ROW + fast / 8u] = next[load] & (0u - inside); \
    }                                                                                                     \
  }                                                                                                       \
  void carry(Block s) {                                                                                   \
    for (uint i = gl_LocalInvocationID.x; i < OCTETS; i += gl_WorkGroupSize.x) {                          \
      uint slow = row_of(i, FAST / 8u), fast = i % (FAST / 8u) * 8u;                                      \
      uint from = s.at + slow * s.slow_stride + fast * s.fast_stride;                                     \
      uvec4 octet = uvec4(0u);                                                                            \
      [[unroll]] for (uint c = 0u; c < 4u; ++c) {                                                         \
        bool inside = slow < s.slow_end;                                                                  \
        if (inside && fast + 2u * c < s.fast_end) octet[c] = uint(scalars[from + 2u * c * s.fast_stride]); \
        if (inside && fast + 2u * c + 1u < s.fast_end)                                                    \
          octet[c] |= uint(scalars[from + (2u * c + 1u) * s.fast_stride]) << 16u;                         \
      }                                                                                                   \
      target[slow * ROW + i % (FAST / 8u)] = octet;                                                       \
    }                                                                                                     \
  }
HEED_BLOCK(read_a, keep_a, carry_a, next_a, a_bits, a16, sh_a, A_LOADS, A_OCTETS, A_FAST, A_ROW)
HEED_BLOCK(read_b, keep_b, carry_b, next_b, b_bits, b16, sh_b, B_LOADS, B_OCTETS, B_FAST, B_ROW)

// compile.sh makes bf16 of the float16_t in here, the only ones, where operands are that.
void multiply_blocks(uint wave_m, uint wave_n) {
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
#endif

void read_blocks(Block from_a, Block from_b) {
#if A_BITS == 32
  read_a(from_a);
  read_b(from_b);
#else
  if (from_a.aligned) read_a(from_a);
  if (from_b.aligned) read_b(from_b);
#endif
}

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  Tile tile = tile_at(index);
  uint wave_m = gl_SubgroupID / WAVES_N * WM;
  uint wave_n = gl_SubgroupID % WAVES_N * WN;

  [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
    sums[i] = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
#if A_BITS == 32
  forget_largest(0u);
  barrier();
#endif
  // An aligned block comes into registers while the one before is multiplied, and waits there until all are done with
  // shared memory. The last is multiplied behind the loop, so that loads and products of a step have no branch between them.
  Block from_a = block_of_a(tile, 0u), from_b = block_of_b(tile, 0u);
  if (p.k > 0u) read_blocks(from_a, from_b);
  for (uint k0 = 0u; k0 < p.k;) {
#if A_BITS == 32
    uint slot = k0 / BK & 1u;
    settle_a(from_a);
    settle_b(from_b);
    note_largest(slot);
    barrier();
    if (!scale_terms(slot)) {
      multiply_plainly(tile);
      return;
    }
    keep_a(scale_of(exponents.x));
    keep_b(scale_of(exponents.y));
#else
    barrier();
    if (from_a.aligned) keep_a(from_a); else carry_a(from_a);
    if (from_b.aligned) keep_b(from_b); else carry_b(from_b);
#endif
    barrier();
    k0 += BK;
    if (k0 >= p.k) break;
    from_a = block_of_a(tile, k0);
    from_b = block_of_b(tile, k0);
    read_blocks(from_a, from_b);
    multiply_blocks(wave_m, wave_n);
  }
  if (p.k > 0u) multiply_blocks(wave_m, wave_n);
  store_fragments(tile, wave_m, wave_n);
}
