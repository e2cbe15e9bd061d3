#include <iterator>

#include "kernels/operations.hpp"

namespace heed::kernels {
Status select_slice_backward(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  constexpr ByStorage kIds = {KernelId::SliceBackwardI32, KernelId::SliceBackwardU16, KernelId::SliceBackwardU16};
  const Status status = pick_storage(select, x.dtype, kIds, &id);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {in::kX};
  bind(select, &add_kernel(select, id, {kInvocations, 1, 1}, "one invocation per word of the whole"), kInputs);
  return Status::Ok;
}

void emit_slice_backward(const Emit& emit) {
  const View x = emit.in(in::kX), out = emit.out();
  const auto& attrs = emit.node.as<SliceBackwardAttrs>();
  const auto value = [&](SizeId size) { return u32(emit.values.sizes[static_cast<size_t>(size)]); };
  SliceBackwardParams p{};
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(out.offset);
  p.elements = u32(out.elements());
  p.place = value(attrs.offset);
  // Missing axes have size 1 and a stride larger than any offset.
  constexpr int kDims = static_cast<int>(std::size(p.dim));
  for (int i = 0; i < kDims; ++i) {
    const int axis = i - (kDims - x.rank);
    p.dim[i] = axis < 0 ? 1 : u32(x.dim[axis]);
    p.x_stride[i] = axis < 0 ? 0 : u32(x.stride[axis]);
    p.place_stride[i] = axis < 0 ? UINT32_MAX : value(attrs.strides[static_cast<size_t>(axis)]);
  }
  const int64_t per_word = 4 / static_cast<int64_t>(size_of(x.dtype));
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.groups = fold_groups(ceil_div<int64_t>(p.elements, kInvocations * per_word));
  dispatch.work = static_cast<double>(p.elements) * 20.0;
  dispatch.set_push(p);
}

}  // namespace heed::kernels
