// Graph calls: passes of the host's own.
#include <cmath>
#include <vector>

#include "base/spirv.hpp"
#include "graph/build/build.hpp"

namespace heed {

using detail::Build;

namespace {

// "<what>: <count>; at most <most> are possible"
std::string too_many(const char* what, size_t count, size_t most) {
  return format("%s: %zu; at most %zu are possible", what, count, most);
}

std::string counts_problem(const CustomPass& pass, size_t inputs) {
  const size_t bindings = inputs + pass.outputs.size();
  if (inputs == 0) return "there is no input";
  if (pass.outputs.empty()) return "there is no output";
  if (pass.outputs.size() > kMaxCustomOutputs) return too_many("outputs", pass.outputs.size(), kMaxCustomOutputs);
  if (bindings > kMaxCustomBindings) return too_many("inputs and outputs", bindings, kMaxCustomBindings);
  if (pass.constants.size() > kMaxCustomConstants)
    return too_many("specialization constants", pass.constants.size(), kMaxCustomConstants);
  if (bindings + pass.push.size() > kMaxCustomPushWords)
    return too_many("words of push constants, offsets included", bindings + pass.push.size(), kMaxCustomPushWords);
  for (const CustomGroups& groups : pass.groups)
    if (groups.each == 0) return "groups: each is 0";
  if (pass.spirv.empty() && pass.cpu.run == nullptr) return "there is neither SPIR-V nor a function for the CPU";
  if (!(pass.group_work >= 0)) return "group_work is negative";
  if (!std::isfinite(pass.group_work)) return "group_work is infinite";
  return "";
}

std::string shader_problem(const CustomPass& pass, uint32_t inputs, SpirvInfo* found) {
  if (pass.spirv.empty()) return "";
  SpirvInfo& info = *found;
  const std::string wrong = read_spirv(pass.spirv, pass.entry_point, pass.constants, &info);
  if (!wrong.empty()) return wrong;
  const uint32_t count = inputs + static_cast<uint32_t>(pass.outputs.size());
  for (const auto& [number, binding] : info.bindings)
    if (number >= count) return format("the shader uses binding %u; the pass has 0 to %u", number, count - 1);
  for (const auto& [number, binding] : info.bindings) {
    if (binding.set != 0)
      return format("the shader uses descriptor set %d; only set 0 is there", static_cast<int>(binding.set));
    if (!binding.storage_buffer) return format("binding %u of the shader is no storage buffer", number);
    if (number >= inputs && binding.readonly)
      return format("binding %u is output %u of the pass, but readonly in the shader", number, number - inputs);
  }
  const auto bytes = static_cast<uint32_t>((count + pass.push.size()) * sizeof(uint32_t));
  if (info.push_bytes > bytes)
    return format("the shader reads push constants up to byte %u; the pass has %u, offsets included", info.push_bytes,
                  bytes);
  return "";
}

// The size for a number that the host got from this graph; records a mistake and returns -1 if there is none.
SizeId size_of_dim(Build& build, const Dim& dim, const char* what) {
  if (dim.is_constant()) {
    if (dim.value >= 0 && dim.value <= UINT32_MAX) return build.data().sizes.constant(dim.value);
    build.fail(Status::InvalidArgument, format("%s: %lld is no 32-bit size", what, static_cast<long long>(dim.value)));
    return -1;
  }
  if (build.is_number(dim)) return dim.expr;
  build.fail(Status::InvalidArgument, format("%s: a number of another graph", what));
  return -1;
}

SizeId size_of_word(Build& build, const Dim& dim) {
  if (dim.value <= UINT32_MAX) return size_of_dim(build, dim, "push");
  build.fail(Status::InvalidArgument,
             format("push: a size of up to %lld does not fit into 32 bits", static_cast<long long>(dim.value)));
  return -1;
}

CustomAttrs attrs_of(Build& build, const CustomPass& pass) {
  CustomAttrs attrs;
  attrs.kernel = std::make_shared<const CustomKernel>(
      CustomKernel{std::string(pass.name), std::string(pass.entry_point), {pass.spirv.begin(), pass.spirv.end()}});
  attrs.constants.assign(pass.constants.begin(), pass.constants.end());
  for (const CustomWord& word : pass.push)
    attrs.push.push_back({word.is_size ? size_of_word(build, word.size) : -1, word.bits});
  for (size_t axis = 0; axis < 3; ++axis) {
    SizeId total = build.data().sizes.constant(1);
    if (!pass.groups[axis].sizes.valid()) build.fail(Status::InvalidArgument, "groups: more than 5 sizes");
    for (int i = 0; i < pass.groups[axis].sizes.rank && !build.failed(); ++i) {
      const SizeId size = size_of_dim(build, pass.groups[axis].sizes[i], "groups");
      if (size >= 0) total = build.data().sizes.mul(total, size);
    }
    if (build.max_of(total) == INT64_MAX) build.fail(Status::InvalidArgument, "groups: more than can be counted");
    attrs.groups[axis] = {total, pass.groups[axis].each};
  }
  attrs.cpu = pass.cpu;
  attrs.gradient = pass.gradient;
  attrs.group_work = pass.group_work;
  attrs.output_count = static_cast<uint32_t>(pass.outputs.size());
  return attrs;
}

}  // namespace

CustomResult Graph::custom(const CustomPass& pass, std::span<const Tensor> inputs) {
  const std::string name(pass.name);
  Build build(*data_, name.empty() ? "custom" : name.c_str());
  CustomResult result;
  if (build.failed()) return result;
  std::string problem = name.empty() ? "the name is empty" : counts_problem(pass, inputs.size());
  SpirvInfo shader;
  if (problem.empty()) problem = shader_problem(pass, static_cast<uint32_t>(inputs.size()), &shader);
  if (!problem.empty()) {
    build.fail(Status::InvalidArgument, problem);
    return result;
  }
  CustomAttrs attrs = attrs_of(build, pass);
  attrs.local_size = shader.local_size;
  attrs.local_size_id = shader.local_size_id;
  attrs.input_count = static_cast<uint32_t>(inputs.size());
  std::vector<TensorInfo> outputs(pass.outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!build.is_type(pass.outputs[i].dtype, "an output") ||
        !build.sizes_of(pass.outputs[i].shape, "an output", &outputs[i]))
      return result;
    outputs[i].dtype = pass.outputs[i].dtype;
    build.make_contiguous(&outputs[i]);
  }
  for (const Tensor input : inputs)
    if (!build.needs({input})) return result;
  if (build.failed()) return result;
  std::vector<Tensor> dense;
  for (const Tensor input : inputs) dense.push_back(build.contiguous(input));
  for (size_t i = 0; i < outputs.size(); ++i) result.outputs[i] = build.add_storage(std::move(outputs[i]));
  Node& node = build.add_node(Op::Custom, {}, result.outputs[0], std::move(attrs));
  for (size_t i = 0; i < dense.size(); ++i) node.inputs[i] = dense[i];
  node.outputs[1] = result.outputs[1];
  return result;
}

CustomResult Graph::custom(const CustomPass& pass, std::initializer_list<Tensor> inputs) {
  return custom(pass, std::span<const Tensor>(inputs.begin(), inputs.size()));
}

}  // namespace heed
