#include <cstring>

#include "cpu/gemm/blocks.hpp"
#include "cpu/ops/rows.hpp"

namespace heed::cpu {

ScratchNeed embedding_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.outputs[0], 1); }

// out[.., c] = table[ids[..] - first, c] for ids in the table. Invalid ids give a row of zeros, and a fault.
void run_embedding(const Pass& pass) {
  const Operand table = pass.input(in::kTable), ids = pass.input(in::kIds), out = pass.output();
  const View places = per_row(ids.view);
  const CanonKernels* const canon = pass.kernels.rows->canon;
  const auto& attrs = pass.node.as<EmbeddingAttrs>();
  const int64_t n = row_length(out.view), rows = table.view.dim[0], total = attrs.total > 0 ? attrs.total : rows;
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* row = pass.scratch<float>(worker);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t given = *ids.at<const int32_t>(row_offset(places, r)), id = given - attrs.first;
      const bool is_known = given >= 0 && given < total;
      if (is_known ? id < 0 || id >= rows : attrs.first > 0) continue;
      if (!is_known) {
        pass.fault.report(static_cast<uint64_t>(r));
        std::memset(row, 0, static_cast<size_t>(n) * sizeof(float));
        store_row(out, r, row);
        continue;
      }
      const float* values = row;
      if (pass.packed_b != nullptr)
        widen_row(*pass.packed_b, table.view.offset / n + id, n, *pass.kernels.matmul, row);
      else
        values = load(table, id * table.view.stride[0], table.view.stride[1], n, row);
      if (canon != nullptr) {
        canon->flush(values, row, n);
        values = row;
      }
      store_row(out, r, values);
    }
  });
}

}  // namespace heed::cpu
