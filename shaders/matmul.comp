// Tiled matrix product with epilogue; see shared/matmul.h. One workgroup makes one BM x BN tile of one batch: blocks of
// BK k of A and B go through shared memory, and each invocation sums TM x TN elements in registers.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/matmul.glsl"
#include "shared/spread.glsl"
#include "shared/matmul_tiles.h"
#include "shared/matmul_tiles_memory.inc"

const bool A_FOURS = (FLAGS & HEED_MATMUL_A_VEC4) != 0u;
const bool B_FOURS = (FLAGS & HEED_MATMUL_B_VEC4) != 0u;
const bool A_K_FAST = (FLAGS & HEED_MATMUL_A_K_FAST) != 0u;
#ifdef BLOCKS
const bool B_K_FAST = true;
const bool B_TURNED = false;
#else
const bool B_K_FAST = (FLAGS & HEED_MATMUL_B_K_FAST) != 0u;
const bool B_TURNED = B_FOURS && !B_K_FAST;  // read in pairs along n, stored in fours along k
#endif

// A block comes in loads of four elements along k, or, if B_TURNED, of four k of two neighbouring columns in four
// reads. The loads of an invocation lie INVOCATIONS apart.
const uint INVOCATIONS = BM / TM * (BN / TN);
const uint B_COLUMNS = B_TURNED ? 2u : 1u;
const uint B_READS = B_TURNED ? 4u : 1u;  // reads of one load
const uint A_LOADS = (BM * QUADS + INVOCATIONS - 1u) / INVOCATIONS;
const uint B_LOADS = (BN / B_COLUMNS * QUADS + INVOCATIONS - 1u) / INVOCATIONS;

// Operands are kept as they lie in memory, four elements or two at a time, until they are stored: widening them at once
// would wait for the reads.
uvec4 padded(uint bits) { return uvec4(bits, 0u, 0u, 0u); }
uvec4 padded(uvec2 bits) { return uvec4(bits, 0u, 0u); }

// Elements that were read one by one are widened already.
vec4 widen_a(uvec4 bits) {
  vec4 wide = uintBitsToFloat(bits), narrow = widen(bits.xy, A_IS_BFLOAT);
  return A_WIDE || !A_FOURS ? wide : narrow;
}
#ifndef BLOCKS
vec2 widen_pair_of_b(uvec4 bits) {
  vec2 wide = uintBitsToFloat(bits.xy), narrow = widen(bits.x, B_IS_BFLOAT);
  return B_WIDE ? wide : narrow;
}
vec4 widen_b(uvec4 bits) {
  vec4 wide = uintBitsToFloat(bits), narrow = widen(bits.xy, B_IS_BFLOAT);
  return B_WIDE || !B_FOURS ? wide : narrow;
}
#endif

// Where a load lies in its block: row of A or column of B, and k / 4. Neighbouring invocations take neighbouring
// memory: along k where that is contiguous, else across rows. The loads of an invocation lie whole rows, or whole fours
// of k, apart, since INVOCATIONS is a multiple of both.
struct Place {
  uint row, quad;
};
Place first_place(uint across, bool k_fast) {
  uint i = gl_LocalInvocationID.x, row = i / QUADS;
  // Eight invocations store at a time: two rows of four quads.
  if (k_fast) return Place(QUADS == 4u ? spread(row) : row, i % QUADS);
  return Place(i % across, i / across);
}
Place first_a = first_place(BM, A_K_FAST);
Place first_b = first_place(BN / B_COLUMNS, B_K_FAST);

Place place_of_a(uint load) {
  if (A_K_FAST) return Place(first_a.row + load * (INVOCATIONS / QUADS), first_a.quad);
  return Place(first_a.row, first_a.quad + load * (INVOCATIONS / BM));
}
Place place_of_b(uint load) {
  if (B_K_FAST) return Place(first_b.row + load * (INVOCATIONS / QUADS), first_b.quad);
  return Place(first_b.row * B_COLUMNS, first_b.quad + load * (INVOCATIONS / (BN / B_COLUMNS)));
}
// Only some invocations may have a last load.
bool has_load_of_a(uint load) {
  return BM * QUADS % INVOCATIONS == 0u || gl_LocalInvocationID.x + load * INVOCATIONS < BM * QUADS;
}
bool has_load_of_b(uint load) {
  const uint count = BN / B_COLUMNS * QUADS;
  return count % INVOCATIONS == 0u || gl_LocalInvocationID.x + load * INVOCATIONS < count;
}

// Blocks of A and B are both 0 past the end of k, so that an infinity of one never meets the padding of the other.
uvec4 read_a(Tile tile, uint load, uint k0) {
  Place place = place_of_a(load);
  uint m = tile.m + place.row, k = k0 + 4u * place.quad;
  uint at = tile.a + m * p.a_m + k * p.a_k;
  if (!has_load_of_a(load) || m >= p.m || k >= p.k) return uvec4(0u);
  if (A_FOURS && A_WIDE) return a16[at / 4u];
  if (A_FOURS) return padded(a_pairs[at / 4u]);
  vec4 quad = vec4(one_a(at), 0.0, 0.0, 0.0);
  if (k + 1u < p.k) quad.y = one_a(at + p.a_k);
  if (k + 2u < p.k) quad.z = one_a(at + 2u * p.a_k);
  if (k + 3u < p.k) quad.w = one_a(at + 3u * p.a_k);
  return floatBitsToUint(quad);
}

#ifdef BLOCKS
// Where a load lies in the quantized weight: a block, and the first of the load's elements in it.
uvec2 block_of_load(Tile tile, Place place, uint k0) {
  uint at = tile.b + (tile.n + place.row) * p.b_n + k0 + 4u * place.quad;
  return uvec2(at / BLOCK, at % BLOCK);
}
Words read_b(Tile tile, uint load, uint k0) {
  Place place = place_of_b(load);
  if (!has_load_of_b(load) || tile.n + place.row >= p.n || k0 + 4u * place.quad >= p.k)
    return Words(uvec4(0u), uvec4(0u), uvec4(0u), 0u);
  uvec2 from = block_of_load(tile, place, k0);
  return read_four(BLOCK_TYPE, blocks_of_b(), from.x, from.y);
}
#else
// `read` is the number of the read within the load.
uvec4 read_b(Tile tile, uint load, uint read, uint k0) {
  Place place = place_of_b(load);
  uint n = tile.n + place.row, k = k0 + 4u * place.quad + read;
  uint at = tile.b + n * p.b_n + k * p.b_k;
  if (!has_load_of_b(load) || n >= p.n || k >= p.k) return uvec4(0u);
  if (B_TURNED && B_WIDE) return padded(b_pairs[at / 2u]);
  if (B_TURNED) return padded(b_words[at / 2u]);
  if (B_FOURS && B_WIDE) return b16[at / 4u];
  if (B_FOURS) return padded(b_pairs[at / 4u]);
  vec4 quad = vec4(one_b(at), 0.0, 0.0, 0.0);
  if (k + 1u < p.k) quad.y = one_b(at + p.b_k);
  if (k + 2u < p.k) quad.z = one_b(at + 2u * p.b_k);
  if (k + 3u < p.k) quad.w = one_b(at + 3u * p.b_k);
  return floatBitsToUint(quad);
}
#endif

// The loads of the next block by this invocation.
uvec4 next_a[A_LOADS];
#ifdef BLOCKS
Words next_b[B_LOADS];
#else
uvec4 next_b[B_LOADS * B_READS];
#endif

void read_blocks(Tile tile, uint k0) {
  [[unroll]] for (uint i = 0u; i < A_LOADS; ++i) next_a[i] = read_a(tile, i, k0);
#ifdef BLOCKS
  [[unroll]] for (uint i = 0u; i < B_LOADS; ++i) next_b[i] = read_b(tile, i, k0);
#else
  [[unroll]] for (uint i = 0u; i < B_LOADS * B_READS; ++i) next_b[i] = read_b(tile, i / B_READS, i % B_READS, k0);
#endif
}

// Stores what read_blocks has read at k0.
void store_blocks(Tile tile, uint k0) {
  [[unroll]] for (uint i = 0u; i < A_LOADS; ++i) {
    Place to = place_of_a(i);
    if (has_load_of_a(i)) sh_a[to.row * ROW + to.quad] = COARSE(widen_a(next_a[i]));
  }
  [[unroll]] for (uint i = 0u; i < B_LOADS; ++i) {
    Place to = place_of_b(i);
    if (!has_load_of_b(i)) continue;
#ifdef BLOCKS
    uvec2 from = block_of_load(tile, to, k0);
    sh_b[to.row * ROW + to.quad] = COARSE(widen_read_four(BLOCK_TYPE, next_b[i], from.x, from.y));
#else
    if (!B_TURNED) {
      sh_b[to.row * ROW + to.quad] = COARSE(widen_b(next_b[i]));
      continue;
    }
    mat4x2 pairs;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) pairs[j] = widen_pair_of_b(next_b[i * B_READS + j]);
    mat2x4 columns = transpose(pairs);
    [[unroll]] for (uint j = 0u; j < 2u; ++j) sh_b[(to.row + j) * ROW + to.quad] = COARSE(columns[j]);
#endif
  }
}

#include "shared/matmul_sums.glsl"

void multiply_blocks(uint row, uint column) {
  for (uint quad = 0u; quad < QUADS; ++quad) {
    vec4 b_quads[TN];
    [[unroll]] for (uint j = 0u; j < TN; ++j) b_quads[j] = sh_b[(column + j * COLUMNS_APART) * ROW + quad];
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
      vec4 a_quad = sh_a[(row + i * ROWS_APART) * ROW + quad];
      [[unroll]] for (uint j = 0u; j < TN; ++j)
#ifdef CANON
        // Sums run in the order of k, whatever the tile.
        [[unroll]] for (uint c = 0u; c < 4u; ++c) {
          float product = product_of(a_quad[c], b_quads[j][c]);
          if (has(HEED_MATMUL_SKIPS_ZEROS) && a_quad[c] == 0.0) product = 0.0;
          sums[i * TN + j] = sum_of(product, sums[i * TN + j]);
        }
#else
        sums[i * TN + j] += dot(a_quad, b_quads[j]);
#endif
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

  // Each block comes into registers while the one before is multiplied, and waits there until all are done with shared
  // memory, since the smallest devices have room for one block only.
  for (uint k0 = 0u;; k0 += BK) {
    read_blocks(tile, k0);  // past the end this reads nothing
    if (k0 > 0u) multiply_blocks(row, column);
    if (k0 >= p.k) break;
    barrier();
    store_blocks(tile, k0);
    barrier();
  }
  store_sums(tile, row, column);
}
