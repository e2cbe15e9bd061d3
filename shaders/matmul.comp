// Tiled matmul with epilogue; see shared/matmul.h. One workgroup computes one BM x BN tile of one batch: blocks of BK k of A and B pass
// through shared memory, and each invocation sums TM x TN elements in registers.
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
const bool B_TURNED = B_FOURS && !B_K_FAST;  // read in pairs along n, stored in groups of four along k
#endif

// A block is read in loads of four elements along k, or, if B_TURNED, of four k of two neighbouring columns in four reads. The loads of an
// invocation are INVOCATIONS apart.
const uint INVOCATIONS = BM / TM * (BN / TN);
const uint B_COLUMNS = B_TURNED ? 2u : 1u;
const uint B_READS = B_TURNED ? 4u : 1u;  // reads of one load
const uint A_LOADS = (BM * QUADS + INVOCATIONS - 1u) / INVOCATIONS;
const uint B_LOADS = (BN / B_COLUMNS * QUADS + INVOCATIONS - 1u) / INVOCATIONS;

// Operands stay in their storage format, four or two elements per load, until they are stored in shared memory: converting them at once
// would wait for the reads.
uvec4 padded(uint bits) { return uvec4(bits, 0u, 0u, 0u); }
uvec4 padded(uvec2 bits) { return uvec4(bits, 0u, 0u); }

// Elements that were read one by one are already converted.
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

// No load is inside a branch, where a compiler would wait for each: addresses are clamped, and elements outside the operands become 0 when
// they are stored. Blocks of A and B are both 0 past the end of k, so that an infinity in one is never multiplied by padding of the other.
vec4 masked(vec4 x, bool in_row, uint k) {
  uvec4 inside = uvec4(lessThan(uvec4(k, k + 1u, k + 2u, k + 3u), uvec4(p.k))) & (0u - uint(in_row));
  return uintBitsToFloat(floatBitsToUint(x) & (0u - inside));
}

// The position of a load in its block: row of A or column of B, and k / 4. Neighbouring invocations read neighbouring memory: along k if
// that is contiguous, else across rows. The loads of an invocation are whole rows, or whole groups of four k, apart, since INVOCATIONS is a
// multiple of both.
struct Place {
  uint row, quad;
};
Place first_place(uint across, bool k_fast) {
  uint i = gl_LocalInvocationID.x, row = i / QUADS;
  // Eight invocations store simultaneously: two rows of four groups.
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
// The last load exists only for some invocations.
bool has_load_of_a(uint load) {
  return BM * QUADS % INVOCATIONS == 0u || gl_LocalInvocationID.x + load * INVOCATIONS < BM * QUADS;
}
bool has_load_of_b(uint load) {
  const uint count = BN / B_COLUMNS * QUADS;
  return count % INVOCATIONS == 0u || gl_LocalInvocationID.x + load * INVOCATIONS < count;
}

uvec4 read_a(Tile tile, uint load, uint k0) {
  Place place = place_of_a(load);
  uint row = tile.a + min(tile.m + place.row, p.m - 1u) * p.a_m, k = k0 + 4u * place.quad, last = p.k - 1u;
  uint at = (row + min(k, last & ~3u) * p.a_k) / 4u;
  if (A_FOURS && A_WIDE) return a16[at];
  if (A_FOURS) return padded(a_pairs[at]);
  return floatBitsToUint(vec4(one_a(row + min(k, last) * p.a_k), one_a(row + min(k + 1u, last) * p.a_k),
                              one_a(row + min(k + 2u, last) * p.a_k), one_a(row + min(k + 3u, last) * p.a_k)));
}

#ifdef BLOCKS
// The position of a load in the quantized weight: a block, and the load's first element in it.
uvec2 block_of_load(Tile tile, Place place, uint k0) {
  uint at = tile.b + min(tile.n + place.row, p.n - 1u) * p.b_n + min(k0 + 4u * place.quad, p.k - 4u);
  return uvec2(at / BLOCK, at % BLOCK);
}
Words read_b(Tile tile, uint load, uint k0) {
  uvec2 from = block_of_load(tile, place_of_b(load), k0);
  return read_four(BLOCK_TYPE, blocks_of_b(), from.x, from.y);
}
#else
// `read` is the index of the read within the load.
uvec4 read_b(Tile tile, uint load, uint read, uint k0) {
  Place place = place_of_b(load);
  uint k = k0 + 4u * place.quad + read, last = p.k - 1u, n = tile.n + place.row;
  if (B_TURNED) {  // pairs of columns
    uint at = (tile.b + min(n, p.n - 2u) * p.b_n + min(k, last) * p.b_k) / 2u;
    if (B_WIDE) return padded(b_pairs[at]);
    return padded(b_words[at]);
  }
  uint column = tile.b + min(n, p.n - 1u) * p.b_n;
  uint at = (column + min(k, last & ~3u) * p.b_k) / 4u;
  if (B_FOURS && B_WIDE) return b16[at];
  if (B_FOURS) return padded(b_pairs[at]);
  return floatBitsToUint(vec4(one_b(column + min(k, last) * p.b_k), one_b(column + min(k + 1u, last) * p.b_k),
                              one_b(column + min(k + 2u, last) * p.b_k), one_b(column + min(k + 3u, last) * p.b_k)));
}
#endif

// This invocation's loads of the next block.
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

// Stores the loads of read_blocks at k0.
void store_blocks(Tile tile, uint k0) {
  [[unroll]] for (uint i = 0u; i < A_LOADS; ++i) {
    Place to = place_of_a(i);
    if (has_load_of_a(i))
      sh_a[to.row * ROW + to.quad] = FLUSH_FOR_PRODUCT(masked(widen_a(next_a[i]), tile.m + to.row < p.m, k0 + 4u * to.quad));
  }
  [[unroll]] for (uint i = 0u; i < B_LOADS; ++i) {
    Place to = place_of_b(i);
    if (!has_load_of_b(i)) continue;
    bool in_row = tile.n + to.row < p.n;
    uint k = k0 + 4u * to.quad;
#ifdef BLOCKS
    uvec2 from = block_of_load(tile, to, k0);
    vec4 quad = widen_read_four(BLOCK_TYPE, next_b[i], from.x, from.y);
    sh_b[to.row * ROW + to.quad] = FLUSH_FOR_PRODUCT(masked(quad, in_row, k));
#else
    if (!B_TURNED) {
      sh_b[to.row * ROW + to.quad] = FLUSH_FOR_PRODUCT(masked(widen_b(next_b[i]), in_row, k));
      continue;
    }
    mat4x2 pairs;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) pairs[j] = widen_pair_of_b(next_b[i * B_READS + j]);
    mat2x4 columns = transpose(pairs);
    [[unroll]] for (uint j = 0u; j < 2u; ++j) sh_b[(to.row + j) * ROW + to.quad] = FLUSH_FOR_PRODUCT(masked(columns[j], in_row, k));
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
        // Sums run in the order of k, for any tile.
        [[unroll]] for (uint c = 0u; c < 4u; ++c) {
          float product = product_of(a_quad[c], b_quads[j][c]);
          if (has(HEED_MATMUL_SKIPS_ZEROS) && a_quad[c] == 0.0) product = 0.0;
          sums[i * TN + j] = sum_of(product, sums[i * TN + j]);
        }
#else
        [[unroll]] for (uint c = 0u; c < 4u; ++c) sums[i * TN + j] = fma(a_quad[c], b_quads[j][c], sums[i * TN + j]);
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

  // Each block is loaded into registers while the one before is multiplied, and is stored after all have finished with shared memory, since
  // the smallest devices have room for only one block. The last block is read twice, so that there is no branch between loads and
  // multiplications.
  if (p.k > 0u) read_blocks(tile, 0u);
  for (uint k0 = 0u; k0 < p.k; k0 += BK) {
    barrier();
    store_blocks(tile, k0);
    barrier();
    read_blocks(tile, k0 + BK < p.k ? k0 + BK : k0);
    multiply_blocks(row, column);
  }
  store_sums(tile, row, column);
}
