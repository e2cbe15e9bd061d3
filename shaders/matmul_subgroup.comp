// Matrix product by single subgroups; see shared/matmul.h. For devices whose workgroups run one after the other on the
// cores of a CPU: a barrier there costs more than a tile's worth of arithmetic, and every read of a buffer is a loop
// over the lanes. So there is no shared tile and no barrier, and what a lane reads is used as often as possible: each
// lane makes TM rows of TN columns, four neighbouring columns together, and passes its part of A to the other lanes.
//
// A workgroup is one subgroup of LANES invocations. TM is 1, 4 or a multiple of LANES; TN a multiple of 4.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "shared/storage.glsl"
#include "shared/groups.glsl"
#include "shared/activation.glsl"
#include "shared/philox.glsl"
#include "shared/matmul.h"

layout(constant_id = 3) const uint TM = 16;
layout(constant_id = 4) const uint TN = 8;
layout(constant_id = 5) const uint LANES = 8;
layout(constant_id = 6) const uint FLAGS = 0;
layout(constant_id = 7) const uint ACTIVATION = 0;

layout(set = 0, binding = 0) readonly buffer A { A_T a[]; };
layout(set = 0, binding = 0) readonly buffer A4 { A_VEC4 a4[]; };
layout(set = 0, binding = 1) readonly buffer B { A_T b[]; };
layout(set = 0, binding = 1) readonly buffer B4 { A_VEC4 b4[]; };
layout(set = 0, binding = 2) readonly buffer Bias { A_T bias[]; };
layout(set = 0, binding = 3) readonly buffer Residual { A_T residual[]; };
layout(set = 0, binding = 4) writeonly buffer Out { OUT_T result[]; };

const uint QUADS = TN / 4u;
// Of each lane: its sums, so that the epilogue is a loop over them. No lane reads another's.
shared vec4 sh_sums[TM * QUADS * LANES];

bool has(uint flag) { return (FLAGS & flag) != 0u; }

// Elements k .. k + 3 of a row of A that starts at `at`; zeros from p.k on.
vec4 read_a(uint at, uint k) {
  if (has(HEED_MATMUL_A_VEC4)) return vec4(a4[(at + k) / 4u]);
  vec4 quad = vec4(0.0);
  if (k < p.k) quad.x = float(a[at + k * p.a_k]);
  if (k + 1u < p.k) quad.y = float(a[at + (k + 1u) * p.a_k]);
  if (k + 2u < p.k) quad.z = float(a[at + (k + 2u) * p.a_k]);
  if (k + 3u < p.k) quad.w = float(a[at + (k + 3u) * p.a_k]);
  return quad;
}

// Rows k .. k + 3 of B, in columns n .. n + 3, which are clamped to the last ones: x, y, z, w are along n if `along_n`,
// else along k.
mat4 read_b(uint base, uint k, uvec4 n, bool along_n) {
  mat4 block = mat4(0.0);
  if (has(HEED_MATMUL_B_VEC4)) {
    [[unroll]] for (uint i = 0u; i < 4u; ++i)
      block[i] = along_n ? vec4(b4[(base + (k + i) * p.b_k + n.x) / 4u]) : vec4(b4[(base + n[i] * p.b_n + k) / 4u]);
    return block;
  }
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    uint at = base + n[i] * p.b_n;
    if (k < p.k) block[i].x = float(b[at + k * p.b_k]);
    if (k + 1u < p.k) block[i].y = float(b[at + (k + 1u) * p.b_k]);
    if (k + 2u < p.k) block[i].z = float(b[at + (k + 2u) * p.b_k]);
    if (k + 3u < p.k) block[i].w = float(b[at + (k + 3u) * p.b_k]);
  }
  return block;
}

vec4 epilogue(vec4 value, uint n, uint element, uint residual_at) {
  value *= p.scale;
  [[unroll]] for (uint c = 0u; c < 4u; ++c) {
    if (n + c >= p.n) break;
    if (has(HEED_MATMUL_BIAS)) value[c] += float(bias[p.offset[2] + (n + c) * p.bias_n]);
    value[c] = activate(ACTIVATION, value[c]);
    if (has(HEED_MATMUL_DROPOUT)) {
      uint word = dropout_block(p.seed, p.stream, (element + c) / 4u)[(element + c) % 4u];
      value[c] = word < p.dropout_threshold ? 0.0 : value[c] * p.dropout_scale;
    }
    if (has(HEED_MATMUL_RESIDUAL)) value[c] += float(residual[residual_at + n + c]);
  }
  return value;
}

vec4 sums[TM * QUADS];

// Adds the products of row `i`, of which x holds four k.
void add_row(uint i, vec4 x, mat4 blocks[QUADS], bool along_n) {
  [[unroll]] for (uint q = 0u; q < QUADS; ++q) sums[i * QUADS + q] += along_n ? blocks[q] * x : x * blocks[q];
}

// Of the rows that the lanes have read, each its own, those of lanes l .. l + 3. A shuffle of 8 lanes is one instruction
// of the CPUs concerned; of other numbers, a loop.
#define ADD_LANE(l)                                                                                  \
  if (l < LANES)                                                                                     \
    add_row(first + l, LANES == 8u ? subgroupShuffle(mine, l) : subgroupBroadcast(mine, l), blocks, along_n);
#define ADD_LANES(l) ADD_LANE(l) ADD_LANE(l + 1u) ADD_LANE(l + 2u) ADD_LANE(l + 3u)

void main() {
  uint tile = workgroup_index();
  if (tile >= p.tiles) return;
  uint n0 = tile % p.tiles_n * (TN * LANES);
  uint m0 = tile / p.tiles_n % p.tiles_m * TM;
  uint batch = tile / (p.tiles_n * p.tiles_m);
  uint b0 = batch / p.batch_1, b1 = batch % p.batch_1;
  uint a_base = p.offset[0] + b0 * p.a_b0 + b1 * p.a_b1;
  uint b_base = p.offset[1] + b0 * p.b_b0 + b1 * p.b_b1;
  uint lane = gl_LocalInvocationID.x;
  const bool along_n = has(HEED_MATMUL_B_VEC4) && !has(HEED_MATMUL_B_K_FAST);

  // Rows and columns past the end repeat the last ones, and are not stored.
  uvec4 columns[QUADS];
  [[unroll]] for (uint q = 0u; q < QUADS; ++q) {
    uint n = n0 + (q * LANES + lane) * 4u;
    if (along_n) n = min(n, p.n - 4u);
    columns[q] = min(uvec4(n, n + 1u, n + 2u, n + 3u), uvec4(p.n - 1u));
  }
  [[unroll]] for (uint i = 0u; i < TM * QUADS; ++i) sums[i] = vec4(0.0);

  for (uint k = 0u; k < p.k; k += 4u) {
    mat4 blocks[QUADS];
    [[unroll]] for (uint q = 0u; q < QUADS; ++q) blocks[q] = read_b(b_base, k, columns[q], along_n);
    if (TM < LANES) {
      [[unroll]] for (uint i = 0u; i < TM; ++i)
        add_row(i, read_a(a_base + min(m0 + i, p.m - 1u) * p.a_m, k), blocks, along_n);
    } else {
      [[unroll]] for (uint first = 0u; first < TM; first += LANES) {
        vec4 mine = read_a(a_base + min(m0 + first + lane, p.m - 1u) * p.a_m, k);
        ADD_LANES(0u) ADD_LANES(4u) ADD_LANES(8u) ADD_LANES(12u)
      }
    }
  }

  [[unroll]] for (uint i = 0u; i < TM * QUADS; ++i) sh_sums[i * LANES + lane] = sums[i];
  uint residual_base = p.offset[3] + b0 * p.residual_b0 + b1 * p.residual_b1;
  uint out_base = p.offset[4] + b0 * p.out_b0 + b1 * p.out_b1;
  uint rows = min(TM, p.m - m0);
  for (uint i = 0u; i < rows * QUADS; ++i) {
    uint m = m0 + i / QUADS, n = n0 + (i % QUADS * LANES + lane) * 4u;
    if (n >= p.n) continue;
    vec4 value = epilogue(sh_sums[i * LANES + lane], n, (batch * p.m + m) * p.n + n, residual_base + m * p.residual_m);
    [[unroll]] for (uint c = 0u; c < 4u; ++c)
      if (n + c < p.n) result[out_base + m * p.out_m + n + c] = TO_OUT(value[c]);
  }
}
