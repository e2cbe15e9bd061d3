#include "kernels/rows/rows.hpp"

namespace heed::kernels {

Status select_softmax_backward(const Select& select) {
  const TensorInfo& weights = select.info(in::kX);
  KernelId id{};
  constexpr ByStorage kIds = {KernelId::SoftmaxBackwardF32, KernelId::SoftmaxBackwardF16,
                              KernelId::SoftmaxBackwardBf16};
  Status status = pick_storage(select, weights.dtype, kIds, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kUpstream, "upstream", weights.dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kVisible, "visible", weights.dtype);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {in::kX, in::kUpstream, in::kVisible};
  select_summing_lanes(select, id, weights.dims[static_cast<size_t>(weights.rank - 1)], [&](KernelUse* use) {
    use->key.set(SoftmaxBackwardConstants::VISIBLE, select.has(in::kVisible));
    bind(select, use, kInputs);
  });
  return Status::Ok;
}

void emit_softmax_backward(const Emit& emit) {
  constexpr double kOperations = 8.0;  // per weight
  const View weights = emit.in(in::kX), upstream = emit.in(in::kUpstream), out = emit.out();
  const View visible = emit.has(in::kVisible) ? emit.in(in::kVisible) : weights;
  const View* const views[] = {&weights, &upstream, &visible};
  SoftmaxBackwardParams p{};
  const Walk walk = walk_rows(out, views, &p);
  p.offset[0] = u32(weights.offset);
  p.offset[1] = u32(upstream.offset);
  p.offset[2] = u32(visible.offset);
  p.offset[3] = u32(out.offset);
  put(p.weights_stride, walk.stride[0]);
  put(p.upstream_stride, walk.stride[1]);
  put(p.visible_stride, walk.stride[2]);
  p.scale = emit.node.as<SoftmaxBackwardAttrs>().scale;

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = static_cast<double>(walk.elements()) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels
