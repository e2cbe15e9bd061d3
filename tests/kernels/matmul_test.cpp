// Matmul's lowering: addresses for the kernel, batches merged into rows, the choice of tiles.
#include <bit>
#include <random>

#include "kernels/lowered.hpp"
#include "shared/matmul_matrix.h"
#include "shared/matmul_tiles.h"

namespace heed::kernel_tests {
namespace {

struct MatmulLowering : LoweredPass {
  MatmulParams p{};

  MatmulLowering(Lowered& lowered, const Node& node) : LoweredPass(lowered.lower(node)) {
    REQUIRE(dispatches.count == 1);
    p = push_of<MatmulParams>(dispatches.dispatches[0]);
  }
  uint32_t tile_rows() const { return use(0).key.spec[MatmulConstants::BM]; }
  uint32_t batches() const { return p.tiles / (p.tiles_m * p.tiles_n); }
};

// Element (index, row, column) of a view broadcast to the batches of `out`.
int64_t address(const View& view, const View& out, int64_t batch, int64_t row, int64_t column) {
  int64_t at = view.offset + row * view.stride[view.rank - 2] + column * view.stride[view.rank - 1];
  for (int i = out.rank - 2; i-- > 0;) {
    const int own = i - (out.rank - view.rank);
    if (own >= 0 && view.dim[own] != 1) at += batch % out.dim[i] * view.stride[own];
    batch /= out.dim[i];
  }
  return at;
}

// Compares the kernel's addresses for element (batch, m, n) and k with the views of the pass.
void check_addresses(Lowered& lowered, const Node& node) {
  const MatmulLowering lowering(lowered, node);
  const MatmulParams& p = lowering.p;
  const RunValues values = lowered.values();
  const View a = resolve(lowered.schedule, node.inputs[in::kA], values),
             b = resolve(lowered.schedule, node.inputs[in::kB], values),
             out = resolve(lowered.schedule, node.outputs[0], values);
  const int64_t m = out.dim[out.rank - 2], n = out.dim[out.rank - 1], k = a.dim[a.rank - 1];
  const int64_t batches = out.elements() / (m * n);
  REQUIRE(int64_t{lowering.batches()} * p.m == batches * m);
  REQUIRE(int64_t{p.n} == n);
  REQUIRE(int64_t{p.k} == k);
  for (int64_t element = 0; element < out.elements(); ++element) {
    const int64_t batch = element / (m * n), row = element / n % m, column = element % n;
    const uint32_t e = static_cast<uint32_t>(element), kernel_row = e / p.n % p.m, kernel_batch = e / p.n / p.m;
    const uint32_t b0 = kernel_batch / p.batch_1, b1 = kernel_batch % p.batch_1, c = e % p.n;
    REQUIRE(p.offset[4] + b0 * p.out_b0 + b1 * p.out_b1 + kernel_row * p.out_m + c ==
            address(out, out, batch, row, column));
    for (int64_t i = 0; i < k; ++i) {
      const uint32_t ki = static_cast<uint32_t>(i);
      REQUIRE(p.offset[0] + b0 * p.a_b0 + b1 * p.a_b1 + kernel_row * p.a_m + ki * p.a_k ==
              address(a, out, batch, row, i));
      REQUIRE(p.offset[1] + b0 * p.b_b0 + b1 * p.b_b1 + ki * p.b_k + c * p.b_n == address(b, out, batch, i, column));
    }
  }
}

TEST_CASE("matmul reads and writes the elements of its views") {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const auto size = [&] { return 1 + static_cast<int64_t>(random() % 4); };
    Graph g;
    const int64_t m = size(), n = size(), k = size();
    const int batch_rank = static_cast<int>(random() % 3);
    MatmulOptions options;
    options.transpose_a = random() % 2 == 0;
    options.transpose_b = random() % 2 == 0;
    Shape a, b;
    for (int i = 0; i < batch_rank; ++i) {
      const int64_t batch = size();
      a.push_back(random() % 4 == 0 ? 1 : batch);
      if (b.rank > 0 || random() % 2 == 0) b.push_back(random() % 4 == 0 ? 1 : batch);
    }
    a.push_back(options.transpose_a ? k : m);
    a.push_back(options.transpose_a ? m : k);
    b.push_back(options.transpose_b ? n : k);
    b.push_back(options.transpose_b ? k : n);
    Tensor ta = g.input("a", a), tb = g.input("b", b);
    // Batch axes in permuted order cannot merge into rows.
    if (batch_rank == 2 && random() % 3 == 0) {
      ta = g.transpose(g.input("c", {a[1], a[0], a[2], a[3]}), 0, 1);
    }
    g.output("y", g.matmul(ta, tb, options));
    Lowered lowered(g);
    check_addresses(lowered, lowered.pass(Op::Matmul));
  }
}

TEST_CASE("a linear layer is one product over the rows of all sentences") {
  Graph g;
  g.output("y", g.linear(g.input("x", {4, 50, 96}), g.input("w", {200, 96}), g.input("b", {200})));
  Lowered lowered(g);
  const MatmulLowering lowering(lowered, lowered.pass(Op::Matmul));
  CHECK(lowering.batches() == 1);
  CHECK(lowering.p.m == 200);
  CHECK(lowering.p.b_n == 96);
  CHECK(lowering.p.b_k == 1);
}

TEST_CASE("batches with a right side of their own stay batches") {
  Graph g;
  g.output("y", g.matmul(g.input("a", {2, 3, 7, 5}), g.input("b", {2, 3, 5, 6})));
  Lowered lowered(g);
  const MatmulLowering lowering(lowered, lowered.pass(Op::Matmul));
  CHECK(lowering.batches() == 6);
  CHECK(lowering.p.m == 7);
}

TEST_CASE("tiles follow the number of rows at each run") {
  Graph g;
  const Dim rows = g.extent("rows", 2048);
  g.output("y", g.linear(g.input("x", {rows, 768}), g.input("w", {768, 768})));
  Lowered lowered(g);
  const Node& node = lowered.pass(Op::Matmul);
  struct Row {
    int64_t rows;
    uint32_t tile;
  };
  for (const Row& row : {Row{1, 1}, Row{4, 8}, Row{8, 8}, Row{16, 16}, Row{512, 64}, Row{2048, 64}}) {
    INFO(row.rows);
    lowered.set_extent("rows", row.rows);
    const MatmulLowering lowering(lowered, node);
    CHECK(lowering.tile_rows() == row.tile);
    CHECK(lowering.p.tiles_m == (row.rows + row.tile - 1) / row.tile);
  }
}

TEST_CASE("an invocation has fewer sums where it has few registers") {
  Graph g;
  g.output("y", g.linear(g.input("x", {4096, 512}), g.input("w", {4096, 512})));
  Capabilities device = device_with_units();
  for (const auto& [registers, columns] : {std::pair<uint32_t, uint32_t>{256, 128}, {192, 128}, {128, 64}}) {
    device.registers = registers;
    Lowered lowered(g, false, device);
    const MatmulLowering lowering(lowered, lowered.pass(Op::Matmul));
    CHECK(lowering.tile_rows() == 128);
    CHECK(lowering.use(0).key.spec[MatmulConstants::BN] == columns);
  }
}

TEST_CASE("an invocation has 256 sums where a driver keeps registers in memory") {
  struct Row {
    bool transpose_a, transpose_b;
    uint32_t sums;
  };
  // Operands that are not contiguous along k need an invocation for each row or column of a tile.
  for (const Row& row : {Row{false, true, 256}, {true, true, 64}, {false, false, 64}}) {
    INFO("transposed: " << row.transpose_a << row.transpose_b);
    Graph g;
    g.output("y", g.matmul(g.input("a", {512, 512}), g.input("b", {512, 512}),
                           {.transpose_a = row.transpose_a, .transpose_b = row.transpose_b}));
    Capabilities device = device_with_units();
    device.registers = kRegistersInMemory;
    device.cores = 4;
    Lowered lowered(g, false, device);
    const KernelKey key = MatmulLowering(lowered, lowered.pass(Op::Matmul)).use(0).key;
    CHECK(key.spec[MatmulTileConstants::TM] * key.spec[MatmulTileConstants::TN] == row.sums);
    CHECK(key.spec[MatmulConstants::BM] * key.spec[MatmulConstants::BN] == row.sums * key.spec[0]);
  }
}

TEST_CASE("matrix units read eight elements at a time where both operands lie whole along their fast axes") {
  struct Row {
    bool transpose_a, transpose_b;
    int64_t m, n, k;
    bool whole;
  };
  for (const Row& row : {Row{false, true, 100, 50, 64, true},
                         {false, true, 100, 50, 60, false},
                         {false, false, 100, 64, 64, true},
                         {false, false, 100, 60, 64, false},
                         {true, false, 96, 64, 50, true},
                         {true, false, 100, 64, 64, false},
                         {true, true, 96, 50, 64, true},
                         {true, true, 96, 50, 50, false}}) {
    INFO(row.m << " x " << row.n << " x " << row.k << ", transposed: " << row.transpose_a << row.transpose_b);
    Graph g;
    const Tensor a = g.input("a", row.transpose_a ? Shape{row.k, row.m} : Shape{row.m, row.k}, DType::F16);
    const Tensor b = g.input("b", row.transpose_b ? Shape{row.n, row.k} : Shape{row.k, row.n}, DType::F16);
    g.output("y", g.matmul(a, b, {.transpose_a = row.transpose_a, .transpose_b = row.transpose_b}));
    Lowered lowered(g, false, device_with_units());
    const MatmulLowering lowering(lowered, lowered.pass(Op::Matmul));
    CHECK(lowering.use(0).key.id == KernelId::MatmulF16Matrix);
    CHECK((lowering.use(0).key.spec[MatmulConstants::FLAGS] & HEED_MATMUL_A_VEC4) ==
          (row.whole ? HEED_MATMUL_A_VEC4 : 0));
  }
}

TEST_CASE("tiles on matrix units follow the subgroups that a device reports, its memory and its cores") {
  using Matrix = MatmulMatrixConstants;
  struct Row {
    uint32_t reported;  // AMD's GPUs report 64, NVIDIA's 32
    int64_t rows;
    uint32_t shared, bm, bn, wm, wn, buffers;
  };
  for (const Row& row : {Row{64, 4096, 49152, 128, 128, 64, 64, 0},
                         {32, 4096, 49152, 128, 128, 64, 32, 0},
                         {16, 4096, 49152, 128, 128, 64, 32, 0},
                         {32, 512, 49152, 64, 96, 32, 48, 2},
                         {32, 512, 16384, 64, 64, 32, 32, 0},
                         {16, 512, 49152, 128, 128, 64, 32, 0}}) {
    INFO(row.reported << " " << row.rows << " " << row.shared);
    Graph g;
    g.output("y", g.linear(g.input("a", {row.rows, 768}, DType::F16), g.input("b", {3072, 768}, DType::F16)));
    Capabilities device = device_with_units();
    device.subgroup_size = row.reported;
    device.cores = 132;
    device.shared_bytes = row.shared;
    Lowered lowered(g, false, device);
    const MatmulLowering lowering(lowered, lowered.pass(Op::Matmul));
    const KernelKey& key = lowering.use(0).key;
    CHECK(key.spec[MatmulConstants::BM] == row.bm);
    CHECK(key.spec[MatmulConstants::BN] == row.bn);
    CHECK(key.spec[Matrix::WM] == row.wm);
    CHECK(key.spec[Matrix::WN] == row.wn);
    CHECK(key.spec[0] == 32 * row.bm / row.wm * row.bn / row.wn);
    CHECK((key.spec_count > Matrix::BUFFERS ? key.spec[Matrix::BUFFERS] : 0) == row.buffers);
  }
}

TEST_CASE("Intel's subgroups have few sums of a product, and as many invocations as a fragment has columns") {
  struct Row {
    MatrixSize size;  // Xe2's and that of the GPUs before
    uint32_t wm, wn;
  };
  for (const Row& row : {Row{{8, 16, 16}, 16, 16}, Row{{8, 8, 16}, 8, 16}})
    for (const int64_t rows : {20, 1000}) {
      INFO(row.size.n << " " << rows);
      Graph g;
      g.output("y", g.matmul(g.input("a", {rows, 4096}, DType::F16), g.input("b", {4096, 4096}, DType::F16)));
      Capabilities device = device_with_units();
      device.subgroup_size = 32;
      device.registers = 128;
      device.matrix = row.size;
      Lowered lowered(g, false, device);
      const MatmulLowering lowering(lowered, lowered.pass(Op::Matmul));
      const KernelKey& key = lowering.use(0).key;
      CHECK(key.subgroup == row.size.n);
      CHECK(key.spec[MatmulMatrixConstants::WM] == row.wm);
      CHECK(key.spec[MatmulMatrixConstants::WN] == row.wn);
      CHECK(key.spec[0] ==
            row.size.n * key.spec[MatmulConstants::BM] * key.spec[MatmulConstants::BN] / row.wm / row.wn);
    }
}

TEST_CASE("several workgroups of a product share a core where its registers are few") {
  for (const auto& [weight, rows, columns] :
       {std::tuple<DType, uint32_t, uint32_t>{DType::F32, 64, 64}, {DType::Q8_0, 128, 64}}) {
    Graph g;
    g.output("y", g.linear(g.input("x", {4096, 512}), g.weight("w", {4096, 512}, weight)));
    Capabilities device = device_with_units();
    device.core_registers = 65536;
    Lowered lowered(g, false, device);
    const MatmulLowering lowering(lowered, lowered.pass(Op::Matmul));
    CHECK(lowering.tile_rows() == rows);
    CHECK(lowering.use(0).key.spec[MatmulConstants::BN] == columns);
  }
}

TEST_CASE("few rows take one kernel for few rows, or tiles where sums are short") {
  struct Row {
    Shape a, b;
    uint32_t kernels, tile_rows, batches;
  };
  // The plan keeps two kernels, with and without vector loads of four elements. Batches with their own right operand do not merge into
  // rows.
  const Row rows[] = {
      {{1, 768}, {768, 768}, 1, 1, 1}, {{1, 64}, {64, 768}, 2, 4, 1}, {{2, 12, 1, 512}, {2, 12, 512, 64}, 1, 1, 24}};
  for (const Row& row : rows) {
    INFO("row " << &row - rows);
    Graph g;
    const bool linear = row.a.rank == 2;
    g.output("y", linear ? g.linear(g.input("a", row.a), g.input("b", {row.b[1], row.b[0]}))
                         : g.matmul(g.input("a", row.a), g.input("b", row.b)));
    Lowered lowered(g);
    const MatmulLowering lowering(lowered, lowered.pass(Op::Matmul));
    CHECK(lowering.kernels.count == row.kernels);
    CHECK(lowering.tile_rows() == row.tile_rows);
    CHECK(lowering.batches() == row.batches);
  }
}

TEST_CASE("a kernel for few rows that failed the self-test is not used") {
  Graph g;
  g.output("y", g.linear(g.input("x", {1, 768}), g.input("w", {768, 768})));
  Lowered lowered(g);
  lowered.device.disabled[static_cast<size_t>(KernelId::MatmulF32Vector)] = true;
  CHECK(MatmulLowering(lowered, lowered.pass(Op::Matmul)).tile_rows() == 4);
  lowered.device.subgroup_arithmetic = true;
  CHECK(MatmulLowering(lowered, lowered.pass(Op::Matmul)).tile_rows() == 1);
}

TEST_CASE("the epilogue is in flags and push constants") {
  Graph g;
  const Tensor x = g.input("x", {3, 8});
  const Tensor y = g.linear(x, g.input("w", {8, 8}), g.input("b", {8}));
  g.output("y", g.add(g.dropout(g.activation(y, Activation::Silu), 0.25f, 9), x));
  Lowered lowered(g, true);
  REQUIRE(lowered.schedule.passes.size() == 1);
  const MatmulLowering lowering(lowered, lowered.schedule.passes[0]);
  const auto& spec = lowering.kernels.uses[0].key.spec;
  const uint32_t epilogue = HEED_MATMUL_BIAS | HEED_MATMUL_DROPOUT | HEED_MATMUL_RESIDUAL;
  CHECK((spec[MatmulConstants::FLAGS] & epilogue) == epilogue);
  CHECK(spec[MatmulConstants::ACTIVATION] == static_cast<uint32_t>(Activation::Silu));
  CHECK(spec[MatmulConstants::DROPOUT_THRESHOLD] == 0x40000000u);  // a quarter of 2^32
  CHECK(std::bit_cast<float>(spec[MatmulConstants::DROPOUT_SCALE]) == Approx(4.0f / 3.0f));
  CHECK(lowering.p.stream == 9);
  CHECK(lowering.p.seed == 7);
}

}  // namespace
}  // namespace heed::kernel_tests
