#include <cmath>

#include "cpu/math.hpp"
#include "cpu/norm.hpp"

namespace heed::cpu {
namespace {

// Two passes: the mean first, then the deviations from it. The mean is kept as a float and its rounding
// error, since for values near 10,000 the float alone may be off by half a thousandth of a unit deviation.
void normalize(float* row, int64_t n, float eps) {
  const double mean = sum(row, n) / static_cast<double>(n);
  const float mean_high = static_cast<float>(mean);
  const float mean_low = static_cast<float>(mean - static_cast<double>(mean_high));
  for (int64_t i = 0; i < n; ++i) row[i] = (row[i] - mean_high) - mean_low;
  const double variance = sum_of_squares(row, n) / static_cast<double>(n);
  const float inverse = static_cast<float>(1.0 / std::sqrt(variance + static_cast<double>(eps)));
  for (int64_t i = 0; i < n; ++i) row[i] *= inverse;
}

}  // namespace

ScratchNeed layernorm_scratch(const ScratchQuery& query) {
  return row_scratch(query, query.node.outputs[0], 4);
}

void run_layernorm(const Step& step) {
  const Operand x = step.input(in::kX), residual = step.input(in::kNormResidual), out = step.output();
  const Operand gamma = step.input(in::kGamma), beta = step.input(in::kBeta);
  const float eps = step.node.as<NormAttrs>().eps;
  const int64_t n = row_length(out.view), pitch = row_pitch(n);
  step.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* row = step.scratch<float>(worker);
    float* other = row + pitch;
    const float* g = load_vector(gamma, row + 2 * pitch);
    const float* b = load_vector(beta, row + 3 * pitch);
    for (int64_t r = begin; r < end; ++r) {
      load_sum(x, residual, r, row, other);
      normalize(row, n, eps);
      if (g != nullptr)
        for (int64_t i = 0; i < n; ++i) row[i] *= g[i];
      if (b != nullptr)
        for (int64_t i = 0; i < n; ++i) row[i] += b[i];
      store_row(out, r, row);
    }
  });
}

}  // namespace heed::cpu
