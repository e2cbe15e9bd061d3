// Matrix product on matrix units by VK_NV_cooperative_matrix2, with epilogue; see shared/matmul.h. One workgroup makes
// one BM x BN tile of one batch as a single matrix of the whole workgroup: the driver cuts it up for its subgroups and
// stages it through shared memory. Operands are read by their strides, and as 0 outside of the matrix, so that an
// infinity on one side never meets a padding 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#include "shared/matmul.glsl"

layout(constant_id = 9) const uint BK = 64;

const bool A_K_FAST = (FLAGS & HEED_MATMUL_A_K_FAST) != 0u;
const bool B_K_FAST = (FLAGS & HEED_MATMUL_B_K_FAST) != 0u;

#define CLAMP gl_CooperativeMatrixClampModeConstantNV

Tile here;

// What is stored for the sum at (row, column) of the tile. What lies outside of the matrix is not stored.
float finish(const in uint row, const in uint column, const in float sum) {
  uint m = here.m + row, n = here.n + column;
  if (m >= p.m || n >= p.n) return 0.0;
  float value = epilogue(sum, (here.batch * p.m + m) * p.n + n, bias_at(n), residual_at(here.residual + m * p.residual_m + n));
  return round_to_half(value);
}

// An operand as a tensor of two axes, of which neighbours along the second one are nearer in memory.
struct Operand {
  uint at, slow, fast, slow_stride, fast_stride;
};

Operand left_operand() {
  if (A_K_FAST) return Operand(here.a, p.m, p.k, p.a_m, p.a_k);
  return Operand(here.a, p.k, p.m, p.a_k, p.a_m);
}

Operand right_operand() {
  if (B_K_FAST) return Operand(here.b, p.n, p.k, p.b_n, p.b_k);
  return Operand(here.b, p.k, p.n, p.b_k, p.b_n);
}

bool is_whole(Operand o) { return o.fast_stride == 1u && ((o.at | o.slow_stride) & 7u) == 0u; }

// Sums all products. Two kinds of layout: one reads 0 outside of the tensor; the other is never read there and lies on 16
// bytes, which the masks tell the driver, so that it may read as many at a time.
#define HEED_SUM_PRODUCTS(a_kind, b_kind, a_slow_stride, a_fast_stride, b_slow_stride, b_fast_stride)                   \
  {                                                                                                                     \
    a_kind = setTensorLayoutDimensionNV(a_kind, left.slow, left.fast);                                                  \
    b_kind = setTensorLayoutDimensionNV(b_kind, right.slow, right.fast);                                                \
    a_kind = setTensorLayoutStrideNV(a_kind, a_slow_stride, a_fast_stride);                                             \
    b_kind = setTensorLayoutStrideNV(b_kind, b_slow_stride, b_fast_stride);                                             \
    for (uint k = 0u; k < p.k; k += BK) {                                                                               \
      coopmat<float16_t, gl_ScopeWorkgroup, BM, BK, gl_MatrixUseA> a_tile;                                              \
      coopmat<float16_t, gl_ScopeWorkgroup, BK, BN, gl_MatrixUseB> b_tile;                                              \
      if (A_K_FAST) coopMatLoadTensorNV(a_tile, a, left.at, sliceTensorLayoutNV(a_kind, here.m, BM, k, BK));            \
      else coopMatLoadTensorNV(a_tile, a, left.at, sliceTensorLayoutNV(a_kind, k, BK, here.m, BM), turned);             \
      if (B_K_FAST) coopMatLoadTensorNV(b_tile, b, right.at, sliceTensorLayoutNV(b_kind, here.n, BN, k, BK), turned);   \
      else coopMatLoadTensorNV(b_tile, b, right.at, sliceTensorLayoutNV(b_kind, k, BK, here.n, BN));                    \
      sums = coopMatMulAdd(a_tile, b_tile, sums);                                                                       \
    }                                                                                                                   \
  }

void main() {
  uint index = workgroup_index();
  if (index >= p.tiles) return;
  here = tile_at(index);
  Operand left = left_operand(), right = right_operand();
  tensorViewNV<2, false, 1, 0> turned = createTensorViewNV(2, false, 1, 0);
  coopmat<float, gl_ScopeWorkgroup, BM, BN, gl_MatrixUseAccumulator> sums =
      coopmat<float, gl_ScopeWorkgroup, BM, BN, gl_MatrixUseAccumulator>(0.0);

  if (here.m + BM <= p.m && here.n + BN <= p.n && p.k % BK == 0u && is_whole(left) && is_whole(right)) {
    tensorLayoutNV<2> a_inside = createTensorLayoutNV(2);
    tensorLayoutNV<2> b_inside = createTensorLayoutNV(2);
    HEED_SUM_PRODUCTS(a_inside, b_inside, left.slow_stride & ~7u, 1u, right.slow_stride & ~7u, 1u)
  } else {
    tensorLayoutNV<2, CLAMP> a_any = createTensorLayoutNV(2, CLAMP);
    tensorLayoutNV<2, CLAMP> b_any = createTensorLayoutNV(2, CLAMP);
    HEED_SUM_PRODUCTS(a_any, b_any, left.slow_stride, left.fast_stride, right.slow_stride, right.fast_stride)
  }

  tensorLayoutNV<2, CLAMP> out_layout = createTensorLayoutNV(2, CLAMP);
  out_layout = setTensorLayoutDimensionNV(out_layout, p.m, p.n);
  out_layout = setTensorLayoutStrideNV(out_layout, p.out_m, 1u);
  out_layout = sliceTensorLayoutNV(out_layout, here.m, BM, here.n, BN);
  if (p.partial != 0u) {
    coopMatStoreTensorNV(sums, partial_sums, here.out_at, out_layout);
    return;
  }
  coopMatPerElementNV(sums, sums, finish);
  coopMatStoreTensorNV(coopmat<float16_t, gl_ScopeWorkgroup, BM, BN, gl_MatrixUseAccumulator>(sums), result, here.out_at,
                       out_layout);
}
