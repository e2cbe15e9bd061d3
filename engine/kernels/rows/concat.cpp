// Concat copies each input into a slice of the output.
#include "kernels/rows/copy.hpp"

namespace heed::kernels {

static_assert(kMaxInputs <= kMaxDispatchesPerPass && 2 * kMaxInputs <= kMaxKernelsPerPass);

Status select_concat(const Select& select) {
  // The offset of an input in the output depends on the lengths of those before it, so all must be multiples of four.
  Vec4 known = Vec4::Always;
  for (const Tensor input : select.node.inputs) known = worse(known, vec4_of(select, input));
  for (uint32_t i = 0; i < kMaxInputs; ++i) {
    const Tensor input = select.node.inputs[i];
    if (!input.valid()) continue;
    if (select.schedule.info(input).dtype != select.out().dtype)
      return select.unsupported(format("an input of %s in a result of %s", to_string(select.schedule.info(input).dtype),
                                       to_string(select.out().dtype)));
    const Status status = add_elementwise(select, SimpleElementwise{}, input, {}, i, known);
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

void emit_concat(const Emit& emit) {
  const int axis = emit.node.as<ConcatAttrs>().axis;
  View slice = emit.out();
  for (uint32_t i = 0; i < kMaxInputs; ++i) {
    if (!emit.has(i)) continue;
    const View input = emit.in(i);
    slice.dim[axis] = input.dim[axis];
    emit_walk(emit, i, input, nullptr, slice, 1.0f);
    slice.offset += input.dim[axis] * slice.stride[axis];
  }
}

}  // namespace heed::kernels
