#include "cpu/gemm/matmul.hpp"
#include "cpu/simd/kernels.hpp"

namespace heed::cpu::matmul {

int64_t Axes::size() const {
  int64_t n = 1;
  for (int i = 0; i < count; ++i) n *= dim[i];
  return n;
}

void Axes::merge() {
  int kept = 0;
  const auto joins = [&](int outer, int inner) {
    bool even = logical[outer] == logical[inner] * dim[inner];
    for (int role = 0; role < kRoles; ++role) even = even && stride[role][outer] == stride[role][inner] * dim[inner];
    return even;
  };
  const auto move = [&](int to, int from) {
    dim[to] = dim[from];
    logical[to] = logical[from];
    for (int role = 0; role < kRoles; ++role) stride[role][to] = stride[role][from];
  };
  for (int i = 0; i < count; ++i) {
    if (dim[i] == 1) continue;
    if (kept > 0 && joins(kept - 1, i)) {
      const int64_t outer = dim[kept - 1];
      move(kept - 1, i);
      dim[kept - 1] *= outer;
    } else {
      move(kept++, i);
    }
  }
  count = kept;
}

void Position::advance(const Axes& axes, int64_t index) {
  for (int i = axes.count - 1; i >= 0; --i) {
    const int64_t at = index % axes.dim[i];
    index /= axes.dim[i];
    for (int role = 0; role < kRoles; ++role) offset[role] += at * axes.stride[role][i];
    logical += at * axes.logical[i];
  }
}

Problem::Problem(const Pass& pass)
    : attrs(pass.node.as<MatmulAttrs>()),
      kernels(attrs.skips_zeros ? *pass.kernels.matmul->skips_zeros : *pass.kernels.matmul) {
  operand[kA] = pass.input(in::kA);
  operand[kB] = pass.input(in::kB);
  operand[kOut] = pass.output();
  operand[kResidual] = pass.input_like(in::kResidual, operand[kOut].view);
  keeps = pass.node.outputs[out::kBeforeActivation].valid();
  if (keeps) operand[kResidual] = pass.output(out::kBeforeActivation);
  bias = pass.input(in::kBias);
  dropout = {dropout_words(attrs.dropout.p), pass.values.seed, attrs.dropout.stream};
  n = row_length(operand[kOut].view);
  k = row_length(operand[kA].view);
  a_k_stride = row_stride(operand[kA].view);
  set_axes();
  const auto plain = [](const Operand& x) {
    return !x.valid() || (x.view.dtype == DType::F32 && row_stride(x.view) == 1);
  };
  direct_a = plain(operand[kA]) && rows.count <= 1 && kernels.prepare_a == nullptr;
  direct_finish = plain(operand[kOut]) && plain(operand[kResidual]) && attrs.dropout.p == 0.0f;
}

// Stride of `role` along out's axis `axis`; axes before the matrix follow numpy's broadcast rule.
int64_t Problem::stride_along(Role role, int axis) const {
  const View& out = operand[kOut].view;
  const View& v = operand[role].view;
  const bool row_axis = axis == out.rank - 2;
  if (!operand[role].valid() || (role == kB && row_axis)) return 0;
  const int own = axis - (out.rank - v.rank);
  return own < 0 || (v.dim[own] == 1 && out.dim[axis] != 1) ? 0 : v.stride[own];
}

void Problem::set_axes() {
  const View& out = operand[kOut].view;
  int64_t logical = n;
  int64_t logicals[kMaxRank] = {};
  for (int axis = out.rank - 2; axis >= 0; --axis) {
    logicals[axis] = logical;
    logical *= out.dim[axis];
  }
  for (int axis = 0; axis + 1 < out.rank; ++axis) {
    Axes& axes = stride_along(kB, axis) == 0 ? rows : batches;
    axes.dim[axes.count] = out.dim[axis];
    axes.logical[axes.count] = logicals[axis];
    for (const Role role : {kA, kB, kOut, kResidual}) axes.stride[role][axes.count] = stride_along(role, axis);
    ++axes.count;
  }
  rows.merge();
}

}  // namespace heed::cpu::matmul
