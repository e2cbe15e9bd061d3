#include <cstring>

#include "cpu/ops/copy.hpp"

namespace heed::cpu {

ScratchNeed slice_backward_scratch(const ScratchQuery&) { return {}; }

// Fills zeros, then scatters x.
void run_slice_backward(const Pass& pass) {
  constexpr int64_t kBytes = 1 << 16;
  const auto& attrs = pass.node.as<SliceBackwardAttrs>();
  const Operand x = pass.input(in::kX), out = pass.output();
  const int64_t bytes = out.view.elements() * static_cast<int64_t>(size_of(out.view.dtype));
  pass.parallel(ceil_div(bytes, kBytes), 1, [&](uint32_t, int64_t begin, int64_t end) {
    const int64_t from = begin * kBytes;
    std::memset(out.data + from, 0, static_cast<size_t>(std::min(end * kBytes, bytes) - from));
  });
  const auto value = [&](SizeId size) { return pass.values.sizes[static_cast<size_t>(size)]; };
  View places = x.view;
  places.offset = value(attrs.offset);
  for (int i = 0; i < places.rank; ++i) places.stride[i] = value(attrs.strides[static_cast<size_t>(i)]);
  const int64_t n = row_length(places);
  pass.parallel(row_count(places), row_grain(n), [&](uint32_t, int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      copy_elements(x, row_offset(x.view, row), row_stride(x.view), out, places.offset + row_offset(places, row),
                    row_stride(places), n);
  });
}

}  // namespace heed::cpu
