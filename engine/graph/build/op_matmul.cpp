// Graph calls: matmul, linear.

#include "graph/build/build.hpp"

namespace heed {

using detail::Build;

namespace {

// The operand, transposed if asked, as [..., rows, columns].
Tensor oriented(Build& build, Tensor x, bool transpose) {
  const int rank = build.info(x).rank;
  return transpose ? build.add_transposed(x, rank - 2, rank - 1) : x;
}

// If a is f32, b may have any type; if a is f16 or bf16, b may be f16, bf16 or quantized.
bool may_multiply(DType a, DType b) {
  return is_float(a) && (is_quantized(b) || (is_float(b) && (b != DType::F32 || a == DType::F32)));
}

}  // namespace

Tensor Graph::matmul(Tensor a, Tensor b, const MatmulOptions& options) {
  Build build(*data_, "matmul");
  if (!build.needs({a}) || !build.needs_of_any_type({b})) return {};
  for (Tensor t : {a, b}) {
    const TensorInfo& info = build.info(t);
    if (info.rank < 2 || info.rank > 4)
      return build.fail(Status::ShapeMismatch, format("%s: rank 2 to 4 is needed", build.text(t).c_str()));
  }
  if (!may_multiply(build.info(a).dtype, build.info(b).dtype))
    return build.fail(Status::DTypeMismatch,
                      format("%s x %s: f32 by f32, f16 or bf16 is needed, or two of f16 and bf16, or a quantized b",
                             build.text(a).c_str(), build.text(b).c_str()));
  const Tensor left = oriented(build, a, options.transpose_a), right = oriented(build, b, options.transpose_b);
  const TensorInfo ia = build.info(left), ib = build.info(right);
  const auto mismatch = [&] {
    return build.fail(Status::ShapeMismatch,
                      format("%s%s x %s%s", build.text(a).c_str(), options.transpose_a ? "^T" : "",
                             build.text(b).c_str(), options.transpose_b ? "^T" : ""));
  };
  if (build.dim_from_end(ia, 0) != build.dim_from_end(ib, 1)) return mismatch();
  if (!build.has_whole_rows(build.info(build.add_transposed(right, ib.rank - 2, ib.rank - 1)), b)) return {};
  TensorInfo batch_a = ia, batch_b = ib, out;
  batch_a.rank -= 2;
  batch_b.rank -= 2;
  if (!build.broadcast(batch_a, batch_b, &out)) return mismatch();
  out.dims[static_cast<size_t>(out.rank)] = build.dim_from_end(ia, 1);
  out.dims[static_cast<size_t>(out.rank + 1)] = build.dim_from_end(ib, 0);
  out.rank += 2;
  const Tensor result = build.add_like(out, ia.dtype);
  MatmulAttrs attrs;
  attrs.scale = options.scale;
  build.add_node(Op::Matmul, {left, right}, result, attrs);
  return result;
}

Tensor Graph::linear(Tensor x, Tensor weight, Tensor bias) {
  Build build(*data_, "linear");
  if (!build.needs({x}) || !build.needs_of_any_type({weight}) || !build.allows({bias})) return {};
  const TensorInfo in = build.info(x), w = build.info(weight);
  if (in.rank < 1 || in.rank > 4 || w.rank != 2 || build.dim_from_end(in, 0) != build.dim_from_end(w, 0))
    return build.fail(Status::ShapeMismatch, format("x %s and weight %s; x [..., in] and weight [out, in] are needed",
                                                    build.text(x).c_str(), build.text(weight).c_str()));
  if (bias.valid()) {
    const TensorInfo& b = build.info(bias);
    if (b.rank != 1 || b.dims[0] != w.dims[0])
      return build.fail(Status::ShapeMismatch, format("bias %s and weight %s; bias [out] is needed",
                                                      build.text(bias).c_str(), build.text(weight).c_str()));
  }
  Tensor rows = x;
  if (in.rank == 1) {
    TensorInfo view = in;
    view.rank = 2;
    view.dims = {data_->sizes.constant(1), in.dims[0]};
    view.strides = {data_->sizes.constant(0), in.strides[0]};
    rows = build.add_view(view, in.storage);
  }
  Tensor y = matmul(rows, weight, {.transpose_b = true});
  if (bias.valid() && y.valid()) y = add(y, bias);
  if (in.rank == 1 && y.valid()) y = select(y, 0, 0);
  return y;
}

}  // namespace heed
