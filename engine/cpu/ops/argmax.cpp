#include "cpu/ops/rows.hpp"

namespace heed::cpu {

ScratchNeed argmax_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.inputs[in::kX], 1); }

// Gives the first of equal largest elements. NaN is never the largest; a row of nothing else gives 0.
void run_argmax(const Pass& pass) {
  const Operand x = pass.input(in::kX), out = pass.output();
  const View indices = per_row(out.view);
  const CanonKernels* const canon = pass.kernels.rows->canon;
  const int64_t n = row_length(x.view);
  pass.parallel(row_count(x.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const float* row = load_row(x, r, pass.scratch<float>(worker));
      if (canon != nullptr) {
        canon->flush(row, pass.scratch<float>(worker), n);
        row = pass.scratch<float>(worker);
      }
      int64_t best = -1;
      for (int64_t i = 0; i < n; ++i)
        if (best < 0 ? row[i] == row[i] : row[i] > row[best]) best = i;
      *out.at<int32_t>(row_offset(indices, r)) = static_cast<int32_t>(std::max<int64_t>(best, 0));
    }
  });
}

}  // namespace heed::cpu
