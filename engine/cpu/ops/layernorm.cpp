#include "cpu/ops/rows.hpp"

namespace heed::cpu {

namespace {

// The number of rows processed together: several only if they fit into the first-level cache.
int64_t rows_at_once(int64_t length) {
  constexpr int64_t kFloats = 4096;
  return length * RowKernels::kNormRows <= kFloats ? RowKernels::kNormRows : 1;
}

}  // namespace

ScratchNeed layernorm_scratch(const ScratchQuery& query) {
  // Buffers for rows of x and of the residual, for gamma and for beta.
  return row_scratch(query, query.node.outputs[0], 2 * RowKernels::kNormRows + 2);
}

void run_layernorm(const Pass& pass) {
  const Operand x = pass.input(in::kX), residual = pass.input(in::kNormResidual), out = pass.output_rows();
  const Operand gamma = pass.input(in::kGamma), beta = pass.input(in::kBeta);
  const auto& attrs = pass.node.as<NormAttrs>();
  const bool adds_first = residual.valid() && !attrs.adds_behind;
  const int64_t n = row_length(out.view), pitch = row_pitch(n), at_once = rows_at_once(n);
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* buffers = pass.scratch<float>(worker);
    const auto buffer = [&](int64_t i) { return buffers + i * pitch; };
    const float* scaled = load_vector(gamma, buffer(2 * at_once));
    const float* shifted = load_vector(beta, buffer(2 * at_once + 1));
    for (int64_t first = begin; first < end; first += at_once) {
      const int64_t count = std::min(at_once, end - first);
      NormRow rows[RowKernels::kNormRows];
      float* outs[RowKernels::kNormRows];
      for (int64_t i = 0; i < count; ++i) {
        const float* other = adds_first ? load_row(residual, first + i, buffer(at_once + i)) : nullptr;
        rows[i] = {load_row(x, first + i, buffer(i)),        other, scaled, shifted, attrs.eps,
                   next_row(x, out, first + i, end, at_once)};
        outs[i] = row_target(out, first + i, buffer(i));
      }
      pass.kernels.rows->layernorm(rows, outs, count, n);
      for (int64_t i = 0; i < count; ++i) {
        if (attrs.adds_behind) add_row(residual, first + i, buffer(at_once + i), outs[i]);
        store_row(out, first + i, outs[i]);
      }
    }
  });
}

}  // namespace heed::cpu
