// Matrix product by single subgroups; see shared/matmul.h. For devices whose workgroups run one after the other on the
// cores of a CPU: a barrier there costs more than a tile's worth of arithmetic, and every read of a buffer is a loop
// over the lanes. So there is no shared tile and no barrier, and what a lane reads is used as often as possible: each
// lane makes TM rows of TN columns, four neighbouring columns together, and passes what it read of A to the other
// lanes.
//
// A workgroup is one subgroup of LANES invocations. TM is 1, 4 or a multiple of LANES; TN a multiple of 4.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "shared/matmul.glsl"
#include "shared/matmul_software.h"

const uint TM = BM;
const uint TN = BN / LANES;
const uint QUADS = TN / 4u;
// The lanes' sums, put here so that the epilogue can be a loop over them. No lane reads another's.
shared vec4 sh_sums[TM * QUADS * LANES];

// Elements k .. k + 3 of a row of A that starts at `at`; zeros from p.k on.
vec4 read_a(uint at, uint k) {
  if (has(HEED_MATMUL_A_VEC4)) return a4_at(at + k);
  vec4 quad = vec4(0.0);
  if (k < p.k) quad.x = a_at(at + k * p.a_k);
  if (k + 1u < p.k) quad.y = a_at(at + (k + 1u) * p.a_k);
  if (k + 2u < p.k) quad.z = a_at(at + (k + 2u) * p.a_k);
  if (k + 3u < p.k) quad.w = a_at(at + (k + 3u) * p.a_k);
  return quad;
}

#ifndef B_BLOCKS
// Rows k .. k + 3 of B in the four columns `n`, which are clamped to the last one. The vectors lie along n if
// `along_n`, else along k.
mat4 read_b(uint base, uint k, uvec4 n, bool along_n) {
  mat4 block = mat4(0.0);
  if (has(HEED_MATMUL_B_VEC4)) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i)
      block[i] = along_n ? b4_at(base + (k + i) * p.b_k + n.x) : b4_at(base + n[i] * p.b_n + k);
    return block;
  }
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    uint at = base + n[i] * p.b_n;
    if (k < p.k) block[i].x = b_at(at + k * p.b_k);
    if (k + 1u < p.k) block[i].y = b_at(at + (k + 1u) * p.b_k);
    if (k + 2u < p.k) block[i].z = b_at(at + (k + 2u) * p.b_k);
    if (k + 3u < p.k) block[i].w = b_at(at + (k + 3u) * p.b_k);
  }
  return block;
}
#endif

vec4 sums[TM * QUADS];

// Adds the products of row `i`; `x` holds four k of it.
void add_row(uint i, vec4 x, mat4 blocks[QUADS], bool along_n) {
  [[unroll]] for (uint q = 0u; q < QUADS; ++q) sums[i * QUADS + q] += along_n ? blocks[q] * x : x * blocks[q];
}

// Each lane has read a row of A; this adds the products of the rows of lanes l .. l + 3. A shuffle of 8 lanes is a
// single instruction on the CPUs concerned, of any other number a loop.
#define ADD_LANE(l)                                                                                  \
  if (l < LANES)                                                                                     \
    add_row(first + l, LANES == 8u ? subgroupShuffle(mine, l) : subgroupBroadcast(mine, l), blocks, along_n);
#define ADD_LANES(l) ADD_LANE(l) ADD_LANE(l + 1u) ADD_LANE(l + 2u) ADD_LANE(l + 3u)

// Adds the products of four k.
void add_four(Tile tile, uint lane, uint k, mat4 blocks[QUADS], bool along_n) {
  if (TM < LANES) {
    [[unroll]] for (uint i = 0u; i < TM; ++i)
      add_row(i, read_a(tile.a + min(tile.m + i, p.m - 1u) * p.a_m, k), blocks, along_n);
  } else {
    [[unroll]] for (uint first = 0u; first < TM; first += LANES) {
      vec4 mine = read_a(tile.a + min(tile.m + first + lane, p.m - 1u) * p.a_m, k);
      ADD_LANES(0u) ADD_LANES(4u) ADD_LANES(8u) ADD_LANES(12u)
    }
  }
}

#ifdef B_BLOCKS
// Four eights of each column at a time, all of one block.
void add_blocks(Tile tile, uint lane, uvec4 columns[QUADS]) {
  const uint EIGHTS = BLOCK / 8u;
  for (uint eight = 0u; eight * 8u < p.k; eight += 4u) {
    uint v = eight % EIGHTS, k0 = (eight - v) * 8u;
    uint from[QUADS * 4u];
    Words words[QUADS * 4u];
    [[unroll]] for (uint c = 0u; c < QUADS * 4u; ++c) {
      from[c] = (tile.b + columns[c / 4u][c % 4u] * p.b_n + k0) / BLOCK;
      words[c] = read_words(BLOCK_TYPE, blocks_of_b(), from[c], v, true, true);
    }
    [[unroll]] for (uint f = 0u; f < 8u; ++f) {
      mat4 blocks[QUADS];
      [[unroll]] for (uint c = 0u; c < QUADS * 4u; ++c)
        blocks[c / 4u][c % 4u] = widen_four(BLOCK_TYPE, words[c], from[c], v, f / 2u, f % 2u);
      add_four(tile, lane, k0 + place_of_eight(BLOCK_TYPE, v + f / 2u)[f % 2u], blocks, false);
    }
  }
}
#endif

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  Tile tile = tile_at(index);
  uint lane = gl_LocalInvocationID.x;
#ifdef B_BLOCKS
  const bool along_n = false;
#else
  const bool along_n = has(HEED_MATMUL_B_VEC4) && !has(HEED_MATMUL_B_K_FAST);
#endif

  // Rows and columns past the end repeat the last ones, and are not stored.
  uvec4 columns[QUADS];
  [[unroll]] for (uint q = 0u; q < QUADS; ++q) {
    uint n = tile.n + (q * LANES + lane) * 4u;
    if (along_n) n = min(n, p.n - 4u);
    columns[q] = min(uvec4(n, n + 1u, n + 2u, n + 3u), uvec4(p.n - 1u));
  }
  [[unroll]] for (uint i = 0u; i < TM * QUADS; ++i) sums[i] = vec4(0.0);

#ifdef B_BLOCKS
  add_blocks(tile, lane, columns);
#else
  for (uint k = 0u; k < p.k; k += 4u) {
    mat4 blocks[QUADS];
    [[unroll]] for (uint q = 0u; q < QUADS; ++q) blocks[q] = read_b(tile.b, k, columns[q], along_n);
    add_four(tile, lane, k, blocks, along_n);
  }
#endif

  [[unroll]] for (uint i = 0u; i < TM * QUADS; ++i) sh_sums[i * LANES + lane] = sums[i];
  uint rows = min(TM, p.m - tile.m);
  for (uint i = 0u; i < rows * QUADS; ++i) {
    uint m = tile.m + i / QUADS, n = tile.n + (i % QUADS * LANES + lane) * 4u;
    vec4 four = sh_sums[i * LANES + lane];
    [[unroll]] for (uint c = 0u; c < 4u; ++c)
      if (n + c < p.n) store_sum(tile, m, n + c, four[c]);
  }
}
