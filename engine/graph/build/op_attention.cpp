// Graph call: attention.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "graph/build/build.hpp"
#include "graph/build/op_softmax.hpp"

namespace heed {

using detail::Build;

namespace {

// Whether the number of query heads equals that of key heads, or is a constant multiple of it.
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

// Windows of this size or more hide nothing, since sizes and positions are smaller.
constexpr int64_t kWidestWindow = 1 << 30;

// Whether the attention has a window that no kernel implements.
bool has_free_window(const AttentionOptions& options) {
  return options.causal == Causal::None && (options.window > 0 || options.window_ahead > 0);
}

bool check_scores(Build& build, const AttentionOptions& options) {
  for (const auto& [name, window] : {std::pair{"window", options.window}, {"window_ahead", options.window_ahead}})
    if (window < 0)
      return build.refuse(Status::InvalidArgument, format("%s is %lld; it must be 0, or a number of keys", name,
                                                          static_cast<long long>(window)));
  const bool caps = options.softcap > 0.0f && std::isnormal(options.softcap);
  if (!caps && options.softcap != 0.0f)
    return build.refuse(Status::InvalidArgument, format("softcap is %g; it must be 0, or a normal number above",
                                                        static_cast<double>(options.softcap)));
  return options.return_scores <= Scores::Masked ||
         build.refuse(Status::InvalidArgument,
                      format("there is no return_scores %d", static_cast<int>(options.return_scores)));
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
  if (options.positions.valid() && options.causal == Causal::None && !has_free_window(options))
    return build.refuse(Status::InvalidArgument,
                        "positions are given without causal or a window, for which they would count");
  return check_row_numbers(build, "lengths", options.lengths, query) &&
         check_row_numbers(build, "positions", options.positions, query);
}

// Makes masks of the keys that queries see, by graph calls, for options that kernels do not implement: windows without causal, and masked
// scores.
class Sight {
 public:
  Sight(Graph& graph, Build& build, const AttentionOptions& options, const TensorInfo& scores)
      : graph_(graph), build_(build), options_(options), shape_(scores) {}

  // U8, broadcasts to the scores: the keys that both mask and window keep. Invalid if there is neither.
  Tensor kept() {
    const int64_t before = std::min(options_.window, kWidestWindow),
                  ahead = options_.causal != Causal::None ? 1 : std::min(options_.window_ahead, kWidestWindow);
    Tensor seen = kept_by(options_.mask);
    if (before == 0 && ahead == 0) return seen;
    const Tensor place = places();  // sums with it may be too large
    if (before > 0) seen = both(seen, graph_.gt(keys(before), place));
    if (ahead > 0) seen = both(seen, graph_.lt(keys(-ahead), place));
    return seen;
  }

  // Scores [B, H, S_q, S_kv] with the bias added, and with minus infinity or masked_fill for hidden keys.
  Tensor masked(Tensor scores) {
    if (options_.bias.valid()) scores = graph_.add(scores, options_.bias);
    Tensor seen = kept();
    if (options_.key_padding.tensor.valid())
      seen = both(seen, graph_.reshape(kept_by(options_.key_padding), {dim(0), 1, 1, dim(3)}));
    constexpr double kHidden = -std::numeric_limits<double>::infinity();
    if (seen.valid())
      scores = graph_.where(seen, scores,
                            graph_.number(options_.masked_fill ? static_cast<double>(*options_.masked_fill) : kHidden));
    if (options_.lengths.valid())
      scores = graph_.where(graph_.lt(keys(0), for_rows(options_.lengths)), scores, graph_.number(kHidden));
    return scores;
  }

 private:
  Dim dim(size_t axis) const { return build_.dim_of(shape_.dims[axis]); }

  Tensor both(Tensor a, Tensor b) { return a.valid() ? graph_.logical_and(a, b) : b; }
  Tensor kept_by(const Mask& mask) {
    return !mask.tensor.valid() || mask.meaning == Mask::Meaning::Keep ? mask.tensor : graph_.logical_not(mask.tensor);
  }

  // The numbers first .. first + count - 1, I32 [count].
  Tensor numbers(SizeId count, int64_t first) {
    const int64_t most = build_.max_of(count);
    constexpr int64_t kMost = int64_t{1} << 26;  // a table of 256 MiB
    if (most > kMost)
      return build_.fail(Status::InvalidArgument,
                         format("%s: too many for a window or masked scores", build_.shape_text(shape_).c_str()));
    const auto name = format("%lld from %lld", static_cast<long long>(most), static_cast<long long>(first));
    const Tensor table = build_.shared_places(name, most, [=](int64_t i) { return first + i; });
    return table.valid() ? build_.add_range(table, 0, build_.data().sizes.constant(0), count) : table;
  }
  Tensor keys(int64_t first) { return numbers(shape_.dims[3], first); }

  // The size of an axis, I32 [1]: a constant, or at a run the last element of a list of that length.
  Tensor size(size_t axis) {
    const Dim whole = dim(axis);
    return whole.is_constant() ? graph_.number(static_cast<double>(whole.value), DType::I32)
                               : graph_.last(numbers(shape_.dims[axis], 1), 0);
  }
  // I32 [B] as [B, 1, 1, 1]: a number for each row of the batch.
  Tensor for_rows(Tensor rows) { return graph_.reshape(rows, {dim(0), 1, 1, 1}); }
  Tensor within(Tensor rows, Tensor low, Tensor high) {
    return for_rows(graph_.minimum(graph_.maximum(rows, low), high));
  }

  // The positions of queries among the keys, I32 [1 or B, 1, S_q, 1].
  Tensor places() {
    const Tensor index = graph_.reshape(numbers(shape_.dims[2], 0), {1, 1, dim(2), 1});
    const auto number = [&](int64_t value) { return graph_.number(static_cast<double>(value), DType::I32); };
    if (options_.positions.valid())  // clamped as in kernels
      return graph_.add(index, within(options_.positions, number(1 - kWidestWindow), number(kWidestWindow - 1)));
    if (options_.causal == Causal::TopLeft) return index;
    const Tensor end = options_.lengths.valid() ? within(options_.lengths, number(0), size(3)) : size(3);
    return graph_.sub(graph_.add(index, end), size(2));
  }

  Graph& graph_;
  Build& build_;
  const AttentionOptions& options_;
  const TensorInfo shape_;
};

// An output [B, H, S_q, d_v] with the memory layout [B, S_q, H, d_v].
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
                   options.causal == Causal::None
                       ? 0
                       : static_cast<uint32_t>(std::clamp<int64_t>(options.window, 0, kWidestWindow))};
  attrs.softcap = options.softcap;
  if (!options.scale && !data_->sizes.is_constant(q.dims[3]))
    return {build.fail(Status::InvalidArgument, "d_k is an extent, so that the scale must be given"), {}, {}, {}};
  if (!check_scores(build, options) || !check_rows(build, options, q)) return {};
  if (!detail::check_softmax_inputs(build, scores, options.key_padding, options.mask, options.bias, attrs.softmax))
    return {};
  attrs.dropout.p = options.dropout;
  if (options.dropout > 0.0f) attrs.dropout.stream = data_->dropout_streams++;

  Sight sight(*this, build, options, scores);
  Tensor mask = options.mask.tensor;
  if (has_free_window(options)) {
    mask = sight.kept();
    attrs.softmax.mask_meaning = Mask::Meaning::Keep;
    if (build.failed()) return {};
  }
  // Fused kernels compute the log-sum-exp, but have no softcap.
  const bool sums_scores = options.return_log_sum_exp && options.softcap > 0.0f;
  AttentionResult made;
  made.output = add_output(build, q, v);
  if (options.return_weights) made.weights = build.add_like(scores, q.dtype);
  if (options.return_log_sum_exp && !sums_scores) {
    TensorInfo rows = scores;
    rows.rank = 3;
    made.log_sum_exp = build.add_like(rows, DType::F32);
  }
  if (options.return_scores != Scores::None || sums_scores) made.scores = build.add_like(scores, q.dtype);
  Node& node = build.add_node(Op::Attention,
                              {query, key, value, options.key_padding.tensor, mask, options.bias, options.lengths,
                               options.causal == Causal::None ? Tensor{} : options.positions},
                              made.output, attrs);
  node.outputs[out::kWeights] = made.weights;
  node.outputs[out::kLogSumExp] = made.log_sum_exp;
  node.outputs[out::kScores] = made.scores;

  const bool caps = options.softcap > 0.0f && (options.return_scores > Scores::Scaled || sums_scores);
  const Tensor capped =
      caps ? scale(activation(scale(made.scores, 1.0f / options.softcap), Activation::Tanh), options.softcap)
           : made.scores;
  const Tensor masked = options.return_scores == Scores::Masked || sums_scores ? sight.masked(capped) : Tensor{};
  if (sums_scores) made.log_sum_exp = reduce(cast(masked, DType::F32), Reduction::LogSumExp, {3});
  switch (options.return_scores) {
    case Scores::None: made.scores = {}; break;
    case Scores::Scaled: break;
    case Scores::Capped: made.scores = capped; break;
    case Scores::Masked: made.scores = masked; break;
  }
  return made;
}

}  // namespace heed
