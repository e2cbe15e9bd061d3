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
layout(set = 0, binding = 1) readonly buffer B { A_T b[]; };
layout(set = 0, binding = 2) readonly buffer Bias { A_T bias[]; };
layout(set = 0, binding = 3) readonly buffer Residual { A_T residual[]; };
layout(set = 0, binding = 4) writeonly buffer Out { OUT_T result[]; };

// Slices are stored k-major, one element of padding per row against bank conflicts.
const uint A_ROW = BM + 1u;
const uint B_ROW = BN + 1u;
shared float sh_a[BK * A_ROW];
shared float sh_b[BK * B_ROW];

// Outside the matrix a slice is 0 on both sides, so that an infinity on one side never meets a padding 0.
void load_a(uint base, uint m0, uint k0) {
  for (uint i = gl_LocalInvocationID.x; i < BM * BK; i += gl_WorkGroupSize.x) {
    bool k_fast = (FLAGS & HEED_MATMUL_A_K_FAST) != 0u;
    uint k = k_fast ? i % BK : i / BM;
    uint m = k_fast ? i / BK : i % BM;
    float value = 0.0;
    if (m0 + m < p.m && k0 + k < p.k) value = float(a[base + (m0 + m) * p.a_m + (k0 + k) * p.a_k]);
    sh_a[k * A_ROW + m] = value;
  }
}

void load_b(uint base, uint n0, uint k0) {
  for (uint i = gl_LocalInvocationID.x; i < BN * BK; i += gl_WorkGroupSize.x) {
    bool k_fast = (FLAGS & HEED_MATMUL_B_K_FAST) != 0u;
    uint k = k_fast ? i % BK : i / BN;
    uint n = k_fast ? i / BK : i % BN;
    float value = 0.0;
    if (n0 + n < p.n && k0 + k < p.k) value = float(b[base + (k0 + k) * p.b_k + (n0 + n) * p.b_n]);
    sh_b[k * B_ROW + n] = value;
  }
}

// element: row-major index over the logical output, which dropout counts by.
float epilogue(float sum, uint n, uint element, uint residual_at) {
  float value = sum * p.scale;
  if ((FLAGS & HEED_MATMUL_BIAS) != 0u) value += float(bias[p.offset[2] + n * p.bias_n]);
  value = activate(ACTIVATION, value);
  if ((FLAGS & HEED_MATMUL_DROPOUT) != 0u) {
    uint word = dropout_block(p.seed, p.stream, element / 4u)[element % 4u];
    value = word < p.dropout_threshold ? 0.0 : value * p.dropout_scale;
  }
  if ((FLAGS & HEED_MATMUL_RESIDUAL) != 0u) value += float(residual[residual_at + n]);
  return value;
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
    load_a(a_base, m0, k0);
    load_b(b_base, n0, k0);
    barrier();
    for (uint k = 0u; k < BK; ++k) {
      float b_row[TN];
      for (uint j = 0u; j < TN; ++j) b_row[j] = sh_b[k * B_ROW + column + j * columns];
      for (uint i = 0u; i < TM; ++i) {
        float a_value = sh_a[k * A_ROW + row + i * rows];
        for (uint j = 0u; j < TN; ++j) sums[i * TN + j] += a_value * b_row[j];
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
