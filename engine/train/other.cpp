// Gradients of concat, rotary and custom passes.
#include <array>

#include "train/rules.hpp"

namespace heed::train {
void concat_rule(Backflow& flow, const Node& node) {
  const int axis = node.as<ConcatAttrs>().axis;
  const Tensor upstream = flow.upstream(node.outputs[0]);
  SizeTable& sizes = flow.data().sizes;
  SizeId begin = sizes.constant(0);
  for (const Tensor part : node.inputs) {
    if (!part.valid()) break;
    const SizeId size = flow.info(part).dims[static_cast<size_t>(axis)];
    if (flow.wants(part))
      flow.add(part, flow.build().add_slice(upstream, axis, dim_of(flow, begin), dim_of(flow, size)));
    begin = sizes.add(begin, size);
  }
}

// Rotates back: the same angles, negated in the table of fractions of 2^64.
void rotary_rule(Backflow& flow, const Node& node) {
  Build build(flow.data(), "rotary");
  const Tensor upstream = flow.upstream(node.outputs[0]), table = node.inputs[in::kRotaryTable];
  if (!build.needs({upstream})) return;
  const TensorInfo angles = flow.info(table);
  const uint32_t* words = nullptr;
  for (const detail::ConstantInfo& constant : flow.data().constants)
    if (constant.tensor == angles.storage) words = reinterpret_cast<const uint32_t*>(constant.data.data());
  const int64_t pairs = build.max_of(angles.dims[0]);
  const Tensor back =
      build.shared_table(angles.name + "/back", {pairs, 2}, DType::I32, 2 * pairs, [&](std::byte* memory) {
        auto* const negated = reinterpret_cast<uint32_t*>(memory);
        for (int64_t i = 0; i < 2 * pairs; i += 2) {
          const uint64_t turns = 0 - (uint64_t{words[i]} << 32 | words[i + 1]);
          negated[i] = static_cast<uint32_t>(turns >> 32);
          negated[i + 1] = static_cast<uint32_t>(turns);
        }
      });
  if (build.failed()) return;
  const Tensor result = build.add_like(flow.info(upstream), flow.info(upstream).dtype);
  build.add_node(Op::Rotary, {upstream, node.inputs[in::kPositions], back}, result, node.as<RotaryAttrs>());
  flow.add(node.inputs[in::kX], result);
}

void custom_rule(Backflow& flow, const Node& node) {
  const auto& attrs = node.as<CustomAttrs>();
  if (attrs.gradient.build == nullptr)
    return flow.refuse(node, ("'" + attrs.kernel->name + "' has no gradient (CustomPass::gradient)").c_str());
  std::array<Tensor, kMaxCustomOutputs> upstream;
  for (size_t i = 0; i < attrs.output_count; ++i) upstream[i] = flow.upstream(node.outputs[i]);
  std::array<Tensor, kMaxCustomBindings> found;
  std::array<bool, kMaxCustomBindings> wanted{};
  for (size_t i = 0; i < attrs.input_count; ++i) wanted[i] = flow.wants(node.inputs[i]);
  attrs.gradient.build(attrs.gradient.user, flow.graph(),
                       {.inputs = {node.inputs.data(), attrs.input_count},
                        .outputs = {node.outputs.data(), attrs.output_count},
                        .upstream = {upstream.data(), attrs.output_count},
                        .wanted = {wanted.data(), attrs.input_count},
                        .gradients = {found.data(), attrs.input_count}});
  Build& build = flow.build();
  for (size_t i = 0; i < attrs.input_count; ++i) {
    if (!found[i].valid() || !wanted[i] || !build.needs({found[i]})) continue;
    if (is_float(flow.info(found[i]).dtype) && build.same_shape(flow.info(found[i]), flow.info(node.inputs[i])))
      flow.add(node.inputs[i], found[i]);
    else
      build.fail(Status::ShapeMismatch,
                 format("the gradient %s of '%s' is not like its input %s", build.text(found[i]).c_str(),
                        attrs.kernel->name.c_str(), build.text(node.inputs[i]).c_str()));
  }
}

}  // namespace heed::train
