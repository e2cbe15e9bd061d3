// Graph call: attention.
#include <cmath>

#include "graph/build.hpp"
#include "graph/op_softmax.hpp"

namespace heed {

using detail::Build;

namespace {

// As many heads of keys as of queries, or a constant number that divides theirs.
bool heads_divide(Build& build, const TensorInfo& query, const TensorInfo& key) {
  const SizeTable& sizes = build.data().sizes;
  if (query.dims[1] == key.dims[1]) return true;
  return sizes.is_constant(query.dims[1]) && sizes.is_constant(key.dims[1]) &&
         build.max_of(query.dims[1]) % build.max_of(key.dims[1]) == 0;
}

bool check_operands(Build& build, Tensor query, Tensor key, Tensor value) {
  if (!build.needs({query, key, value})) return false;
  const TensorInfo &q = build.info(query), &k = build.info(key), &v = build.info(value);
  if (q.dtype != k.dtype || q.dtype != v.dtype || !build.is_float(q.dtype)) {
    build.fail(Status::DTypeMismatch,
               format("query %s, key %s, value %s: one of f32, f16, bf16 for all is needed", build.text(query).c_str(),
                      build.text(key).c_str(), build.text(value).c_str()));
    return false;
  }
  const bool fits = q.rank == 4 && k.rank == 4 && v.rank == 4 && q.dims[0] == k.dims[0] && q.dims[0] == v.dims[0] &&
                    k.dims[1] == v.dims[1] && q.dims[3] == k.dims[3] && k.dims[2] == v.dims[2] &&
                    heads_divide(build, q, k);
  if (!fits)
    build.fail(Status::ShapeMismatch,
               format("query %s, key %s, value %s; [B, H, S_q, d_k], [B, G, S_kv, d_k] and [B, G, S_kv, d_v] "
                      "are needed, "
                      "with H a multiple of G",
                      build.text(query).c_str(), build.text(key).c_str(), build.text(value).c_str()));
  return fits;
}

// [B, H, S_q, d_v] over memory laid out as [B, S_q, H, d_v].
Tensor add_output(Build& build, const TensorInfo& query, const TensorInfo& value) {
  SizeTable& sizes = build.data().sizes;
  TensorInfo out;
  out.dtype = query.dtype;
  out.rank = 4;
  out.dims = {query.dims[0], query.dims[1], query.dims[2], value.dims[3]};
  const SizeId token = sizes.mul(out.dims[1], out.dims[3]);
  out.strides = {sizes.mul(token, out.dims[2]), out.dims[3], token, sizes.constant(1)};
  out.offset = sizes.constant(0);
  return build.add_storage(out);
}

}  // namespace

AttentionResult Graph::attention(Tensor query, Tensor key, Tensor value, const AttentionOptions& options) {
  Build build(*data_, "attention");
  if (!check_operands(build, query, key, value)) return {};
  const TensorInfo q = build.info(query), k = build.info(key), v = build.info(value);
  if (!(options.dropout >= 0.0f && options.dropout < 1.0f)) {
    build.fail(Status::InvalidArgument,
               format("dropout is %g; it must be in [0, 1)", static_cast<double>(options.dropout)));
    return {};
  }
  TensorInfo scores;
  scores.dtype = q.dtype;
  scores.rank = 4;
  scores.dims = {q.dims[0], q.dims[1], q.dims[2], k.dims[2]};
  AttentionAttrs attrs;
  const auto d_k = static_cast<double>(build.max_of(q.dims[3]));
  attrs.softmax = {options.scale.value_or(static_cast<float>(1.0 / std::sqrt(d_k))), options.causal,
                   options.key_padding.meaning, options.mask.meaning, options.masked_fill};
  if (!options.scale && !data_->sizes.is_constant(q.dims[3])) {
    build.fail(Status::InvalidArgument, "d_k is an extent, so that the scale must be given");
    return {};
  }
  if (!detail::check_softmax_inputs(build, scores, options.key_padding, options.mask, options.bias, attrs.softmax))
    return {};
  attrs.dropout.p = options.dropout;
  if (options.dropout > 0.0f) attrs.dropout.stream = data_->dropout_streams++;

  const Tensor output = add_output(build, q, v);
  Tensor weights;
  if (options.return_weights) weights = build.add_like(scores, q.dtype);
  Tensor log_sum_exp;
  if (options.return_log_sum_exp) {
    TensorInfo rows = scores;
    rows.rank = 3;
    log_sum_exp = build.add_like(rows, DType::F32);
  }
  Node& node = build.add_node(
      Op::Attention, {query, key, value, options.key_padding.tensor, options.mask.tensor, options.bias}, output, attrs);
  node.outputs[out::kWeights] = weights;
  node.outputs[out::kLogSumExp] = log_sum_exp;
  return {output, weights, log_sum_exp};
}

}  // namespace heed
