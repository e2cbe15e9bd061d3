#include "kernels/matmul/matmul.hpp"

#include <bit>

#include "base/philox.hpp"
#include "kernels/matmul/planes.hpp"
#include "kernels/operations.hpp"

namespace heed::kernels {
namespace matmul {

Operands operands_of(const Select& select) {
  const DType a = select.info(in::kA).dtype, b = select.info(in::kB).dtype;
  if (is_quantized(b))
    return a == DType::F16 ? Operands::F16ByBlocks : a == DType::BF16 ? Operands::Bf16ByBlocks : Operands::F32ByBlocks;
  if (a == DType::F16) return Operands::F16;
  if (a == DType::BF16) return b == DType::F16 ? Operands::Bf16ByF16 : Operands::Bf16;
  return b == DType::F16 ? Operands::F32ByF16 : b == DType::BF16 ? Operands::F32ByBf16 : Operands::F32;
}

Candidate& add_tile(Candidates* candidates, KernelId id, uint32_t invocations, uint32_t rows, uint32_t columns,
                    double group) {
  Candidate& one = candidates->add(id, {invocations, 1, 1});
  one.traits.rows = rows;
  one.traits.columns = columns;
  one.traits.group = group;
  return one.set(Spec::BM, rows).set(Spec::BN, columns);
}

std::string_view option_of(const Schedule& schedule) {
  return schedule.asked.round_rows ? Tuning::kRounded : Tuning::kEmulated;
}

KernelUse& add(const Select& select, const Candidate& candidate, bool vec4) {
  const auto& attrs = select.node.as<MatmulAttrs>();
  const DropoutWords words = dropout_words(attrs.dropout.p);
  KernelUse& use = add_candidate(select, candidate);
  auto& spec = use.key.spec;
  spec[Spec::FLAGS] = flags_of(select) | (vec4 ? HEED_MATMUL_A_VEC4 | HEED_MATMUL_B_VEC4 : 0);
  spec[Spec::ACTIVATION] = static_cast<uint32_t>(attrs.activation);
  spec[Spec::DROPOUT_THRESHOLD] = words.threshold;
  spec[Spec::DROPOUT_SCALE] = std::bit_cast<uint32_t>(words.keep_scale);
  const DType b = select.info(in::kB).dtype;
  if (is_quantized(b)) use.key.set(MatmulBlockConstants::BLOCK_TYPE, number_of(b));
  constexpr size_t kInputs[] = {in::kA, in::kB, in::kBias, in::kResidual};
  bind(select, &use, kInputs);
  const Tensor kept = select.node.outputs[out::kBeforeActivation];
  use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, true, kept.valid() ? kept : select.node.outputs[0]};
  return use;
}

// Workgroups run in waves, one per core; the time of a run is that of its waves.
double Problem::cost(const Traits& traits) const {
  if (m > traits.most) return kUnsuited;
  const int64_t groups = tiles(traits);
  constexpr double kWithoutWork = 1000;
  const int64_t cut = splits_of(*this, traits);
  const auto waves = static_cast<double>(ceil_div<int64_t>(groups * cut, cores));
  return waves * traits.group / static_cast<double>(cut) * (k < traits.least_depth ? kWithoutWork : 1);
}

MatmulParams params_of(const Emit& emit, const Problem& problem, const KernelUse& use) {
  MatmulParams p{};
  p.offset[0] = u32(problem.a.offset);
  p.offset[1] = u32(problem.b.offset);
  p.offset[3] = u32(problem.residual.offset);
  p.offset[5] = p.offset[3];
  p.offset[4] = u32(problem.out.offset);
  if (emit.has(in::kBias)) {
    const View bias = emit.in(in::kBias);
    p.offset[2] = u32(bias.offset);
    p.bias_n = u32(bias.stride[bias.rank - 1]);
  }
  p.m = u32(problem.m), p.n = u32(problem.n), p.k = u32(problem.k);
  p.batch_1 = u32(problem.b1);
  p.tiles_m = u32(ceil_div<int64_t>(problem.m, use.traits.rows));
  p.tiles_n = u32(ceil_div<int64_t>(problem.n, use.traits.columns));
  p.tiles = u32(problem.tiles(use.traits));
  p.a_m = u32(problem.a.row), p.a_k = u32(problem.a.column);
  p.a_b0 = u32(problem.a.b0), p.a_b1 = u32(problem.a.b1);
  p.b_k = u32(problem.b_blocks > 0 ? problem.b_blocks : problem.b.row), p.b_n = u32(problem.b.column);
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
  const KernelUse& use = emit.kernels.uses[kernel];
  MatmulParams p = params_of(emit, problem, use);
  p.partial = partial ? u32(problem.b0 * problem.b1) : 0;
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = kernel;
  dispatch.groups = fold_groups(p.tiles);
  // Padding in tiles costs as much as other elements.
  dispatch.work = 2.0 * p.tiles * use.traits.rows * use.traits.columns * static_cast<double>(p.k);
  dispatch.set_push(p);
}

}  // namespace matmul

namespace {

Status check_types(const Select& select) {
  const DType dtype = select.info(in::kA).dtype;
  Status status = check_storage(select, dtype);
  if (status != Status::Ok) return status;
  if (select.out().dtype != dtype)
    return select.unsupported(
        format("inputs of %s and a result of %s", to_string(dtype), to_string(select.out().dtype)));
  const DType b = select.info(in::kB).dtype;
  if (b != dtype && !is_quantized(b) && (dtype == DType::F16 || !is_16_bit_float(b)))
    return select.unsupported(format("%s by %s", to_string(dtype), to_string(b)));
  if (status == Status::Ok) status = expect_dtype(select, in::kBias, "bias", dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kResidual, "residual", dtype);
  return status;
}

}  // namespace

Status select_matmul(const Select& select) {
  const Status status = check_types(select);
  if (status != Status::Ok) return status;
  const TensorInfo& out = select.out();
  if (out.rank < 2 || out.rank > 4)
    return select.unsupported(format("result of rank %d; 2 to 4 are possible", out.rank));
  Candidates candidates;
  for (const auto& [list, in_order] : matmul::kListers)
    if (in_order || !select.reproducible()) list(select, &candidates);
  candidates.measured_on(select.device);
  const auto problem_at = [&](std::span<const int64_t> sizes) {
    const RunValues values = {.sizes = sizes};
    return matmul::problem_of({select.schedule, select.node, select.device, *select.kernels, values, nullptr});
  };
  const uint32_t kept = keep(select.need(), candidates, 1, problem_at);
  const auto add_both = [&](const Candidate& candidate, bool vec4) {
    matmul::add(select, candidate, vec4);
    matmul::add_partial(select, select.kernels->count - 1);
  };
  add_kept(select, candidates, kept, matmul::known_vec4(select), add_both, matmul::known_vec8(select));
  matmul::add_sum(select);
  return Status::Ok;
}

void emit_matmul(const Emit& emit) {
  const matmul::Problem problem = matmul::problem_of(emit);
  const uint32_t kernel = choose(emit.kernels, problem);
  const KernelUse& use = emit.kernels.uses[kernel];
  const int64_t splits = matmul::splits_of(problem, use.traits);
  if (splits == 1)
    matmul::emit_product(emit, problem, kernel, false);
  else
    matmul::emit_splits(emit, problem, use.partner, splits);
}

}  // namespace heed::kernels
