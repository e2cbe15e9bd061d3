#include <bit>

#include "kernels/rows/rows.hpp"

namespace heed::kernels {
namespace {

uint32_t softmax_flags(const Select& select) {
  uint32_t flags = masking_flags(select, select.node.as<SoftmaxAttrs>(), in::kKeyPadding, in::kMask, in::kSoftmaxBias);
  if (select.has(in::kSoftmaxLengths)) flags |= HEED_SOFTMAX_LENGTHS;
  if (select.has(in::kSoftmaxPositions)) flags |= HEED_SOFTMAX_POSITIONS;
  if (select.node.outputs[out::kLogSumExp].valid()) flags |= HEED_SOFTMAX_LOG_SUM_EXP;
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

// Views key padding [B, S_k] with x's rank: B is x's first dimension, S_k its last.
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
  Status status = check_storage(select, x.dtype);
  if (status == Status::Ok) status = check_inputs(select);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {in::kX,           in::kKeyPadding,     in::kMask,
                                in::kSoftmaxBias, in::kSoftmaxLengths, in::kSoftmaxPositions};
  constexpr ByStorage kIds = {KernelId::SoftmaxF32, KernelId::SoftmaxF16, KernelId::SoftmaxBf16};
  // Masks are excluded, since they are read byte by byte.
  const auto& inputs = select.node.inputs;
  const Tensor operands[] = {inputs[in::kX], inputs[in::kSoftmaxBias], select.node.outputs[0]};
  select_rows(select, kIds, x.dims[static_cast<size_t>(x.rank - 1)], softmax_flags(select), operands, kInputs);
  const auto& attrs = select.node.as<SoftmaxAttrs>();
  for (uint32_t i = 0; i < select.kernels->count; ++i) {
    KernelUse& use = select.kernels->uses[i];
    KernelKey& key = use.key;
    if (attrs.masked_fill) key.set(SoftmaxConstants::FILL_BITS, std::bit_cast<uint32_t>(*attrs.masked_fill));
    if (attrs.window > 0) key.set(SoftmaxConstants::WINDOW, attrs.window);
    if (!select.reproducible()) continue;
    const Tensor sums = select.node.outputs[out::kLogSumExp];
    use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, true, sums.valid() ? sums : select.node.outputs[0]};
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
  bool vec4 = is_vec4(x) && is_vec4(out);
  if (emit.has(in::kSoftmaxBias)) {
    const View bias = emit.in(in::kSoftmaxBias);
    place(3, bias, p.bias_stride);
    vec4 = vec4 && is_vec4(bias);
  }
  if (emit.has(in::kSoftmaxLengths)) p.offset[4] = u32(emit.in(in::kSoftmaxLengths).offset);
  if (emit.has(in::kSoftmaxPositions)) p.offset[5] = u32(emit.in(in::kSoftmaxPositions).offset);
  place(6, out, p.out_stride);
  const Walk walk = make_walk(x, {});
  put(p.dim, walk.dim);
  p.scale = attrs.scale;

  Dispatch& dispatch = emit_rows(emit, walk.elements(1), p.dim[3], vec4);
  constexpr double kOperations = 40.0;  // per logit: three loops, two exponentials
  dispatch.work = static_cast<double>(walk.elements()) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels
