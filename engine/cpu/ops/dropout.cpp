#include "cpu/ops/rows.hpp"

namespace heed::cpu {

ScratchNeed dropout_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.outputs[0], 1); }

void run_dropout(const Pass& pass) {
  const Operand x = pass.input(in::kX), out = pass.output();
  const auto& attrs = pass.node.as<DropoutAttrs>();
  const DropoutRule rule = {dropout_words(attrs.p), pass.values.seed, attrs.stream};
  const int64_t n = row_length(out.view);
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* row = pass.scratch<float>(worker);
    for (int64_t r = begin; r < end; ++r) {
      float* to = row_target(out, r, row);
      pass.kernels.rows->dropout(rule, static_cast<uint64_t>(r * n), load_row(x, r, row), to, n);
      store_row(out, r, to);
    }
  });
}

}  // namespace heed::cpu
