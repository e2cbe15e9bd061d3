// Matmul on matrix units (VK_KHR_cooperative_matrix), with epilogue; see shared/matmul.h. One workgroup computes one BM x BN tile of one
// batch, each of its subgroups WM x WN of that, in fragments of MS x NS x KS, a size that the device supports. Blocks of A and B pass
// through shared memory, so any strides, offsets and edges are possible. f32 elements and quantized weights are stored there as one or two
// f16 summands (shared/matmul_terms.glsl).
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
vec4 four_unscaled(vec4 sums) { return vec4(unscaled(sums.x), unscaled(sums.y), unscaled(sums.z), unscaled(sums.w)); }
#define FOUR_SUMS(from) four_unscaled(uintBitsToFloat(sh_a[from]))
#else
#define FINAL(sum) sum
#define FOUR_SUMS(from) uintBitsToFloat(sh_a[from])
#endif
#include "shared/matmul_fragments.glsl"

// A block is loaded in octets, 8 elements along its contiguous axis; those of one invocation are a workgroup apart.
const uint A_OCTETS = A_SLOW * A_FAST / 8u;
const uint B_OCTETS = B_SLOW * B_FAST / 8u;
const uint A_LOADS = (A_OCTETS + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;
const uint B_LOADS = (B_OCTETS + gl_WorkGroupSize.x - 1u) / gl_WorkGroupSize.x;

// The location of a block in memory: `slow` and `fast` are numbers of rows and elements from its corner to the edges of the matrix.
struct Block {
  uint at, slow_stride, fast_stride, slow_end, fast_end;
  bool aligned;  // an octet is one uvec4, and either completely inside or outside the matrix
};

// Whether alignment is known for all octets, so that no load depends on a branch. Loads of f32 need groups of four (matmul_terms.glsl).
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

// The row of octet i of a block. Eight invocations store simultaneously: two rows of four octets.
uint row_of(uint i, uint octets) { return octets == 4u ? spread(i / octets) : i / octets; }

#if A_BITS == 32
#include "shared/matmul_terms.glsl"
#else
// Operands as stored: the code below moves 16 bits, f16 or bf16.
layout(set = 0, binding = 0) readonly buffer ABits { uint16_t a_bits[]; };
layout(set = 0, binding = 1) readonly buffer BBits { uint16_t b_bits[]; };

// `carry` copies a block to shared memory octet by octet, from clamped addresses: no load depends on a branch. Blocks of A and B are both 0
// past the end of k, so that an infinity in one is never multiplied by padding of the other.
#define HEED_CARRY(carry, scalars, vectors, target, OCTETS, FAST, ROW)                                   \
  void carry(Block s) {                                                                                  \
    for (uint i = gl_LocalInvocationID.x; i < OCTETS; i += gl_WorkGroupSize.x) {                         \
      uint slow = row_of(i, FAST / 8u), fast = i % (FAST / 8u) * 8u;                                     \
      uint from = s.at + min(slow, s.slow_end - 1u) * s.slow_stride;                                     \
      uvec4 octet = uvec4(0u);                                                                           \
      if (s.aligned) {                                                                                   \
        octet = vectors[(from + min(fast, s.fast_end - 8u)) / 8u] & (0u - uint(fast < s.fast_end));      \
      } else {                                                                                           \
        [[unroll]] for (uint c = 0u; c < 8u; ++c) {                                                      \
          uint element = uint(scalars[from + min(fast + c, s.fast_end - 1u) * s.fast_stride]);           \
          octet[c / 2u] |= (fast + c < s.fast_end ? element : 0u) << (c % 2u * 16u);                     \
        }                                                                                                \
      }                                                                                                  \
      target[slow * ROW + i % (FAST / 8u)] = octet & (0u - uint(slow < s.slow_end));                     \
    }                                                                                                    \
  }
HEED_CARRY(carry_a, a_bits, a16, sh_a, A_OCTETS, A_FAST, A_ROW)
HEED_CARRY(carry_b, b_bits, b16, sh_b, B_OCTETS, B_FAST, B_ROW)

// For an invocation's octet `load`: its row, which has this many octets, and its first element in the row. The rows are a constant apart if
// a workgroup has whole groups of eight rows at a time, which row_of permutes.
uint row_at(uint load, uint octets) {
  if (gl_WorkGroupSize.x % (8u * octets) == 0u)
    return row_of(gl_LocalInvocationID.x, octets) + load * (gl_WorkGroupSize.x / octets);
  return row_of(gl_LocalInvocationID.x + load * gl_WorkGroupSize.x, octets);
}
uint column_at(uint load, uint octets) {
  uint first = gl_WorkGroupSize.x % octets == 0u ? 0u : load * gl_WorkGroupSize.x;
  return (gl_LocalInvocationID.x + first) % octets * 8u;
}
// If all octets are aligned, those of an invocation have fixed offsets, which advance by a step of k from block to block. `begin` computes
// them for the first block, `ask` loads those of a block into registers, and `fill` stores them in shared memory. For rows and columns past
// the edge of a matrix another address is read, since their results are not stored. Elements past the end of k become zeros, only in the
// block that may reach there: for that block use ask_part and fill_part.
#define HEED_STREAM(begin, ask, fill, depth, next, places, vectors, target, K_FAST, K_STRIDE, LOADS, OCTETS, SLOW, FAST, ROW, VECTORS) \
  uvec4 next[LOADS];                                                                                                  \
  uint places[LOADS];                                                                                                  \
  uint depth(uint load) { return K_FAST ? column_at(load, FAST / 8u) : min(row_at(load, FAST / 8u), SLOW - 1u); }      \
  uint ask##_at(Block s, uint load, uint k) {                                                                          \
    uint slow = K_FAST ? min(row_at(load, FAST / 8u), s.slow_end - 1u) : k;                                            \
    uint fast = K_FAST ? k : min(column_at(load, FAST / 8u), s.fast_end - 8u);                                         \
    return (s.at + slow * s.slow_stride + fast) / 8u;                                                                  \
  }                                                                                                                    \
  void begin(Block s) {                                                                                                \
    [[unroll]] for (uint load = 0u; load < LOADS; ++load) places[load] = ask##_at(s, load, depth(load));               \
  }                                                                                                                    \
  void ask(uint k0) {                                                                                                  \
    uint step = k0 * K_STRIDE / 8u;                                                                                    \
    [[unroll]] for (uint load = 0u; load < LOADS; ++load) next[load] = vectors[places[load] + step];                   \
  }                                                                                                                    \
  void ask##_part(Block s, uint k0) {                                                                                  \
    uint most = p.k - (K_FAST ? 8u : 1u);                                                                              \
    [[unroll]] for (uint load = 0u; load < LOADS; ++load)                                                              \
      next[load] = vectors[ask##_at(s, load, min(k0 + depth(load), most))];                                            \
  }                                                                                                                    \
  void fill(uint into) {                                                                                               \
    [[unroll]] for (uint load = 0u; load < LOADS; ++load) {                                                            \
      uint i = gl_LocalInvocationID.x + load * gl_WorkGroupSize.x;                                                     \
      uint place = into * VECTORS + row_at(load, FAST / 8u) * ROW + column_at(load, FAST / 8u) / 8u;                   \
      if (OCTETS % gl_WorkGroupSize.x == 0u || i < OCTETS) target[place] = next[load];                                 \
    }                                                                                                                  \
  }                                                                                                                    \
  void fill##_part(uint left) {                                                                                        \
    [[unroll]] for (uint load = 0u; load < LOADS; ++load) next[load] &= 0u - uint(depth(load) < left);                 \
    fill(0u);                                                                                                          \
  }
HEED_STREAM(begin_a, ask_a, fill_a, depth_in_a, next_a, places_a, a16, sh_a, A_K_FAST, (A_K_FAST ? 1u : p.a_k), A_LOADS, A_OCTETS,
            A_SLOW, A_FAST, A_ROW, A_VECTORS)
HEED_STREAM(begin_b, ask_b, fill_b, depth_in_b, next_b, places_b, b16, sh_b, B_K_FAST, (B_K_FAST ? 1u : p.b_k), B_LOADS, B_OCTETS,
            B_SLOW, B_FAST, B_ROW, B_VECTORS)

// compile.sh turns the float16_t in this function, the only ones in the module, into bf16 if operands are bf16.
void multiply_blocks(uint wave_m, uint wave_n, uint stage) {
  coopmat<float16_t, gl_ScopeSubgroup, MS, KS, gl_MatrixUseA> left;
  coopmat<float16_t, gl_ScopeSubgroup, KS, NS, gl_MatrixUseB> right[FN];
  uint a_at = stage * A_VECTORS + (A_K_FAST ? wave_m * A_ROW : wave_m / 8u);
  uint b_at = stage * B_VECTORS + (B_K_FAST ? wave_n * B_ROW : wave_n / 8u);
  [[unroll]] for (uint k = 0u; k < BK; k += KS) {
    [[unroll]] for (uint j = 0u; j < FN; ++j) {
      if (B_K_FAST) coopMatLoad(right[j], sh_b, b_at + j * NS * B_ROW + k / 8u, B_ROW, gl_CooperativeMatrixLayoutColumnMajor);
      else coopMatLoad(right[j], sh_b, b_at + k * B_ROW + j * NS / 8u, B_ROW, gl_CooperativeMatrixLayoutRowMajor);
    }
    [[unroll]] for (uint i = 0u; i < FM; ++i) {
      if (A_K_FAST) coopMatLoad(left, sh_a, a_at + i * MS * A_ROW + k / 8u, A_ROW, gl_CooperativeMatrixLayoutRowMajor);
      else coopMatLoad(left, sh_a, a_at + k * A_ROW + i * MS / 8u, A_ROW, gl_CooperativeMatrixLayoutColumnMajor);
      [[unroll]] for (uint j = 0u; j < FN; ++j)
        sums[i * FN + j] = coopMatMulAdd(left, right[j], sums[i * FN + j]);
    }
  }
}

// The last block, which may be partial, is multiplied first, before the loop: the loop has only whole blocks, and its sums come directly
// from matrix units, so that NVK keeps them in registers. Its last iteration reads a block again, so that no branch separates loads from
// multiplications. With two buffers a block is stored where no invocation is still reading.
void multiply_aligned(Tile tile, uint wave_m, uint wave_n) {
  if (p.k == 0u) return;
  Block from_a = block_of_a(tile, 0u), from_b = block_of_b(tile, 0u);
  uint last = (p.k - 1u) / BK * BK, stage = 0u;
  begin_a(from_a);
  begin_b(from_b);
  ask_a_part(from_a, last);
  ask_b_part(from_b, last);
  fill_a_part(p.k - last);
  fill_b_part(p.k - last);
  barrier();
  if (last > 0u) {
    ask_a(0u);
    ask_b(0u);
  }
  multiply_blocks(wave_m, wave_n, 0u);
  for (uint k0 = 0u; k0 < last; k0 += BK) {
    if (BUFFERS == 1u) barrier();
    stage = BUFFERS - 1u - stage;
    fill_a(stage);
    fill_b(stage);
    barrier();
    uint next = min(k0 + BK, last - BK);
    ask_a(next);
    ask_b(next);
    multiply_blocks(wave_m, wave_n, stage);
  }
}

void multiply_tile(Tile tile, uint wave_m, uint wave_n) {
  if (ALIGNED) {
    multiply_aligned(tile, wave_m, wave_n);
    return;
  }
  for (uint k0 = 0u; k0 < p.k; k0 += BK) {
    barrier();
    carry_a(block_of_a(tile, k0));
    carry_b(block_of_b(tile, k0));
    barrier();
    multiply_blocks(wave_m, wave_n, 0u);
  }
}
#endif

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  Tile tile = tile_at(index);
  uint wave_m = gl_SubgroupID / WAVES_N * WM;
  uint wave_n = gl_SubgroupID % WAVES_N * WN;

  [[unroll]] for (uint i = 0u; i < FM * FN; ++i)
    sums[i] = coopmat<float, gl_ScopeSubgroup, MS, NS, gl_MatrixUseAccumulator>(0.0);
#if A_BITS == 16
  multiply_tile(tile, wave_m, wave_n);
#else
  if (!multiply_terms(tile, wave_m, wave_n)) {
    multiply_plainly(tile);
    return;
  }
#endif
  store_fragments(tile, wave_m, wave_n);
}
