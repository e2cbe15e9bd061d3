#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

constexpr size_t kFlags = 3;
constexpr double kOperations = 40.0;  // per logit: three walks, two exponentials

uint32_t flags_of(const Select& select) {
  const auto& attrs = select.node.as<SoftmaxAttrs>();
  uint32_t flags = 0;
  if (attrs.causal != Causal::None) flags |= HEED_SOFTMAX_CAUSAL;
  if (select.has(in::kKeyPadding)) flags |= HEED_SOFTMAX_KEY_PADDING;
  if (attrs.key_padding_meaning == Mask::Meaning::Keep) flags |= HEED_SOFTMAX_KEY_PADDING_KEEP;
  if (select.has(in::kMask)) flags |= HEED_SOFTMAX_MASK;
  if (attrs.mask_meaning == Mask::Meaning::Keep) flags |= HEED_SOFTMAX_MASK_KEEP;
  if (select.has(in::kSoftmaxBias)) flags |= HEED_SOFTMAX_BIAS;
  if (attrs.masked_fill) flags |= HEED_SOFTMAX_FILL;
  return flags;
}

Status check_inputs(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  if (x.rank < 1 || x.rank > 4) return select.unsupported(format("logits of rank %d; 1 to 4 are possible", x.rank));
  if (select.out().dtype != x.dtype) return select.unsupported("result and logits differ in type");
  Status status = expect_dtype(select, in::kKeyPadding, "key_padding", DType::U8);
  if (status == Status::Ok) status = expect_dtype(select, in::kMask, "mask", DType::U8);
  if (status == Status::Ok) status = expect_dtype(select, in::kSoftmaxBias, "bias", x.dtype);
  return status;
}

// Key padding [B, S_k] as a view of x's rank: B is x's first dimension, S_k its last.
View spread_padding(const View& padding, const View& x) {
  View view = x;
  view.offset = padding.offset;
  for (int i = 0; i < x.rank; ++i) view.stride[i] = 0;
  view.stride[0] = padding.stride[0];
  view.stride[x.rank - 1] = padding.stride[1];
  return view;
}

}  // namespace

Status select_softmax(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  Status status = pick_storage(select, x.dtype, KernelId::SoftmaxF32, KernelId::SoftmaxF16, &id);
  if (status == Status::Ok) status = check_inputs(select);
  if (status != Status::Ok) return status;
  const LanePlan plan = plan_lanes(select, x.dims[static_cast<size_t>(x.rank - 1)]);
  constexpr size_t kInputs[] = {in::kX, in::kKeyPadding, in::kMask, in::kSoftmaxBias};
  for (uint32_t i = 0; i < plan.count; ++i) {
    const uint32_t lanes = plan.lanes[i];
    KernelUse& use = add_kernel(select, id, {lanes, kRowInvocations / lanes, 1}, why_lanes(lanes, x.dtype));
    use.key.spec_count = kFlags + 1;
    use.key.spec[kFlags] = flags_of(select);
    bind(select, &use, kInputs);
  }
  return Status::Ok;
}

void emit_softmax(const Emit& emit) {
  const auto& attrs = emit.node.as<SoftmaxAttrs>();
  const View x = emit.in(in::kX), out = emit.out();
  SoftmaxParams p{};
  const auto place = [&](size_t binding, const View& view, uint32_t(&stride)[4]) {
    const View* const views[] = {&view};
    p.offset[binding] = u32(view.offset);
    put(stride, make_walk(x, views).stride[0]);
  };
  place(0, x, p.x_stride);
  if (emit.has(in::kKeyPadding)) place(1, spread_padding(emit.in(in::kKeyPadding), x), p.key_padding_stride);
  if (emit.has(in::kMask)) place(2, emit.in(in::kMask), p.mask_stride);
  if (emit.has(in::kSoftmaxBias)) place(3, emit.in(in::kSoftmaxBias), p.bias_stride);
  place(4, out, p.out_stride);
  const Walk walk = make_walk(x, {});
  put(p.dim, walk.dim);
  p.scale = attrs.scale;
  p.fill = attrs.masked_fill.value_or(0.0f);
  p.causal_offset = 0;
  if (attrs.causal == Causal::BottomRight) p.causal_offset = static_cast<int>(p.dim[3]) - static_cast<int>(p.dim[2]);

  Dispatch& dispatch = emit.dispatches->add();
  const uint32_t lanes = lanes_for(p.dim[3]);
  dispatch.kernel = find_lanes(emit.kernels, lanes);
  dispatch.groups = row_groups(walk.elements(1), lanes);
  dispatch.work = static_cast<double>(walk.elements()) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels
