// Nodes of optimizers: the norm of gradients, updates of states, and weights that are stored in states.
#include "graph/build/update.hpp"

#include <algorithm>

#include "graph/build/build.hpp"

namespace heed::detail {
namespace {

bool is_vector(Build& build, Tensor t, int64_t elements) {
  const TensorInfo& info = build.info(t);
  return info.rank == 1 && info.dtype == DType::F32 && build.is_contiguous(info) &&
         (elements < 0 ? build.data().sizes.is_constant(info.dims[0])
                       : build.data().sizes.is_constant(info.dims[0], elements));
}

// Whether the tensor shows a whole state, F32 [n], with n == elements if that is >= 0. Records a mistake if not.
bool check_state(Build& build, const char* what, Tensor t, int64_t elements = -1) {
  const TensorInfo& info = build.info(t);
  const uint32_t storage = info.storage;
  const bool whole = build.is_state(storage) && build.data().sizes.is_constant(info.offset, 0) &&
                     build.same_shape(info, build.data().tensors[storage]);
  if (whole && is_vector(build, t, elements)) return true;
  return build.refuse(Status::ShapeMismatch,
                      format("%s %s: a state of f32 [%s] is needed", what, build.text(t).c_str(),
                             elements < 0 ? "n" : format("%lld", static_cast<long long>(elements)).c_str()));
}

bool check_vector(Build& build, const char* what, Tensor t, int64_t elements = -1) {
  if (is_vector(build, t, elements)) return true;
  return build.refuse(Status::ShapeMismatch,
                      format("%s %s: f32 [%s] without gaps is needed", what, build.text(t).c_str(),
                             elements < 0 ? "n" : format("%lld", static_cast<long long>(elements)).c_str()));
}

bool check_settings(Build& build, Tensor settings) {
  const TensorInfo& info = build.info(settings);
  if (info.rank == 2 && info.dtype == DType::F32 && build.is_contiguous(info) &&
      build.data().sizes.is_constant(info.dims[0]) && build.data().sizes.is_constant(info.dims[1], kUpdateWords))
    return true;
  return build.refuse(Status::ShapeMismatch,
                      format("settings %s: f32 [rows, %lld] is needed", build.text(settings).c_str(),
                             static_cast<long long>(kUpdateWords)));
}

// The whole state after one more write.
Tensor written(Build& build, Tensor state) {
  const uint32_t storage = build.info(state).storage;
  ++build.data().tensors[storage].writes;
  return build.add_view(build.info(state), storage);
}

}  // namespace

GradientNorm gradient_norm(GraphData& data, std::span<const Tensor> gradients, Tensor settings, Tensor step) {
  Build build(data, "gradient_norm");
  if (!build.needs({settings, step}) || !check_settings(build, settings) || !check_state(build, "step", step, 1))
    return {};
  if (gradients.empty() || gradients.size() > kMostGradients) {
    build.fail(Status::InvalidArgument,
               format("%zu gradients; 1 to %zu are possible", gradients.size(), kMostGradients));
    return {};
  }
  for (const Tensor gradient : gradients)
    if (!build.needs({gradient}) || !check_vector(build, "gradient", gradient)) return {};
  TensorInfo info;
  info.rank = 1;
  info.dims[0] = data.sizes.constant(kUpdateFactors);
  GradientNorm result{build.add_like(info, DType::F32), {}};
  Node& node = build.add_node(Op::GradientNorm, {settings, step}, result.factors, EmptyAttrs{});
  std::copy(gradients.begin(), gradients.end(), node.inputs.begin() + in::kNormGradients);
  node.outputs[out::kStep] = result.step = written(build, step);
  return result;
}

void update(GraphData& data, const Updated& operands, Tensor factors, Tensor settings, int64_t row,
            const UpdateAttrs& attrs) {
  Build build(data, "update");
  if (!build.needs({operands.weights, operands.gradient, factors, settings}) ||
      !build.allows({operands.first, operands.second}))
    return;
  const bool adam = attrs.rule == UpdateAttrs::Rule::AdamW;
  if (!check_state(build, "weights", operands.weights) || !check_settings(build, settings) ||
      !check_vector(build, "factors", factors, kUpdateFactors))
    return;
  if (operands.second.valid() != adam || (adam && !operands.first.valid()) ||
      (attrs.nesterov && (adam || !operands.first.valid()))) {
    build.fail(Status::InvalidArgument, "the moments are not those of the rule");
    return;
  }
  const int64_t elements = build.max_of(build.info(operands.weights).dims[0]);
  if ((operands.first.valid() && !check_state(build, "first moment", operands.first, elements)) ||
      (operands.second.valid() && !check_state(build, "second moment", operands.second, elements)) ||
      !(attrs.clears ? check_state(build, "gradient", operands.gradient, elements)
                     : check_vector(build, "gradient", operands.gradient, elements)))
    return;
  const Tensor numbers = build.add_slice(settings, 0, row, 1);
  if (!numbers.valid()) return;
  Node& node = build.add_node(Op::Update,
                              {operands.gradient, factors, numbers, operands.weights, operands.first, operands.second},
                              written(build, operands.weights), attrs);
  size_t next = 1;
  for (const Tensor state : {operands.first, operands.second, attrs.clears ? operands.gradient : Tensor{}})
    if (state.valid()) node.outputs[next++] = written(build, state);
}

void weight_in_state(GraphData& data, Tensor weight, Tensor state, int64_t at) {
  Build build(data, "weight_in_state");
  if (!build.needs({weight, state}) || !check_state(build, "state", state)) return;
  const auto known = std::find_if(data.weights.begin(), data.weights.end(),
                                  [&](const NamedTensor& t) { return t.tensor == weight.id; });
  if (known == data.weights.end() || build.info(weight).dtype != DType::F32) {
    build.fail(Status::DTypeMismatch, format("%s is no weight of f32", build.text(weight).c_str()));
    return;
  }
  const int64_t room = build.max_of(build.info(state).dims[0]), elements = build.max_elements(build.info(weight));
  if (at < 0 || at > room - elements || build.info(state).writes != 0) {
    build.fail(Status::InvalidArgument, format("%s cannot be at %lld of %s", build.text(weight).c_str(),
                                               static_cast<long long>(at), build.text(state).c_str()));
    return;
  }
  const SizeId offset = data.sizes.constant(at);
  const uint32_t storage = build.info(state).storage;
  for (TensorInfo& tensor : data.tensors) {
    if (tensor.storage != weight.id) continue;
    tensor.storage = storage;
    tensor.offset = data.sizes.add(tensor.offset, offset);
  }
  data.kept_weights.push_back(*known);
  data.weights.erase(known);
}

}  // namespace heed::detail
