#include "cpu/copy.hpp"

namespace heed::cpu {

// Copies the parts one after the other into their share of out.
void run_concat(const Step& step) {
  const int axis = step.node.as<ConcatAttrs>().axis;
  const Operand out = step.output();
  int64_t begin_along_axis = 0;
  for (size_t part = 0; part < kMaxInputs; ++part) {
    const Operand x = step.input(part);
    if (!x.valid()) break;
    Operand share = out;
    share.data += begin_along_axis * out.view.stride[axis] * static_cast<int64_t>(size_of(out.view.dtype));
    share.view.dim[axis] = x.view.dim[axis];
    begin_along_axis += x.view.dim[axis];
    const int64_t n = row_length(x.view);
    step.parallel(row_count(x.view), row_grain(n), [&](uint32_t, int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        copy_elements(x, row_offset(x.view, r), row_stride(x.view), share, row_offset(share.view, r),
                      row_stride(share.view), n);
    });
  }
}

}  // namespace heed::cpu
