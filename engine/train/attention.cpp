#include "train/attention.hpp"

#include "graph/attention_backward.hpp"

#include <array>

#include "train/rules.hpp"
#include "train/softmax.hpp"

namespace heed::train {
namespace {

// With P = softmax(scale Q K^T + bias), D the dropout and O = D(P) V:
//   dV = D(P)^T dO, dP = D(dO V^T), dS = P (dP - sum of P dP), dQ = scale dS K, dK = scale dS^T Q
// (Vaswani et al. 2017; Dao et al. 2022, arXiv:2205.14135, appendix B.2). Where several heads of queries share one of keys,
// their queries are the rows of one product, as in lower_attention.cpp, which sums over them.
class Composition {
 public:
  Composition(Backflow& flow, const Node& attention, const AttentionUpstream& upstream, const AttentionWanted& wanted)
      : flow_(flow),
        node_(attention),
        attrs_(attention.as<AttentionAttrs>()),
        upstream_(upstream),
        wanted_(wanted),
        build_(flow.data(), "backward"),
        key_heads_(flow.info(attention.inputs[in::kKey]).dims[1]),
        grouped_(flow.info(attention.inputs[in::kQuery]).dims[1] != key_heads_) {}

  AttentionGradients run() {
    Graph& g = flow_.graph();
    const Tensor query = node_.inputs[in::kQuery], key = node_.inputs[in::kKey], value = node_.inputs[in::kValue];
    AttentionGradients made;
    const Node softmax = recomputed(query, key);
    const Tensor weights = softmax.outputs[0], output = rows(upstream_.output);
    if (build_.failed()) return {};
    if (wanted_.value && output.valid()) made.value = g.matmul(rows(dropped(weights)), output, {.transpose_a = true});
    if (!wanted_.query && !wanted_.key && !wanted_.bias) return made;
    const Tensor logits = gradient_of_logits(softmax, output, value);
    if (!logits.valid()) return made;
    made.bias = logits;
    const float scale = attrs_.softmax.scale;
    if (wanted_.query) made.query = heads(g.matmul(rows(logits), key, {.scale = scale}));
    if (wanted_.key) made.key = g.matmul(rows(logits), rows(query), {.transpose_a = true, .scale = scale});
    return made;
  }

 private:
  // The softmax of the logits, as a node that need not be in the graph: one that gave its weights is not done again.
  Node recomputed(Tensor query, Tensor key) {
    Node node;
    node.op = Op::Softmax;
    SoftmaxAttrs attrs = attrs_.softmax;
    attrs.scale = 1.0f;
    node.attrs = attrs;
    TensorInfo shape = flow_.info(query);
    shape.dims[3] = flow_.info(key).dims[2];
    Build build(flow_.data(), "softmax");
    const Tensor given = node_.outputs[out::kWeights];
    Tensor scores = given;  // read for its shape alone, where nothing is computed again
    if (!given.valid() || attrs.masked_fill)
      scores = heads(flow_.graph().matmul(rows(query), key, {.transpose_b = true, .scale = attrs_.softmax.scale}));
    if (!scores.valid()) return node;
    node.inputs = {scores,
                   node_.inputs[in::kAttentionKeyPadding],
                   node_.inputs[in::kAttentionMask],
                   node_.inputs[in::kAttentionBias],
                   dense(node_.inputs[in::kLengths]),
                   dense(node_.inputs[in::kQueryPositions])};
    node.outputs[0] = given.valid() ? given : build.add_like(shape, shape.dtype);
    if (!given.valid()) build.add_node(Op::Softmax, {}, node.outputs[0], attrs).inputs = node.inputs;
    return node;
  }

  Tensor gradient_of_logits(const Node& softmax, Tensor output, Tensor value) {
    Graph& g = flow_.graph();
    const Tensor weights = softmax.outputs[0];
    Tensor upstream = upstream_.weights;
    if (output.valid()) {
      const Tensor used = dropped(heads(g.matmul(output, value, {.transpose_b = true})));
      upstream = upstream.valid() ? g.add(upstream, used) : used;
    }
    Tensor logits;
    if (upstream.valid())
      logits = detail::softmax_backward(flow_.data(), weights, upstream, visible_weights(flow_, softmax), 1.0f);
    if (!upstream_.log_sum_exp.valid() || build_.failed()) return logits;
    if (attrs_.softmax.masked_fill) {
      flow_.refuse(node_, "has no gradient through log_sum_exp beside masked_fill");
      return {};
    }
    TensorInfo column = flow_.info(weights);
    column.dims[3] = flow_.data().sizes.constant(1);
    const Tensor each = reshaped(flow_, g.cast(upstream_.log_sum_exp, column.dtype), {column.dims.data(), 4});
    const Tensor of_sum = each.valid() ? g.mul(weights, each) : Tensor{};
    return logits.valid() && of_sum.valid() ? g.add(logits, of_sum) : of_sum;
  }

  // The same weights are dropped as before.
  Tensor dropped(Tensor x) {
    if (!x.valid() || !(attrs_.dropout.p > 0.0f)) return x;
    Build build(flow_.data(), "dropout");
    const Tensor result = build.add_like(flow_.info(x), flow_.info(x).dtype);
    build.add_node(Op::Dropout, {x}, result, attrs_.dropout);
    return result;
  }

  // [B, H, S, n] as [B, G, H / G S, n], without gaps.
  Tensor rows(Tensor x) {
    if (!grouped_ || !x.valid()) return x;
    const TensorInfo info = flow_.info(x);
    SizeTable& sizes = flow_.data().sizes;
    const int64_t shared = build_.max_of(info.dims[1]) / build_.max_of(key_heads_);
    return reshaped(
        flow_, x, std::array{info.dims[0], key_heads_, sizes.mul(sizes.constant(shared), info.dims[2]), info.dims[3]});
  }

  // Turns what rows() made back into [B, H, S, n].
  Tensor heads(Tensor x) {
    if (!grouped_ || !x.valid()) return x;
    const TensorInfo &info = flow_.info(x), &query = flow_.info(node_.inputs[in::kQuery]);
    return reshaped(flow_, x, std::array{info.dims[0], query.dims[1], query.dims[2], info.dims[3]});
  }

  Tensor dense(Tensor x) { return x.valid() ? build_.contiguous(x) : x; }

  Backflow& flow_;
  const Node& node_;
  const AttentionAttrs& attrs_;
  const AttentionUpstream& upstream_;
  const AttentionWanted& wanted_;
  Build build_;
  SizeId key_heads_;
  bool grouped_;
};

}  // namespace

AttentionGradients composed_attention_backward(Backflow& flow, const Node& attention, const AttentionUpstream& upstream,
                                               const AttentionWanted& wanted) {
  return Composition(flow, attention, upstream, wanted).run();
}

namespace {

// The fused pass, where it serves the attention and makes all that is wanted.
bool add_fused(Backflow& flow, const Node& node, const AttentionUpstream& upstream) {
  if (upstream.weights.valid() || upstream.log_sum_exp.valid() || !detail::has_attention_backward(flow.data(), node))
    return false;
  const Tensor bias = node.inputs[in::kAttentionBias];
  const detail::AttentionBackward made =
      detail::attention_backward(flow.data(), node.outputs[0], upstream.output,
                                 {flow.wants(node.inputs[in::kQuery]), flow.wants(node.inputs[in::kKey]),
                                  flow.wants(node.inputs[in::kValue]), flow.wants(bias)});
  flow.add(node.inputs[in::kQuery], made.query);
  flow.add(node.inputs[in::kKey], made.key);
  flow.add(node.inputs[in::kValue], made.value);
  flow.add(bias, made.bias);
  return true;
}

}  // namespace

void attention_rule(Backflow& flow, const Node& node) {
  const Tensor query = node.inputs[in::kQuery], key = node.inputs[in::kKey], value = node.inputs[in::kValue];
  const Tensor bias = node.inputs[in::kAttentionBias];
  const AttentionUpstream upstream = {flow.upstream(node.outputs[0]), flow.upstream(node.outputs[out::kWeights]),
                                      flow.upstream(node.outputs[out::kLogSumExp])};
  if (add_fused(flow, node, upstream)) return;
  const AttentionGradients made = composed_attention_backward(
      flow, node, upstream, {flow.wants(query), flow.wants(key), flow.wants(value), flow.wants(bias)});
  flow.add(query, made.query);
  flow.add(key, made.key);
  flow.add(value, made.value);
  flow.add(bias, made.bias);
}

}  // namespace heed::train
