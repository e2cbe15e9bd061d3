#include <cstring>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {
namespace {

// An item is this many rows of the table by this many columns, whose sums stay in a cache; it checks all ids.
constexpr int64_t kTableRows = 64, kTableColumns = 256;

struct TableSums {
  Operand rows, ids, out;

  // Computes the sums for table rows first .. of column block `at`, for index `outer`.
  void run(int64_t outer, int64_t first, int64_t at, float* sums, float* buffer) const {
    const int64_t count = std::min(kTableRows, out.view.dim[1] - first),
                  n = std::min(kTableColumns, out.view.dim[2] - at);
    std::memset(sums, 0, static_cast<size_t>(count * kTableColumns) * sizeof(float));
    const auto* const id = ids.at<const int32_t>(outer * ids.view.stride[0]);
    for (int64_t i = 0; i < ids.view.dim[1]; ++i) {
      const int64_t row = id[i * ids.view.stride[1]] - first;
      if (row < 0 || row >= count) continue;
      float* sum = sums + row * kTableColumns;
      out.kernels->add(sum, load(rows, place(rows.view, outer, i, at), rows.view.stride[2], n, buffer), sum, n);
    }
    for (int64_t row = 0; row < count; ++row)
      store(out, place(out.view, outer, first + row, at), out.view.stride[2], n, sums + row * kTableColumns);
  }

  static int64_t place(const View& view, int64_t outer, int64_t row, int64_t column) {
    return outer * view.stride[0] + row * view.stride[1] + column * view.stride[2];
  }
};

}  // namespace

ScratchNeed embedding_backward_scratch(const ScratchQuery&) {
  return {.shared = 0, .per_worker = (kTableRows + 1) * kTableColumns * sizeof(float)};
}

// Rows with the same id are added in their order, independent of the threads.
void run_embedding_backward(const Pass& pass) {
  const TableSums sums{pass.input(0), pass.input(1), pass.output()};
  const View& out = sums.out.view;
  const int64_t row_blocks = ceil_div(out.dim[1], kTableRows), column_blocks = ceil_div(out.dim[2], kTableColumns);
  const int64_t of_outer = row_blocks * column_blocks;
  pass.parallel(out.dim[0] * of_outer, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    float* memory = pass.scratch<float>(worker);
    for (int64_t i = begin; i < end; ++i)
      sums.run(i / of_outer, i % of_outer / column_blocks * kTableRows, i % column_blocks * kTableColumns, memory,
               memory + kTableRows * kTableColumns);
  });
}

}  // namespace heed::cpu
