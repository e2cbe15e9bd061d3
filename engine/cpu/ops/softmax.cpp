#include <algorithm>

#include "cpu/ops/masking.hpp"

namespace heed::cpu {

ScratchNeed softmax_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.outputs[0], 2); }

void run_softmax(const Pass& pass) {
  const Operand x = pass.input(in::kX), out = pass.output_rows();
  const auto& attrs = pass.node.as<SoftmaxAttrs>();
  const Masking masking(x.view, attrs, pass.input(in::kSoftmaxBias), pass.input(in::kMask), pass.input(in::kKeyPadding),
                        pass.input(in::kSoftmaxLengths), pass.input(in::kSoftmaxPositions));
  const int64_t n = row_length(out.view);
  const RowKernels& kernels = *pass.kernels.rows;
  const Operand sums = pass.output(heed::out::kLogSumExp);
  const auto softmax = [&](int64_t row, const float* values, float scale, float* to, int64_t count, const float* next) {
    if (sums.valid())
      *sums.at<float>(row) = kernels.canon->softmax(values, scale, to, count);
    else
      kernels.softmax(values, scale, to, count, next);
  };
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* logits = pass.scratch<float>(worker);
    float* buffer = logits + row_pitch(n);
    for (int64_t row = begin; row < end; ++row) {
      const float* values = load_row(x, row, buffer);
      float* to = row_target(out, row, logits);
      if (masking.changes_nothing()) {
        softmax(row, values, attrs.scale, to, n, next_row(x, out, row, end));
      } else {
        // Sums of reproducible plans are the same without the keys at the end of which none is seen.
        const int64_t seen = kernels.canon != nullptr ? masking.visited_keys(row, row).end : n;
        kernels.scale(values, attrs.scale, logits, seen);
        masking.apply(row, {0, seen}, logits, buffer);
        softmax(row, logits, 1.0f, to, seen, next_row(x, out, row, end));
        std::fill(to + seen, to + n, 0.0f);
      }
      store_row(out, row, to);
    }
  });
}

}  // namespace heed::cpu
