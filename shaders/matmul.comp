// Tiled matrix product with epilogue; see shared/matmul.h. One workgroup makes one BM x BN tile of one batch:
// BK-deep slices of A and B go through shared memory, each invocation sums TM x TN elements in registers.
#version 450
#extension GL_GOOGLE_include_directive : require
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

// Four elements along k. Outside the matrix a slice is 0 on both sides, so that an infinity on one side never meets a
// padding 0.
vec4 read_a(uint base, uint m, uint k) {
  vec4 quad = vec4(0.0);
  if (m >= p.m) return quad;
  if (has(HEED_MATMUL_A_VEC4)) return k < p.k ? a4_at(base + m * p.a_m + k) : quad;
  uint at = base + m * p.a_m + k * p.a_k;
  if (k < p.k) quad.x = a_at(at);
  if (k + 1u < p.k) quad.y = a_at(at + p.a_k);
  if (k + 2u < p.k) quad.z = a_at(at + 2u * p.a_k);
  if (k + 3u < p.k) quad.w = a_at(at + 3u * p.a_k);
  return quad;
}

vec4 read_b(uint base, uint n, uint k) {
  vec4 quad = vec4(0.0);
  if (n >= p.n) return quad;
  if (has(HEED_MATMUL_B_VEC4)) return k < p.k ? b4_at(base + n * p.b_n + k) : quad;
  uint at = base + n * p.b_n + k * p.b_k;
  if (k < p.k) quad.x = b_at(at);
  if (k + 1u < p.k) quad.y = b_at(at + p.b_k);
  if (k + 2u < p.k) quad.z = b_at(at + 2u * p.b_k);
  if (k + 3u < p.k) quad.w = b_at(at + 3u * p.b_k);
  return quad;
}

// Four k of four neighbouring columns, which lie side by side in memory, turned round.
void load_b_rows(uint base, uint n0, uint k0) {
  for (uint i = gl_LocalInvocationID.x; i < BN / 4u * QUADS; i += gl_WorkGroupSize.x) {
    uint n = i % (BN / 4u) * 4u, quad = i / (BN / 4u);
    uint k = k0 + 4u * quad;
    mat4 rows = mat4(0.0);
    if (n0 + n < p.n && k < p.k)
      for (uint j = 0u; j < 4u; ++j) rows[j] = b4_at(base + (k + j) * p.b_k + n0 + n);
    mat4 columns = transpose(rows);
    for (uint j = 0u; j < 4u; ++j) sh_b[(n + j) * ROW + quad] = columns[j];
  }
}

// Neighbouring invocations take neighbouring memory: along k where that is contiguous, else across rows.
void load_slices(uint a_base, uint b_base, uint m0, uint n0, uint k0) {
  for (uint i = gl_LocalInvocationID.x; i < BM * QUADS; i += gl_WorkGroupSize.x) {
    bool k_fast = has(HEED_MATMUL_A_K_FAST);
    uint quad = k_fast ? i % QUADS : i / BM;
    uint m = k_fast ? i / QUADS : i % BM;
    sh_a[m * ROW + quad] = read_a(a_base, m0 + m, k0 + 4u * quad);
  }
  bool k_fast = has(HEED_MATMUL_B_K_FAST);
  if (has(HEED_MATMUL_B_VEC4) && !k_fast) {
    load_b_rows(b_base, n0, k0);
    return;
  }
  for (uint i = gl_LocalInvocationID.x; i < BN * QUADS; i += gl_WorkGroupSize.x) {
    uint quad = k_fast ? i % QUADS : i / BN;
    uint n = k_fast ? i / QUADS : i % BN;
    sh_b[n * ROW + quad] = read_b(b_base, n0 + n, k0 + 4u * quad);
  }
}

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  Tile tile = tile_at(index);

  // Rows and columns of one invocation lie BM/TM and BN/TN apart: neighbours read and write neighbouring elements.
  const uint columns = BN / TN;
  const uint rows = BM / TM;
  uint column = gl_LocalInvocationID.x % columns;
  uint row = gl_LocalInvocationID.x / columns;
  float sums[TM * TN];
  for (uint i = 0u; i < TM * TN; ++i) sums[i] = 0.0;

  for (uint k0 = 0u; k0 < p.k; k0 += BK) {
    load_slices(tile.a, tile.b, tile.m, tile.n, k0);
    barrier();
    for (uint quad = 0u; quad < QUADS; ++quad) {
      vec4 b_quads[TN];
      for (uint j = 0u; j < TN; ++j) b_quads[j] = sh_b[(column + j * columns) * ROW + quad];
      for (uint i = 0u; i < TM; ++i) {
        vec4 a_quad = sh_a[(row + i * rows) * ROW + quad];
        for (uint j = 0u; j < TN; ++j) sums[i * TN + j] += dot(a_quad, b_quads[j]);
      }
    }
    barrier();
  }

  for (uint i = 0u; i < TM; ++i) {
    uint m = tile.m + row + i * rows;
    if (m >= p.m) break;
    for (uint j = 0u; j < TN; ++j) {
      uint n = tile.n + column + j * columns;
      if (n >= p.n) break;
      store_sum(tile, m, n, sums[i * TN + j]);
    }
  }
}
