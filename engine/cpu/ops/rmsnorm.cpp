#include "cpu/ops/rows.hpp"

namespace heed::cpu {

ScratchNeed rmsnorm_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.outputs[0], 3); }

void run_rmsnorm(const Pass& pass) {
  const Operand x = pass.input(in::kX), residual = pass.input(in::kNormResidual), out = pass.output_rows();
  const Operand gamma = pass.input(in::kGamma);
  const auto& attrs = pass.node.as<NormAttrs>();
  const bool adds_first = residual.valid() && !attrs.adds_behind;
  const int64_t n = row_length(out.view), pitch = row_pitch(n);
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* buffer = pass.scratch<float>(worker);
    NormRow row;
    row.gamma = load_vector(gamma, buffer + 2 * pitch);
    row.eps = attrs.eps;
    for (int64_t r = begin; r < end; ++r) {
      row.x = load_row(x, r, buffer);
      row.residual = adds_first ? load_row(residual, r, buffer + pitch) : nullptr;
      float* to = row_target(out, r, buffer);
      pass.kernels.rows->rmsnorm(row, to, n);
      if (attrs.adds_behind) add_row(residual, r, buffer + pitch, to);
      store_row(out, r, to);
    }
  });
}

}  // namespace heed::cpu
