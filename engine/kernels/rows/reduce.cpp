#include "kernels/rows/argmax.hpp"
#include "kernels/rows/axis.hpp"

namespace heed::kernels {
namespace {

// The largest and the smallest are found as argmax finds their indices.
bool is_extreme(const Node& node) {
  const Reduction kind = node.as<ReduceAttrs>().kind;
  return kind == Reduction::Max || kind == Reduction::Min;
}

static_assert(static_cast<uint32_t>(Reduction::Sum) == HEED_REDUCE_SUM &&
              static_cast<uint32_t>(Reduction::Mean) == HEED_REDUCE_MEAN &&
              static_cast<uint32_t>(Reduction::Product) == HEED_REDUCE_PRODUCT &&
              static_cast<uint32_t>(Reduction::LogSumExp) == HEED_REDUCE_LOG_SUM_EXP &&
              static_cast<uint32_t>(Reduction::L2) == HEED_REDUCE_L2);

Status pick_kernel(const Select& select, KernelId* id) {
  const DType from = select.info(in::kX).dtype, to = select.out().dtype;
  const Status status = from == DType::F32 ? Status::Ok : check_storage(select, from);
  if (status != Status::Ok) return status;
  if (from == to) return pick_storage(select, to, {KernelId::ReduceF32, KernelId::ReduceF16, KernelId::ReduceBf16}, id);
  if (from == DType::F32)
    return pick_storage(select, to, {KernelId::ReduceF32, KernelId::ReduceF32F16, KernelId::ReduceF32Bf16}, id);
  if (to != DType::F32) return select.unsupported("result and input differ in type");
  return pick_storage(select, from, {KernelId::ReduceF32, KernelId::ReduceF16F32, KernelId::ReduceBf16F32}, id);
}

uint32_t mask_flags(const Select& select) {
  if (!select.has(in::kReduceMask)) return 0;
  const bool keep = select.node.as<ReduceAttrs>().mask_meaning == Mask::Meaning::Keep;
  return HEED_REDUCE_MASK | (keep ? HEED_REDUCE_MASK_KEEP : 0);
}

// In reproducible plans the workgroup is part of the canon.
Status add_reduce_kernel(const Select& select, KernelId id, const AxisShape& shape, uint32_t kind, uint32_t flags) {
  KernelUse& use = add_kernel(select, id, shape.workgroup, shape.why);
  use.key.set(ReduceConstants::KIND, kind);
  use.key.set(ReduceConstants::FLAGS, flags);
  const size_t inputs[] = {in::kX, select.node.op == Op::Reduce ? in::kReduceMask : in::kX};
  bind(select, &use, inputs);
  return Status::Ok;
}

// Fills all but what masks need.
void fill_params(View x, View out, int axis, ReduceParams* p) {
  const int rank = x.rank;
  p->n = u32(x.dim[axis]);
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

}  // namespace

Status select_reduce(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  const auto& attrs = select.node.as<ReduceAttrs>();
  if (is_extreme(select.node)) {
    const bool smallest = attrs.kind == Reduction::Min;
    return add_argmax_kernel(select, attrs.axis, HEED_ARGMAX_VALUE | (smallest ? HEED_ARGMAX_SMALLEST : 0));
  }
  KernelId id = KernelId::ReduceF32;
  const bool whole = x.dtype == DType::I32;
  Status status = whole ? Status::Ok : pick_kernel(select, &id);
  if (status == Status::Ok) status = expect_dtype(select, in::kReduceMask, "mask", DType::U8);
  if (status != Status::Ok) return status;
  if (select.has(in::kReduceMask) && attrs.axis != 1)
    return select.unsupported(format("a mask with axis %d; axis 1 is needed", attrs.axis));
  const AxisShape shape = select.reproducible() ? AxisShape{{32, 4, 1}, "32 results per workgroup, 4 invocations each"}
                                                : axis_shape(select, x, attrs.axis);
  return add_reduce_kernel(select, id, shape, whole ? HEED_REDUCE_WHOLE : static_cast<uint32_t>(attrs.kind),
                           mask_flags(select));
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
  emit_elements(emit, p.elements, p.n * static_cast<double>(size_of(x.dtype))).set_push(p);
}

Status select_cumsum(const Select& select) {
  const TensorInfo& x = select.info(in::kX);
  const auto& attrs = select.node.as<CumsumAttrs>();
  KernelId id{};
  const Status status = pick_kernel(select, &id);
  if (status != Status::Ok) return status;
  const AxisShape shape = select.reproducible() ? AxisShape{{1, HEED_ROW_INVOCATIONS, 1}, "a workgroup for each row"}
                                                : axis_shape(select, x, attrs.axis);
  return add_reduce_kernel(select, id, shape, HEED_REDUCE_CUMSUM,
                           (attrs.exclusive ? HEED_CUMSUM_EXCLUSIVE : 0) | (attrs.reverse ? HEED_CUMSUM_REVERSE : 0));
}

void emit_cumsum(const Emit& emit) {
  ReduceParams p{};
  const View x = emit.in(in::kX);
  fill_params(x, emit.out(), emit.node.as<CumsumAttrs>().axis, &p);
  emit_elements(emit, p.elements, p.n * 2.0 * static_cast<double>(size_of(x.dtype))).set_push(p);
}

}  // namespace heed::kernels
