// Concat is one copy per part, into its slice of the output.
#include "kernels/copy.hpp"

namespace heed::kernels {

Status select_concat(const Select& select) {
  // Where a part starts in the output follows from the parts before it.
  Vec4 known = Vec4::Always;
  for (const Tensor part : select.node.inputs) known = worse(known, vec4_of(select, part));
  for (const Tensor part : select.node.inputs) {
    if (!part.valid()) continue;
    if (select.schedule.info(part).dtype != select.out().dtype)
      return select.unsupported(format("a part of %s in a result of %s", to_string(select.schedule.info(part).dtype),
                                       to_string(select.out().dtype)));
    const Status status = add_elementwise(select, ElementwiseAttrs{}, part, {}, known);
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

void emit_concat(const Emit& emit) {
  const int axis = emit.node.as<ConcatAttrs>().axis;
  View slice = emit.out();
  uint32_t kernel = 0;
  for (const Tensor tensor : emit.node.inputs) {
    if (!tensor.valid()) continue;
    const View part = resolve(emit.schedule, tensor, emit.values);
    slice.dim[axis] = part.dim[axis];
    kernel = emit_walk(emit, kernel, part, nullptr, slice, 1.0f);
    slice.offset += part.dim[axis] * slice.stride[axis];
  }
}

}  // namespace heed::kernels
