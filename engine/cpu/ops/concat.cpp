#include "cpu/ops/copy.hpp"

namespace heed::cpu {

ScratchNeed concat_scratch(const ScratchQuery&) { return {}; }

// Copies every part to its range of out.
void run_concat(const Pass& pass) {
  const int axis = pass.node.as<ConcatAttrs>().axis;
  const Operand out = pass.output();
  int64_t begin_along_axis = 0;
  for (size_t part = 0; part < kMaxInputs; ++part) {
    const Operand x = pass.input(part);
    if (!x.valid()) break;
    Operand place = out;
    place.data += begin_along_axis * out.view.stride[axis] * static_cast<int64_t>(size_of(out.view.dtype));
    place.view.dim[axis] = x.view.dim[axis];
    begin_along_axis += x.view.dim[axis];
    const int64_t n = row_length(x.view);
    pass.parallel(row_count(x.view), row_grain(n), [&](uint32_t, int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        copy_elements(x, row_offset(x.view, r), row_stride(x.view), place, row_offset(place.view, r),
                      row_stride(place.view), n);
    });
  }
}

}  // namespace heed::cpu
