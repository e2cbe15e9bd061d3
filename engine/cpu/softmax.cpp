#include "cpu/masking.hpp"

namespace heed::cpu {

ScratchNeed softmax_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.outputs[0], 2); }

void run_softmax(const Pass& pass) {
  const Operand x = pass.input(in::kX), out = pass.output_rows();
  const auto& attrs = pass.node.as<SoftmaxAttrs>();
  const Masking masking(x.view, attrs, pass.input(in::kSoftmaxBias), pass.input(in::kMask), pass.input(in::kKeyPadding),
                        pass.input(in::kSoftmaxLengths), pass.input(in::kSoftmaxPositions));
  const int64_t n = row_length(out.view);
  const RowKernels& kernels = *pass.kernels.rows;
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* logits = pass.scratch<float>(worker);
    float* buffer = logits + row_pitch(n);
    for (int64_t row = begin; row < end; ++row) {
      const float* values = load_row(x, row, buffer);
      float* to = row_target(out, row, logits);
      if (masking.changes_nothing()) {
        kernels.softmax(values, attrs.scale, to, n, next_row(x, out, row, end));
      } else {
        kernels.scale(values, attrs.scale, logits, n);
        masking.apply(row, {0, n}, logits, buffer);
        kernels.softmax(logits, 1.0f, to, n, next_row(x, out, row, end));
      }
      store_row(out, row, to);
    }
  });
}

}  // namespace heed::cpu
