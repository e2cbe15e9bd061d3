// Passes with the host's kernel; everything else follows from the pass' declaration.
#include <algorithm>

#include "kernels/operations.hpp"

namespace heed::kernels {
namespace {

static_assert(kMaxCustomBindings <= kMaxBindings && kMaxCustomConstants <= kMaxSpecConstants &&
              kMaxCustomPushWords * sizeof(uint32_t) <= kMaxPushBytes);

int64_t groups_at(const CustomAttrs::Groups& groups, std::span<const int64_t> sizes) {
  return ceil_div<int64_t>(sizes[static_cast<size_t>(groups.total)], groups.each);
}

Status check_workgroup(const Select& select, const CustomAttrs& attrs) {
  uint64_t invocations = 1;
  for (size_t axis = 0; axis < 3; ++axis) {
    const uint32_t size = attrs.local_size[axis], most = select.device.max_workgroup_size[axis];
    // SPIR-V that does not state its workgroup size has 0 along all axes.
    if (size == 0 && attrs.local_size != std::array<uint32_t, 3>{})
      return select.unsupported(format("workgroups of 0 along axis %zu", axis));
    if (size > most)
      return select.unsupported(
          format("workgroups of %u along axis %zu; this device has at most %u", size, axis, most));
    invocations *= std::max(size, 1u);
    const int64_t groups = groups_at(attrs.groups[axis], select.schedule.max_values);
    if (groups > select.device.max_groups[axis])
      return select.unsupported(format("%lld workgroups along axis %zu; this device has at most %u",
                                       static_cast<long long>(groups), axis, select.device.max_groups[axis]));
  }
  if (invocations <= select.device.max_group_invocations) return Status::Ok;
  return select.unsupported(format("workgroups of %llu invocations; this device has at most %u",
                                   static_cast<unsigned long long>(invocations), select.device.max_group_invocations));
}

}  // namespace

Status select_custom(const Select& select) {
  const auto& attrs = select.node.as<CustomAttrs>();
  if (attrs.kernel->spirv.empty()) return select.unsupported("this pass of the host's has no SPIR-V");
  if (attrs.local_size_id && !select.device.local_size_id)
    return select.unsupported(
        "the SPIR-V has LocalSizeId, which needs maintenance4 (Vulkan 1.3); "
        "this device has none, or the host lists none in HostDevice::enabled_features");
  const Status status = check_workgroup(select, attrs);
  if (status != Status::Ok) return status;
  KernelUse& use = select.kernels->add();
  use.key.custom = attrs.kernel;
  use.key.spec_count = static_cast<uint32_t>(attrs.constants.size());
  use.key.spec = {};
  std::copy(attrs.constants.begin(), attrs.constants.end(), use.key.spec.begin());
  use.why = "a shader of the host's";
  for (uint32_t i = 0; i < attrs.input_count; ++i)
    use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, false, select.node.inputs[i]};
  for (uint32_t i = 0; i < attrs.output_count; ++i)
    use.buffers[use.buffer_count++] = {BufferUse::Kind::Tensor, true, select.node.outputs[i]};
  return Status::Ok;
}

void emit_custom(const Emit& emit) {
  const auto& attrs = emit.node.as<CustomAttrs>();
  std::array<uint32_t, kMaxCustomPushWords> push{};
  uint32_t count = 0;
  for (uint32_t i = 0; i < attrs.input_count; ++i) push[count++] = u32(emit.in(i).offset);
  for (uint32_t i = 0; i < attrs.output_count; ++i)
    push[count++] = u32(resolve(emit.schedule, emit.node.outputs[i], emit.values).offset);
  for (const CustomAttrs::Word& word : attrs.push)
    push[count++] = word.size < 0 ? word.bits : u32(emit.values.sizes[static_cast<size_t>(word.size)]);

  Dispatch& dispatch = emit.dispatches->add();
  for (size_t axis = 0; axis < 3; ++axis) dispatch.groups[axis] = u32(groups_at(attrs.groups[axis], emit.values.sizes));
  dispatch.work = attrs.group_work * static_cast<double>(dispatch.groups[0]) * dispatch.groups[1] * dispatch.groups[2];
  dispatch.push_bytes = count * static_cast<uint32_t>(sizeof(uint32_t));
  std::memcpy(dispatch.push.data(), push.data(), dispatch.push_bytes);
}

}  // namespace heed::kernels
