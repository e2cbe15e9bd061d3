#include "base/philox.hpp"
#include "kernels/choose/chooser.hpp"
#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

constexpr int64_t kPerGroup = 4 * kInvocations;  // an invocation computes the four elements of a Philox block
constexpr WhyStorage kWhy = {"f32 storage; one Philox block per 4 elements",
                             "f16 storage; one Philox block per 4 elements",
                             "bf16 storage; one Philox block per 4 elements"};

}  // namespace

Status select_dropout(const Select& select) {
  const DType dtype = select.info(in::kX).dtype;
  KernelId id{};
  const Status status =
      pick_storage(select, dtype, {KernelId::DropoutF32, KernelId::DropoutF16, KernelId::DropoutBf16}, &id);
  if (status != Status::Ok) return status;
  if (select.out().dtype != dtype) return select.unsupported("result and input differ in type");
  const Vec4 known = worse(vec4_of(select, select.node.inputs[in::kX]), vec4_of(select, select.node.outputs[0]));
  add_vec4_kernels(known, [&](bool vec4, Traits::Reads reads) {
    KernelUse& use = add_kernel(select, id, {kInvocations, 1, 1}, kWhy.of(dtype));
    use.traits.reads = reads;
    use.key.set(DropoutConstants::VEC4, vec4);
    constexpr size_t kInputs[] = {in::kX};
    bind(select, &use, kInputs);
  });
  return Status::Ok;
}

void emit_dropout(const Emit& emit) {
  const auto& attrs = emit.node.as<DropoutAttrs>();
  const View x = emit.in(in::kX), out = emit.out();
  const View* const views[] = {&x, &out};
  Walk walk = make_walk(out, views);
  merge_dims(&walk, 0);  // keeps the row-major index that dropout uses as its counter
  const int64_t elements = walk.elements();
  const DropoutWords words = dropout_words(attrs.p);

  DropoutParams p{};
  p.offset[0] = u32(x.offset);
  p.offset[1] = u32(out.offset);
  p.rank = static_cast<uint32_t>(walk.rank);
  p.elements = u32(elements);
  put(p.dim, walk.dim);
  put(p.x_stride, walk.stride[0]);
  put(p.out_stride, walk.stride[1]);
  p.threshold = words.threshold;
  p.scale = words.keep_scale;
  p.seed = emit.values.seed;
  p.stream = attrs.stream;

  Dispatch& dispatch = emit.dispatches->add();
  dispatch.kernel = choose(emit.kernels, RowProblem{0, is_vec4(x) && is_vec4(out)});
  dispatch.groups = fold_groups(ceil_div<int64_t>(elements, kPerGroup));
  constexpr double kOperations = 30.0;  // per element: a quarter of a block's ten rounds of about a dozen
  dispatch.work = static_cast<double>(elements) * kOperations;
  dispatch.set_push(p);
}

}  // namespace heed::kernels
