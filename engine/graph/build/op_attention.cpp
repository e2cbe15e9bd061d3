// Graph call: attention.
#include <algorithm>
#include <cmath>

#include "graph/build/build.hpp"
#include "graph/build/op_softmax.hpp"

namespace heed {

using detail::Build;

namespace {

// Whether there are as many heads of keys as of queries, or constant numbers of them that divide.
bool heads_divide(Build& build, const TensorInfo& query, const TensorInfo& key) {
  const SizeTable& sizes = build.data().sizes;
  if (query.dims[1] == key.dims[1]) return true;
  return sizes.is_constant(query.dims[1]) && sizes.is_constant(key.dims[1]) &&
         build.max_of(query.dims[1]) % build.max_of(key.dims[1]) == 0;
}

bool check_operands(Build& build, Tensor query, Tensor key, Tensor value) {
  if (!build.needs({query, key, value})) return false;
  const TensorInfo &q = build.info(query), &k = build.info(key), &v = build.info(value);
  const bool narrow = q.dtype == DType::F32 && (k.dtype == DType::F16 || k.dtype == DType::BF16);
  if (k.dtype != v.dtype || !is_float(q.dtype) || (q.dtype != k.dtype && !narrow))
    return build.refuse(Status::DTypeMismatch,
                        format("query %s, key %s, value %s: one of f32, f16, bf16 for all is needed, or one of "
                               "f16, bf16 for key and value beside f32",
                               build.text(query).c_str(), build.text(key).c_str(), build.text(value).c_str()));
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

// Larger windows hide nothing: sizes and positions are below this.
constexpr int64_t kWidestWindow = 1 << 30;

bool check_window(Build& build, const AttentionOptions& options) {
  if (options.window == 0 || (options.window > 0 && options.causal != Causal::None)) return true;
  return build.refuse(
      Status::InvalidArgument,
      format("window is %lld%s; it must be 0, or a number of keys beside causal",
             static_cast<long long>(options.window), options.causal == Causal::None ? " without causal" : ""));
}

bool check_row_numbers(Build& build, const char* what, Tensor numbers, const TensorInfo& query) {
  if (!numbers.valid()) return true;
  const TensorInfo& info = build.info(numbers);
  if (info.dtype == DType::I32 && info.rank == 1 && info.dims[0] == query.dims[0]) return true;
  return build.refuse(info.dtype == DType::I32 ? Status::ShapeMismatch : Status::DTypeMismatch,
                      format("%s %s for queries %s; i32 [B] is needed", what, build.text(numbers).c_str(),
                             build.shape_text(query).c_str()));
}

bool check_rows(Build& build, const AttentionOptions& options, const TensorInfo& query) {
  if (!build.allows({options.lengths, options.positions})) return false;
  if (options.positions.valid() && options.causal == Causal::None)
    return build.refuse(Status::InvalidArgument, "positions are given without causal, for which they would count");
  return check_row_numbers(build, "lengths", options.lengths, query) &&
         check_row_numbers(build, "positions", options.positions, query);
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
  attrs.softmax = {options.scale.value_or(static_cast<float>(1.0 / std::sqrt(d_k))),
                   options.causal,
                   options.key_padding.meaning,
                   options.mask.meaning,
                   options.masked_fill,
                   static_cast<uint32_t>(std::clamp<int64_t>(options.window, 0, kWidestWindow))};
  if (!options.scale && !data_->sizes.is_constant(q.dims[3]))
    return {build.fail(Status::InvalidArgument, "d_k is an extent, so that the scale must be given"), {}, {}};
  if (!check_window(build, options) || !check_rows(build, options, q)) return {};
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
  Node& node = build.add_node(Op::Attention,
                              {query, key, value, options.key_padding.tensor, options.mask.tensor, options.bias,
                               options.lengths, options.positions},
                              output, attrs);
  node.outputs[out::kWeights] = weights;
  node.outputs[out::kLogSumExp] = log_sum_exp;
  return {output, weights, log_sum_exp};
}

}  // namespace heed
