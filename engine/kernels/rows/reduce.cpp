#include <algorithm>
#include <bit>

#include "kernels/loops.hpp"
#include "kernels/rows/argmax.hpp"
#include "kernels/rows/axis.hpp"

namespace heed::kernels {
namespace {

// Max and Min use the kernel of argmax.
bool is_extreme(const Node& node) {
  const Reduction kind = node.as<ReduceAttrs>().kind;
  return kind == Reduction::Max || kind == Reduction::Min;
}

static_assert(static_cast<uint32_t>(Reduction::Sum) == HEED_REDUCE_SUM &&
              static_cast<uint32_t>(Reduction::Mean) == HEED_REDUCE_MEAN &&
              static_cast<uint32_t>(Reduction::Product) == HEED_REDUCE_PRODUCT &&
              static_cast<uint32_t>(Reduction::LogSumExp) == HEED_REDUCE_LOG_SUM_EXP &&
              static_cast<uint32_t>(Reduction::L2) == HEED_REDUCE_L2);

// A longer axis takes several dispatches. This many elements keep the loops of a workgroup within kRoundsAtOnce, even if it reads them twice
// or combines the sums of neighbours as often as cumsum does. There are two ways:
// - Pieces are reduced one by one, and then their results, which lie in the workspace.
// - Parts are dispatches that continue each other's sums (shared/reduce.h). Reproducible plans need this order, a masked mean must count,
//   and the sums of cumsum are all results.
int64_t piece_of(uint32_t invocations) { return kRoundsAtOnce / 2 * invocations; }
int64_t cumsum_part_of(uint32_t invocations) {
  return kRoundsAtOnce / (1 + std::bit_width(invocations)) * int64_t{invocations};
}
bool takes_parts(const Need& need) { return need.reproducible || need.node.inputs[in::kReduceMask].valid(); }

// In reproducible plans the workgroup's shape is part of the canon.
AxisShape reduce_shape(const Need& need, int axis) {
  if (need.reproducible) return {{32, 4, 1}, "32 results per workgroup, 4 invocations each"};
  return axis_shape(need, need.info(in::kX), axis);
}
AxisShape cumsum_shape(const Need& need, int axis) {
  if (need.reproducible) return {{1, HEED_ROW_INVOCATIONS, 1}, "a workgroup for each row"};
  return axis_shape(need, need.info(in::kX), axis);
}

// The largest number of rows along an axis, times `each`.
int64_t rows_of(const Need& need, int axis, int64_t each) {
  const TensorInfo& x = need.info(in::kX);
  for (int i = 0; i < x.rank; ++i)
    if (i != axis) each = mul_up_to(each, need.max_of(x.dims[static_cast<size_t>(i)]), int64_t{1} << 40);
  return each;
}

constexpr ByStorage kFromF32 = {KernelId::ReduceF32, KernelId::ReduceF32F16, KernelId::ReduceF32Bf16};
constexpr ByStorage kToF32 = {KernelId::ReduceF32, KernelId::ReduceF16F32, KernelId::ReduceBf16F32};

Status pick_kernel(const Select& select, KernelId* id) {
  const DType from = select.info(in::kX).dtype, to = select.out().dtype;
  const Status status = from == DType::F32 ? Status::Ok : check_storage(select, from);
  if (status != Status::Ok) return status;
  if (from == to) return pick_storage(select, to, {KernelId::ReduceF32, KernelId::ReduceF16, KernelId::ReduceBf16}, id);
  if (from == DType::F32) return pick_storage(select, to, kFromF32, id);
  if (to != DType::F32) return select.unsupported("result and input differ in type");
  return pick_storage(select, from, kToF32, id);
}

uint32_t mask_flags(const Select& select) {
  if (!select.has(in::kReduceMask)) return 0;
  const bool keep = select.node.as<ReduceAttrs>().mask_meaning == Mask::Meaning::Keep;
  return HEED_REDUCE_MASK | (keep ? HEED_REDUCE_MASK_KEEP : 0);
}

KernelUse& add_reduce_kernel(const Select& select, KernelId id, const AxisShape& shape, uint32_t kind, uint32_t flags) {
  KernelUse& use = add_kernel(select, id, shape.workgroup, shape.why);
  use.key.set(ReduceConstants::KIND, kind);
  use.key.set(ReduceConstants::FLAGS, flags);
  const size_t inputs[] = {in::kX, select.node.op == Op::Reduce ? in::kReduceMask : in::kX};
  bind(select, &use, inputs);
  use.buffers[use.buffer_count++] = use.buffers[2];  // a binding needs a buffer, even if the kernel takes no parts
  return use;
}

// The kernel for parts of at most `part` elements.
Status add_parts(const Select& select, int axis, int64_t part, const KernelUse& whole) {
  const uint32_t kind = whole.key.spec[ReduceConstants::KIND];
  const bool searches = kind == HEED_REDUCE_LOG_SUM_EXP || kind == HEED_REDUCE_L2;
  const int64_t n = select.max_of(select.info(in::kX).dims[static_cast<size_t>(axis)]);
  const int64_t most = kMaxDispatchesPerPass / (searches ? 2 : 1) * part;
  if (n > most)
    return select.unsupported(format("%lld elements along axis %d; %lld are the most, so split the axis in the graph",
                                     static_cast<long long>(n), axis, static_cast<long long>(most)));
  KernelUse& use = select.kernels->add();
  use = whole;
  use.role = KernelUse::Role::Partial;
  use.key.set(ReduceConstants::FLAGS, whole.key.spec[ReduceConstants::FLAGS] | HEED_REDUCE_PARTS);
  use.why = "parts of a long axis";
  use.buffers[3].tensor = select.node.workspace;
  return Status::Ok;
}

constexpr AxisShape kSecond = {{32, 4, 1}, "adds up the results of the pieces of a long axis"};

// The pieces of a mean are sums; only the last dispatch divides.
void add_pieces(const Select& select, const AxisShape& shape, uint32_t kind) {
  const DType from = select.info(in::kX).dtype, to = select.out().dtype;
  const bool whole = from == DType::I32;
  KernelUse& pieces = add_reduce_kernel(select, whole ? KernelId::ReduceF32 : kToF32.of(from), shape,
                                        kind == HEED_REDUCE_MEAN ? HEED_REDUCE_SUM : kind, 0);
  pieces.role = KernelUse::Role::Partial;
  pieces.why = "pieces of a long axis";
  pieces.buffers[2].tensor = select.node.workspace;
  KernelUse& second = add_reduce_kernel(select, whole ? KernelId::ReduceF32 : kFromF32.of(to), kSecond, kind, 0);
  second.role = KernelUse::Role::Second;
  second.buffers[0].tensor = second.buffers[1].tensor = select.node.workspace;
}

// Contiguous strides of the result.
void put_dense(const ReduceParams& all, ReduceParams* p) {
  uint32_t stride = 1;
  for (int i = 3; i >= 0; --i) {
    p->out_stride[i] = stride;
    stride *= all.dim[i];
  }
}

// Fills all parameters except those of masks.
void fill_params(View x, View out, int axis, ReduceParams* p) {
  const int rank = x.rank;
  p->n = p->of = u32(x.dim[axis]);
  p->x_n = u32(take_axis(&x, axis, rank));
  p->out_n = u32(take_axis(&out, axis, rank));
  p->offset[0] = u32(x.offset);
  p->offset[2] = u32(out.offset);
  View mask = x;  // [d0, n]: moves along out's first dimension only
  for (int i = 0; i < mask.rank; ++i) mask.stride[i] = i == 0 ? p->mask_stride[0] : 0;
  const View* const views[] = {&x, &mask, &out};
  Walk walk = make_walk(x, views);
  merge_dims(&walk, 0);
  p->elements = u32(walk.elements());
  put(p->dim, walk.dim);
  put(p->x_stride, walk.stride[0]);
  put(p->mask_stride, walk.stride[1]);
  put(p->out_stride, walk.stride[2]);
}

// `all` has the parameters of the reduction without pieces.
void emit_pieces(const Emit& emit, const ReduceParams& all, int64_t piece, double element) {
  const int64_t start = resolve(emit.schedule, emit.node.workspace, emit.values).offset;
  const int64_t count = ceil_div<int64_t>(all.n, piece), whole = all.n / piece;
  for (int64_t i = 0, next = 0; i < count; i = next) {
    // One dispatch reduces all whole pieces, which form one more dimension.
    const bool together = i == 0 && whole > 0 && all.dim[0] == 1;
    next = together ? whole : i + 1;
    ReduceParams p = all;
    p.n = u32(std::min(piece, all.n - i * piece));
    p.offset[0] += u32(i * piece * all.x_n);
    p.offset[2] = u32(start + i * all.elements);
    put_dense(all, &p);
    if (together) {
      p.elements *= u32(whole);
      p.dim[0] = u32(whole);
      p.x_stride[0] = u32(piece * all.x_n);
      p.out_stride[0] = all.elements;
    }
    emit_elements(emit, p.elements, p.n * element, 1).set_push(p);
  }
  ReduceParams p = all;
  put_dense(all, &p);
  std::copy_n(p.out_stride, 4, p.x_stride);
  std::copy_n(all.out_stride, 4, p.out_stride);
  p.offset[0] = u32(start);
  p.n = u32(count);
  p.x_n = all.elements;
  Dispatch& dispatch = emit_elements(emit, p.elements, 4.0 * static_cast<double>(count), 2);
  dispatch.workspace_bytes = dispatch.work;
  dispatch.set_push(p);
}

// Dispatches that continue each other, of at most `part` elements each. `all` has the parameters of a single dispatch; with `backwards` the
// first part is the axis's end.
void emit_parts(const Emit& emit, const ReduceParams& all, int64_t part, bool searches, bool backwards,
                double element) {
  for (int64_t begin = 0; begin < all.n; begin += part) {
    ReduceParams p = all;
    p.n = u32(std::min<int64_t>(part, all.n - begin));
    const int64_t first = backwards ? all.n - begin - p.n : begin;
    p.offset[0] += u32(first * all.x_n);
    p.offset[1] += u32(first * all.mask_n);
    if (emit.node.op == Op::Cumsum) p.offset[2] += u32(first * all.out_n);
    p.state = u32(resolve(emit.schedule, emit.node.workspace, emit.values).offset);
    p.part = (begin != 0 ? HEED_PART_CONTINUES : 0) | (begin + p.n < all.n ? HEED_PART_STORES : 0) |
             (searches ? HEED_PART_SEARCHES : 0);
    emit_elements(emit, p.elements, p.n * element, 1).set_push(p);
  }
}

}  // namespace

// Workspace in elements of f32 or i32.
int64_t reduce_workspace(const Need& need) {
  if (is_extreme(need.node)) return 0;
  constexpr int64_t kNumbers = 2;  // of each invocation, between parts
  const int axis = need.node.as<ReduceAttrs>().axis;
  const int64_t invocations = reduce_shape(need, axis).workgroup[1];
  const int64_t n = need.max_of(need.info(in::kX).dims[static_cast<size_t>(axis)]);
  const int64_t count = ceil_div(n, piece_of(u32(invocations)));
  return count <= 1 ? 0 : rows_of(need, axis, takes_parts(need) ? kNumbers * invocations : count);
}

Status select_reduce(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  const auto& attrs = select.node.as<ReduceAttrs>();
  if (is_extreme(select.node)) {
    const bool smallest = attrs.kind == Reduction::Min;
    return add_argmax_kernel(select, attrs.axis, HEED_ARGMAX_VALUE | (smallest ? HEED_ARGMAX_SMALLEST : 0), 1);
  }
  KernelId id = KernelId::ReduceF32;
  const bool whole = x.dtype == DType::I32;
  Status status = whole ? Status::Ok : pick_kernel(select, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kReduceMask, "mask", DType::U8);
  if (status != Status::Ok) return status;
  if (select.has(in::kReduceMask) && attrs.axis != 1)
    return select.unsupported(format("a mask with axis %d; axis 1 is needed", attrs.axis));
  const AxisShape shape = reduce_shape(select.need(), attrs.axis);
  const uint32_t kind = whole ? HEED_REDUCE_WHOLE : static_cast<uint32_t>(attrs.kind);
  const KernelUse& one = add_reduce_kernel(select, id, shape, kind, mask_flags(select));
  if (!select.node.workspace.valid()) return Status::Ok;
  if (takes_parts(select.need())) return add_parts(select, attrs.axis, piece_of(shape.workgroup[1]), one);
  add_pieces(select, shape, kind);
  return Status::Ok;
}

void emit_reduce(const Emit& emit) {
  const int axis = emit.node.as<ReduceAttrs>().axis;
  if (is_extreme(emit.node)) return emit_argmax_kernel(emit, axis, 1);
  ReduceParams p{};
  if (emit.has(in::kReduceMask)) {
    const View mask = emit.in(in::kReduceMask);
    p.offset[1] = u32(mask.offset);
    p.mask_stride[0] = u32(mask.stride[0]);
    p.mask_n = u32(mask.stride[1]);
  }
  const View x = emit.in(in::kX);
  fill_params(x, emit.out(), axis, &p);
  const int64_t piece = piece_of(emit.kernels.uses[0].key.spec[1]);
  const auto element = static_cast<double>(size_of(x.dtype));
  if (!emit.node.workspace.valid() || p.n <= piece) {
    emit_elements(emit, p.elements, p.n * element).set_push(p);
    return;
  }
  const KernelKey& many = emit.kernels.uses[1].key;
  if ((many.spec[ReduceConstants::FLAGS] & HEED_REDUCE_PARTS) == 0) return emit_pieces(emit, p, piece, element);
  const uint32_t kind = many.spec[ReduceConstants::KIND];
  if (kind == HEED_REDUCE_LOG_SUM_EXP || kind == HEED_REDUCE_L2) emit_parts(emit, p, piece, true, false, element);
  emit_parts(emit, p, piece, false, false, element);
}

int64_t cumsum_workspace(const Need& need) {
  const int axis = need.node.as<CumsumAttrs>().axis;
  const uint32_t invocations = cumsum_shape(need, axis).workgroup[1];
  const int64_t n = need.max_of(need.info(in::kX).dims[static_cast<size_t>(axis)]);
  return n <= cumsum_part_of(invocations) ? 0 : rows_of(need, axis, invocations);
}

Status select_cumsum(const Select& select) {
  const auto& attrs = select.node.as<CumsumAttrs>();
  KernelId id{};
  const Status status = pick_kernel(select, &id);
  if (status != Status::Ok) return status;
  const AxisShape shape = cumsum_shape(select.need(), attrs.axis);
  const KernelUse& one =
      add_reduce_kernel(select, id, shape, HEED_REDUCE_CUMSUM,
                        (attrs.exclusive ? HEED_CUMSUM_EXCLUSIVE : 0) | (attrs.reverse ? HEED_CUMSUM_REVERSE : 0));
  if (!select.node.workspace.valid()) return Status::Ok;
  return add_parts(select, attrs.axis, cumsum_part_of(shape.workgroup[1]), one);
}

void emit_cumsum(const Emit& emit) {
  ReduceParams p{};
  const View x = emit.in(in::kX);
  const auto& attrs = emit.node.as<CumsumAttrs>();
  fill_params(x, emit.out(), attrs.axis, &p);
  const int64_t part = cumsum_part_of(emit.kernels.uses[0].key.spec[1]);
  const double element = 2.0 * static_cast<double>(size_of(x.dtype));
  if (emit.node.workspace.valid() && p.n > part)
    emit_parts(emit, p, part, false, attrs.reverse, element);
  else
    emit_elements(emit, p.elements, p.n * element).set_push(p);
}

}  // namespace heed::kernels
