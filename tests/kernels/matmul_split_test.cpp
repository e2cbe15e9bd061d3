// Matmul split along k: the number of splits, whether they cover k, and whether they fit the workspace.

#include "kernels/lowered.hpp"

namespace heed::kernel_tests {
namespace {

struct Splits : LoweredPass {
  int64_t workspace = 0;

  explicit Splits(Lowered& lowered) : LoweredPass(lowered.lower(Op::Matmul)) {
    const Node& node = lowered.pass(Op::Matmul);
    if (node.workspace.valid()) workspace = static_cast<int64_t>(lowered.schedule.placement(node.workspace).bytes / 4);
  }
  MatmulParams params(uint32_t dispatch) const { return push_of<MatmulParams>(dispatches.dispatches[dispatch]); }
  // 1 means that k is not split.
  int64_t count() const { return dispatches.count == 1 ? 1 : params(dispatches.count - 1).k; }
};

// Checks the dispatches of `batches` matmuls of m x n x k with k split.
void check_splits(const Splits& splits, const Node& node, int64_t batches, int64_t m, int64_t n, int64_t k) {
  REQUIRE(splits.dispatches.count <= 3);
  const uint32_t last = splits.dispatches.count - 1;
  int64_t covered = 0, stored = 0;
  for (uint32_t d = 0; d < last; ++d) {
    const MatmulParams p = splits.params(d);
    const int64_t here = int64_t{p.tiles} / (p.tiles_m * p.tiles_n) / batches;
    CHECK(int64_t{p.partial} == batches);
    CHECK(int64_t{p.batch_1} * p.out_b1 == p.out_b0);
    CHECK(int64_t{p.out_b1} == m * n);
    CHECK(splits.use(d).buffers[4].tensor.id == node.workspace.id);
    CHECK(int64_t{p.offset[4]} == stored * batches * m * n);
    CHECK(int64_t{p.offset[0]} == covered * p.a_k);
    CHECK(int64_t{p.offset[1]} == covered * p.b_k);
    covered += here * p.k;
    stored += here;
  }
  const MatmulParams sum = splits.params(last);
  CHECK(covered == k);
  CHECK(int64_t{sum.k} == stored);
  CHECK(int64_t{sum.tiles} == batches * m * n);
  CHECK(int64_t{sum.a_k} == batches * m * n);
  CHECK(sum.partial == 0);
  CHECK(splits.use(last).buffers[0].tensor.id == node.workspace.id);
  CHECK_FALSE(splits.use(last).buffers[0].write);
  CHECK(splits.use(last).buffers[4].tensor.id == node.outputs[0].id);
  CHECK(stored * batches * m * n <= splits.workspace);
}

TEST_CASE("k is cut where tiles are few or sums long, and only there") {
  struct Row {
    std::vector<int64_t> batches;  // batch dims of a and b
    int64_t m, n, k;
    bool cut;
  };
  // For few rows splits need a larger k if b is contiguous along k, since workgroups then have fewer columns. 1100 has no equal splits.
  const Row rows[] = {{{}, 4096, 4096, 4096, false}, {{}, 1, 4096, 4096, false},     {{}, 64, 64, 256, false},
                      {{}, 64, 64, 4096, true},      {{}, 1, 16, 1152, false},       {{}, 1, 16, 9216, true},
                      {{1}, 1, 16, 1152, true},      {{}, 1, 1, 1000003, true},      {{}, 300, 200, 16400, true},
                      {{3}, 5, 7, 1152, true},       {{}, 16, 30, 999999, true},     {{2, 3}, 5, 7, 1664, true},
                      {{2, 1}, 5, 7, 1152, true},    {{4, 50}, 64, 64, 2048, false}, {{2, 2}, 1, 64, 40000, true},
                      {{3}, 5, 7, 1100, false}};
  for (const Row& row : rows) {
    Shape a, b;
    int64_t batches = 1;
    for (const int64_t size : row.batches) a.push_back(size), b.push_back(size), batches *= size;
    INFO(batches << " " << row.m << "x" << row.n << "x" << row.k);
    a.push_back(row.m), a.push_back(row.k);
    const bool transposed = row.batches.empty();
    b.push_back(transposed ? row.n : row.k), b.push_back(transposed ? row.k : row.n);
    Graph g;
    g.output("y", g.matmul(g.input("a", a), g.input("b", b), {.transpose_b = transposed}));
    Lowered lowered(g);
    const Splits splits(lowered);
    CHECK((splits.count() > 1) == row.cut);
    if (row.cut) check_splits(splits, lowered.pass(Op::Matmul), batches, row.m, row.n, row.k);
    for (uint32_t d = 0; d + 1 < splits.dispatches.count; ++d) CHECK(splits.params(d).k <= 16384);
    CHECK(splits.workspace <= int64_t{1} << 24);
  }
}

TEST_CASE("splits are as many as take the least time on the cores") {
  struct Row {
    uint32_t cores;
    int64_t m, n, k, splits;
  };
  // Tiles of 128x128 on matrix units: six splits of 24 tiles would need a second wave on 132 cores. Of five splits of 3072 the last would be
  // shorter, and a dispatch of its own.
  for (const Row& row :
       {Row{132, 512, 768, 3072, 4}, {132, 512, 768, 3200, 5}, {144, 512, 768, 3072, 6}, {132, 4096, 4096, 4096, 1}}) {
    INFO(row.cores << ": " << row.m << "x" << row.n << "x" << row.k);
    Graph g;
    g.output("y", g.linear(g.input("a", {row.m, row.k}, DType::F16), g.input("b", {row.n, row.k}, DType::F16)));
    Capabilities device = device_with_units();
    device.cores = row.cores;
    Lowered lowered(g, false, device);
    const Splits splits(lowered);
    CHECK(splits.count() == row.splits);
    CHECK(splits.dispatches.count == (row.splits > 1 ? 2 : 1));
  }
}

TEST_CASE("the number of splits follows the extents of a run") {
  Graph g;
  const Dim rows = g.extent("rows", 512), depth = g.extent("depth", 40000);
  g.output("y", g.matmul(g.input("a", {rows, depth}), g.input("b", {depth, 64})));
  Lowered lowered(g);
  for (const auto& [m, k] : {std::pair<int64_t, int64_t>{1, 100}, {1, 40000}, {512, 1024}, {512, 39999}, {33, 1088}}) {
    INFO(m << " x " << k);
    const std::vector<int64_t> extents = {m, k};
    REQUIRE(lowered.schedule.sizes.evaluate(extents, lowered.sizes));
    const Splits splits(lowered);
    if (splits.count() > 1) check_splits(splits, lowered.pass(Op::Matmul), 1, m, 64, k);
    CHECK((splits.count() > 1) == (k >= 1024));
  }
}

TEST_CASE("no product is cut without the kernel that adds the splits") {
  Graph g;
  g.output("y", g.linear(g.input("a", {64, 4096}), g.input("b", {64, 4096})));
  Lowered whole(g);
  REQUIRE(Splits(whole).count() > 1);
  Capabilities device;
  device.disabled[static_cast<size_t>(KernelId::MatmulF32Sum)] = true;
  Lowered lowered(g, false, device);
  CHECK(Splits(lowered).count() == 1);
}

}  // namespace
}  // namespace heed::kernel_tests
