#include <algorithm>
#include <cmath>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {
namespace {

// The sum is double, since squares of values above 1e19 or below 1e-19 overflow or underflow f32. Eight partial sums are added in a fixed
// order.
double sum_of_squares(const float* x, int64_t n) {
  constexpr int kLanes = 8;
  double sums[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) sums[i % kLanes] += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

}  // namespace

ScratchNeed l2_normalize_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.outputs[0], 1); }

void run_l2_normalize(const Pass& pass) {
  const Operand x = pass.input(in::kX), out = pass.output();
  const double eps = static_cast<double>(pass.node.as<NormAttrs>().eps);
  const CanonKernels* const canon = pass.kernels.rows->canon;
  const int64_t n = row_length(out.view);
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* row = pass.scratch<float>(worker);
    for (int64_t r = begin; r < end; ++r) {
      load_copy(x, row_offset(x.view, r), row_stride(x.view), n, row);
      if (canon != nullptr) {
        canon->l2_normalize(row, static_cast<float>(eps), row, n);
        store_row(out, r, row);
        continue;
      }
      // The inverse is double: in f32 it would overflow for rows shorter than 3e-39.
      const double length = std::max(std::sqrt(sum_of_squares(row, n)), eps);
      const double inverse = length == 0.0 ? 0.0 : 1.0 / length;  // zeros stay zeros if eps is 0
      for (int64_t i = 0; i < n; ++i) row[i] = static_cast<float>(static_cast<double>(row[i]) * inverse);
      store_row(out, r, row);
    }
  });
}

}  // namespace heed::cpu
