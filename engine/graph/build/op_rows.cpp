// Graph calls over the last axis: softmax, layernorm, rmsnorm, l2_normalize, log_softmax, cross_entropy.
#include <cmath>

#include "graph/build/build.hpp"
#include "graph/build/op_softmax.hpp"

namespace heed {

using detail::Build;

namespace detail {

bool has_meaning(const Mask& mask) { return !mask.tensor.valid() || mask.meaning <= Mask::Meaning::Keep; }

namespace {

bool check_broadcast(Build& build, const char* what, Tensor tensor, const TensorInfo& target) {
  if (build.broadcasts_to(build.info(tensor), target)) return true;
  return build.refuse(Status::ShapeMismatch, format("%s %s does not broadcast to %s", what, build.text(tensor).c_str(),
                                                    build.shape_text(target).c_str()));
}

bool check_u8(Build& build, const char* what, Tensor tensor) {
  if (build.info(tensor).dtype == DType::U8) return true;
  return build.refuse(Status::DTypeMismatch, format("%s %s must be u8", what, build.text(tensor).c_str()));
}

bool check_key_padding(Build& build, Tensor padding, const TensorInfo& scores) {
  if (!check_u8(build, "key_padding", padding)) return false;
  const TensorInfo& info = build.info(padding);
  if (scores.rank >= 2 && info.rank == 2 && info.dims[0] == scores.dims[0] &&
      info.dims[1] == build.dim_from_end(scores, 0))
    return true;
  return build.refuse(Status::ShapeMismatch, format("key_padding %s does not belong to logits %s; [B, S_k] is needed",
                                                    build.text(padding).c_str(), build.shape_text(scores).c_str()));
}

}  // namespace

bool check_softmax_inputs(Build& build, const TensorInfo& scores, const Mask& key_padding, const Mask& mask,
                          Tensor bias, const SoftmaxAttrs& attrs) {
  if (!build.allows({key_padding.tensor, mask.tensor, bias})) return false;
  if (attrs.causal > Causal::BottomRight || !has_meaning(key_padding) || !has_meaning(mask))
    return build.refuse(Status::InvalidArgument, "causal, or the meaning of a mask, is no value of its enum");
  if (key_padding.tensor.valid() && !check_key_padding(build, key_padding.tensor, scores)) return false;
  if (mask.tensor.valid() &&
      (!check_u8(build, "mask", mask.tensor) || !check_broadcast(build, "mask", mask.tensor, scores)))
    return false;
  if (bias.valid()) {
    if (build.info(bias).dtype != scores.dtype)
      return build.refuse(Status::DTypeMismatch,
                          format("bias %s; %s is needed", build.text(bias).c_str(), to_string(scores.dtype)));
    if (!check_broadcast(build, "bias", bias, scores)) return false;
  }
  if (attrs.causal != Causal::None && scores.rank < 2)
    return build.refuse(Status::ShapeMismatch,
                        format("causal needs [..., S_q, S_k], not %s", build.shape_text(scores).c_str()));
  if (!std::isfinite(attrs.scale) || (attrs.masked_fill && !std::isfinite(*attrs.masked_fill)))
    return build.refuse(Status::InvalidArgument, "scale and masked_fill must be finite");
  return true;
}

}  // namespace detail

Tensor Graph::softmax(Tensor x, const SoftmaxOptions& options) {
  Build build(*data_, "softmax");
  if (!build.needs({x})) return {};
  const TensorInfo info = build.info(x);
  if (info.rank < 1 || info.rank > 4 || !is_float(info.dtype))
    return build.fail(Status::ShapeMismatch,
                      format("%s: f32, f16 or bf16 of rank 1 to 4 is needed", build.text(x).c_str()));
  SoftmaxAttrs attrs{options.scale,        options.causal,      options.key_padding.meaning,
                     options.mask.meaning, options.masked_fill, 0};
  if (!detail::check_softmax_inputs(build, info, options.key_padding, options.mask, options.bias, attrs)) return {};
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::Softmax, {x, options.key_padding.tensor, options.mask.tensor, options.bias}, result, attrs);
  return result;
}

namespace {

bool check_row_parameter(Build& build, const char* what, Tensor parameter, const TensorInfo& x) {
  if (!parameter.valid()) return true;
  const TensorInfo& info = build.info(parameter);
  if (info.rank == 1 && info.dims[0] == build.dim_from_end(x, 0) && info.dtype == x.dtype) return true;
  if (info.dtype != x.dtype)
    return build.refuse(Status::DTypeMismatch,
                        format("%s %s does not have the type of the rows, %s %s; cast one of them", what,
                               build.text(parameter).c_str(), to_string(x.dtype), build.shape_text(x).c_str()));
  return build.refuse(Status::ShapeMismatch,
                      format("%s %s does not belong to rows of %s %s", what, build.text(parameter).c_str(),
                             to_string(x.dtype), build.shape_text(x).c_str()));
}

bool check_rows(Build& build, Tensor x, float eps) {
  if (!build.needs({x})) return false;
  const TensorInfo& info = build.info(x);
  if (info.rank < 1 || !is_float(info.dtype))
    return build.refuse(Status::DTypeMismatch,
                        format("%s: f32, f16 or bf16 of rank 1 or more is needed", build.text(x).c_str()));
  if (!(eps >= 0.0f) || !std::isfinite(eps))
    return build.refuse(Status::InvalidArgument, format("eps is %g; it must be 0 or more", static_cast<double>(eps)));
  return true;
}

}  // namespace

Tensor Graph::layernorm(Tensor x, Tensor gamma, Tensor beta, float eps) {
  Build build(*data_, "layernorm");
  if (!check_rows(build, x, eps) || !build.allows({gamma, beta})) return {};
  const TensorInfo info = build.info(x);
  if (!check_row_parameter(build, "gamma", gamma, info) || !check_row_parameter(build, "beta", beta, info)) return {};
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::LayerNorm, {x, gamma, beta, {}}, result, NormAttrs{eps});
  return result;
}

Tensor Graph::rmsnorm(Tensor x, Tensor gamma, float eps) {
  Build build(*data_, "rmsnorm");
  if (!check_rows(build, x, eps) || !build.allows({gamma})) return {};
  const TensorInfo info = build.info(x);
  if (!check_row_parameter(build, "gamma", gamma, info)) return {};
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::RmsNorm, {x, gamma, {}, {}}, result, NormAttrs{eps});
  return result;
}

Tensor Graph::l2_normalize(Tensor x, float eps) {
  Build build(*data_, "l2_normalize");
  if (!check_rows(build, x, eps)) return {};
  const TensorInfo info = build.info(x);
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::L2Normalize, {x}, result, NormAttrs{eps});
  return result;
}

Tensor Graph::log_softmax(Tensor x) {
  Build build(*data_, "log_softmax");
  if (!check_rows(build, x, 0.0f)) return {};
  const TensorInfo info = build.info(x);
  const Tensor result = build.add_like(info, info.dtype);
  build.add_node(Op::LogSoftmax, {x}, result, EmptyAttrs{});
  return result;
}

Tensor Graph::cross_entropy(Tensor logits, Tensor labels, float label_smoothing) {
  Build build(*data_, "cross_entropy");
  if (!check_rows(build, logits, 0.0f) || !build.needs({labels})) return {};
  TensorInfo out = build.info(logits);
  if (out.rank < 2)
    return build.fail(Status::ShapeMismatch, format("%s: rank 2 or more is needed", build.text(logits).c_str()));
  --out.rank;
  const TensorInfo& given = build.info(labels);
  if (given.dtype != DType::I32)
    return build.fail(Status::DTypeMismatch, format("labels %s; i32 is needed", build.text(labels).c_str()));
  if (!build.same_shape(given, out))
    return build.fail(Status::ShapeMismatch, format("labels %s are not one for each row of %s",
                                                    build.text(labels).c_str(), build.text(logits).c_str()));
  if (!(label_smoothing >= 0.0f && label_smoothing <= 1.0f))
    return build.fail(Status::InvalidArgument,
                      format("label_smoothing is %g; it must be 0 to 1", static_cast<double>(label_smoothing)));
  const Tensor result = build.add_like(out, DType::F32);
  build.add_node(Op::CrossEntropy, {logits, labels}, result, CrossEntropyAttrs{label_smoothing});
  return result;
}

}  // namespace heed
