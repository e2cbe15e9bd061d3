// Tiled matrix product with epilogue; see shared/matmul.h. One workgroup makes one BM x BN tile of one batch:
// BK-deep slices of A and B go through shared memory, each invocation sums TM x TN elements in registers.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shared/storage.glsl"
#include "shared/groups.glsl"
#include "shared/activation.glsl"
#include "shared/philox.glsl"
#include "shared/matmul.h"

layout(constant_id = 3) const uint BM = 64;
layout(constant_id = 4) const uint BN = 64;
layout(constant_id = 5) const uint BK = 16;
layout(constant_id = 6) const uint TM = 8;
layout(constant_id = 7) const uint TN = 4;
layout(constant_id = 8) const uint FLAGS = 0;
layout(constant_id = 9) const uint ACTIVATION = 0;

layout(set = 0, binding = 0) readonly buffer A { A_T a[]; };
layout(set = 0, binding = 0) readonly buffer A4 { A_VEC4 a4[]; };
layout(set = 0, binding = 1) readonly buffer B { A_T b[]; };
layout(set = 0, binding = 1) readonly buffer B4 { A_VEC4 b4[]; };
layout(set = 0, binding = 2) readonly buffer Bias { A_T bias[]; };
layout(set = 0, binding = 3) readonly buffer Residual { A_T residual[]; };
layout(set = 0, binding = 4) writeonly buffer Out { OUT_T result[]; };

#include "shared/matmul_epilogue.glsl"

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
  if ((FLAGS & HEED_MATMUL_A_VEC4) != 0u) return k < p.k ? vec4(a4[(base + m * p.a_m + k) / 4u]) : quad;
  uint at = base + m * p.a_m + k * p.a_k;
  if (k < p.k) quad.x = float(a[at]);
  if (k + 1u < p.k) quad.y = float(a[at + p.a_k]);
  if (k + 2u < p.k) quad.z = float(a[at + 2u * p.a_k]);
  if (k + 3u < p.k) quad.w = float(a[at + 3u * p.a_k]);
  return quad;
}

vec4 read_b(uint base, uint n, uint k) {
  vec4 quad = vec4(0.0);
  if (n >= p.n) return quad;
  if ((FLAGS & HEED_MATMUL_B_VEC4) != 0u) return k < p.k ? vec4(b4[(base + n * p.b_n + k) / 4u]) : quad;
  uint at = base + n * p.b_n + k * p.b_k;
  if (k < p.k) quad.x = float(b[at]);
  if (k + 1u < p.k) quad.y = float(b[at + p.b_k]);
  if (k + 2u < p.k) quad.z = float(b[at + 2u * p.b_k]);
  if (k + 3u < p.k) quad.w = float(b[at + 3u * p.b_k]);
  return quad;
}

// Four k of four neighbouring columns, which lie side by side in memory, turned round.
void load_b_rows(uint base, uint n0, uint k0) {
  for (uint i = gl_LocalInvocationID.x; i < BN / 4u * QUADS; i += gl_WorkGroupSize.x) {
    uint n = i % (BN / 4u) * 4u, quad = i / (BN / 4u);
    uint k = k0 + 4u * quad;
    mat4 rows = mat4(0.0);
    if (n0 + n < p.n && k < p.k)
      for (uint j = 0u; j < 4u; ++j) rows[j] = vec4(b4[(base + (k + j) * p.b_k + n0 + n) / 4u]);
    mat4 columns = transpose(rows);
    for (uint j = 0u; j < 4u; ++j) sh_b[(n + j) * ROW + quad] = columns[j];
  }
}

// Neighbouring invocations take neighbouring memory: along k where that is contiguous, else across rows.
void load_slices(uint a_base, uint b_base, uint m0, uint n0, uint k0) {
  for (uint i = gl_LocalInvocationID.x; i < BM * QUADS; i += gl_WorkGroupSize.x) {
    bool k_fast = (FLAGS & HEED_MATMUL_A_K_FAST) != 0u;
    uint quad = k_fast ? i % QUADS : i / BM;
    uint m = k_fast ? i / QUADS : i % BM;
    sh_a[m * ROW + quad] = read_a(a_base, m0 + m, k0 + 4u * quad);
  }
  bool k_fast = (FLAGS & HEED_MATMUL_B_K_FAST) != 0u;
  if ((FLAGS & HEED_MATMUL_B_VEC4) != 0u && !k_fast) {
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
  uint tile = workgroup_index();
  if (tile >= p.tiles) return;
  uint n0 = tile % p.tiles_n * BN;
  uint m0 = tile / p.tiles_n % p.tiles_m * BM;
  uint batch = tile / (p.tiles_n * p.tiles_m);
  uint b0 = batch / p.batch_1, b1 = batch % p.batch_1;
  uint a_base = p.offset[0] + b0 * p.a_b0 + b1 * p.a_b1;
  uint b_base = p.offset[1] + b0 * p.b_b0 + b1 * p.b_b1;

  // Rows and columns of one invocation lie BM/TM and BN/TN apart: neighbours read and write neighbouring elements.
  const uint columns = BN / TN;
  const uint rows = BM / TM;
  uint column = gl_LocalInvocationID.x % columns;
  uint row = gl_LocalInvocationID.x / columns;
  float sums[TM * TN];
  for (uint i = 0u; i < TM * TN; ++i) sums[i] = 0.0;

  for (uint k0 = 0u; k0 < p.k; k0 += BK) {
    load_slices(a_base, b_base, m0, n0, k0);
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

  uint residual_base = p.offset[3] + b0 * p.residual_b0 + b1 * p.residual_b1;
  uint out_base = p.offset[4] + b0 * p.out_b0 + b1 * p.out_b1;
  for (uint i = 0u; i < TM; ++i) {
    uint m = m0 + row + i * rows;
    if (m >= p.m) break;
    for (uint j = 0u; j < TN; ++j) {
      uint n = n0 + column + j * columns;
      if (n >= p.n) break;
      float value = epilogue(sums[i * TN + j], n, (batch * p.m + m) * p.n + n, residual_base + m * p.residual_m);
      result[out_base + m * p.out_m + n] = TO_OUT(value);
    }
  }
}
