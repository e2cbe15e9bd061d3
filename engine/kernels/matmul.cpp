#include <algorithm>
#include <limits>
#include <utility>

#include "base/philox.hpp"
#include "kernels/matmul_matrix.hpp"
#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

// One way to cut the output: BM x BN tiles with BK-deep slices, TM x TN elements per invocation. Shared memory is
// (BM + BN) * (BK + 4) * 4 bytes; (BM / TM) * (BN / TN) is the 128 invocations that every device has.
struct Tile {
  uint32_t bm, bn, bk, tm, tn;
  double efficiency;  // multiply-adds per time, relative to the largest tile: it reads shared memory least often
  const char* why_f32;
  const char* why_f16;
};
constexpr Tile kTiles[] = {
    {64, 64, 16, 8, 4, 1.0, "64x64 tiles: many rows; f32 storage, f32 sums", "64x64 tiles: many rows; f16 storage, f32 sums"},
    {16, 64, 32, 2, 4, 0.6, "16x64 tiles: few rows; f32 storage, f32 sums", "16x64 tiles: few rows; f16 storage, f32 sums"},
    {4, 64, 32, 2, 1, 0.25, "4x64 tiles: up to 4 rows; f32 storage, f32 sums", "4x64 tiles: up to 4 rows; f16 storage, f32 sums"},
};
constexpr uint32_t kInvocations = 128;
// Workgroups that even a small GPU runs at once; fewer leave a part of it idle.
constexpr int64_t kGroupsAtOnce = 16;

constexpr bool fits(const Tile& t) {
  return (t.bm / t.tm) * (t.bn / t.tn) == kInvocations && (t.bm + t.bn) * (t.bk + 4) * 4 <= 16384;
}
static_assert(fits(kTiles[0]) && fits(kTiles[1]) && fits(kTiles[2]));

enum Spec : size_t { kBm = 3, kBn, kBk, kTm, kTn, kFlags, kActivation, kSpecCount };

// The kernel of single subgroups, for software drivers: TM rows of TN columns per lane. The higher, the more
// often a read of memory is used.
struct SubgroupTile {
  uint32_t tm, tn;
  const char* why;
};
constexpr SubgroupTile kSubgroupTiles[] = {
    {32, 4, "32 rows per subgroup, no barrier: a CPU runs this driver"},
    {4, 8, "4 rows per subgroup, no barrier: a CPU runs this driver"},
    {1, 8, "a row per subgroup, no barrier: a CPU runs this driver"}};
// From here on the widest tile is the fastest, however much of it is padding.
constexpr int64_t kManyRows = 9;
enum SubgroupSpec : size_t {
  kSubgroupTm = 3,
  kSubgroupTnAt,
  kSubgroupLanes,
  kSubgroupFlags,
  kSubgroupActivation,
  kSubgroupSpecCount
};

bool uses_subgroups(const Capabilities& device) {
  const uint32_t lanes = device.subgroup_size;
  return device.software && device.subgroup_ballot && device.subgroup_shuffle &&
         (lanes == 4 || lanes == 8 || lanes == 16);
}

// Rows and columns of one workgroup's tile.
struct TileSize {
  uint32_t rows, columns;
};
bool is_subgroup_kernel(const KernelKey& key) {
  return key.id == KernelId::MatmulF32Subgroup || key.id == KernelId::MatmulF16Subgroup;
}
TileSize tile_of(const KernelKey& key) {
  const auto& spec = key.spec;
  if (is_subgroup_kernel(key)) return {spec[kSubgroupTm], spec[kSubgroupTnAt] * spec[kSubgroupLanes]};
  return {spec[kBm], spec[kBn]};
}
uint32_t flags_in(const KernelKey& key) {
  return key.spec[is_subgroup_kernel(key) ? size_t{kSubgroupFlags} : size_t{kFlags}];
}

// The product at one run: batches b0 x b1 of m x n x k, and the strides of each operand along them.
struct Problem {
  struct Operand {
    int64_t offset = 0, b0 = 0, b1 = 0, row = 0, column = 0;
  };
  int64_t b0 = 1, b1 = 1, m = 1, n = 1, k = 1;
  Operand a, b, residual, out;  // a: rows m, columns k; b: rows k, columns n

  // Whether both a and b can be read four elements at a time along k, or b along n if not `b_k_fast`.
  bool reads_vec4(bool b_k_fast) const {
    const auto whole = [](const Operand& o, int64_t apart) {
      return ((o.offset | o.b0 | o.b1 | apart) & 3) == 0;
    };
    const bool a_dense = a.column == 1 && whole(a, m > 1 ? a.row : 0);
    const bool b_dense = b_k_fast ? b.row == 1 && whole(b, n > 1 ? b.column : 0)
                                  : b.column == 1 && n % 4 == 0 && whole(b, b.row);
    return k % 4 == 0 && a_dense && b_dense;
  }

  // Rows of all batches are one matrix where b is the same for them and the rows of the others follow each other:
  // a linear layer on [batch, tokens, channels] then fills its tiles across sentences.
  bool merge_inner_batch() {
    if (b1 > 1 && b.b1 != 0) return false;
    for (Operand* o : {&a, &residual, &out}) {
      if (b1 > 1 && m > 1 && o->b1 != o->row * m) return false;
    }
    for (Operand* o : {&a, &residual, &out}) {
      if (m == 1) o->row = o->b1;
      o->b1 = o->b0;
      o->b0 = 0;
    }
    b.b1 = std::exchange(b.b0, 0);
    m *= b1;
    b1 = std::exchange(b0, 1);
    return true;
  }
};

Problem::Operand operand(const View& view, const View& out) {
  Problem::Operand o;
  o.offset = view.offset;
  o.row = view.stride[view.rank - 2];
  o.column = view.stride[view.rank - 1];
  const auto batch_stride = [&](int from_end) -> int64_t {
    const int i = view.rank - from_end, target = out.rank - from_end;
    return i < 0 || (view.dim[i] == 1 && out.dim[target] != 1) ? 0 : view.stride[i];
  };
  o.b1 = batch_stride(3);
  o.b0 = batch_stride(4);
  return o;
}

Problem problem_of(const Emit& emit) {
  const View a = emit.in(in::kA), b = emit.in(in::kB), out = emit.out();
  Problem p;
  p.m = out.dim[out.rank - 2];
  p.n = out.dim[out.rank - 1];
  p.k = a.dim[a.rank - 1];
  p.b1 = out.rank > 2 ? out.dim[out.rank - 3] : 1;
  p.b0 = out.rank > 3 ? out.dim[out.rank - 4] : 1;
  p.a = operand(a, out);
  p.b = operand(b, out);
  p.out = operand(out, out);
  if (emit.has(in::kResidual)) p.residual = operand(emit.in(in::kResidual), out);
  else p.residual = {0, p.out.b0, p.out.b1, p.out.row, 1};  // unread; must not stand in the way of merging
  if (p.merge_inner_batch()) (void)p.merge_inner_batch();
  return p;
}

int64_t tile_count(const Problem& p, const TileSize& tile) {
  return ceil_div<int64_t>(p.m, tile.rows) * ceil_div<int64_t>(p.n, tile.columns) * p.b0 * p.b1;
}

// Cycles of one tile and four k, from times on lavapipe: reads of A and B, and multiply-adds.
double subgroup_cycles(const KernelKey& key) {
  const uint32_t tm = key.spec[kSubgroupTm], tn = key.spec[kSubgroupTnAt], lanes = key.spec[kSubgroupLanes];
  const uint32_t reads = tn + (tm < lanes ? tm : tm / lanes);
  return 108.0 * reads + 6.3 * tm * tn;
}

// Rough time of the product with this kernel: full waves of workgroups times the work of one.
double estimate(const Problem& p, const KernelKey& key) {
  const TileSize size = tile_of(key);
  if (is_subgroup_kernel(key)) return static_cast<double>(tile_count(p, size)) * subgroup_cycles(key);
  double efficiency = 1.0;
  for (const Tile& tile : kTiles)
    if (tile.bm == size.rows && tile.bn == size.columns) efficiency = tile.efficiency;
  if (key.id == KernelId::MatmulF16Matrix) efficiency = matrix_efficiency(key);
  const auto waves = static_cast<double>(ceil_div<int64_t>(tile_count(p, size), kGroupsAtOnce));
  return waves * size.rows * size.columns / efficiency;
}

// Of those that the operands of this run allow.
uint32_t best_kernel(const Problem& p, const KernelList& kernels) {
  const bool vec4 = p.reads_vec4((flags_in(kernels.uses[0].key) & HEED_MATMUL_B_K_FAST) != 0);
  uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t i = 0; i < kernels.count; ++i) {
    const bool has_alternative = i + 1 < kernels.count && kernels.uses[i + 1].alternative;
    if ((has_alternative && !vec4) || (kernels.uses[i].alternative && vec4)) continue;
    const double time = estimate(p, kernels.uses[i].key);
    if (time < least) best = i, least = time;
  }
  return best;
}

uint32_t flags_of(const Select& select) {
  const auto& sizes = select.schedule.sizes;
  const TensorInfo &a = select.info(in::kA), &b = select.info(in::kB);
  uint32_t flags = 0;
  if (select.has(in::kBias)) flags |= HEED_MATMUL_BIAS;
  if (select.node.as<MatmulAttrs>().dropout.p > 0.0f) flags |= HEED_MATMUL_DROPOUT;
  if (select.has(in::kResidual)) flags |= HEED_MATMUL_RESIDUAL;
  if (sizes.is_constant(a.strides[static_cast<size_t>(a.rank - 1)], 1)) flags |= HEED_MATMUL_A_K_FAST;
  if (sizes.is_constant(b.strides[static_cast<size_t>(b.rank - 2)], 1)) flags |= HEED_MATMUL_B_K_FAST;
  return flags;
}

// What is known of Problem::reads_vec4 before a run.
Vec4 known_vec4(const Select& select) {
  const Vec4 a = vec4_of(select, select.node.inputs[in::kA]);
  TensorInfo b = select.info(in::kB);
  if ((flags_of(select) & HEED_MATMUL_B_K_FAST) == 0)
    return worse(a, vec4_of(select, select.node.inputs[in::kB]));
  std::swap(b.dims[static_cast<size_t>(b.rank - 1)], b.dims[static_cast<size_t>(b.rank - 2)]);
  std::swap(b.strides[static_cast<size_t>(b.rank - 1)], b.strides[static_cast<size_t>(b.rank - 2)]);
  return worse(a, vec4_of(select, b));
}

Status check_types(const Select& select) {
  const DType dtype = select.info(in::kA).dtype;
  if (select.out().dtype != dtype)
    return select.unsupported(format("inputs of %s and a result of %s", to_string(dtype), to_string(select.out().dtype)));
  Status status = expect_dtype(select, in::kB, "b", dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kBias, "bias", dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kResidual, "residual", dtype);
  return status;
}

constexpr size_t kInputs[] = {in::kA, in::kB, in::kBias, in::kResidual};
constexpr uint32_t kReadsVec4 = HEED_MATMUL_A_VEC4 | HEED_MATMUL_B_VEC4;

void add_tile_kernels(const Select& select, KernelId id, int64_t most_rows) {
  const bool f16 = select.out().dtype == DType::F16;
  for (const Tile& tile : kTiles) {
    const bool smallest = tile.bm == 4;
    if (!smallest && most_rows <= tile.bm / 4) continue;  // mostly padding; a smaller tile follows
    add_vec4_kernels(known_vec4(select), [&](bool vec4) -> KernelUse& {
      KernelUse& use = add_kernel(select, id, {kInvocations, 1, 1}, f16 ? tile.why_f16 : tile.why_f32);
      use.key.spec_count = kSpecCount;
      use.key.spec[kBm] = tile.bm;
      use.key.spec[kBn] = tile.bn;
      use.key.spec[kBk] = tile.bk;
      use.key.spec[kTm] = tile.tm;
      use.key.spec[kTn] = tile.tn;
      use.key.spec[kFlags] = flags_of(select) | (vec4 ? kReadsVec4 : 0);
      use.key.spec[kActivation] = static_cast<uint32_t>(select.node.as<MatmulAttrs>().activation);
      bind(select, &use, kInputs);
      return use;
    });
  }
}

// Whether the number of rows, batches included, differs from run to run.
bool rows_vary(const Select& select) {
  const TensorInfo& out = select.out();
  for (int i = 0; i + 1 < out.rank; ++i)
    if (!select.schedule.sizes.is_constant(out.dims[static_cast<size_t>(i)])) return true;
  return false;
}

void add_subgroup_kernels(const Select& select, int64_t most_rows) {
  const KernelId id =
      select.out().dtype == DType::F16 ? KernelId::MatmulF16Subgroup : KernelId::MatmulF32Subgroup;
  const bool varies = rows_vary(select);
  for (const SubgroupTile& tile : kSubgroupTiles) {
    // Each costs the driver time to compile, so that only those are made that a run may ask for.
    const bool wanted = tile.tm == 1   ? most_rows == 1
                        : tile.tm == 4 ? most_rows > 1 && (varies || most_rows < kManyRows)
                                       : most_rows >= kManyRows;
    if (!wanted) continue;
    add_vec4_kernels(known_vec4(select), [&](bool vec4) -> KernelUse& {
      KernelUse& use = add_kernel(select, id, {select.device.subgroup_size, 1, 1}, tile.why);
      use.key.spec_count = kSubgroupSpecCount;
      use.key.spec[kSubgroupTm] = tile.tm;
      use.key.spec[kSubgroupTnAt] = tile.tn;
      use.key.spec[kSubgroupLanes] = select.device.subgroup_size;
      use.key.spec[kSubgroupFlags] = flags_of(select) | (vec4 ? kReadsVec4 : 0);
      use.key.spec[kSubgroupActivation] = static_cast<uint32_t>(select.node.as<MatmulAttrs>().activation);
      bind(select, &use, kInputs);
      return use;
    });
  }
}

}  // namespace

Status select_matmul(const Select& select) {
  const DType dtype = select.info(in::kA).dtype;
  KernelId id{};
  Status status = pick_storage(select, dtype, KernelId::MatmulF32, KernelId::MatmulF16, &id);
  if (status == Status::Ok) status = check_types(select);
  if (status != Status::Ok) return status;
  const TensorInfo& out = select.out();
  if (out.rank < 2 || out.rank > 4)
    return select.unsupported(format("result of rank %d; 2 to 4 are possible", out.rank));
  // Batches may become rows when the plan runs, so all of them count here.
  int64_t most_rows = 1;
  for (int i = 0; i + 1 < out.rank; ++i) most_rows *= select.max_of(out.dims[static_cast<size_t>(i)]);
  const auto activation = static_cast<uint32_t>(select.node.as<MatmulAttrs>().activation);
  if (add_matrix_kernels(select, flags_of(select), activation, most_rows, kInputs) && select.device.matrix_always)
    return Status::Ok;
  const KernelId subgroup_id = dtype == DType::F16 ? KernelId::MatmulF16Subgroup : KernelId::MatmulF32Subgroup;
  if (uses_subgroups(select.device) && select.device.allows(subgroup_id))
    add_subgroup_kernels(select, most_rows);
  else
    add_tile_kernels(select, id, most_rows);
  return Status::Ok;
}

void emit_matmul(const Emit& emit) {
  const auto& attrs = emit.node.as<MatmulAttrs>();
  const Problem problem = problem_of(emit);
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = best_kernel(problem, emit.kernels);
  const TileSize size = tile_of(emit.kernels.uses[dispatch.kernel].key);
  const int64_t tiles = tile_count(problem, size);

  MatmulParams p{};
  p.offset[0] = u32(problem.a.offset);
  p.offset[1] = u32(problem.b.offset);
  p.offset[3] = u32(problem.residual.offset);
  p.offset[4] = u32(problem.out.offset);
  if (emit.has(in::kBias)) {
    const View bias = emit.in(in::kBias);
    p.offset[2] = u32(bias.offset);
    p.bias_n = u32(bias.stride[bias.rank - 1]);
  }
  p.m = u32(problem.m), p.n = u32(problem.n), p.k = u32(problem.k);
  p.batch_1 = u32(problem.b1);
  p.tiles_m = u32(ceil_div<int64_t>(problem.m, size.rows));
  p.tiles_n = u32(ceil_div<int64_t>(problem.n, size.columns));
  p.tiles = u32(tiles);
  p.a_m = u32(problem.a.row), p.a_k = u32(problem.a.column);
  p.a_b0 = u32(problem.a.b0), p.a_b1 = u32(problem.a.b1);
  p.b_k = u32(problem.b.row), p.b_n = u32(problem.b.column);
  p.b_b0 = u32(problem.b.b0), p.b_b1 = u32(problem.b.b1);
  p.residual_m = u32(problem.residual.row);
  p.residual_b0 = u32(problem.residual.b0), p.residual_b1 = u32(problem.residual.b1);
  p.out_m = u32(problem.out.row), p.out_b0 = u32(problem.out.b0), p.out_b1 = u32(problem.out.b1);
  p.scale = attrs.scale;
  const DropoutWords words = dropout_words(attrs.dropout.p);
  p.dropout_threshold = words.threshold;
  p.dropout_scale = words.keep_scale;
  p.seed = emit.values.seed;
  p.stream = attrs.dropout.stream;
  dispatch.groups = fold_groups(tiles);
  // Padding in the tiles takes as long as elements do.
  dispatch.work =
      2.0 * static_cast<double>(tiles) * size.rows * size.columns * static_cast<double>(problem.k);
  dispatch.set_push(p);
}

}  // namespace heed::kernels
