#include "kernels/rows/argmax.hpp"

#include <algorithm>

#include "kernels/loops.hpp"
#include "kernels/rows/axis.hpp"

namespace heed::kernels {
namespace {

Status pick_kernel(const Select& select, uint32_t* flags, KernelId* id) {
  const DType from = select.info(in::kX).dtype, to = (*flags & HEED_ARGMAX_VALUE) != 0 ? from : DType::I32;
  if (select.out().dtype != to)
    return select.unsupported(format("result of %s; %s is needed", to_string(select.out().dtype), to_string(to)));
  *id = KernelId::ArgmaxF32;
  if (from == DType::I32) {
    *flags |= HEED_ARGMAX_WHOLE;
    return Status::Ok;
  }
  return pick_storage(select, from, {KernelId::ArgmaxF32, KernelId::ArgmaxF16, KernelId::ArgmaxBf16}, id);
}

// The number of elements that one dispatch finds, each by a loop along the axis of length n, so that its loops stay within kRoundsAtOnce,
// unless a single one is longer.
int64_t rounds_at_once(int64_t n, int64_t invocations) {
  constexpr int64_t kHalves = 10;  // steps that combine the invocations' results, and other iterations per element
  return std::max<int64_t>(kRoundsAtOnce / (ceil_div(n, invocations) + kHalves), 1);
}

}  // namespace

Status add_argmax_kernel(const Select& select, int axis, uint32_t flags, int64_t count) {
  KernelId id{};
  const Status status = pick_kernel(select, &flags, &id);
  if (status != Status::Ok) return status;
  const TensorInfo& x = select.info(in::kX);
  const AxisShape shape = axis_shape(select.need(), x, axis);
  const int64_t n = select.max_of(x.dims[static_cast<size_t>(axis)]);
  const int64_t most = kMaxDispatchesPerPass * rounds_at_once(n, shape.workgroup[1]);
  if (count > most)
    return select.unsupported(format("%lld of %lld elements; this device finds at most %lld",
                                     static_cast<long long>(count), static_cast<long long>(n),
                                     static_cast<long long>(most)));
  KernelUse& use = add_kernel(select, id, shape.workgroup, shape.why);
  use.key.set(ArgmaxConstants::FLAGS, flags);
  constexpr size_t kInputs[] = {in::kX};
  bind(select, &use, kInputs);
  return Status::Ok;
}

void emit_argmax_kernel(const Emit& emit, int axis, uint32_t count) {
  View x = emit.in(in::kX), out = emit.out();
  const int rank = x.rank;
  ArgmaxParams p{};
  p.n = u32(x.dim[axis]);
  p.x_n = u32(take_axis(&x, axis, rank));
  p.out_n = u32(take_axis(&out, axis, rank));
  const View* const views[] = {&x, &out};
  Walk walk = make_walk(x, views);
  merge_dims(&walk, 0);
  p.elements = u32(walk.elements());
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(out.offset);
  put(p.dim, walk.dim);
  put(p.x_stride, walk.stride[0]);
  put(p.out_stride, walk.stride[1]);
  const int64_t at_once = rounds_at_once(p.n, emit.kernels.uses[0].key.spec[1]);
  for (int64_t begin = 0; begin < count; begin += at_once) {
    p.begin = u32(begin);
    p.end = u32(std::min<int64_t>(count, begin + at_once));
    emit_elements(emit, p.elements, p.n * static_cast<double>((p.end - p.begin) * size_of(x.dtype))).set_push(p);
  }
}

Status select_argmax(const Select& select) {
  const auto& attrs = select.node.as<ArgmaxAttrs>();
  return add_argmax_kernel(select, attrs.axis,
                           (attrs.smallest ? HEED_ARGMAX_SMALLEST : 0) | (attrs.last ? HEED_ARGMAX_LAST : 0),
                           attrs.count);
}

void emit_argmax(const Emit& emit) {
  const auto& attrs = emit.node.as<ArgmaxAttrs>();
  emit_argmax_kernel(emit, attrs.axis, attrs.count);
}

}  // namespace heed::kernels
