#include <algorithm>
#include <array>
#include <utility>

#include "graph/build/attention_backward.hpp"
#include "graph/build/build.hpp"
#include "graph/rewrite/rewrites.hpp"

namespace heed::detail {
namespace {

// Writes an attention, or its gradients, as matmuls, softmax and other nodes. The matmul scales before it stores, so that f16 scores stay
// in range. If several query heads share one key head, their queries are the rows of one matmul: [B, H, S_q, n] is viewed as [B, G, H / G
// S_q, n].
class Expansion {
 public:
  Expansion(GraphData* graph, const Node& attention, bool reproducible, std::vector<Node>* out)
      : graph_(*graph), build_(*graph, "attention"), attention_(attention), reproducible_(reproducible), out_(*out) {
    key_heads_ = build_.info(attention_.inputs[in::kKey]).dims[1];
    grouped_ = build_.info(attention_.inputs[in::kQuery]).dims[1] != key_heads_;
  }

  void run() {
    const Tensor query = packed(attention_.inputs[in::kQuery], ".query"), value = attention_.inputs[in::kValue];
    TensorInfo shape = build_.info(query);
    shape.dims[3] = build_.info(attention_.inputs[in::kKey]).dims[2];
    const Tensor weights =
        attention_.outputs[out::kWeights].valid() ? attention_.outputs[out::kWeights] : like(query, shape);
    add(Op::Softmax, logits(query, false), weights, softmax_of_logits(), ".softmax");
    // The kernel does not support an offset for this output, which a host's buffer needs.
    if (const Tensor wanted = attention_.outputs[out::kLogSumExp]; reproducible_ && wanted.valid()) {
      const Tensor sums = out_.back().outputs[out::kLogSumExp] = like(wanted, build_.info(wanted));
      static_cast<void>(copy(sums, wanted, ".log_sum_exp"));
    }
    MatmulAttrs values;
    values.skips_zeros = reproducible_;
    // The output is stored token by token, so the rows of a group's heads are not contiguous, and they are copied.
    product(dropped(weights), value, values, ".values", attention_.outputs[0]);
  }

  // Writes the requested gradients, from the gradients of the attention's results. They go to the tensors that *made already has; otherwise
  // *made receives new tensors. The bias of *made is the gradient of the logits, [B, H, S_q, S_kv]. With P = softmax(scale Q K^T + bias), D
  // the dropout, O = D(P) V and L the log-sum-exp:
  //   dV = D(P)^T dO, dP = D(dO V^T), dS = P (dP - sum of P dP + dL), dQ = scale dS K, dK = scale dS^T Q
  // where a softcap multiplies dS by its slope, 1 - tanh^2, before the gradient of the scores is added (Vaswani et al. 2017; Dao et al.
  // 2022, arXiv:2205.14135, appendix B.2). No gradient passes through reproducible weights that count as 0, and keys with only such weights
  // may be infinite or NaN.
  void run_backward(const AttentionUpstream& upstream, const AttentionBackwardWanted& wanted, AttentionBackward* made) {
    const Tensor key = attention_.inputs[in::kKey], value = attention_.inputs[in::kValue];
    const Tensor query = packed(attention_.inputs[in::kQuery], ".query");
    const Tensor output = upstream.output.valid() ? packed(upstream.output, ".upstream") : Tensor{};
    SoftmaxAttrs softmax = softmax_of_logits();
    TensorInfo shape = build_.info(query);
    shape.dims[3] = build_.info(key).dims[2];
    // If the attention returned its weights, they are not computed again.
    Tensor weights = attention_.outputs[out::kWeights];
    std::array<Tensor, kMaxInputs> masked{};
    if (!weights.valid() || softmax.masked_fill || softcap() > 0.0f) masked = logits(query, true);
    if (!weights.valid()) add(Op::Softmax, masked, weights = like(query, shape), softmax, ".softmax");
    const auto into = [&](Tensor to, Tensor operand) {
      return to.valid() ? to : build_.add_like(build_.info(operand), build_.info(query).dtype);
    };
    if (wanted.value && output.valid())
      add(Op::Matmul, {turned(dropped(weights)), rows(output)}, made->value = into(made->value, value), MatmulAttrs{},
          ".values");
    if (!wanted.query && !wanted.key && !wanted.bias) return;

    Tensor of_weights = upstream.weights, of_logits;
    if (output.valid()) {
      const Tensor used = dropped(product(output, build_.add_transposed(value, 2, 3), MatmulAttrs{}, ".weights"));
      of_weights = of_weights.valid() ? combined(Function::Add, of_weights, used) : used;
    }
    if (of_weights.valid()) {
      // Logits that masked_fill sets are constants: no gradient passes through them.
      Tensor visible;
      if (softmax.masked_fill) {
        softmax.masked_fill.reset();
        add(Op::Softmax, masked, visible = like(query, shape), softmax, ".visible");
      }
      add(Op::SoftmaxBackward, {weights, of_weights, visible}, of_logits = like(query, shape), SoftmaxBackwardAttrs{},
          ".logits");
    }
    if (upstream.log_sum_exp.valid()) {
      Tensor each = upstream.log_sum_exp;
      if (build_.info(each).dtype != build_.info(weights).dtype)
        each = copy(each, like(weights, build_.info(each)), ".logits");
      const Tensor of_sum = combined(Function::Mul, weights, as_last_column(each));
      of_logits = of_logits.valid() ? combined(Function::Add, of_logits, of_sum) : of_sum;
    }
    made->bias = of_logits;
    if (softcap() > 0.0f && of_logits.valid()) of_logits = through_softcap(of_logits, masked[in::kX]);
    if (upstream.scores.valid()) {
      const Tensor of_scores = packed(upstream.scores, ".upstream");
      of_logits = of_logits.valid() ? combined(Function::Add, of_logits, of_scores) : of_scores;
    }
    if (!of_logits.valid()) return;
    const MatmulAttrs scaled{attention_.as<AttentionAttrs>().softmax.scale, Activation::None, {}};
    if (wanted.key)
      add(Op::Matmul, {turned(of_logits), rows(query)}, made->key = into(made->key, key), scaled, ".keys");
    MatmulAttrs by_keys = scaled;
    by_keys.skips_zeros = reproducible_;
    if (wanted.query) made->query = product(of_logits, key, by_keys, ".queries", made->query);
  }

  // Sums the gradient of the logits over the axes along which the bias was broadcast, the last one first. The last sum writes the gradient
  // of the bias, viewed with the shape that this sum has.
  void sum_into(Tensor of_logits, Tensor of_bias) {
    const TensorInfo bias = build_.info(of_bias), full = build_.info(of_logits);
    const auto seen_as = [&](TensorInfo view) {
      view.name.clear();
      build_.make_contiguous(&view);
      view.offset = bias.offset;
      return build_.add_view(view, bias.storage);
    };
    std::vector<int> axes;
    for (int axis = 3; axis >= 0; --axis) {
      const int own = axis - (4 - bias.rank);
      if (own < 0 || bias.dims[static_cast<size_t>(own)] != full.dims[static_cast<size_t>(axis)]) axes.push_back(axis);
    }
    if (axes.empty()) return static_cast<void>(copy(of_logits, seen_as(full), ".bias"));
    Tensor x = of_logits;
    for (const int axis : axes) {
      if (build_.info(x).rank == 1) x = as_last_column(x);
      TensorInfo info = build_.info(x);
      std::copy(info.dims.begin() + axis + 1, info.dims.begin() + info.rank, info.dims.begin() + axis);
      --info.rank;
      const Tensor made = axis == axes.back() ? seen_as(info) : like(x, info);
      add(Op::Reduce, {x}, made, ReduceAttrs{axis, Reduction::Sum}, ".bias");
      x = made;
    }
  }

  // None of these nodes computes the log-sum-exp. It does not depend on the values, so a fused attention computes it with a column of the
  // keys as values. Fused kernels need contiguous rows.
  void add_log_sum_exp() {
    Node node = attention_;
    node.label += ".log_sum_exp";
    node.as<AttentionAttrs>().dropout = {};
    for (const size_t input : {in::kQuery, in::kKey, in::kAttentionKeyPadding})
      node.inputs[input] = dense(node.inputs[input]);
    TensorInfo column = build_.info(node.inputs[in::kKey]);
    column.dims[3] = graph_.sizes.constant(1);
    node.inputs[in::kValue] = build_.add_view(column, column.storage);
    TensorInfo unused = build_.info(attention_.outputs[0]);
    unused.dims[3] = column.dims[3];
    node.outputs = {like(attention_.outputs[0], unused), Tensor{}, attention_.outputs[out::kLogSumExp]};
    out_.push_back(std::move(node));
  }

 private:
  void add(Op op, std::array<Tensor, kMaxInputs> inputs, Tensor output, Attrs attrs, const char* suffix) {
    Node node;
    node.op = op;
    node.inputs = inputs;
    node.outputs[0] = output;
    node.attrs = std::move(attrs);
    node.label = attention_.label + suffix;
    out_.push_back(std::move(node));
  }

  float softcap() const { return attention_.as<AttentionAttrs>().softcap; }

  // The softmax after logits(). With a softcap the logits are tanh(scores / softcap), and the softmax's scale multiplies them by it.
  SoftmaxAttrs softmax_of_logits() const {
    SoftmaxAttrs softmax = attention_.as<AttentionAttrs>().softmax;
    softmax.scale = softcap() > 0.0f ? softcap() : 1.0f;
    return softmax;
  }

  // Operands of the softmax: scaled scores, or tanh(scores / softcap). The query is packed. If the scores are a result, they are computed,
  // or, if `again`, read.
  std::array<Tensor, kMaxInputs> logits(Tensor query, bool again) {
    MatmulAttrs scaled{attention_.as<AttentionAttrs>().softmax.scale, Activation::None, {}};
    const Tensor keys = build_.add_transposed(attention_.inputs[in::kKey], 2, 3);
    Tensor x = attention_.outputs[out::kScores];
    if (x.valid() && !again) add(Op::Matmul, {rows(query), keys}, rows(x), scaled, ".scores");
    if (x.valid() && softcap() > 0.0f) {
      const Tensor capped = like(x, build_.info(x));
      add(Op::Elementwise, {x}, capped, program_of({.scale = 1.0f / softcap(), .activation = Activation::Tanh}),
          ".softcap");
      x = capped;
    }
    if (!x.valid() && softcap() > 0.0f) {
      scaled.scale /= softcap();
      scaled.activation = Activation::Tanh;
    }
    if (!x.valid()) x = product(query, keys, scaled, ".scores");
    return {x,
            attention_.inputs[in::kAttentionKeyPadding],
            attention_.inputs[in::kAttentionMask],
            attention_.inputs[in::kAttentionBias],
            dense(attention_.inputs[in::kLengths]),
            dense(attention_.inputs[in::kQueryPositions])};
  }

  // The gradient before the softcap: gradient (1 - capped^2), where capped is tanh(scores / softcap).
  Tensor through_softcap(Tensor gradient, Tensor capped) {
    ElementwiseAttrs program = ElementwiseAttrs::empty();
    const auto square = program.add(Function::Mul, {ElementwiseAttrs::input(1), ElementwiseAttrs::input(1)});
    const auto slope = program.add(Function::Sub, {program.scalar(1.0f), square});
    program.add(Function::Mul, {ElementwiseAttrs::input(0), slope});
    const Tensor result = like(gradient, build_.info(gradient));
    add(Op::Elementwise, {gradient, capped}, result, program, ".softcap");
    return result;
  }

  // The matmul of packed rows of queries, [B, H, S_q, n], and a matrix for each key head. It writes to `to` if that is valid.
  Tensor product(Tensor x, Tensor matrix, const MatmulAttrs& attrs, const char* suffix, Tensor to = {}) {
    TensorInfo shape = build_.info(x);
    shape.dims[3] = build_.info(matrix).dims[3];
    if (!grouped_) {
      if (!to.valid()) to = like(x, shape);
      add(Op::Matmul, {x, matrix}, to, attrs, suffix);
      return to;
    }
    const Tensor made = like(to.valid() ? to : x, of_groups(shape));
    add(Op::Matmul, {rows(x), matrix}, made, attrs, suffix);
    build_.make_contiguous(&shape);
    shape.name.clear();
    shape.dtype = build_.info(made).dtype;
    const Tensor heads = build_.add_view(shape, made.id);
    return to.valid() ? copy(heads, to, ".output") : heads;
  }

  // The function of a and b; b is broadcast to a.
  Tensor combined(Function function, Tensor a, Tensor b) {
    const Tensor result = like(a, build_.info(a));
    add(Op::Elementwise, {a, b}, result, ElementwiseAttrs::of(function), ".logits");
    return result;
  }

  // x in the layout that rows() needs.
  Tensor packed(Tensor x, const char* suffix) {
    return grouped_ && !build_.is_contiguous(build_.info(x)) ? copy(x, like(x, build_.info(x)), suffix) : x;
  }

  // The transposed rows.
  Tensor turned(Tensor x) { return build_.add_transposed(rows(x), 2, 3); }

  // Adds the dropout of the attention to x, with the same random bits as for the weights.
  Tensor dropped(Tensor x) {
    const DropoutAttrs dropout = attention_.as<AttentionAttrs>().dropout;
    if (!(dropout.p > 0.0f)) return x;
    const Tensor left = like(x, build_.info(x));
    add(Op::Dropout, {x}, left, dropout, ".dropout");
    return left;
  }

  // [.., n] viewed as [.., n, 1].
  Tensor as_last_column(Tensor x) {
    TensorInfo info = build_.info(x);
    info.name.clear();
    const auto last = static_cast<size_t>(info.rank++);
    info.dims[last] = info.strides[last] = graph_.sizes.constant(1);
    return build_.add_view(info, info.storage);
  }

  // x, or a copy of it with contiguous rows.
  Tensor dense(Tensor x) {
    if (!x.valid() || graph_.sizes.is_constant(build_.info(x).strides[static_cast<size_t>(build_.info(x).rank - 1)], 1))
      return x;
    return copy(x, like(x, build_.info(x)), ".dense");
  }

  Tensor copy(Tensor from, Tensor to, const char* suffix) {
    add(Op::Elementwise, {from}, to, ElementwiseAttrs{}, suffix);
    return to;
  }

  // A contiguous tensor of this shape, with the element type of `typed`.
  Tensor like(Tensor typed, TensorInfo shape) { return build_.add_like(shape, build_.info(typed).dtype); }

  // [B, H, S, n] viewed as [B, G, H / G S, n]: the rows of each group of heads together.
  TensorInfo of_groups(TensorInfo shape) {
    const int64_t shared = build_.max_of(shape.dims[1]) / build_.max_of(key_heads_);
    shape.dims[1] = key_heads_;
    shape.dims[2] = graph_.sizes.mul(graph_.sizes.constant(shared), shape.dims[2]);
    return shape;
  }
  // The same as a view of a contiguous tensor.
  Tensor rows(Tensor x) {
    if (!grouped_) return x;
    TensorInfo view = of_groups(build_.info(x));
    const SizeId offset = view.offset;
    build_.make_contiguous(&view);
    view.offset = offset;
    view.name.clear();
    return build_.add_view(view, view.storage);
  }

  GraphData& graph_;
  Build build_;
  const Node& attention_;
  const bool reproducible_;
  std::vector<Node>& out_;
  bool grouped_ = false;
  SizeId key_heads_ = 0;
};

// Only in reproducible plans, which have no fused gradient.
void lower_backward(GraphData* graph, const Node& node, std::vector<Node>* nodes) {
  Node attention = node;
  attention.outputs = {};
  for (const size_t input : {in::kAttended, in::kAttendedGradient, in::kAttendedLogSumExp})
    attention.inputs[input] = {};
  const Tensor bias = node.outputs[out::kBiasGradient];
  AttentionBackward made{{}, node.outputs[out::kKeyGradient], node.outputs[out::kValueGradient], {}};
  const AttentionBackwardWanted wanted{node.as<AttentionAttrs>().makes_query, made.key.valid(), made.value.valid(),
                                       bias.valid()};
  if (wanted.query) made.query = node.outputs[out::kQueryGradient];
  Expansion expansion(graph, attention, true, nodes);
  expansion.run_backward({node.inputs[in::kAttendedGradient], {}, {}, {}}, wanted, &made);
  if (bias.valid()) expansion.sum_into(made.bias, bias);
}

// Joins the lengths and positions of attentions, so that a kernel reads them from one binding. Attentions with the same lengths and
// positions, such as those of all layers, share the joined tensor.
class RowJoiner {
 public:
  explicit RowJoiner(GraphData* graph) : graph_(*graph), build_(*graph, "attention") {}

  // The attention with joined lengths and positions. `add` must be called before, since it adds the node that joins them.
  Node joined(const Node& attention) {
    Node node = attention;
    node.as<AttentionAttrs>().rows_joined = true;
    const Tensor lengths = node.inputs[in::kLengths], positions = node.inputs[in::kQueryPositions];
    const Pair* found = nullptr;
    for (const Pair& pair : pairs_)
      if (pair.lengths == lengths && pair.positions == positions) found = &pair;
    if (found == nullptr) found = &make(attention.label, lengths, positions);
    if (lengths.valid()) node.inputs[in::kLengths] = column(found->rows, 0);
    if (positions.valid()) node.inputs[in::kQueryPositions] = column(found->rows, lengths.valid() ? 1 : 0);
    return node;
  }

  // Adds the node that joins, before the first attention that reads it.
  void add(const Node& joined, std::vector<Node>* out) {
    const size_t input = joined.inputs[in::kLengths].valid() ? in::kLengths : in::kQueryPositions;
    for (Pair& pair : pairs_)
      if (!pair.added && pair.rows.id == graph_.tensors[joined.inputs[input].id].storage) {
        out->push_back(pair.node);
        pair.added = true;
      }
  }

 private:
  struct Pair {
    Tensor lengths, positions, rows;
    Node node;
    bool added = false;
  };

  Pair& make(const std::string& label, Tensor lengths, Tensor positions) {
    Pair pair{lengths, positions, {}, {}, false};
    const bool both = lengths.valid() && positions.valid();
    TensorInfo info;
    info.rank = 2;
    info.dims[0] = build_.info(lengths.valid() ? lengths : positions).dims[0];
    info.dims[1] = graph_.sizes.constant(both ? 2 : 1);
    pair.rows = pair.node.outputs[0] = build_.add_like(info, DType::I32);
    pair.node.label = label + ".rows";
    pair.node.op = both ? Op::Concat : Op::Elementwise;
    if (both)
      pair.node.attrs = ConcatAttrs{1};
    else
      pair.node.attrs = ElementwiseAttrs{};
    size_t next = 0;
    for (const Tensor part : {lengths, positions})
      if (part.valid()) pair.node.inputs[next++] = as_column(part);
    return pairs_.emplace_back(std::move(pair));
  }

  Tensor as_column(Tensor rows) {
    TensorInfo view = build_.info(rows);
    view.name.clear();
    view.rank = 2;
    view.dims[1] = view.strides[1] = graph_.sizes.constant(1);
    return build_.add_view(view, view.storage);
  }

  Tensor column(Tensor rows, int64_t at) {
    TensorInfo view = build_.info(rows);
    view.rank = 1;
    view.offset = graph_.sizes.constant(at);
    return build_.add_view(view, rows.id);
  }

  GraphData& graph_;
  Build build_;
  std::vector<Pair> pairs_;
};

// Whether an attention has lengths or positions and so many other inputs that a device may need them joined.
bool may_join_rows(const Node& node) {
  int given = 0;
  for (const size_t input :
       {in::kAttentionKeyPadding, in::kAttentionMask, in::kAttentionBias, in::kLengths, in::kQueryPositions})
    given += node.inputs[input].valid();
  return given > 3;
}

// The matmuls that compose a gradient do not read the log-sum-exp of its attention, which is removed if nothing else reads it.
void drop_log_sum_exp_of_gradients(GraphData* graph) {
  std::vector<bool> read(graph->tensors.size(), false);
  for (const NamedTensor& output : graph->outputs) read[graph->tensors[output.tensor].storage] = true;
  for (const Node& node : graph->nodes)
    for (const Tensor input : node.inputs)
      if (input.valid() && node.op != Op::AttentionBackward) read[graph->tensors[input.id].storage] = true;
  for (Node& node : graph->nodes)
    if (Tensor& sum = node.outputs[out::kLogSumExp]; node.op == Op::Attention && sum.valid())
      if (!read[graph->tensors[sum.id].storage]) sum = {};
}

// For a single query: heads that share keys become the queries of one head, and key heads become rows of the batch, so that a workgroup
// reads keys once for all of them. The output's memory layout is unchanged: q [1, H, 1, d] is viewed as [G, 1, H / G, d], k and v [1, G,
// S_kv, d] as [G, 1, S_kv, d]. BottomRight causality hides nothing from a single query.
void gather_heads(GraphData* graph, Node* node) {
  Build build(*graph, "attention");
  const TensorInfo query = build.info(node->inputs[in::kQuery]), key = build.info(node->inputs[in::kKey]);
  auto& attrs = node->as<AttentionAttrs>();
  const SizeTable& sizes = graph->sizes;
  const bool is_one = sizes.is_constant(query.dims[0], 1) && sizes.is_constant(query.dims[2], 1);
  if (!is_one || !sizes.is_constant(query.dims[1]) || !sizes.is_constant(key.dims[1])) return;
  const bool sees_all = attrs.softmax.causal == Causal::None || attrs.softmax.causal == Causal::BottomRight;
  if (!sees_all || attrs.softmax.window != 0 || attrs.softmax.masked_fill || attrs.dropout.p > 0.0f) return;
  for (const size_t input :
       {in::kAttentionKeyPadding, in::kAttentionMask, in::kAttentionBias, in::kLengths, in::kQueryPositions})
    if (node->inputs[input].valid()) return;
  if (node->outputs[out::kWeights].valid() || node->outputs[out::kLogSumExp].valid()) return;
  const int64_t heads = sizes.evaluate(query.dims[1], {}), key_heads = sizes.evaluate(key.dims[1], {});
  if (heads == key_heads) return;

  attrs.softmax.causal = Causal::None;
  for (const size_t input : {in::kKey, in::kValue})
    node->inputs[input] = build.add_transposed(node->inputs[input], 0, 1);
  TensorInfo view = query;
  view.name.clear();
  const SizeId together = graph->sizes.constant(heads / key_heads);
  view.dims = {key.dims[1], query.dims[0], together, query.dims[3]};
  view.strides[0] = graph->sizes.mul(query.strides[1], together);
  view.strides[2] = query.strides[1];
  node->inputs[in::kQuery] = build.add_view(view, view.storage);
}

}  // namespace

AttentionBackward composed_attention_backward(GraphData& data, Node attention, const AttentionUpstream& upstream,
                                              const AttentionBackwardWanted& wanted) {
  AttentionBackward made;
  attention.label = data.labels.empty() ? "attention" : data.labels.back();
  Expansion(&data, attention, false, &data.nodes).run_backward(upstream, wanted, &made);
  return made;
}

void lower_attention(GraphData* graph, const PlanningDevice& device, bool reproducible) {
  std::vector<Node> nodes;
  nodes.reserve(graph->nodes.size());
  RowJoiner joiner(graph);
  const auto keeps = [&](const Node& node) {
    const bool stores_scores = node.as<AttentionAttrs>().softcap > 0.0f || node.outputs[out::kScores].valid();
    return !stores_scores && device.fuses_attention(*graph, node);
  };
  if (reproducible) drop_log_sum_exp_of_gradients(graph);
  for (const Node& node : graph->nodes) {
    if (reproducible && node.op == Op::AttentionBackward) {
      lower_backward(graph, node, &nodes);
      continue;
    }
    const bool keep = node.op != Op::Attention || keeps(node);
    if (!keep && may_join_rows(node)) {
      const Node joined = joiner.joined(node);
      if (keeps(joined)) {
        joiner.add(joined, &nodes);
        nodes.push_back(joined);
        continue;
      }
    }
    if (keep) nodes.push_back(node);
    // Only the CPU's kernel writes any strides, and it already processes such heads together.
    if (keep && node.op == Op::Attention && !device.traits.strided_attention) gather_heads(graph, &nodes.back());
    if (!keep) Expansion(graph, node, reproducible, &nodes).run();
    if (!keep && node.outputs[out::kLogSumExp].valid() && !reproducible)
      Expansion(graph, node, false, &nodes).add_log_sum_exp();
  }
  graph->nodes = std::move(nodes);
}

}  // namespace heed::detail
