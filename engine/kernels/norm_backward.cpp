#include "kernels/rows.hpp"

namespace heed::kernels {
namespace {

uint32_t number_of(NormBackwardAttrs::Kind kind) {
  switch (kind) {
    case NormBackwardAttrs::Kind::Layer: return HEED_NORM_BACKWARD_LAYER;
    case NormBackwardAttrs::Kind::Rms: return HEED_NORM_BACKWARD_RMS;
    case NormBackwardAttrs::Kind::L2: break;
  }
  return HEED_NORM_BACKWARD_L2;
}

}  // namespace

Status select_norm_backward(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  constexpr ByStorage kIds = {KernelId::NormBackwardF32, KernelId::NormBackwardF16, KernelId::NormBackwardBf16};
  Status status = pick_storage(select, x.dtype, kIds, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kUpstream, "upstream", x.dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kBackwardGamma, "gamma", x.dtype);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {in::kX, in::kUpstream, in::kBackwardGamma};
  select_lanes(select, id, x.dims[static_cast<size_t>(x.rank - 1)], [&](KernelUse* use) {
    use->key.set(NormBackwardConstants::KIND, number_of(select.node.as<NormBackwardAttrs>().kind));
    use->key.set(NormBackwardConstants::GAMMA, select.has(in::kBackwardGamma));
    bind(select, use, kInputs);
  });
  return Status::Ok;
}

void emit_norm_backward(const Emit& emit) {
  constexpr double kOperations = 30.0;  // per element, in four walks
  const View x = emit.in(in::kX), upstream = emit.in(in::kUpstream), out = emit.out();
  const View* const views[] = {&x, &upstream};
  NormBackwardParams p{};
  const Walk walk = walk_rows(out, views, &p);
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(upstream.offset);
  p.offset[3] = u32(out.offset);
  if (emit.has(in::kBackwardGamma)) {
    const View gamma = emit.in(in::kBackwardGamma);
    p.offset[2] = u32(gamma.offset);
    p.gamma_stride = u32(gamma.stride[0]);
  }
  put(p.x_stride, walk.stride[0]);
  put(p.upstream_stride, walk.stride[1]);
  p.eps = emit.node.as<NormBackwardAttrs>().eps;

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = static_cast<double>(walk.elements()) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels
