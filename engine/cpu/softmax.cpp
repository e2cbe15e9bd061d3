#include "cpu/masking.hpp"

namespace heed::cpu {

ScratchNeed softmax_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.outputs[0], 2); }

void run_softmax(const Step& step) {
  const Operand x = step.input(in::kX), out = step.output_rows();
  const auto& attrs = step.node.as<SoftmaxAttrs>();
  const Masking masking(x.view, attrs, step.input(in::kSoftmaxBias), step.input(in::kMask),
                        step.input(in::kKeyPadding));
  const int64_t n = row_length(out.view);
  const RowKernels& kernels = *step.kernels.rows;
  step.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* logits = step.scratch<float>(worker);
    float* buffer = logits + row_pitch(n);
    for (int64_t row = begin; row < end; ++row) {
      const float* values = load_row(x, row, buffer);
      float* to = row_target(out, row, logits);
      if (masking.changes_nothing()) {
        kernels.softmax(values, attrs.scale, to, n, next_row(x, out, row, end));
      } else {
        kernels.scale(values, attrs.scale, logits, n);
        masking.apply(row, logits, buffer);
        kernels.softmax(logits, 1.0f, to, n, next_row(x, out, row, end));
      }
      store_row(out, row, to);
    }
  });
}

}  // namespace heed::cpu
