#include "kernels/rows/norm.hpp"

namespace heed::kernels {
namespace {

uint32_t norm_flags(const Select& select, bool by_root) {
  uint32_t flags = by_root ? HEED_NORM_ROOT : 0;
  if (select.has(in::kGamma)) flags |= HEED_NORM_GAMMA;
  if (select.has(in::kBeta)) flags |= HEED_NORM_BETA;
  const bool behind = select.node.as<NormAttrs>().adds_behind;
  if (select.has(in::kNormResidual)) flags |= behind ? HEED_NORM_BEHIND : HEED_NORM_RESIDUAL;
  return flags;
}

}  // namespace

Status select_norm(const Select& select, const ByStorage& ids, bool by_root) {
  const TensorInfo& x = select.info(in::kX);
  Status status = check_storage(select, x.dtype);
  if (status == Status::Ok && select.out().dtype != x.dtype)
    status = select.unsupported("result and input differ in type");
  if (status == Status::Ok) status = expect_dtype(select, in::kGamma, "gamma", x.dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kBeta, "beta", x.dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kNormResidual, "residual", x.dtype);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {in::kX, in::kGamma, in::kBeta, in::kNormResidual};
  const auto& inputs = select.node.inputs;
  const Tensor operands[] = {inputs[in::kX], inputs[in::kGamma], inputs[in::kBeta], inputs[in::kNormResidual],
                             select.node.outputs[0]};
  select_rows(select, ids, x.dims[static_cast<size_t>(x.rank - 1)], norm_flags(select, by_root), operands, kInputs);
  return Status::Ok;
}

void emit_norm(const Emit& emit) {
  const View x = emit.in(in::kX), out = emit.out();
  const View residual = emit.has(in::kNormResidual) ? emit.in(in::kNormResidual) : View{};
  const View* const views[] = {&x, emit.has(in::kNormResidual) ? &residual : nullptr, &out};
  NormParams p{};
  const Walk walk = walk_rows(x, views, &p);
  p.offset[0] = u32(x.offset);
  p.offset[3] = u32(residual.offset);
  p.offset[4] = u32(out.offset);
  bool vec4 = is_vec4(x) && is_vec4(out) && (!emit.has(in::kNormResidual) || is_vec4(residual));
  const auto parameter = [&](size_t input, uint32_t* offset, uint32_t* stride) {
    if (!emit.has(input)) return;
    const View view = emit.in(input);
    vec4 = vec4 && is_vec4(view);
    *offset = u32(view.offset);
    *stride = u32(view.stride[view.rank - 1]);
  };
  parameter(in::kGamma, &p.offset[1], &p.gamma_stride);
  parameter(in::kBeta, &p.offset[2], &p.beta_stride);
  put(p.x_stride, walk.stride[0]);
  put(p.residual_stride, walk.stride[1]);
  put(p.out_stride, walk.stride[2]);
  p.eps = emit.node.as<NormAttrs>().eps;

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n, vec4);
  constexpr double kOperations = 12.0;  // per element: up to three loops
  dispatch.work = static_cast<double>(walk.elements()) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels
