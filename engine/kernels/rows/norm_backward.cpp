// The gradients of norms: a dispatch for that of x, which stores four numbers of each row, and one that works on columns for those of gamma
// and beta and for the sums of rows.
#include "kernels/rows/rows.hpp"

namespace heed::kernels {
namespace {

using Sums = NormBackwardSumsConstants;

// Workgroup of the second dispatch: columns x invocations that share the rows of one column.
constexpr std::array<uint32_t, 3> kColumns = {8, HEED_ROW_INVOCATIONS / 8, 1};
constexpr int64_t kNumbers = 4;  // per row

uint32_t kind_of(NormBackwardAttrs::Kind kind) {
  switch (kind) {
    case NormBackwardAttrs::Kind::Layer: return HEED_NORM_BACKWARD_LAYER;
    case NormBackwardAttrs::Kind::Rms: return HEED_NORM_BACKWARD_RMS;
    case NormBackwardAttrs::Kind::L2: break;
  }
  return HEED_NORM_BACKWARD_L2;
}

constexpr size_t kSummed[] = {out::kGammaGradient, out::kBetaGradient, out::kRowSums};

bool sums(const Node& node) {
  return std::any_of(std::begin(kSummed), std::end(kSummed), [&](size_t i) { return node.outputs[i].valid(); });
}

void select_sums(const Select& select) {
  const Node& node = select.node;
  constexpr ByStorage kIds = {KernelId::NormBackwardSumsF32, KernelId::NormBackwardSumsF16,
                              KernelId::NormBackwardSumsBf16};
  KernelUse& use =
      add_kernel(select, kIds.of(select.out().dtype), kColumns, "8 columns per workgroup, 16 invocations each");
  use.role = KernelUse::Role::Second;  // not a candidate for the first dispatch
  use.key.set(Sums::GAMMA, node.outputs[out::kGammaGradient].valid());
  use.key.set(Sums::BETA, node.outputs[out::kBetaGradient].valid());
  use.key.set(Sums::SUMS, node.outputs[out::kRowSums].valid());
  const auto add = [&](Tensor tensor, bool write) {
    use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, write, tensor};
  };
  for (const Tensor read : {node.inputs[in::kX], node.inputs[in::kUpstream], node.outputs[0], node.workspace})
    add(read, false);
  // A binding needs a writable buffer, even if nothing is written.
  const size_t some =
      *std::find_if(std::begin(kSummed), std::end(kSummed), [&](size_t i) { return node.outputs[i].valid(); });
  for (const size_t i : kSummed) add(node.outputs[node.outputs[i].valid() ? i : some], true);
}

void emit_sums(const Emit& emit, const NormBackwardParams& of_rows) {
  NormBackwardSumsParams p{};
  p.offset[0] = of_rows.offset[0], p.offset[1] = of_rows.offset[1], p.offset[2] = of_rows.offset[4];
  p.rows = of_rows.rows, p.n = of_rows.n;
  std::copy(std::begin(of_rows.dim), std::end(of_rows.dim), p.dim);
  std::copy(std::begin(of_rows.x_stride), std::end(of_rows.x_stride), p.x_stride);
  std::copy(std::begin(of_rows.upstream_stride), std::end(of_rows.upstream_stride), p.upstream_stride);
  for (size_t i = 0; i < std::size(kSummed); ++i)
    if (const Tensor tensor = emit.node.outputs[kSummed[i]]; tensor.valid())
      p.offset[4 + i] = u32(resolve(emit.schedule, tensor, emit.values).offset);
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = emit.kernels.count - 1;
  dispatch.groups = fold_groups(ceil_div<int64_t>(p.n, kColumns[0]));
  dispatch.work = 12.0 * p.rows * p.n;
  dispatch.workspace_bytes = 4.0 * kNumbers * p.rows;
  dispatch.set_push(p);
}

}  // namespace

int64_t norm_backward_workspace(const Need& need) {
  if (!sums(need.node)) return 0;
  const TensorInfo& x = need.info(in::kX);
  int64_t numbers = kNumbers;
  for (int i = 0; i + 1 < x.rank; ++i)
    numbers = mul_up_to(numbers, need.max_of(x.dims[static_cast<size_t>(i)]), int64_t{1} << 40);
  return numbers;
}

Status select_norm_backward(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  KernelId id{};
  constexpr ByStorage kIds = {KernelId::NormBackwardF32, KernelId::NormBackwardF16, KernelId::NormBackwardBf16};
  Status status = pick_storage(select, x.dtype, kIds, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kUpstream, "upstream", x.dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kBackwardGamma, "gamma", x.dtype);
  if (status == Status::Ok) status = expect_dtype(select, in::kBackwardResidual, "residual", x.dtype);
  if (status != Status::Ok) return status;
  constexpr size_t kInputs[] = {in::kX, in::kUpstream, in::kBackwardGamma, in::kBackwardResidual};
  const Tensor rows = select.node.workspace;
  select_summing_lanes(select, id, x.dims[static_cast<size_t>(x.rank - 1)], [&](KernelUse* use) {
    use->key.set(NormBackwardConstants::KIND, kind_of(select.node.as<NormBackwardAttrs>().kind));
    use->key.set(NormBackwardConstants::GAMMA, select.has(in::kBackwardGamma));
    use->key.set(NormBackwardConstants::RESIDUAL, select.has(in::kBackwardResidual));
    use->key.set(NormBackwardConstants::ROWS, rows.valid());
    bind(select, use, kInputs);
    use->buffers[use->buffer_count++] = {BufferUse::Kind::Tensor, true, rows.valid() ? rows : select.node.outputs[0]};
  });
  if (rows.valid()) select_sums(select);
  return Status::Ok;
}

void emit_norm_backward(const Emit& emit) {
  constexpr double kOperations = 30.0;  // per element, in four loops
  const View x = emit.in(in::kX), upstream = emit.in(in::kUpstream), out = emit.out();
  const View residual = emit.has(in::kBackwardResidual) ? emit.in(in::kBackwardResidual) : out;
  const View* const views[] = {&x, &upstream, &residual};
  NormBackwardParams p{};
  const Walk walk = walk_rows(out, views, &p);
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(upstream.offset);
  p.offset[3] = u32(residual.offset);
  p.offset[4] = u32(out.offset);
  if (emit.has(in::kBackwardGamma)) {
    const View gamma = emit.in(in::kBackwardGamma);
    p.offset[2] = u32(gamma.offset);
    p.gamma_stride = u32(gamma.stride[0]);
  }
  put(p.x_stride, walk.stride[0]);
  put(p.upstream_stride, walk.stride[1]);
  put(p.residual_stride, walk.stride[2], 1);
  p.eps = emit.node.as<NormBackwardAttrs>().eps;

  Dispatch& dispatch = emit_rows(emit, p.rows, p.n);
  dispatch.work = static_cast<double>(walk.elements()) * kOperations;
  dispatch.set_push(p);
  if (emit.node.workspace.valid()) emit_sums(emit, p);
}

}  // namespace heed::kernels
