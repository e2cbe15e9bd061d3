#include <cmath>
#include <limits>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The mean of x - largest.
double mean_distance(const float* x, double largest, int64_t n) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) - largest;
  return sum / static_cast<double>(n);
}

bool has_nan(const float* x, int64_t n) {
  return std::any_of(x, x + n, [](float v) { return std::isnan(v); });
}

// `powers` is a buffer of n floats.
double loss_of(const RowKernels& kernels, const float* x, int64_t n, int64_t label, double smoothing, float* powers) {
  const float largest = kernels.largest(x, n);
  if (std::isinf(largest)) return largest > 0.0f || has_nan(x, n) ? std::nan("") : kInfinity;
  double loss = std::log(kernels.powers(x, largest, powers, n));
  if (smoothing < 1.0) loss -= (1.0 - smoothing) * (static_cast<double>(x[label]) - static_cast<double>(largest));
  if (smoothing > 0.0) loss -= smoothing * mean_distance(x, largest, n);
  return loss;
}

}  // namespace

ScratchNeed cross_entropy_scratch(const ScratchQuery& query) {
  return row_scratch(query, query.node.inputs[in::kX], 2);
}

void run_cross_entropy(const Pass& pass) {
  const Operand x = pass.input(in::kX), labels = pass.input(in::kLabels), out = pass.output();
  const View label_of = per_row(labels.view), loss = per_row(out.view);
  const double smoothing = static_cast<double>(pass.node.as<CrossEntropyAttrs>().label_smoothing);
  const int64_t n = row_length(x.view);
  pass.parallel(row_count(x.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* buffer = pass.scratch<float>(worker);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t label = *labels.at<const int32_t>(row_offset(label_of, r));
      float* to = out.at<float>(row_offset(loss, r));
      *to = 0.0f;
      if (label < 0 || label >= n) continue;
      const float* row = load_row(x, r, buffer);
      if (const CanonKernels* canon = pass.kernels.rows->canon) {
        *to = canon->loss(row, n, label, static_cast<float>(smoothing));
        continue;
      }
      *to = static_cast<float>(loss_of(*pass.kernels.rows, row, n, label, smoothing, buffer + row_pitch(n)));
    }
  });
}

}  // namespace heed::cpu
