#include <optional>

#include "kernels/choose/chooser.hpp"
#include "kernels/rows/copy.hpp"
#include "shared/types.h"

namespace heed::kernels {
namespace {

using Kind = SimpleElementwise::Kind;

// 512 elements per workgroup: enough work to hide its startup, and few idle invocations at the end.
constexpr uint32_t kPerInvocation = 4;

Vec4 known_of(const Select& select, KernelId id, Tensor a, Tensor b) {
  if (id == KernelId::CopyI32 || id == KernelId::CopyU16 || id == KernelId::CopyU8) return Vec4::Never;
  return worse(worse(vec4_of(select, a), vec4_of(select, b)), vec4_of(select, select.node.outputs[0]));
}

// The kernels that read storage of type `from`, by the storage of the result.
ByStorage kernels_from(DType from) {
  if (from == DType::F16) return {KernelId::ElementwiseF16F32, KernelId::ElementwiseF16, KernelId::ElementwiseF16Bf16};
  if (from == DType::BF16)
    return {KernelId::ElementwiseBf16F32, KernelId::ElementwiseBf16F16, KernelId::ElementwiseBf16};
  return {KernelId::ElementwiseF32, KernelId::ElementwiseF32F16, KernelId::ElementwiseF32Bf16};
}

Status pick_variant(const Select& select, const SimpleElementwise& attrs, DType from, DType to, KernelId* id) {
  const bool plain = attrs.is_plain(), copies = attrs.kind == Kind::Copy;
  if (select.reproducible() && plain && copies && from == to &&
      (from == DType::F32 || is_16_bit_float(from)))  // copies of bits
    return pick_storage(select, to, {KernelId::CopyI32, KernelId::CopyU16, KernelId::CopyU16}, id);
  if (from == to && (from == DType::I32 || from == DType::U8)) {
    const bool adds = attrs.kind == Kind::Add && from == DType::I32;
    if (!plain || !(copies || adds))
      return select.unsupported(format("%s has copies and sums of i32 only", to_string(from)));
    *id = from == DType::I32 ? KernelId::CopyI32 : KernelId::CopyU8;
    return Status::Ok;
  }
  if (is_16_bit_float(from) && to == DType::F32) {  // every device supports this cast, since weights may be narrow
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

Status add_elementwise(const Select& select, const SimpleElementwise& attrs, Tensor a, Tensor b, uint32_t input,
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
  // b is checked as broadcast, since its own last dimension may be of size 1.
  const bool vec4 = is_vec4(a) && is_vec4(out) && (b == nullptr || is_vec4(broadcast_to(*b, out)));
  dispatch.kernel = choose(emit.kernels, RowProblem{0, vec4}, input);
  dispatch.groups = fold_groups(ceil_div<int64_t>(elements, kInvocations * kPerInvocation));
  const size_t bytes = size_of(a.dtype) + (b != nullptr ? size_of(b->dtype) : 0) + size_of(out.dtype);
  dispatch.work = static_cast<double>(elements) * static_cast<double>(bytes);
  dispatch.set_push(p);
}

namespace {

// The kernels for one or two operands of one type, which accept any layout and have fewer dims than those for programs; none if the node
// needs those.
std::optional<SimpleElementwise> plain_kernel_of(const Schedule& schedule, const Node& node) {
  const auto& attrs = node.as<ElementwiseAttrs>();
  const std::optional<SimpleElementwise> simple = simple_of(attrs);
  if (!simple || attrs.rank > kMaxNodeRank) return std::nullopt;
  const DType from = schedule.info(node.inputs[in::kA]).dtype, to = schedule.info(node.outputs[0]).dtype;
  const bool copies = simple->kind == Kind::Copy, moves = copies && simple->is_plain() && from == to;
  if (!copies && schedule.info(node.inputs[in::kB]).dtype != from) return std::nullopt;
  if (moves || (from == DType::I32 && to == from && simple->kind == Kind::Add && simple->is_plain())) return simple;
  const auto is_float = [](DType type) { return type == DType::F32 || is_16_bit_float(type); };
  // Reproducible plans use program kernels only, so that one kernel implements their rules.
  return is_float(from) && is_float(to) && !schedule.asked.reproducible ? simple : std::nullopt;
}

uint32_t type_number(DType dtype) {
  switch (dtype) {
    case DType::F16: return HEED_TYPE_F16;
    case DType::BF16: return HEED_TYPE_BF16;
    case DType::U8: return HEED_TYPE_U8;
    case DType::I32: return HEED_PROGRAM_I32;
    default: return HEED_TYPE_F32;
  }
}

uint32_t packed(const ElementwiseAttrs::Step& step) {
  return static_cast<uint32_t>(step.function) | static_cast<uint32_t>(step.operands[0].number) << 8 |
         static_cast<uint32_t>(step.operands[1].number) << 14 | static_cast<uint32_t>(step.operands[2].number) << 20 |
         static_cast<uint32_t>(step.domain) << 26;
}
using Operand = ElementwiseAttrs::Operand;
static_assert(Operand::Step == HEED_PROGRAM_FIRST_STEP && Operand::Scalar == HEED_PROGRAM_FIRST_NUMBER &&
              ElementwiseAttrs::kInputs == HEED_PROGRAM_INPUTS && ElementwiseAttrs::kWords == HEED_PROGRAM_WORDS &&
              static_cast<size_t>(ProgramConstants::STEP_0) + ElementwiseAttrs::kSteps == kMaxSpecConstants);

Status select_program(const Select& select) {
  const auto& attrs = select.node.as<ElementwiseAttrs>();
  const auto count = static_cast<uint32_t>(select.node.input_count());
  if (attrs.rank - 1 + attrs.rank * (count + 1) + attrs.scalar_count > ElementwiseAttrs::kWords)
    return select.unsupported(
        format("%u operands have no room for strides of %d dims, of which no two can be merged", count, attrs.rank));
  Vec4 known = vec4_of(select, select.node.outputs[0]);
  uint32_t types = type_number(select.out().dtype) << 24;
  for (uint32_t i = 0; i < count; ++i) {
    known = worse(known, vec4_of(select, select.node.inputs[i]));
    types |= type_number(select.info(i).dtype) << 4 * i;
  }
  // As for other kernels: drivers without 16-bit storage pack and unpack infinities of f16 incorrectly.
  const Status status = is_16_bit_float(select.out().dtype) ? check_storage(select, select.out().dtype) : Status::Ok;
  if (status != Status::Ok) return status;
  add_vec4_kernels(known, [&](bool vec4, Traits::Reads reads) {
    KernelUse& use =
        add_kernel(select, KernelId::Program, {kInvocations, 1, 1}, "a program of functions in f32 or whole numbers");
    use.traits.reads = reads;
    use.key.set(ProgramConstants::STEPS, attrs.count);
    use.key.set(ProgramConstants::VEC4, vec4);
    use.key.set(ProgramConstants::INPUTS, count);
    use.key.set(ProgramConstants::OPERAND_TYPES, types);
    use.key.set(ProgramConstants::RANK, attrs.rank);
    for (size_t i = 0; i < attrs.count; ++i) use.key.set(ProgramConstants::STEP_0 + i, packed(attrs.steps[i]));
    for (size_t i = 0; i < ElementwiseAttrs::kInputs; ++i)
      use.buffers[i].tensor = select.node.inputs[i < count ? i : 0];
    use.buffers[ElementwiseAttrs::kInputs] = {BufferUse::Kind::Tensor, true, select.node.outputs[0]};
    use.buffer_count = ElementwiseAttrs::kInputs + 1;
  });
  return Status::Ok;
}

void emit_program(const Emit& emit) {
  const auto& attrs = emit.node.as<ElementwiseAttrs>();
  const size_t count = emit.node.input_count(), rank = attrs.rank;
  std::array<View, ElementwiseAttrs::kInputs + 1> views;
  std::array<const View*, ElementwiseAttrs::kInputs + 1> pointers{};
  View& out = views[count] = emit.out();
  ProgramParams p{};
  bool vec4 = is_vec4(out);
  double bytes = static_cast<double>(size_of(out.dtype));
  for (size_t i = 0; i < count; ++i) {
    views[i] = emit.in(i);
    vec4 = vec4 && is_vec4(broadcast_to(views[i], out));
    bytes += static_cast<double>(size_of(views[i].dtype));
    p.offset[i] = u32(views[i].offset);
  }
  for (size_t i = 0; i <= count; ++i) pointers[i] = &views[i];
  p.offset[ElementwiseAttrs::kInputs] = u32(out.offset);
  Walk walk = make_walk(out, std::span(pointers.data(), count + 1));
  merge_dims(&walk, 0);
  const int64_t elements = walk.elements();
  p.elements = u32(elements);
  size_t word = 0;
  const size_t first = static_cast<size_t>(kMaxRank) - rank;
  for (size_t d = first + 1; d < static_cast<size_t>(kMaxRank); ++d) p.words[word++] = u32(walk.dim[d]);
  for (size_t v = 0; v <= count; ++v)
    for (size_t d = first; d < static_cast<size_t>(kMaxRank); ++d) p.words[word++] = u32(walk.stride[v][d]);
  for (size_t i = 0; i < attrs.scalar_count; ++i) p.words[word++] = attrs.scalars[i];

  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = choose(emit.kernels, RowProblem{0, vec4});
  dispatch.groups = fold_groups(ceil_div<int64_t>(elements, kInvocations * kPerInvocation));
  dispatch.work = static_cast<double>(elements) * std::max(bytes, attrs.flops());
  dispatch.set_push(p);
}

}  // namespace

Status select_elementwise(const Select& select) {
  const std::optional<SimpleElementwise> plain = plain_kernel_of(select.schedule, select.node);
  if (!plain) return select_program(select);
  return add_elementwise(select, *plain, select.node.inputs[in::kA],
                         plain->kind == Kind::Copy ? Tensor{} : select.node.inputs[in::kB]);
}

void emit_elementwise(const Emit& emit) {
  const std::optional<SimpleElementwise> plain = plain_kernel_of(emit.schedule, emit.node);
  if (!plain) return emit_program(emit);
  const bool binary = plain->kind != Kind::Copy;
  const View a = emit.in(in::kA), out = emit.out();
  const View b = binary ? emit.in(in::kB) : View{};
  emit_walk(emit, 0, a, binary ? &b : nullptr, out, plain->scale);
}

}  // namespace heed::kernels
