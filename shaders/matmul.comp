// Tiled matrix product with epilogue; see shared/matmul.h. One workgroup makes one BM x BN tile of one batch:
// BK-deep slices of A and B go through shared memory, each invocation sums TM x TN elements in registers.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "shared/matmul.glsl"

layout(constant_id = 9) const uint BK = 16;
layout(constant_id = 10) const uint TM = 8;
layout(constant_id = 11) const uint TN = 4;

// Slices are stored row by row of A and column by column of B, four k to a vector, so that one read of shared memory
// feeds four multiply-adds. A vector of padding per row keeps neighbouring rows in different banks.
const uint QUADS = BK / 4u;
const uint ROW = QUADS + 1u;
shared vec4 sh_a[BM * ROW];
shared vec4 sh_b[BN * ROW];

const bool A_FOURS = (FLAGS & HEED_MATMUL_A_VEC4) != 0u;
const bool B_FOURS = (FLAGS & HEED_MATMUL_B_VEC4) != 0u;
const bool A_K_FAST = (FLAGS & HEED_MATMUL_A_K_FAST) != 0u;
const bool B_K_FAST = (FLAGS & HEED_MATMUL_B_K_FAST) != 0u;
const bool B_TURNED = B_FOURS && !B_K_FAST;  // read in pairs along n, stored in fours along k

// Invocations bring a slice in parts, which are four elements along k, or of two columns of B along n, four k of each.
// Those of one invocation lie INVOCATIONS apart.
const uint INVOCATIONS = BM / TM * (BN / TN);
const uint B_COLUMNS = B_TURNED ? 2u : 1u;
const uint B_STEPS = B_TURNED ? 4u : 1u;  // reads of one part
const uint A_PARTS = (BM * QUADS + INVOCATIONS - 1u) / INVOCATIONS;
const uint B_PARTS = (BN / B_COLUMNS * QUADS + INVOCATIONS - 1u) / INVOCATIONS;

// Operands as they lie in memory, four elements or two: to widen what was read would be to wait for it.
#if A_BITS == 16
layout(set = 0, binding = 0) readonly buffer ABits { uvec2 a_bits[]; };
#else
layout(set = 0, binding = 0) readonly buffer ABits { uvec4 a_bits[]; };
#endif
#if A_BITS == 16 || defined(B_NARROW)
layout(set = 0, binding = 1) readonly buffer BBits { uvec2 b_bits[]; };
layout(set = 0, binding = 1) readonly buffer BPairs { uint b_pairs[]; };
#else
layout(set = 0, binding = 1) readonly buffer BBits { uvec4 b_bits[]; };
layout(set = 0, binding = 1) readonly buffer BPairs { uvec2 b_pairs[]; };
#endif
uvec4 padded(uint bits) { return uvec4(bits, 0u, 0u, 0u); }
uvec4 padded(uvec2 bits) { return uvec4(bits, 0u, 0u); }
uvec4 padded(uvec4 bits) { return bits; }

// What was read one by one is widened already.
vec4 widen_a(uvec4 bits) {
#if A_BITS == 16
  if (A_FOURS) return widen(bits.xy, A_IS_BFLOAT);
#endif
  return uintBitsToFloat(bits);
}
#ifdef B_NARROW
const bool B_IS_BFLOAT = (FLAGS & HEED_MATMUL_B_BFLOAT) != 0u;
#else
const bool B_IS_BFLOAT = A_IS_BFLOAT;
#endif
vec2 widen_pair_of_b(uvec4 bits) {
#if A_BITS == 16 || defined(B_NARROW)
  return widen(bits.x, B_IS_BFLOAT);
#else
  return uintBitsToFloat(bits.xy);
#endif
}
vec4 widen_b(uvec4 bits) {
#if A_BITS == 16 || defined(B_NARROW)
  if (B_FOURS) return widen(bits.xy, B_IS_BFLOAT);
#endif
  return uintBitsToFloat(bits);
}

// Where a part lies in its slice: row of A or column of B, and k / 4. Neighbouring invocations take neighbouring memory:
// along k where that is contiguous, else across rows. Parts lie whole rows, or whole steps of k, apart: INVOCATIONS is a
// multiple of both.
struct Place {
  uint row, quad;
};
Place first_place(uint across, bool k_fast) {
  uint i = gl_LocalInvocationID.x;
  return k_fast ? Place(i / QUADS, i % QUADS) : Place(i % across, i / across);
}
Place first_a = first_place(BM, A_K_FAST);
Place first_b = first_place(BN / B_COLUMNS, B_K_FAST);

Place place_of_a(uint part) {
  if (A_K_FAST) return Place(first_a.row + part * (INVOCATIONS / QUADS), first_a.quad);
  return Place(first_a.row, first_a.quad + part * (INVOCATIONS / BM));
}
Place place_of_b(uint part) {
  if (B_K_FAST) return Place(first_b.row + part * (INVOCATIONS / QUADS), first_b.quad);
  return Place(first_b.row * B_COLUMNS, first_b.quad + part * (INVOCATIONS / (BN / B_COLUMNS)));
}
// The last part may be one of some invocations only.
bool has_part_of_a(uint part) {
  return BM * QUADS % INVOCATIONS == 0u || gl_LocalInvocationID.x + part * INVOCATIONS < BM * QUADS;
}
bool has_part_of_b(uint part) {
  const uint count = BN / B_COLUMNS * QUADS;
  return count % INVOCATIONS == 0u || gl_LocalInvocationID.x + part * INVOCATIONS < count;
}

// Outside the matrix a slice is 0 on both sides, so that an infinity on one side never meets a padding 0.
uvec4 read_a(Tile tile, uint part, uint k0) {
  Place place = place_of_a(part);
  uint m = tile.m + place.row, k = k0 + 4u * place.quad;
  uint at = tile.a + m * p.a_m + k * p.a_k;
  if (!has_part_of_a(part) || m >= p.m || k >= p.k) return uvec4(0u);
  if (A_FOURS) return padded(a_bits[at / 4u]);
  vec4 quad = vec4(a_at(at), 0.0, 0.0, 0.0);
  if (k + 1u < p.k) quad.y = a_at(at + p.a_k);
  if (k + 2u < p.k) quad.z = a_at(at + 2u * p.a_k);
  if (k + 3u < p.k) quad.w = a_at(at + 3u * p.a_k);
  return floatBitsToUint(quad);
}

// step: which of a part's reads.
uvec4 read_b(Tile tile, uint part, uint step, uint k0) {
  Place place = place_of_b(part);
  uint n = tile.n + place.row, k = k0 + 4u * place.quad + step;
  uint at = tile.b + n * p.b_n + k * p.b_k;
  if (!has_part_of_b(part) || n >= p.n || k >= p.k) return uvec4(0u);
  if (B_TURNED) return padded(b_pairs[at / 2u]);
  if (B_FOURS) return padded(b_bits[at / 4u]);
  vec4 quad = vec4(b_at(at), 0.0, 0.0, 0.0);
  if (k + 1u < p.k) quad.y = b_at(at + p.b_k);
  if (k + 2u < p.k) quad.z = b_at(at + 2u * p.b_k);
  if (k + 3u < p.k) quad.w = b_at(at + 3u * p.b_k);
  return floatBitsToUint(quad);
}

// What this invocation has read of the next slice.
uvec4 next_a[A_PARTS];
uvec4 next_b[B_PARTS * B_STEPS];

void read_slices(Tile tile, uint k0) {
  [[unroll]] for (uint i = 0u; i < A_PARTS; ++i) next_a[i] = read_a(tile, i, k0);
  [[unroll]] for (uint i = 0u; i < B_PARTS * B_STEPS; ++i) next_b[i] = read_b(tile, i / B_STEPS, i % B_STEPS, k0);
}

void store_slices() {
  [[unroll]] for (uint i = 0u; i < A_PARTS; ++i) {
    Place to = place_of_a(i);
    if (has_part_of_a(i)) sh_a[to.row * ROW + to.quad] = widen_a(next_a[i]);
  }
  [[unroll]] for (uint i = 0u; i < B_PARTS; ++i) {
    Place to = place_of_b(i);
    if (!has_part_of_b(i)) continue;
    if (!B_TURNED) {
      sh_b[to.row * ROW + to.quad] = widen_b(next_b[i]);
      continue;
    }
    mat4x2 pairs;
    [[unroll]] for (uint j = 0u; j < 4u; ++j) pairs[j] = widen_pair_of_b(next_b[i * B_STEPS + j]);
    mat2x4 columns = transpose(pairs);
    [[unroll]] for (uint j = 0u; j < 2u; ++j) sh_b[(to.row + j) * ROW + to.quad] = columns[j];
  }
}

float sums[TM * TN];

// Rows and columns of one invocation lie BM/TM and BN/TN apart: neighbours read and write neighbouring elements.
const uint ROWS_APART = BM / TM;
const uint COLUMNS_APART = BN / TN;

void multiply_slices(uint row, uint column) {
  for (uint quad = 0u; quad < QUADS; ++quad) {
    vec4 b_quads[TN];
    [[unroll]] for (uint j = 0u; j < TN; ++j) b_quads[j] = sh_b[(column + j * COLUMNS_APART) * ROW + quad];
    [[unroll]] for (uint i = 0u; i < TM; ++i) {
      vec4 a_quad = sh_a[(row + i * ROWS_APART) * ROW + quad];
      [[unroll]] for (uint j = 0u; j < TN; ++j) sums[i * TN + j] += dot(a_quad, b_quads[j]);
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

  // Each slice comes into registers while the one before is multiplied. It waits there until all are done with shared
  // memory: every device has enough of that for one slice only.
  for (uint k0 = 0u;; k0 += BK) {
    read_slices(tile, k0);  // past the end this reads nothing
    if (k0 > 0u) multiply_slices(row, column);
    if (k0 >= p.k) break;
    barrier();
    store_slices();
    barrier();
  }

  // What the epilogue reads it reads for a row at once: in a branch of its own each element would wait for memory. Columns
  // past the end repeat the last one, and are not stored.
  uint columns[TN];
  float biases[TN];
  [[unroll]] for (uint j = 0u; j < TN; ++j) {
    columns[j] = tile.n + column + j * COLUMNS_APART;
    biases[j] = bias_at(min(columns[j], p.n - 1u));
  }
  for (uint i = 0u; i < TM; ++i) {
    uint m = tile.m + row + i * ROWS_APART;
    if (m >= p.m) break;
    // Picked by constant indices: sums that are indexed at run time would leave the registers, also above.
    float row_sums[TN], others[TN];
    if (p.partial == 0u)
      [[unroll]] for (uint j = 0u; j < TN; ++j)
        others[j] = residual_at(tile.residual + m * p.residual_m + min(columns[j], p.n - 1u));
    [[unroll]] for (uint j = 0u; j < TN; ++j) {
      row_sums[j] = sums[j];
      [[unroll]] for (uint r = 1u; r < TM; ++r)
        if (r == i) row_sums[j] = sums[r * TN + j];
    }
    [[unroll]] for (uint j = 0u; j < TN; ++j)
      if (columns[j] < p.n) store_finished(tile, m, columns[j], row_sums[j], biases[j], others[j]);
  }
}
