#include "kernels/choose/chooser.hpp"
#include "kernels/rows/copy.hpp"

namespace heed::kernels {
namespace {

// 512 elements per workgroup: enough work to hide its start, and few idle invocations at the end.
constexpr uint32_t kPerInvocation = 4;

Vec4 known_of(const Select& select, KernelId id, Tensor a, Tensor b) {
  if (id == KernelId::CopyI32 || id == KernelId::CopyU16 || id == KernelId::CopyU8) return Vec4::Never;
  return worse(worse(vec4_of(select, a), vec4_of(select, b)), vec4_of(select, select.node.outputs[0]));
}

// The kernels that read storage of `from`, by the storage of the result.
ByStorage kernels_from(DType from) {
  if (from == DType::F16) return {KernelId::ElementwiseF16F32, KernelId::ElementwiseF16, KernelId::ElementwiseF16Bf16};
  if (from == DType::BF16)
    return {KernelId::ElementwiseBf16F32, KernelId::ElementwiseBf16F16, KernelId::ElementwiseBf16};
  return {KernelId::ElementwiseF32, KernelId::ElementwiseF32F16, KernelId::ElementwiseF32Bf16};
}

Status pick_variant(const Select& select, const ElementwiseAttrs& attrs, DType from, DType to, KernelId* id) {
  const bool plain = attrs.scale == 1.0f && attrs.activation == Activation::None;
  const bool copies = attrs.kind == ElementwiseAttrs::Kind::Copy;
  if (select.reproducible() && plain && copies && from == to &&
      (from == DType::F32 || is_16_bit_float(from)))  // bits move
    return pick_storage(select, to, {KernelId::CopyI32, KernelId::CopyU16, KernelId::CopyU16}, id);
  if (from == to && (from == DType::I32 || from == DType::U8)) {
    const bool adds = attrs.kind == ElementwiseAttrs::Kind::Add && from == DType::I32;
    if (!plain || !(copies || adds))
      return select.unsupported(format("%s has copies and sums of i32 only", to_string(from)));
    *id = from == DType::I32 ? KernelId::CopyI32 : KernelId::CopyU8;
    return Status::Ok;
  }
  if (is_16_bit_float(from) && to == DType::F32) {  // every device casts, so that weights may be narrow
    *id = kernels_from(from).f32;
    return Status::Ok;
  }
  const Status status = check_storage(select, from);
  return status == Status::Ok ? pick_storage(select, to, kernels_from(from), id) : status;
}

const char* why_variant(KernelId id) {
  switch (id) {
    case KernelId::ElementwiseF32: return "f32 storage and arithmetic";
    case KernelId::ElementwiseF16: return "f16 storage, f32 arithmetic";
    case KernelId::ElementwiseBf16: return "bf16 storage, f32 arithmetic";
    case KernelId::ElementwiseF32Bf16: return "cast from f32 to bf16, rounding to nearest even";
    case KernelId::ElementwiseF16Bf16: return "cast from f16 to bf16, rounding to nearest even";
    case KernelId::ElementwiseBf16F16: return "cast from bf16 to f16, rounding to nearest even";
    case KernelId::ElementwiseF32F16: return "cast from f32 to f16, rounding to nearest even";
    case KernelId::ElementwiseF16F32: return "cast from f16 to f32, exact";
    case KernelId::ElementwiseBf16F32: return "cast from bf16 to f32, exact";
    case KernelId::CopyI32: return "copy or sum of words";
    case KernelId::CopyU16: return "copy of 16 bits";
    default: return "copy of bytes";
  }
}

}  // namespace

Status add_elementwise(const Select& select, const ElementwiseAttrs& attrs, Tensor a, Tensor b, uint32_t input,
                       Vec4 known) {
  KernelId id{};
  const DType from = select.schedule.info(a).dtype;
  const Status status = pick_variant(select, attrs, from, select.out().dtype, &id);
  if (status != Status::Ok) return status;
  add_vec4_kernels(worse(known_of(select, id, a, b), known), [&](bool vec4, Traits::Reads reads) {
    KernelUse& use = add_kernel(select, id, {kInvocations, 1, 1}, why_variant(id));
    use.input = static_cast<uint8_t>(input);
    use.traits.reads = reads;
    use.key.set(ElementwiseConstants::KIND, static_cast<uint32_t>(attrs.kind));
    use.key.set(ElementwiseConstants::ACTIVATION, static_cast<uint32_t>(attrs.activation));
    use.key.set(ElementwiseConstants::PER_INVOCATION, vec4 ? 1 : kPerInvocation);
    use.key.set(ElementwiseConstants::VEC4, vec4);
    use.buffer_count = 3;
    use.buffers[0].tensor = a;
    use.buffers[1].tensor = b.valid() ? b : a;
    use.buffers[2] = {BufferUse::Kind::Tensor, true, select.node.outputs[0]};
  });
  return Status::Ok;
}

void emit_walk(const Emit& emit, uint32_t input, const View& a, const View* b, const View& out, float scale) {
  const View* const views[] = {&a, b, &out};
  Walk walk = make_walk(out, views);
  merge_dims(&walk, 0);
  const int64_t elements = walk.elements();

  ElementwiseParams p{};
  p.offset[0] = u32(a.offset);
  p.offset[1] = b != nullptr ? u32(b->offset) : 0;
  p.offset[2] = u32(out.offset);
  p.rank = static_cast<uint32_t>(walk.rank);
  p.elements = u32(elements);
  put(p.dim, walk.dim);
  put(p.a_stride, walk.stride[0]);
  put(p.b_stride, walk.stride[1]);
  put(p.out_stride, walk.stride[2]);
  p.scale = scale;

  Dispatch& dispatch = emit.dispatches->add();
  // b counts as it is broadcast, since its own last dimension may be of size 1.
  const bool vec4 = is_vec4(a) && is_vec4(out) && (b == nullptr || is_vec4(broadcast_to(*b, out)));
  dispatch.kernel = choose(emit.kernels, RowProblem{0, vec4}, input);
  dispatch.groups = fold_groups(ceil_div<int64_t>(elements, kInvocations * kPerInvocation));
  const size_t bytes = size_of(a.dtype) + (b != nullptr ? size_of(b->dtype) : 0) + size_of(out.dtype);
  dispatch.work = static_cast<double>(elements) * static_cast<double>(bytes);
  dispatch.set_push(p);
}

Status select_elementwise(const Select& select) {
  const auto& attrs = select.node.as<ElementwiseAttrs>();
  const bool binary = attrs.kind != ElementwiseAttrs::Kind::Copy;
  if (binary) {
    const Status status = expect_dtype(select, in::kB, "b", select.info(in::kA).dtype);
    if (status != Status::Ok) return status;
  }
  return add_elementwise(select, attrs, select.node.inputs[in::kA], binary ? select.node.inputs[in::kB] : Tensor{});
}

void emit_elementwise(const Emit& emit) {
  const auto& attrs = emit.node.as<ElementwiseAttrs>();
  const bool binary = attrs.kind != ElementwiseAttrs::Kind::Copy;
  const View a = emit.in(in::kA), out = emit.out();
  const View b = binary ? emit.in(in::kB) : View{};
  emit_walk(emit, 0, a, binary ? &b : nullptr, out, attrs.scale);
}

}  // namespace heed::kernels
