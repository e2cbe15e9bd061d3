#include "cpu/ops/rows.hpp"

namespace heed::cpu {

ScratchNeed softmax_backward_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.outputs[0], 3); }

void run_softmax_backward(const Pass& pass) {
  const Operand weights = pass.input(in::kX), upstream = pass.input(in::kUpstream), visible = pass.input(in::kVisible);
  const Operand out = pass.output();
  const float scale = pass.node.as<SoftmaxBackwardAttrs>().scale;
  const int64_t n = row_length(out.view);
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* buffer = pass.scratch<float>(worker);
    float *others = buffer + row_pitch(n), *seen = others + row_pitch(n);
    for (int64_t row = begin; row < end; ++row) {
      const float *p = load_row(weights, row, buffer), *g = load_row(upstream, row, others);
      const float* v = visible.valid() ? load_row(visible, row, seen) : nullptr;
      float* to = row_target(out, row, buffer);
      pass.kernels.rows->softmax_backward(p, g, v, scale, to, n);
      store_row(out, row, to);
    }
  });
}

}  // namespace heed::cpu
