#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/ops/masking.hpp"

namespace heed::cpu {
namespace {

// Computes the weights of a row whose sum is NaN. Hidden keys get 0. If a visible logit is NaN, all visible keys get NaN; otherwise
// infinite ones get NaN and the others 0. `logits` is the row; `to` may be the same memory.
void weigh_strange(const RowKernels& kernels, const float* logits, float* to, int64_t n) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const bool nan = std::any_of(logits, logits + n, [](float x) { return std::isnan(x); });
  if (!nan && std::find(logits, logits + n, kInfinity) == logits + n)
    return kernels.softmax(logits, 1.0f, to, n, nullptr);
  const float finite = nan ? kNan : 0.0f;
  std::transform(logits, logits + n, to, [&](float x) { return x == kHidden ? 0.0f : x < kInfinity ? finite : kNan; });
}

}  // namespace

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
        // Trailing hidden keys do not change the sums of reproducible plans.
        const int64_t seen = kernels.canon != nullptr ? masking.visited_keys(row, row).end : n;
        kernels.scale(values, attrs.scale, logits, seen);
        masking.apply(row, {0, seen}, logits, buffer);
        softmax(row, logits, 1.0f, to, seen, next_row(x, out, row, end));
        std::fill(to + seen, to + n, 0.0f);
      }
      if (kernels.canon == nullptr && std::isnan(to[0])) {  // then all other weights of the row are NaN, too
        kernels.scale(load_row(x, row, buffer), attrs.scale, logits, n);
        masking.apply(row, {0, n}, logits, buffer, true);
        weigh_strange(kernels, logits, to, n);
      }
      store_row(out, row, to);
    }
  });
}

}  // namespace heed::cpu
