#include "kernels/matmul.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/philox.hpp"
#include "kernels/operations.hpp"

namespace heed::kernels {
namespace matmul {

Operands operands_of(const Select& select) {
  const DType a = select.info(in::kA).dtype, b = select.info(in::kB).dtype;
  if (a == DType::F16) return Operands::F16;
  if (a == DType::BF16) return b == DType::F16 ? Operands::Bf16ByF16 : Operands::Bf16;
  return b == DType::F16 ? Operands::F32ByF16 : b == DType::BF16 ? Operands::F32ByBf16 : Operands::F32;
}

KernelUse& add(const Select& select, KernelId id, uint32_t invocations, const Tile& tile, std::span<const uint32_t> own,
               uint32_t flags, const char* why) {
  const auto& attrs = select.node.as<MatmulAttrs>();
  const DropoutWords words = dropout_words(attrs.dropout.p);
  KernelUse& use = add_kernel(select, id, {invocations, 1, 1}, why);
  auto& spec = use.key.spec;
  spec[kFlags] = flags_of(select) | flags;
  spec[kActivation] = static_cast<uint32_t>(attrs.activation);
  spec[kDropoutThreshold] = words.threshold;
  spec[kDropoutScale] = std::bit_cast<uint32_t>(words.keep_scale);
  spec[kRows] = tile.rows;
  spec[kColumns] = tile.columns;
  std::copy(own.begin(), own.end(), spec.begin() + kOwn);
  use.key.spec_count = u32(static_cast<int64_t>(kOwn + own.size()));
  constexpr size_t kInputs[] = {in::kA, in::kB, in::kBias, in::kResidual};
  bind(select, &use, kInputs);
  return use;
}

double waves_cost(const Problem& problem, const KernelKey& key, double efficiency) {
  const int64_t parts = parts_of(problem, key);
  const auto waves = static_cast<double>(ceil_div<int64_t>(problem.tiles(key) * parts, problem.cores));
  return waves * key.spec[kRows] * key.spec[kColumns] / efficiency / static_cast<double>(parts);
}

MatmulParams params_of(const Emit& emit, const Problem& problem, const KernelKey& key) {
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
  p.tiles_m = u32(ceil_div<int64_t>(problem.m, key.spec[kRows]));
  p.tiles_n = u32(ceil_div<int64_t>(problem.n, key.spec[kColumns]));
  p.tiles = u32(problem.tiles(key));
  p.a_m = u32(problem.a.row), p.a_k = u32(problem.a.column);
  p.a_b0 = u32(problem.a.b0), p.a_b1 = u32(problem.a.b1);
  p.b_k = u32(problem.b.row), p.b_n = u32(problem.b.column);
  p.b_b0 = u32(problem.b.b0), p.b_b1 = u32(problem.b.b1);
  p.residual_m = u32(problem.residual.row);
  p.residual_b0 = u32(problem.residual.b0), p.residual_b1 = u32(problem.residual.b1);
  p.out_m = u32(problem.out.row), p.out_b0 = u32(problem.out.b0), p.out_b1 = u32(problem.out.b1);
  const auto& attrs = emit.node.as<MatmulAttrs>();
  p.scale = attrs.scale;
  p.seed = emit.values.seed;
  p.stream = attrs.dropout.stream;
  return p;
}

void emit_product(const Emit& emit, const Problem& problem, uint32_t kernel, bool partial) {
  const KernelKey& key = emit.kernels.uses[kernel].key;
  MatmulParams p = params_of(emit, problem, key);
  p.partial = partial ? u32(problem.b0 * problem.b1) : 0;
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = kernel;
  dispatch.groups = fold_groups(p.tiles);
  // Padding in the tiles takes as long as elements do.
  dispatch.work = 2.0 * p.tiles * key.spec[kRows] * key.spec[kColumns] * static_cast<double>(p.k);
  dispatch.set_push(p);
}

}  // namespace matmul

namespace {

using matmul::Problem;

double cost_of(const Problem& problem, const KernelKey& key) {
  if (matmul::kSubgroupKernels.has(key)) return matmul::subgroups_cost(problem, key);
  if (key.id == KernelId::MatmulF16MatrixNv2) return matmul::workgroup_matrices_cost(problem, key);
  if (key.id == KernelId::MatmulF16Matrix) return matmul::matrix_units_cost(problem, key);
  return matmul::tiles_cost(problem, key);
}

bool is_b_k_fast(const KernelKey& key) { return (key.spec[matmul::kFlags] & HEED_MATMUL_B_K_FAST) != 0; }

// What some kernels demand of where operands lie, known at a run only.
struct Layout {
  const Problem& problem;
  bool vec4;  // a and b can be read four elements at a time

  bool suits(const KernelKey& key) const {
    if (key.id == KernelId::MatmulF16MatrixNv2) return matmul::suits_workgroup_matrices(problem);
    return vec4 || (key.spec[matmul::kFlags] & HEED_MATMUL_A_VEC4) == 0;
  }
  // Alternatives stand back where the kernel before them suits.
  bool allows(const KernelList& kernels, uint32_t i) const {
    return suits(kernels.uses[i].key) && !(kernels.uses[i].alternative && suits(kernels.uses[i - 1].key));
  }
};

// Whether it was measured to be the best for such a product.
bool is_tuned(const KernelUse& use, const Problem& problem) {
  if (use.tuned == 0 || (matmul::is_vector(use.key) && problem.m > use.key.spec[matmul::kRows])) return false;
  return (use.tuned >> product_class(problem.m, problem.n, problem.k, is_b_k_fast(use.key)) & 1) != 0;
}

// Among the first `count` kernels, which store the result itself.
uint32_t best_kernel(const Problem& problem, const KernelList& kernels, uint32_t count) {
  const Layout layout = {problem, problem.reads_vec4(is_b_k_fast(kernels.uses[0].key))};
  for (uint32_t i = 0; i < count; ++i)
    if (is_tuned(kernels.uses[i], problem) && layout.allows(kernels, i)) return i;
  uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t i = 0; i < count; ++i) {
    const KernelKey& key = kernels.uses[i].key;
    if (!layout.allows(kernels, i)) continue;
    if (matmul::is_vector(key)) {
      // In the order of their rows: the first that holds them wastes least.
      if (matmul::serves(key, problem)) return i;
      continue;
    }
    const double cost = cost_of(problem, key);
    if (cost < least) best = i, least = cost;
  }
  return best;
}

Status check_types(const Select& select) {
  const DType dtype = select.info(in::kA).dtype;
  Status status = check_storage(select, dtype);
  if (status != Status::Ok) return status;
  if (select.out().dtype != dtype)
    return select.unsupported(
        format("inputs of %s and a result of %s", to_string(dtype), to_string(select.out().dtype)));
  const DType b = select.info(in::kB).dtype;
  if (b != dtype && (dtype == DType::F16 || !is_16_bit_float(b)))
    return select.unsupported(format("%s by %s", to_string(dtype), to_string(b)));
  if (status == Status::Ok) status = expect_dtype(select, in::kBias, "bias", dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kResidual, "residual", dtype);
  return status;
}

// What the product may ask for at some run.
void add_kernels(const Select& select) {
  if (select.device.matrix_always && matmul::add_matrix_units(select)) return;
  if (matmul::add_subgroups(select) || matmul::add_vectors(select) == matmul::Vectors::Always) return;
  matmul::add_workgroup_matrices(select);
  matmul::add_matrix_units(select);
  matmul::add_tiles(select);
}

}  // namespace

Status select_matmul(const Select& select) {
  const Status status = check_types(select);
  if (status != Status::Ok) return status;
  const TensorInfo& out = select.out();
  if (out.rank < 2 || out.rank > 4)
    return select.unsupported(format("result of rank %d; 2 to 4 are possible", out.rank));
  add_kernels(select);
  matmul::add_parts(select);
  return Status::Ok;
}

void emit_matmul(const Emit& emit) {
  Problem problem = matmul::problem_of(emit);
  uint32_t count = emit.kernels.count;
  if (emit.node.workspace.valid()) {
    problem.workspace = emit.schedule.max_values[static_cast<size_t>(emit.schedule.info(emit.node.workspace).dims[0])];
    count = (count - 1) / 2;  // after them, the same for parts, and the sum
  }
  const uint32_t kernel = best_kernel(problem, emit.kernels, count);
  const int64_t parts = matmul::parts_of(problem, emit.kernels.uses[kernel].key);
  if (parts == 1)
    matmul::emit_product(emit, problem, kernel, false);
  else
    matmul::emit_parts(emit, problem, count + kernel, parts);
}

}  // namespace heed::kernels
