#include <array>

#include "cpu/device/pass.hpp"

namespace heed::cpu {
namespace {

CustomBuffer buffer_of(const Operand& operand) {
  CustomBuffer buffer;
  buffer.data = operand.data;
  buffer.dtype = operand.view.dtype;
  buffer.bytes = static_cast<size_t>(operand.view.elements()) * size_of(operand.view.dtype);
  buffer.shape = {operand.view.dim, static_cast<size_t>(operand.view.rank)};
  return buffer;
}

}  // namespace

ScratchNeed custom_scratch(const ScratchQuery&) { return {}; }

void run_custom(const Pass& pass) {
  const auto& attrs = pass.node.as<CustomAttrs>();
  std::array<Operand, kMaxCustomBindings> operands;
  std::array<CustomBuffer, kMaxCustomBindings> buffers;
  for (uint32_t i = 0; i < attrs.input_count + attrs.output_count; ++i) {
    operands[i] = i < attrs.input_count ? pass.input(i) : pass.output(i - attrs.input_count);
    buffers[i] = buffer_of(operands[i]);
  }
  std::array<uint32_t, kMaxCustomPushWords> push{};
  for (size_t i = 0; i < attrs.push.size(); ++i) {
    const CustomAttrs::Word& word = attrs.push[i];
    push[i] = word.size < 0 ? word.bits : static_cast<uint32_t>(pass.values.sizes[static_cast<size_t>(word.size)]);
  }
  attrs.cpu.run(attrs.cpu.user, {.inputs = {buffers.data(), attrs.input_count},
                                 .outputs = {buffers.data() + attrs.input_count, attrs.output_count},
                                 .push = {push.data(), attrs.push.size()}});
}

}  // namespace heed::cpu
