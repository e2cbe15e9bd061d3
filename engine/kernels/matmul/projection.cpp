// Matmuls of few rows with up to three weights, the norm before and the rotary or gate after them: projection.comp.
#include <bit>
#include <optional>

#include "kernels/choose/chooser.hpp"
#include "kernels/matmul/few_rows.hpp"
#include "kernels/matmul/planes.hpp"
#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

using Projection = ProjectionConstants;

constexpr uint32_t kColumnsOfMany = 4;  // columns of a workgroup
// With one row, quantized weights and small subgroups, more columns share the reads of the row and its norm. Other weights would need too
// many registers, and drivers take minutes to compile 16 columns.
constexpr uint32_t kColumnsOfOne = 8;
constexpr uint32_t kRowCounts[] = {1, 4, 8};
static_assert(kRowCounts[2] == kMostProjectedRows);

// The kernel for rows and weights of these types, without subgroup operations.
KernelId plain_id(DType rows, DType weights) {
  constexpr ByStorage kIds = {KernelId::ProjectionF32, KernelId::ProjectionF16, KernelId::ProjectionBf16};
  constexpr ByStorage kQuantized = {KernelId::ProjectionF32Quantized, KernelId::ProjectionF16Quantized,
                                    KernelId::ProjectionBf16Quantized};
  if (is_quantized(weights)) return kQuantized.of(rows);
  return rows == DType::F32 && is_16_bit_float(weights) ? KernelId::ProjectionF32Narrow : kIds.of(rows);
}

bool may_reduce(const Capabilities& device, KernelId plain) {
  return device.subgroup_arithmetic && device.allows(kernel_info(plain).subgroup);
}
KernelId id_for(const Capabilities& device, KernelId plain) {
  return may_reduce(device, plain) ? kernel_info(plain).subgroup : plain;
}

// The type of results that differ from the rows' type, if any do.
std::optional<DType> narrow_results(const Select& select) {
  for (const Tensor out : select.node.outputs)
    if (out.valid() && select.schedule.info(out).dtype != select.info(in::kX).dtype)
      return select.schedule.info(out).dtype;
  return {};
}

struct Problem {
  int64_t rows = 1;
  bool vec4 = false;

  double cost(const Traits& traits) const { return rows > traits.most ? kUnsuited : static_cast<double>(traits.rows); }
  uint32_t size_class() const { return 0; }
};

Problem problem_of(const View& x) { return {x.elements() / x.dim[x.rank - 1]}; }

uint32_t projection_flags(const Select& select) {
  const auto& attrs = select.node.as<ProjectionAttrs>();
  uint32_t flags = attrs.turned * HEED_PROJECTION_TURNED;
  if (attrs.norm_eps) flags |= HEED_PROJECTION_NORM;
  if (attrs.around_mean) flags |= HEED_PROJECTION_MEAN;
  if (select.has(in::kProjectionGamma)) flags |= HEED_PROJECTION_GAMMA;
  if (select.has(in::kProjectionBeta)) flags |= HEED_PROJECTION_BETA;
  if (attrs.gated) flags |= HEED_PROJECTION_GATED;
  if (attrs.rotary.pairs == RotaryPairs::Halves) flags |= HEED_PROJECTION_HALVES;
  if (select.has(in::kProjectionPositions)) flags |= HEED_PROJECTION_POSITIONS;
  if (select.info(in::kProjectionWeights).dtype == DType::BF16) flags |= HEED_PROJECTION_B_BFLOAT;
  flags |= attrs.placed * HEED_PROJECTION_PLACED;
  if (narrow_results(select) == DType::BF16) flags |= HEED_PROJECTION_NARROW_BFLOAT;
  for (uint32_t i = 0; i < attrs.count; ++i) {
    if (select.has(in::kProjectionBiases + i)) flags |= HEED_PROJECTION_BIAS << i;
    const Tensor out = select.node.outputs[i];
    if (out.valid() && select.schedule.info(out).dtype != select.info(in::kX).dtype)
      flags |= HEED_PROJECTION_NARROWED << i;
  }
  return flags;
}

// Workgroups for weight i, with this many columns each; those of a gated pair compute columns of both weights.
int64_t tiles_of(const ProjectionAttrs& attrs, size_t i, uint32_t columns) {
  if (attrs.gated) return i == 0 ? attrs.columns[0] / (columns / 2) : 0;
  return attrs.columns[i] / columns;
}

// Number of rotary pairs.
int64_t pairs_of(const Select& select) {
  const bool turns = select.node.as<ProjectionAttrs>().turned != 0;
  return turns ? select.max_of(select.info(in::kProjectionTable).dims[0]) : 0;
}

// Whether workgroups of this many columns divide the pass: each has columns of one weight, or of a pair the same number of each, and with
// rotary whole pairs of one head.
bool divide(const Select& select, uint32_t columns) {
  const auto& attrs = select.node.as<ProjectionAttrs>();
  const uint32_t half = columns / 2;
  for (size_t i = 0; i < attrs.count; ++i)
    if (attrs.columns[i] % (attrs.gated ? half : columns) != 0) return false;
  return attrs.turned == 0 || (attrs.head % columns == 0 && pairs_of(select) % half == 0);
}

uint32_t columns_of(const Select& select, bool reduces, uint32_t rows) {
  const bool quantized = is_quantized(select.info(in::kProjectionWeights).dtype);
  const bool reads_much = rows == 1 && has_small_subgroups(select.device) && reduces && quantized;
  return reads_much && divide(select, kColumnsOfOne) ? kColumnsOfOne : kColumnsOfMany;
}

// If there are fewer weights, the first type stands for the missing ones, so that the kernel is compiled for few types.
void set_blocks(const Select& select, uint32_t rows, KernelUse* use) {
  using Blocks = ProjectionBlockConstants;
  const auto& attrs = select.node.as<ProjectionAttrs>();
  for (uint32_t i = 0; i < 3; ++i) {
    const Tensor weight = select.node.inputs[in::kProjectionWeights + (i < attrs.count ? i : 0)];
    const TensorInfo& info = select.schedule.info(weight);
    use->key.set(Blocks::TYPE_0 + i, number_of(info.dtype));
    use->key.set(Blocks::COUNT_0 + i, u32(blocks_of(select.schedule, weight)));
    use->key.set(Blocks::FIRST_0 + i, u32(select.max_of(info.offset) / block_of(info.dtype).elements));
  }
  use->key.set(Blocks::RUN, run_of(select.max_of(select.info(in::kProjectionWeights).dims[0]), rows));
}

void add(const Select& select, const Candidate& candidate) {
  const auto& attrs = select.node.as<ProjectionAttrs>();
  KernelUse& use = add_candidate(select, candidate);
  use.key.set(Projection::FLAGS, projection_flags(select))
      .set(Projection::ACTIVATION, static_cast<uint32_t>(attrs.activation));
  use.key.set(Projection::K, u32(select.max_of(select.info(in::kProjectionWeights).dims[0])));
  const uint32_t columns = candidate.traits.columns;
  const int64_t second = tiles_of(attrs, 0, columns), third = second + tiles_of(attrs, 1, columns);
  use.key.set(Projection::SECOND, attrs.gated || attrs.count < 2 ? UINT32_MAX : u32(second));
  use.key.set(Projection::THIRD, attrs.count < 3 ? UINT32_MAX : u32(third));
  use.key.set(Projection::HEAD, u32(attrs.head)).set(Projection::PAIRS, u32(pairs_of(select)));
  use.key.set(Projection::EPS, std::bit_cast<uint32_t>(attrs.norm_eps.value_or(0.0f)));
  if (is_quantized(select.info(in::kProjectionWeights).dtype)) set_blocks(select, candidate.traits.rows, &use);

  const auto tensor = [&](size_t input) { use.buffers[use.buffer_count++].tensor = select.node.inputs[input]; };
  tensor(in::kX);
  use.buffers[use.buffer_count++].kind = BufferUse::Kind::Weights;
  tensor(in::kProjectionPositions);
  tensor(in::kProjectionTable);
  for (size_t i = 0; i < attrs.columns.size(); ++i)
    use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, true, select.node.outputs[i]};
  if (attrs.placed != 0)
    use.buffers[use.buffer_count++] = {BufferUse::Kind::Faults, true, {}};
  else
    tensor(in::kX);
}

// Strides of rows [B, S, ..], or [S, ..] in one batch.
struct RowStrides {
  int64_t b = 0, s = 0;
};
RowStrides row_strides_of(const View& rows) {
  return {rows.rank > 2 ? rows.stride[rows.rank - 3] : 0, rows.stride[rows.rank - 2]};
}

}  // namespace

bool projects(const Capabilities& device, DType rows, DType weights, DType results) {
  const bool narrow = is_16_bit_float(rows) && device.storage_16bit;
  bool known = rows == DType::F32 || narrow;
  if (!is_quantized(weights))
    known = rows == DType::F32 ? (weights == DType::F32 || is_16_bit_float(weights))
                               : narrow && (weights == rows || (rows == DType::BF16 && weights == DType::F16));
  const bool narrows = results != rows;
  if (narrows) known = known && rows == DType::F32 && is_16_bit_float(results) && device.storage_16bit;
  return known && device.allows(id_for(device, plain_id(rows, weights)));
}

Status select_projection(const Select& select) {
  const DType rows = select.info(in::kX).dtype, weights = select.info(in::kProjectionWeights).dtype;
  const TensorInfo& x = select.info(in::kX);
  int64_t most = 1;
  bool vary = false;
  for (size_t i = 0; i + 1 < static_cast<size_t>(x.rank); ++i) {
    most *= select.max_of(x.dims[i]);
    vary = vary || !select.schedule.sizes.is_constant(x.dims[i]);
  }
  Candidates candidates;
  const KernelId plain = plain_id(rows, weights);
  const bool reduces = may_reduce(select.device, plain);
  const KernelId id = id_for(select.device, plain);
  const uint32_t invocations = reduces ? invocations_along_k(select.device) : kMostAlongK;
  for (const uint32_t count : kRowCounts) {
    const uint32_t columns = columns_of(select, reduces, count);
    Candidate& one =
        candidates.add(id, {invocations, 1, 1}).set(Projection::BM, count).set(Projection::COLUMNS, columns);
    one.traits.rows = count;
    one.traits.columns = columns;
    one.traits.most = count;
    one.why = "few rows: weights are read once, and norm, matmuls and what follows are one pass";
    if (count >= most) break;
  }
  const uint32_t kept = keep(select.need(), candidates, 1, [&](std::span<const int64_t> sizes) {
    return problem_of(resolve(select.schedule, select.node.inputs[in::kX], {.sizes = sizes}));
  });
  add_kept(select, candidates, kept, Vec4::Never, [&](const Candidate& candidate, bool) { add(select, candidate); });
  return Status::Ok;
}

namespace {

// The start of an operand in the range of a pass's weights, which begins at byte `begin`: in elements of its type, or, for a quantized
// weight, the start of the whole tensor in groups of 16 bytes.
uint32_t start_of(const Emit& emit, size_t input, uint64_t begin) {
  if (!emit.has(input)) return 0;
  const TensorInfo& info = emit.schedule.info(emit.node.inputs[input]);
  const uint64_t at = emit.schedule.placement(emit.node.inputs[input]).offset - begin;
  if (is_quantized(info.dtype)) return static_cast<uint32_t>(at / 16);
  return static_cast<uint32_t>(at / size_of(info.dtype)) + u32(emit.values.sizes[static_cast<size_t>(info.offset)]);
}

}  // namespace

void emit_projection(const Emit& emit) {
  const auto& attrs = emit.node.as<ProjectionAttrs>();
  const View x = emit.in(in::kX);
  ProjectionParams p{};
  p.offset[0] = u32(x.offset);
  p.rows = u32(x.elements() / x.dim[x.rank - 1]);
  p.tokens = u32(x.dim[x.rank - 2]);
  p.x_b = u32(row_strides_of(x).b), p.x_s = u32(row_strides_of(x).s);
  const uint64_t begin = span_of_weights(emit.schedule, emit.node).begin;
  p.gamma = start_of(emit, in::kProjectionGamma, begin);
  p.offset[1] = start_of(emit, in::kProjectionBeta, begin);
  const uint32_t kernel = choose(emit.kernels, problem_of(x));
  const Traits& traits = emit.kernels.uses[kernel].traits;
  int64_t tiles = 0;
  for (size_t i = 0; i < attrs.count; ++i) {
    p.weight[i] = start_of(emit, in::kProjectionWeights + i, begin);
    p.bias[i] = start_of(emit, in::kProjectionBiases + i, begin);
    tiles += tiles_of(attrs, i, traits.columns);
    if (!emit.node.outputs[i].valid()) continue;
    const View out = resolve(emit.schedule, emit.node.outputs[i], emit.values);
    const bool apart = (attrs.apart >> i & 1) != 0;
    p.offset[4 + i] = u32(out.offset);
    p.out_b[i] = u32(apart ? out.stride[0] : row_strides_of(out).b);
    p.out_s[i] = u32(row_strides_of(out).s);
    p.out_head[i] = u32(apart ? out.stride[1] : attrs.head);
  }
  p.tiles = u32(tiles);
  p.first = u32(emit.values.sizes[static_cast<size_t>(attrs.rotary.first)]);
  if (attrs.placed != 0) p.room = u32(emit.values.sizes[static_cast<size_t>(attrs.room)]);
  if (emit.has(in::kProjectionTable)) p.offset[3] = u32(emit.in(in::kProjectionTable).offset);
  if (emit.has(in::kProjectionPositions)) {
    // The positions as a view [B, H, S] with stride 0 along the heads.
    View target = x;
    target.rank = 3;
    target.dim[0] = x.rank > 2 ? x.dim[x.rank - 3] : 1, target.dim[1] = 1, target.dim[2] = p.tokens;
    const View positions = broadcast_to(emit.in(in::kProjectionPositions), target);
    p.offset[2] = u32(positions.offset);
    p.position_b = u32(positions.stride[0]), p.position_s = u32(positions.stride[2]);
  }
  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = kernel;
  dispatch.groups = fold_groups(tiles);
  dispatch.work =
      2.0 * static_cast<double>(tiles) * traits.columns * traits.rows * static_cast<double>(x.dim[x.rank - 1]);
  dispatch.set_push(p);
}

}  // namespace heed::kernels
