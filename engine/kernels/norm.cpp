#include "kernels/norm.hpp"

namespace heed::kernels {
namespace {

constexpr size_t kFlags = 3;
constexpr double kOperations = 12.0;  // per element: up to three walks

uint32_t flags_of(const Select& select) {
  uint32_t flags = 0;
  if (select.has(in::kGamma)) flags |= HEED_NORM_GAMMA;
  if (select.has(in::kBeta)) flags |= HEED_NORM_BETA;
  if (select.has(in::kNormResidual)) flags |= HEED_NORM_RESIDUAL;
  return flags;
}

}  // namespace

Status select_norm(const Select& select, KernelId f32, KernelId f16) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  Status status = pick_storage(select, x.dtype, f32, f16, &id);
  if (status == Status::Ok && select.out().dtype != x.dtype)
    status = select.unsupported("result and input differ in type");
  if (status == Status::Ok) status = expect_dtype(select, in::kGamma, "gamma", x.dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kBeta, "beta", x.dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kNormResidual, "residual", x.dtype);
  if (status != Status::Ok) return status;
  const LanePlan plan = plan_lanes(select, x.dims[static_cast<size_t>(x.rank - 1)]);
  constexpr size_t kInputs[] = {in::kX, in::kGamma, in::kBeta, in::kNormResidual};
  for (uint32_t i = 0; i < plan.count; ++i) {
    const uint32_t lanes = plan.lanes[i];
    KernelUse& use = add_kernel(select, id, {lanes, kRowInvocations / lanes, 1}, why_lanes(lanes, x.dtype));
    use.key.spec_count = kFlags + 1;
    use.key.spec[kFlags] = flags_of(select);
    bind(select, &use, kInputs);
  }
  return Status::Ok;
}

void emit_norm(const Emit& emit) {
  const View x = emit.in(in::kX), out = emit.out();
  const View residual = emit.has(in::kNormResidual) ? emit.in(in::kNormResidual) : View{};
  const View* const views[] = {&x, emit.has(in::kNormResidual) ? &residual : nullptr, &out};
  Walk walk = make_walk(x, views);
  merge_dims(&walk, 1);

  NormParams p{};
  p.offset[0] = u32(x.offset);
  p.offset[3] = u32(residual.offset);
  p.offset[4] = u32(out.offset);
  const auto parameter = [&](size_t input, uint32_t* offset, uint32_t* stride) {
    if (!emit.has(input)) return;
    const View view = emit.in(input);
    *offset = u32(view.offset);
    *stride = u32(view.stride[view.rank - 1]);
  };
  parameter(in::kGamma, &p.offset[1], &p.gamma_stride);
  parameter(in::kBeta, &p.offset[2], &p.beta_stride);
  p.rows = u32(walk.elements(1));
  p.n = u32(walk.dim[kMaxRank - 1]);
  put(p.dim, walk.dim, 1);
  put(p.x_stride, walk.stride[0]);
  put(p.residual_stride, walk.stride[1]);
  put(p.out_stride, walk.stride[2]);
  p.eps = emit.node.as<NormAttrs>().eps;

  Dispatch& dispatch = emit.dispatches->add();
  const uint32_t lanes = lanes_for(p.n);
  dispatch.kernel = find_lanes(emit.kernels, lanes);
  dispatch.groups = row_groups(p.rows, lanes);
  dispatch.work = static_cast<double>(walk.elements()) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels
