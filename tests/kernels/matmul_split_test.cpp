// Products that are cut along k: how far, that the parts cover k, and that they fit the workspace.
#include <utility>
#include <vector>

#include "kernels/lowered.hpp"

namespace heed::kernel_tests {
namespace {

struct Parts {
  KernelList kernels;
  DispatchList dispatches;
  int64_t workspace = 0;

  explicit Parts(Lowered& lowered) {
    const Node& node = lowered.step(Op::Matmul);
    lowered.lower(node, &kernels, &dispatches);
    if (node.workspace.valid()) workspace = static_cast<int64_t>(lowered.schedule.placement(node.workspace).bytes / 4);
  }
  MatmulParams params(uint32_t dispatch) const { return push_of<MatmulParams>(dispatches.dispatches[dispatch]); }
  const KernelUse& use(uint32_t dispatch) const { return kernels.uses[dispatches.dispatches[dispatch].kernel]; }
  // 1: not cut.
  int64_t count() const { return dispatches.count == 1 ? 1 : params(dispatches.count - 1).k; }
};

// Of so many batches of m x n x k, where the product is cut.
void check_parts(const Parts& parts, const Node& node, int64_t batches, int64_t m, int64_t n, int64_t k) {
  REQUIRE(parts.dispatches.count <= 3);
  const uint32_t last = parts.dispatches.count - 1;
  int64_t covered = 0, stored = 0;
  for (uint32_t d = 0; d < last; ++d) {
    const MatmulParams p = parts.params(d);
    const int64_t here = int64_t{p.tiles} / (p.tiles_m * p.tiles_n) / batches;
    CHECK(int64_t{p.partial} == batches);
    CHECK(int64_t{p.batch_1} * p.out_b1 == p.out_b0);
    CHECK(int64_t{p.out_b1} == m * n);
    CHECK(parts.use(d).buffers[4].tensor.id == node.workspace.id);
    CHECK(int64_t{p.offset[4]} == stored * batches * m * n);
    CHECK(int64_t{p.offset[0]} == covered * p.a_k);
    CHECK(int64_t{p.offset[1]} == covered * p.b_k);
    covered += here * p.k;
    stored += here;
  }
  const MatmulParams sum = parts.params(last);
  CHECK(covered == k);
  CHECK(int64_t{sum.k} == stored);
  CHECK(int64_t{sum.tiles} == batches * m * n);
  CHECK(int64_t{sum.a_k} == batches * m * n);
  CHECK(sum.partial == 0);
  CHECK(parts.use(last).buffers[0].tensor.id == node.workspace.id);
  CHECK_FALSE(parts.use(last).buffers[0].write);
  CHECK(parts.use(last).buffers[4].tensor.id == node.outputs[0].id);
  CHECK(stored * batches * m * n <= parts.workspace);
}

TEST_CASE("k is cut where tiles are few or sums long, and only there") {
  struct Row {
    std::vector<int64_t> batches;  // of a and b
    int64_t m, n, k;
    bool cut;
  };
  const Row rows[] = {{{}, 4096, 4096, 4096, false}, {{}, 1, 4096, 4096, false}, {{}, 64, 64, 256, false},
                      {{}, 64, 64, 4096, true},      {{}, 1, 16, 1100, true},    {{}, 1, 1, 1000003, true},
                      {{}, 300, 200, 16400, true},   {{3}, 5, 7, 1100, true},    {{}, 16, 30, 999999, true},
                      {{2, 3}, 5, 7, 1664, true},    {{2, 1}, 5, 7, 1100, true}, {{4, 50}, 64, 64, 2048, false},
                      {{2, 2}, 1, 64, 40000, true}};
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
    const Parts parts(lowered);
    CHECK((parts.count() > 1) == row.cut);
    if (row.cut) check_parts(parts, lowered.step(Op::Matmul), batches, row.m, row.n, row.k);
    for (uint32_t d = 0; d + 1 < parts.dispatches.count; ++d) CHECK(parts.params(d).k <= 16384);
    CHECK(parts.workspace <= int64_t{1} << 24);
  }
}

TEST_CASE("the number of parts follows the extents of a run") {
  Graph g;
  const Dim rows = g.extent("rows", 512), depth = g.extent("depth", 40000);
  g.output("y", g.matmul(g.input("a", {rows, depth}), g.input("b", {depth, 64})));
  Lowered lowered(g);
  for (const auto& [m, k] : {std::pair<int64_t, int64_t>{1, 100}, {1, 40000}, {512, 1024}, {512, 39999}, {33, 1029}}) {
    INFO(m << " x " << k);
    const std::vector<int64_t> extents = {m, k};
    REQUIRE(lowered.schedule.sizes.evaluate(extents, lowered.sizes));
    const Parts parts(lowered);
    if (parts.count() > 1) check_parts(parts, lowered.step(Op::Matmul), 1, m, 64, k);
    CHECK((parts.count() > 1) == (k >= 1024));
  }
}

TEST_CASE("no product is cut without the kernel that adds the parts") {
  Graph g;
  g.output("y", g.linear(g.input("a", {64, 4096}), g.input("b", {64, 4096})));
  Lowered whole(g);
  REQUIRE(Parts(whole).count() > 1);
  Capabilities device;
  device.disabled[static_cast<size_t>(KernelId::MatmulF32Sum)] = true;
  Lowered lowered(g, false, device);
  CHECK(Parts(lowered).count() == 1);
}

}  // namespace
}  // namespace heed::kernel_tests
