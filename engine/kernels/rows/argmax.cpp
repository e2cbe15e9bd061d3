#include "kernels/rows/argmax.hpp"

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

}  // namespace

Status add_argmax_kernel(const Select& select, int axis, uint32_t flags) {
  KernelId id{};
  const Status status = pick_kernel(select, &flags, &id);
  if (status != Status::Ok) return status;
  const AxisShape shape = axis_shape(select, select.info(in::kX), axis);
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
  p.count = count;
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
  emit_elements(emit, p.elements, p.n * static_cast<double>(count * size_of(x.dtype))).set_push(p);
}

Status select_argmax(const Select& select) {
  const auto& attrs = select.node.as<ArgmaxAttrs>();
  return add_argmax_kernel(select, attrs.axis,
                           (attrs.smallest ? HEED_ARGMAX_SMALLEST : 0) | (attrs.last ? HEED_ARGMAX_LAST : 0));
}

void emit_argmax(const Emit& emit) {
  const auto& attrs = emit.node.as<ArgmaxAttrs>();
  emit_argmax_kernel(emit, attrs.axis, attrs.count);
}

}  // namespace heed::kernels
