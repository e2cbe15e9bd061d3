#include <cmath>

#include "cpu/math.hpp"
#include "cpu/norm.hpp"

namespace heed::cpu {

ScratchNeed rmsnorm_scratch(const ScratchQuery& query) {
  return row_scratch(query, query.node.outputs[0], 3);
}

void run_rmsnorm(const Step& step) {
  const Operand x = step.input(in::kX), residual = step.input(in::kNormResidual), out = step.output();
  const Operand gamma = step.input(in::kGamma);
  const double eps = static_cast<double>(step.node.as<NormAttrs>().eps);
  const int64_t n = row_length(out.view), pitch = row_pitch(n);
  step.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* row = step.scratch<float>(worker);
    const float* g = load_vector(gamma, row + 2 * pitch);
    for (int64_t r = begin; r < end; ++r) {
      load_sum(x, residual, r, row, row + pitch);
      const double mean_square = sum_of_squares(row, n) / static_cast<double>(n);
      const float inverse = static_cast<float>(1.0 / std::sqrt(mean_square + eps));
      for (int64_t i = 0; i < n; ++i) row[i] *= inverse;
      if (g != nullptr)
        for (int64_t i = 0; i < n; ++i) row[i] *= g[i];
      store_row(out, r, row);
    }
  });
}

}  // namespace heed::cpu
