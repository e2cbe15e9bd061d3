// Matmul of few rows, as in decoding; see shared/matmul.h. Its time is that of reading B, so every element of B is read once, 16 bytes at
// once, directly into registers. One workgroup computes a tile of BM rows and BN columns, and its invocations divide k:
//
//   B lies along k (weights of linear layers): neighbours read neighbouring k of BN columns;
//   B is quantized: the same, with eight elements of a column to an invocation, or 32, which are 16 bytes of four bits;
//   B lies along n, or anyhow: BN / WIDTH neighbours read WIDTH columns each, and the next ones the next k.
//
// The sums of the invocations are added in a fixed order.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/matmul.glsl"

// The size of workgroups.
#ifdef SUBGROUPS
const uint INVOCATIONS = gl_WorkGroupSize.x;
#else
const uint INVOCATIONS = 128;
#endif
#ifdef BLOCKS
const uint WIDTH = 8;  // elements of an eight; see shared/blocks.glsl
#else
const uint WIDTH = B_WIDE ? 4u : 8u;  // elements in 16 bytes of B
#endif
const uint FOURS = WIDTH / 4u;
#ifdef BLOCKS
const bool ALONG_K = true;
#else
const bool ALONG_K = (FLAGS & HEED_MATMUL_B_K_FAST) != 0u;
#endif
const uint COLUMNS = ALONG_K ? BN : WIDTH;  // number of columns per invocation

const uint COUNT = BM * COLUMNS;
float sums[COUNT];

uint invocation() { return gl_LocalInvocationID.x; }
#include "shared/add_sums.glsl"

// Rows and columns past the end repeat the last one, and are not stored.
uint row_at(Tile t, uint i) { return t.a + min(t.m + i, p.m - 1u) * p.a_m; }
uint column_at(Tile t, uint j) { return t.b + min(t.n + j, p.n - 1u) * p.b_n; }

#ifdef BLOCKS
vec4 four_of_a(uint at, uint k, bool fours) {
  if (fours) return four_a(at + k);
  return vec4(one_a(at + k * p.a_k), one_a(at + (k + 1u) * p.a_k), one_a(at + (k + 2u) * p.a_k), one_a(at + (k + 3u) * p.a_k));
}

// Each invocation reads RUN eights (shared/blocks.glsl) of COLUMNS columns at a time. A run of four lies in one block.
void sum_blocks(Tile t) {
  const uint EIGHTS = BLOCK / 8u;
  bool fours = p.a_k == 1u && ((t.a | (p.m > 1u ? p.a_m : 0u)) & 3u) == 0u;
  for (uint eight = invocation() * RUN; eight * WIDTH < p.k; eight += INVOCATIONS * RUN) {
    uint v = eight % EIGHTS, k0 = (eight - v) * WIDTH;
    uint blocks[COLUMNS];
    Words right[COLUMNS];
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
      blocks[j] = (column_at(t, j) + k0) / BLOCK;
      right[j] = read_words(BLOCK_TYPE, blocks_of_b(), blocks[j], v, RUN == 4u, true);
    }
    [[unroll]] for (uint q = 0u; q < RUN; ++q) {
      uvec2 place = k0 + place_of_eight(BLOCK_TYPE, v + q);
      [[unroll]] for (uint part = 0u; part < 2u; ++part) {
        vec4 values[COLUMNS];
        [[unroll]] for (uint j = 0u; j < COLUMNS; ++j)
          values[j] = widen_four(BLOCK_TYPE, right[j], blocks[j], v, q, part);
        [[unroll]] for (uint i = 0u; i < BM; ++i) {
          vec4 left = four_of_a(row_at(t, i), place[part], fours);
          [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) sums[i * COLUMNS + j] += dot(left, values[j]);
        }
      }
    }
  }
}
#else
// Eight elements, of which the first FOURS groups of four are used.
struct Wide {
  vec4 fours[2];
};
Wide widen_wide(uvec4 bits, bool bfloat) {
  Wide wide;
  wide.fours[0] = widen(bits.xy, bfloat);
  wide.fours[1] = widen(bits.zw, bfloat);
  return wide;
}

// WIDTH elements of A or B from `at` on.
Wide wide_a(uint at) {
  Wide wide;
  if (A_WIDE) {
    [[unroll]] for (uint c = 0u; c < FOURS; ++c) wide.fours[c] = uintBitsToFloat(a16[at / 4u + c]);
  } else {
    wide = widen_wide(a16[at / 8u], A_IS_BFLOAT);
  }
  return wide;
}

Wide wide_b(uint at) {
  uvec4 bits = b16[at / WIDTH];
  Wide wide = widen_wide(bits, B_IS_BFLOAT);
  if (B_WIDE) wide.fours[0] = uintBitsToFloat(bits);
  return wide;
}

bool whole(uint positions) { return (positions & (WIDTH - 1u)) == 0u; }

void sum_wide_along_k(Tile t) {
  for (uint k = invocation() * WIDTH; k < p.k; k += INVOCATIONS * WIDTH) {
    Wide right[COLUMNS];
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) right[j] = wide_b(column_at(t, j) + k);
    [[unroll]] for (uint i = 0u; i < BM; ++i) {
      Wide left = wide_a(row_at(t, i) + k);
      [[unroll]] for (uint j = 0u; j < COLUMNS; ++j)
        [[unroll]] for (uint c = 0u; c < FOURS; ++c)
          sums[i * COLUMNS + j] += dot(left.fours[c], right[j].fours[c]);
    }
  }
}

void sum_elements_along_k(Tile t) {
  for (uint k = invocation(); k < p.k; k += INVOCATIONS) {
    float right[COLUMNS];
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) right[j] = one_b(column_at(t, j) + k * p.b_k);
    [[unroll]] for (uint i = 0u; i < BM; ++i) {
      float left = one_a(row_at(t, i) + k * p.a_k);
      [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) sums[i * COLUMNS + j] += left * right[j];
    }
  }
}
#endif

void store_at(Tile t, uint i, uint j, float sum) {
  if (t.m + i < p.m && t.n + j < p.n) store_sum(t, t.m + i, t.n + j, sum);
}

void add_along_k(Tile t) {
  add_sums();
  uint v = invocation();
  if (COUNT > INVOCATIONS) {
    for (; v < COUNT; v += INVOCATIONS) store_at(t, v / COLUMNS, v % COLUMNS, total(v));
  } else if (v < COUNT) {
    store_at(t, v / COLUMNS, v % COLUMNS, total(v));
  }
}

#ifndef BLOCKS
const uint LANES = BN / WIDTH;  // along n
const uint STEPS = INVOCATIONS / LANES;
const uint AT_ONCE = 4;  // reads in flight

// WIDTH columns from n on, of row k of B.
Wide read_columns(Tile t, uint k, uint n, bool is_wide) {
  uint at = t.b + k * p.b_k;
  if (is_wide) return wide_b(at + min(n, p.n - WIDTH));
  Wide wide;
  [[unroll]] for (uint c = 0u; c < WIDTH; ++c) wide.fours[c / 4u][c % 4u] = one_b(at + min(n + c, p.n - 1u) * p.b_n);
  return wide;
}

void sum_along_n(Tile t) {
  uint n = t.n + invocation() % LANES * WIDTH;
  bool is_wide = p.b_n == 1u && whole(t.b | p.n | (p.k > 1u ? p.b_k : 0u));
  for (uint k0 = invocation() / LANES; k0 < p.k; k0 += STEPS * AT_ONCE) {
    Wide right[AT_ONCE];
    [[unroll]] for (uint s = 0u; s < AT_ONCE; ++s) right[s] = read_columns(t, min(k0 + s * STEPS, p.k - 1u), n, is_wide);
    [[unroll]] for (uint s = 0u; s < AT_ONCE; ++s) {
      uint k = k0 + s * STEPS;
      if (k >= p.k) break;
      [[unroll]] for (uint i = 0u; i < BM; ++i) {
        float left = one_a(row_at(t, i) + k * p.a_k);
        [[unroll]] for (uint c = 0u; c < WIDTH; ++c) sums[i * COLUMNS + c] += left * right[s].fours[c / 4u][c % 4u];
      }
    }
  }
}

void add_along_n(Tile t) {
  uint tid = invocation();
  [[unroll]] for (uint i = 0u; i < BM; ++i) {
    [[unroll]] for (uint c = 0u; c < WIDTH; ++c)
      sh_sums[tid / LANES * BN + tid % LANES * WIDTH + c] = sums[i * COLUMNS + c];
    barrier();
    if (tid < BN) {
      float sum = sh_sums[tid];
      for (uint s = 1u; s < STEPS; ++s) sum += sh_sums[s * BN + tid];
      store_at(t, i, tid, sum);
    }
    barrier();
  }
}
#endif

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  Tile tile = tile_at(index);
  [[unroll]] for (uint v = 0u; v < COUNT; ++v) sums[v] = 0.0;
#ifdef BLOCKS
  sum_blocks(tile);
  add_along_k(tile);
#else
  if (ALONG_K) {
    uint positions = tile.a | tile.b | p.k | (p.m > 1u ? p.a_m : 0u) | (p.n > 1u ? p.b_n : 0u);
    if (p.a_k == 1u && p.b_k == 1u && whole(positions)) sum_wide_along_k(tile);
    else sum_elements_along_k(tile);
    add_along_k(tile);
  } else {
    sum_along_n(tile);
    add_along_n(tile);
  }
#endif
}
