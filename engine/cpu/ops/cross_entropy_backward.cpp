#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {
namespace {

// g times (softmax of x, minus 1 - smoothing at the label, minus smoothing / n everywhere). NaN if the loss is NaN, or infinite because no
// logit is finite.
void gradient_of(const RowKernels& kernels, const float* x, int64_t n, int64_t label, double smoothing, double g,
                 float* out) {
  const float largest = kernels.largest(x, n);
  if (std::isinf(largest)) {
    std::fill(out, out + n, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  const auto own_logit = static_cast<double>(x[label]) - static_cast<double>(largest);
  const double total = kernels.powers(x, largest, out, n);
  const double inverse = 1.0 / total, everywhere = smoothing / static_cast<double>(n);
  // Near p = 1 the label's own value, p - 1, would lose all digits in f32, so it is computed as the negated sum of the others.
  double others = 0.0;
  if (std::exp(own_logit) * inverse > 0.5)
    for (int64_t i = 0; i < n; ++i) others += i == label ? 0.0 : static_cast<double>(out[i]);
  const double own = others > 0.0 ? -others * inverse : static_cast<double>(out[label]) * inverse - 1.0;
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(g * (static_cast<double>(out[i]) * inverse - everywhere));
  out[label] = static_cast<float>(g * (own + smoothing - everywhere));
}

}  // namespace

ScratchNeed cross_entropy_backward_scratch(const ScratchQuery& query) {
  return row_scratch(query, query.node.inputs[in::kX], 2);
}

void run_cross_entropy_backward(const Pass& pass) {
  const Operand x = pass.input(in::kX), labels = pass.input(in::kLabels), upstream = pass.input(in::kLossUpstream);
  const Operand out = pass.output();
  const View label_of = per_row(labels.view), loss_of = per_row(upstream.view);
  const double smoothing = static_cast<double>(pass.node.as<CrossEntropyAttrs>().label_smoothing);
  const int64_t n = row_length(x.view);
  pass.parallel(row_count(x.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* buffer = pass.scratch<float>(worker);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t label = *labels.at<const int32_t>(row_offset(label_of, r));
      const double g = static_cast<double>(*upstream.at<const float>(row_offset(loss_of, r)));
      float* to = row_target(out, r, buffer + row_pitch(n));
      if (label < 0 || label >= n)
        std::fill(to, to + n, 0.0f);
      else if (const CanonKernels* canon = pass.kernels.rows->canon)
        canon->loss_backward(load_row(x, r, buffer), n, label, static_cast<float>(smoothing), static_cast<float>(g),
                             to);
      else
        gradient_of(*pass.kernels.rows, load_row(x, r, buffer), n, label, smoothing, g, to);
      store_row(out, r, to);
    }
  });
}

}  // namespace heed::cpu
