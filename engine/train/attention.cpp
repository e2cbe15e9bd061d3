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
  Composition(Walk& walk, const Node& attention, const AttentionUpstream& upstream, const AttentionWanted& wanted)
      : walk_(walk),
        node_(attention),
        attrs_(attention.as<AttentionAttrs>()),
        upstream_(upstream),
        wanted_(wanted),
        build_(walk.data(), "backward"),
        key_heads_(walk.info(attention.inputs[in::kKey]).dims[1]),
        grouped_(walk.info(attention.inputs[in::kQuery]).dims[1] != key_heads_) {}

  AttentionGradients run() {
    Graph& g = walk_.graph();
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
    TensorInfo shape = walk_.info(query);
    shape.dims[3] = walk_.info(key).dims[2];
    Build build(walk_.data(), "softmax");
    const Tensor given = node_.outputs[out::kWeights];
    Tensor scores = given;  // read for its shape alone, where nothing is computed again
    if (!given.valid() || attrs.masked_fill)
      scores = heads(walk_.graph().matmul(rows(query), key, {.transpose_b = true, .scale = attrs_.softmax.scale}));
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
    Graph& g = walk_.graph();
    const Tensor weights = softmax.outputs[0];
    Tensor upstream = upstream_.weights;
    if (output.valid()) {
      const Tensor used = dropped(heads(g.matmul(output, value, {.transpose_b = true})));
      upstream = upstream.valid() ? g.add(upstream, used) : used;
    }
    Tensor logits;
    if (upstream.valid())
      logits = detail::softmax_backward(walk_.data(), weights, upstream, visible_weights(walk_, softmax), 1.0f);
    if (!upstream_.log_sum_exp.valid() || build_.failed()) return logits;
    if (attrs_.softmax.masked_fill) {
      walk_.refuse(node_, "has no gradient through log_sum_exp beside masked_fill");
      return {};
    }
    TensorInfo column = walk_.info(weights);
    column.dims[3] = walk_.data().sizes.constant(1);
    const Tensor each = reshaped(walk_, g.cast(upstream_.log_sum_exp, column.dtype), {column.dims.data(), 4});
    const Tensor of_sum = each.valid() ? g.mul(weights, each) : Tensor{};
    return logits.valid() && of_sum.valid() ? g.add(logits, of_sum) : of_sum;
  }

  // The same weights are dropped as before.
  Tensor dropped(Tensor x) {
    if (!x.valid() || !(attrs_.dropout.p > 0.0f)) return x;
    Build build(walk_.data(), "dropout");
    const Tensor result = build.add_like(walk_.info(x), walk_.info(x).dtype);
    build.add_node(Op::Dropout, {x}, result, attrs_.dropout);
    return result;
  }

  // [B, H, S, n] as [B, G, H / G S, n], without gaps.
  Tensor rows(Tensor x) {
    if (!grouped_ || !x.valid()) return x;
    const TensorInfo info = walk_.info(x);
    SizeTable& sizes = walk_.data().sizes;
    const int64_t shared = build_.max_of(info.dims[1]) / build_.max_of(key_heads_);
    return reshaped(
        walk_, x, std::array{info.dims[0], key_heads_, sizes.mul(sizes.constant(shared), info.dims[2]), info.dims[3]});
  }

  // Turns what rows() made back into [B, H, S, n].
  Tensor heads(Tensor x) {
    if (!grouped_ || !x.valid()) return x;
    const TensorInfo &info = walk_.info(x), &query = walk_.info(node_.inputs[in::kQuery]);
    return reshaped(walk_, x, std::array{info.dims[0], query.dims[1], query.dims[2], info.dims[3]});
  }

  Tensor dense(Tensor x) { return x.valid() ? build_.contiguous(x) : x; }

  Walk& walk_;
  const Node& node_;
  const AttentionAttrs& attrs_;
  const AttentionUpstream& upstream_;
  const AttentionWanted& wanted_;
  Build build_;
  SizeId key_heads_;
  bool grouped_;
};

}  // namespace

AttentionGradients composed_attention_backward(Walk& walk, const Node& attention, const AttentionUpstream& upstream,
                                               const AttentionWanted& wanted) {
  return Composition(walk, attention, upstream, wanted).run();
}

namespace {

// The fused pass, where it serves the attention and makes all that is wanted.
bool add_fused(Walk& walk, const Node& node, const AttentionUpstream& upstream) {
  if (upstream.weights.valid() || upstream.log_sum_exp.valid() || !detail::has_attention_backward(walk.data(), node))
    return false;
  const Tensor bias = node.inputs[in::kAttentionBias];
  const detail::AttentionBackward made =
      detail::attention_backward(walk.data(), node.outputs[0], upstream.output,
                                 {walk.wants(node.inputs[in::kQuery]), walk.wants(node.inputs[in::kKey]),
                                  walk.wants(node.inputs[in::kValue]), walk.wants(bias)});
  walk.add(node.inputs[in::kQuery], made.query);
  walk.add(node.inputs[in::kKey], made.key);
  walk.add(node.inputs[in::kValue], made.value);
  walk.add(bias, made.bias);
  return true;
}

}  // namespace

void attention_rule(Walk& walk, const Node& node) {
  const Tensor query = node.inputs[in::kQuery], key = node.inputs[in::kKey], value = node.inputs[in::kValue];
  const Tensor bias = node.inputs[in::kAttentionBias];
  const AttentionUpstream upstream = {walk.upstream(node.outputs[0]), walk.upstream(node.outputs[out::kWeights]),
                                      walk.upstream(node.outputs[out::kLogSumExp])};
  if (add_fused(walk, node, upstream)) return;
  const AttentionGradients made = composed_attention_backward(
      walk, node, upstream, {walk.wants(query), walk.wants(key), walk.wants(value), walk.wants(bias)});
  walk.add(query, made.query);
  walk.add(key, made.key);
  walk.add(value, made.value);
  walk.add(bias, made.bias);
}

}  // namespace heed::train
