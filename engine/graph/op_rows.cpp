// Graph calls over the last axis: softmax, layernorm, rmsnorm, l2_normalize, argmax.
#include <cmath>

#include "graph/build.hpp"
#include "graph/op_softmax.hpp"

namespace heed {

using detail::Build;

namespace detail {

bool check_mask(Build& build, const char* what, const Mask& mask, const TensorInfo& target) {
  if (!mask.tensor.valid()) return true;
  const TensorInfo& info = build.info(mask.tensor);
  if (info.dtype != DType::U8) {
    build.fail(Status::DTypeMismatch, format("%s %s must be u8", what, build.text(mask.tensor).c_str()));
    return false;
  }
  if (!build.broadcasts_to(info, target)) {
    build.fail(Status::ShapeMismatch, format("%s %s does not broadcast to %s", what, build.text(mask.tensor).c_str(),
                                             build.shape_text(target).c_str()));
    return false;
  }
  return true;
}

bool has_meaning(const Mask& mask) { return !mask.tensor.valid() || mask.meaning <= Mask::Meaning::Keep; }

bool check_key_padding(Build& build, const Mask& mask, const TensorInfo& scores) {
  if (!mask.tensor.valid()) return true;
  const TensorInfo& info = build.info(mask.tensor);
  if (info.dtype != DType::U8) {
    build.fail(Status::DTypeMismatch, format("key_padding %s must be u8", build.text(mask.tensor).c_str()));
    return false;
  }
  if (scores.rank < 2 || info.rank != 2 || info.dims[0] != scores.dims[0] ||
      info.dims[1] != build.dim_from_end(scores, 0)) {
    build.fail(Status::ShapeMismatch, format("key_padding %s does not belong to logits %s; [B, S_k] is needed",
                                             build.text(mask.tensor).c_str(), build.shape_text(scores).c_str()));
    return false;
  }
  return true;
}

bool check_softmax_inputs(Build& build, const TensorInfo& scores, const Mask& key_padding, const Mask& mask,
                          Tensor bias, const SoftmaxAttrs& attrs) {
  if (!build.allows({key_padding.tensor, mask.tensor, bias})) return false;
  if (attrs.causal > Causal::BottomRight || !has_meaning(key_padding) || !has_meaning(mask)) {
    build.fail(Status::InvalidArgument, "causal, or the meaning of a mask, is none of those there are");
    return false;
  }
  if (!check_key_padding(build, key_padding, scores) || !check_mask(build, "mask", mask, scores)) return false;
  if (bias.valid()) {
    if (build.info(bias).dtype != scores.dtype) {
      build.fail(Status::DTypeMismatch,
                 format("bias %s; %s is needed", build.text(bias).c_str(), to_string(scores.dtype)));
      return false;
    }
    if (!build.broadcasts_to(build.info(bias), scores)) {
      build.fail(Status::ShapeMismatch, format("bias %s does not broadcast to %s", build.text(bias).c_str(),
                                               build.shape_text(scores).c_str()));
      return false;
    }
  }
  if (attrs.causal != Causal::None && scores.rank < 2) {
    build.fail(Status::ShapeMismatch, format("causal needs [..., S_q, S_k], not %s", build.shape_text(scores).c_str()));
    return false;
  }
  if (!std::isfinite(attrs.scale) || (attrs.masked_fill && !std::isfinite(*attrs.masked_fill))) {
    build.fail(Status::InvalidArgument, "scale and masked_fill must be finite");
    return false;
  }
  return true;
}

}  // namespace detail

Tensor Graph::softmax(Tensor x, const SoftmaxOptions& options) {
  Build build(*data_, "softmax");
  if (!build.needs({x})) return {};
  const TensorInfo info = build.info(x);
  if (info.rank < 1 || info.rank > 4 || !build.is_float(info.dtype))
    return build.fail(Status::ShapeMismatch,
                      format("%s: f32, f16 or bf16 of rank 1 to 4 is needed", build.text(x).c_str()));
  SoftmaxAttrs attrs{options.scale, options.causal, options.key_padding.meaning, options.mask.meaning,
                     options.masked_fill};
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
  build.fail(info.dtype == x.dtype ? Status::ShapeMismatch : Status::DTypeMismatch,
             format("%s %s does not belong to rows of %s %s", what, build.text(parameter).c_str(), to_string(x.dtype),
                    build.shape_text(x).c_str()));
  return false;
}

bool check_rows(Build& build, Tensor x, float eps) {
  if (!build.needs({x})) return false;
  const TensorInfo& info = build.info(x);
  if (info.rank < 1 || !build.is_float(info.dtype)) {
    build.fail(Status::DTypeMismatch,
               format("%s: f32, f16 or bf16 of rank 1 or more is needed", build.text(x).c_str()));
    return false;
  }
  if (!(eps >= 0.0f) || !std::isfinite(eps)) {
    build.fail(Status::InvalidArgument, format("eps is %g; it must be 0 or more", static_cast<double>(eps)));
    return false;
  }
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

Tensor Graph::argmax(Tensor x) {
  Build build(*data_, "argmax");
  if (!check_rows(build, x, 0.0f)) return {};
  TensorInfo out = build.info(x);
  if (out.rank < 2)
    return build.fail(Status::ShapeMismatch, format("%s: rank 2 or more is needed", build.text(x).c_str()));
  --out.rank;
  const Tensor result = build.add_like(out, DType::I32);
  build.add_node(Op::Argmax, {x}, result, EmptyAttrs{});
  return result;
}

}  // namespace heed
