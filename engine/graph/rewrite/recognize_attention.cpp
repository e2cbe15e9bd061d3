// Recognizes composed attention: a matmul of queries and keys, scaling and masking, a softmax, and a matmul with values. The single node
// that replaces them can be a fused pass, which stores no scores.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "graph/rewrite/see_through.hpp"

namespace heed::detail {
namespace {

using Operand = ElementwiseAttrs::Operand;
using Step = ElementwiseAttrs::Step;

// Adding a bias to a score as low as this does not change its bits.
constexpr float kLowest = -1e30f;
// The largest score that counts as hidden.
constexpr float kHidden = -1e4f;
constexpr int kMostSteps = 12;  // between the matmuls

float number(const Node& node, Operand operand) {
  return std::bit_cast<float>(node.as<ElementwiseAttrs>().scalars[operand.index()]);
}

// The only step of an elementwise node, or null.
const Step* only_step(const Node& node) {
  if (node.op != Op::Elementwise) return nullptr;
  const auto& attrs = node.as<ElementwiseAttrs>();
  return attrs.count == 1 ? &attrs.steps[0] : nullptr;
}

// Whether the node is x != x, a test for NaN.
bool finds_nan(const Node& node) {
  const Step* step = only_step(node);
  return step != nullptr && step->function == Function::Ne && step->operands[0] == step->operands[1];
}

// Whether the matmul has no epilogue, scale or dropout.
bool is_plain(const Node& matmul) {
  const auto& attrs = matmul.as<MatmulAttrs>();
  return !matmul.inputs[in::kBias].valid() && !matmul.inputs[in::kResidual].valid() && !(attrs.dropout.p > 0.0f) &&
         attrs.activation == Activation::None && !matmul.outputs[out::kBeforeActivation].valid();
}

// A mask or bias, and the tensor of scores to whose shape it broadcasts.
struct OfScores {
  Tensor tensor, shape;
};

// The steps between the two matmuls.
struct Scores {
  size_t product = 0, values = 0;  // nodes
  SoftmaxAttrs softmax;            // its scale is that of the scores
  Tensor key_padding;
  OfScores mask;
  std::vector<OfScores> biases;
  float limit = -std::numeric_limits<float>::infinity();  // no score so far is below this
  std::vector<Tensor> stages;                             // scores and weights between the matmuls
  std::vector<Node> made;                                 // new nodes, for the bias
};

// The batch and the number of heads, whose product is the product of all dims of the scores before the last two.
struct Split {
  SizeId batch = 0, heads = 0;
  friend bool operator==(const Split&, const Split&) = default;
};

class AttentionRecognition {
 public:
  explicit AttentionRecognition(GraphData* graph)
      : graph_(*graph),
        build_(*graph, "attention"),
        flow_(*graph),
        instead_(graph->nodes.size()),
        gone_(graph->nodes.size(), false) {}

  void run() {
    for (Node& node : graph_.nodes)
      if (node.op == Op::Softmax) recognize(&node);
    std::vector<Node> nodes;
    nodes.reserve(graph_.nodes.size());
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      if (!gone_[n]) nodes.push_back(std::move(graph_.nodes[n]));
      for (Node& node : instead_[n]) nodes.push_back(std::move(node));
    }
    graph_.nodes = std::move(nodes);
  }

 private:
  void recognize(Node* softmax) {
    const Tensor x = softmax->inputs[in::kX];
    Scores scores;
    scores.softmax = softmax->as<SoftmaxAttrs>();
    scores.key_padding = softmax->inputs[in::kKeyPadding];
    scores.mask = {softmax->inputs[in::kMask], x};
    if (const Tensor bias = softmax->inputs[in::kSoftmaxBias]; bias.valid()) scores.biases.push_back({bias, x});
    const Node* first = find_product(x, &scores);
    const bool has_product = first != nullptr && first->op == Op::Matmul,
               has_values = find_values(softmax->outputs[0], &scores);
    if (has_product && has_values && replace(&scores)) return;
    if (has_product && has_values)
      softmax->note = "no attention takes the shapes or types of its matmuls";
    else if (has_values && first != nullptr)
      softmax->note = "no part of an attention: " + first->label + " makes its scores";
    else if (has_product && is_read_by_product(softmax->outputs[0]))
      softmax->note = "no part of an attention: its weights are not read by a matmul alone";
  }

  bool is_read_by_product(Tensor weights) const {
    const auto readers = flow_.readers(build_.info(weights).storage);
    return std::any_of(readers.begin(), readers.end(),
                       [&](const Dataflow::Reader& reader) { return graph_.nodes[reader.node].op == Op::Matmul; });
  }

  bool is_whole(Tensor tensor) { return maker_of(graph_, build_, flow_, tensor) != nullptr; }
  bool is_state(Tensor tensor) const { return build_.is_state(build_.info(tensor).storage); }

  // --- Backwards from the softmax

  // The matmul from which the scores come, or the node before it that attention cannot include. Null if no node makes them.
  const Node* find_product(Tensor x, Scores* scores) {
    const Node* maker = nullptr;
    for (int i = 0; i < kMostSteps; ++i) {
      maker = maker_of(graph_, build_, flow_, x);
      if (maker == nullptr) return nullptr;
      scores->stages.insert(scores->stages.end(), {x, maker->outputs[0]});
      if (maker->op == Op::Matmul) {
        scores->softmax.scale *= maker->as<MatmulAttrs>().scale;
        scores->product = static_cast<size_t>(maker - graph_.nodes.data());
      }
      if (flow_.only_reader(build_.info(x).storage) == nullptr || maker->op == Op::Matmul) break;
      x = taken(*maker, scores);
      if (!x.valid()) break;
    }
    return maker;
  }

  // Includes a node between matmul and softmax in the attention. Returns the scores before it, or an invalid tensor if it cannot be
  // included.
  Tensor taken(const Node& node, Scores* scores) {
    if (const std::optional<float> factor = factor_of(node)) {
      scores->softmax.scale *= *factor;
      return node.inputs[0];
    }
    const Step* step = only_step(node);
    if (step == nullptr || step->domain != Domain::Float) return {};
    switch (step->function) {
      case Function::Add: return sum_taken(node, false, scores);
      case Function::Sub: return sum_taken(node, true, scores);
      case Function::Where: return choice_taken(node, *step, scores);
      case Function::Max: return limit_taken(node, *step, scores);
      default: return {};
    }
  }

  // Whether a tensor is a matmul's result, or elementwise nodes compute it from one.
  bool comes_from_product(Tensor x, int steps) {
    const Node* maker = maker_of(graph_, build_, flow_, x);
    if (maker == nullptr || steps == 0 || flow_.only_reader(build_.info(x).storage) == nullptr) return false;
    if (maker->op == Op::Matmul) return true;
    return maker->op == Op::Elementwise && std::any_of(maker->inputs.begin(), maker->inputs.end(), [&](Tensor input) {
             return input.valid() && comes_from_product(input, steps - 1);
           });
  }

  Tensor sum_taken(const Node& node, bool subtracts, Scores* scores) {
    const TensorInfo shape = build_.info(node.outputs[0]);
    if (node.input_count() != 2) return {};
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const Tensor x = node.inputs[i], addend = node.inputs[1 - i];
      if (!build_.same_shape(build_.info(x), shape) || !comes_from_product(x, kMostSteps) || is_state(addend)) continue;
      if (subtracts && i == 1) return {};
      // Attention adds the bias after scaling.
      Tensor bias = addend;
      const float factor = subtracts ? -scores->softmax.scale : scores->softmax.scale;
      if (factor != 1.0f) bias = with_number(Function::Mul, bias, factor, scores);
      if (std::isfinite(scores->limit)) bias = with_number(Function::Max, bias, scores->limit, scores);
      scores->biases.push_back({bias, node.outputs[0]});
      return x;
    }
    return {};
  }

  // where(mask, scores, low), or where(mask, low, scores).
  Tensor choice_taken(const Node& node, const Step& step, Scores* scores) {
    const bool keeps = step.operands[1].is(Operand::Input);
    const Operand passed = step.operands[keeps ? 1 : 2], low = step.operands[keeps ? 2 : 1];
    if (!step.operands[0].is(Operand::Input) || !passed.is(Operand::Input) || !low.is(Operand::Scalar)) return {};
    const Tensor mask = node.inputs[step.operands[0].index()];
    const float fill = std::max(number(node, low) * scores->softmax.scale, scores->limit);
    // A bias added afterwards must not make a hidden score visible again.
    if (scores->mask.tensor.valid() || is_state(mask) || !(fill <= (scores->biases.empty() ? kHidden : kLowest)))
      return {};
    scores->mask = {mask, node.outputs[0]};
    scores->softmax.mask_meaning = keeps ? Mask::Meaning::Keep : Mask::Meaning::Exclude;
    scores->softmax.masked_fill.reset();
    if (std::isfinite(fill)) scores->softmax.masked_fill = fill;
    return node.inputs[passed.index()];
  }

  // max(scores, low), which changes hidden scores only.
  Tensor limit_taken(const Node& node, const Step& step, Scores* scores) {
    if (!step.operands[0].is(Operand::Input) || !step.operands[1].is(Operand::Scalar)) return {};
    const float low = number(node, step.operands[1]) * scores->softmax.scale;
    if (!(low <= kLowest)) return {};
    scores->limit = std::max(scores->limit, low);
    return node.inputs[step.operands[0].index()];
  }

  // --- Forwards from the softmax

  // Finds the matmul with values that alone reads the weights, possibly through copies and nodes that clear rows without a visible key.
  bool find_values(Tensor weights, Scores* scores) {
    for (int i = 0; i < kMostSteps; ++i) {
      scores->stages.push_back(weights);
      const std::optional<size_t> reader = reader_of(weights);
      if (!reader) return false;
      const Node& node = graph_.nodes[*reader];
      if (node.op == Op::Matmul) {
        scores->values = *reader;
        scores->stages.push_back(node.inputs[in::kA]);
        return is_plain(node) && node.as<MatmulAttrs>().scale == 1.0f && sees(node.inputs[in::kA], weights) &&
               !sees(node.inputs[in::kB], weights);
      }
      const bool copies = factor_of(node) == 1.0f && sees(node.inputs[0], weights);
      if (!copies && !clears(node, weights, scores)) return false;
      weights = node.outputs[0];
    }
    return false;
  }

  bool sees(Tensor tensor, Tensor storage) { return build_.info(tensor).storage == storage.id && is_whole(tensor); }

  // The only node that reads a tensor, apart from a test for NaN that this node itself reads.
  std::optional<size_t> reader_of(Tensor tensor) const {
    if (tensor.id != build_.info(tensor).storage || flow_.is_output[tensor.id]) return std::nullopt;
    std::optional<size_t> found, test;
    for (const Dataflow::Reader& reader : flow_.readers(tensor.id)) {
      std::optional<size_t>& one = finds_nan(graph_.nodes[reader.node]) ? test : found;
      if (one && *one != reader.node) return std::nullopt;
      one = reader.node;
    }
    if (!test) return found;
    const Dataflow::Reader* next = flow_.only_reader(graph_.nodes[*test].outputs[0].id);
    return next != nullptr && next->node == found ? found : std::nullopt;
  }

  // Whether a node is where(is NaN, 0, weights), or clears what the mask hides. Attention does this itself: queries without a visible key
  // give 0.
  bool clears(const Node& node, Tensor weights, Scores* scores) {
    const Step* step = only_step(node);
    if (step == nullptr || step->function != Function::Where || !step->operands[0].is(Operand::Input)) return false;
    const bool keeps = step->operands[1].is(Operand::Input);
    const Operand passed = step->operands[keeps ? 1 : 2], zero = step->operands[keeps ? 2 : 1];
    if (!passed.is(Operand::Input) || !zero.is(Operand::Scalar) || number(node, zero) != 0.0f ||
        !sees(node.inputs[passed.index()], weights))
      return false;
    const Tensor condition = node.inputs[step->operands[0].index()];
    const Node* test = maker_of(graph_, build_, flow_, condition);
    if (test != nullptr && finds_nan(*test)) return !keeps && sees(test->inputs[0], weights);
    if (condition != scores->mask.tensor || keeps != (scores->softmax.mask_meaning == Mask::Meaning::Keep))
      return false;
    scores->softmax.masked_fill.reset();
    return true;
  }

  // --- The attention

  // Operands as [B, H, S, d].
  struct Operands {
    TensorInfo query, key, value;
    float scale = 1.0f;
    int seen_through = 0;
  };

  // Returns false if the operands do not fit.
  bool replace(Scores* scores) {
    const Node &product = graph_.nodes[scores->product], &values = graph_.nodes[scores->values];
    if (!is_plain(product) || flow_.only_reader(product.outputs[0].id) == nullptr) return false;
    if (scores->key_padding.valid() && build_.info(scores->stages.front()).rank != 4) return false;
    std::optional<Operands> best;
    Split split;
    for (const Split& one : splits_of(*scores)) {
      const std::optional<Operands> operands = operands_of(product, values, scores->values, one);
      if (!operands || (best && best->seen_through >= operands->seen_through)) continue;
      best = operands;
      split = one;
    }
    if (!best || !are_operands(*best)) return false;
    const std::optional<Tensor> mask = masked(*scores, split), bias = biased(scores, split, best->query.dtype);
    if (!mask || !bias) return false;
    Node node;
    node.op = Op::Attention;
    node.label = product.label + "+softmax+matmul";
    node.inputs = {view_of(best->query), view_of(best->key), view_of(best->value), scores->key_padding, *mask, *bias};
    AttentionAttrs attrs;
    attrs.softmax = scores->softmax;
    attrs.softmax.scale *= best->scale;
    node.attrs = attrs;
    if (!std::isfinite(attrs.softmax.scale)) return false;
    std::vector<Node>& instead = instead_[scores->values];
    instead = std::move(scores->made);
    put(node, values, split, best->value.dims[3], &instead);
    gone_[scores->values] = true;
    return true;
  }

  // Possible factors batch and heads: the leading dims of stages of the scores, or of the tensor from which queries are copied.
  std::vector<Split> splits_of(const Scores& scores) {
    SizeTable& sizes = graph_.sizes;
    std::vector<Split> splits;
    const auto add = [&](SizeId batch, SizeId heads) {
      if (std::find(splits.begin(), splits.end(), Split{batch, heads}) == splits.end())
        splits.push_back({batch, heads});
    };
    for (const Tensor stage : scores.stages) {
      const TensorInfo info = build_.info(stage);
      for (int first = info.rank - 3; first >= 1; --first)
        add(build_.elements(info, 0, first), build_.elements(info, first, info.rank - 2));
    }
    const TensorInfo scored = build_.info(scores.stages.front());
    if (scored.rank < 2) return {};
    const SizeId all = build_.elements(scored, 0, scored.rank - 2);
    if (splits.empty()) add(all, sizes.constant(1));
    Tensor query = graph_.nodes[scores.product].inputs[in::kA];
    for (int i = 0; i < 4 && query.valid(); ++i) {
      const TensorInfo info = build_.info(query);
      for (int axis = 0; axis < info.rank; ++axis)
        if (const std::optional<SizeId> heads = sizes.quotient(all, info.dims[static_cast<size_t>(axis)]))
          add(info.dims[static_cast<size_t>(axis)], *heads);
      const int64_t maker = flow_.producer[info.storage];
      const bool copies = maker >= 0 && factor_of(graph_.nodes[static_cast<size_t>(maker)]);
      query = copies ? graph_.nodes[static_cast<size_t>(maker)].inputs[0] : Tensor{};
    }
    return splits;
  }

  std::optional<Operands> operands_of(const Node& product, const Node& values, size_t reader, const Split& split) {
    const TensorInfo scores = build_.info(product.outputs[0]), attended = build_.info(values.outputs[0]);
    Operands operands{build_.info(product.inputs[in::kA]), build_.info(product.inputs[in::kB]),
                      build_.info(values.inputs[in::kB])};
    if (!as_heads(scores, split, &operands.query) || !as_heads(scores, split, &operands.key) ||
        !as_heads(attended, split, &operands.value))
      return std::nullopt;
    std::swap(operands.key.dims[2], operands.key.dims[3]);
    std::swap(operands.key.strides[2], operands.key.strides[3]);
    const Operands given = operands;
    see_through(graph_, build_, flow_, reader, &operands.query, &operands.scale);
    see_pair_through(reader, &operands);
    operands.seen_through = int{operands.query.storage != given.query.storage} +
                            int{operands.key.storage != given.key.storage} +
                            int{operands.value.storage != given.value.storage};
    return operands;
  }

  // Views a shape as [B, H, m, n] without broadcast dims.
  bool as_heads(const TensorInfo& shape, const Split& split, TensorInfo* info) {
    return regroup(graph_.sizes, shape, split.batch, split.heads, info) && info->dims[0] == split.batch &&
           info->dims[1] == split.heads;
  }

  // Keys and values: if both are copies that repeat heads for groups of queries, views of the unrepeated heads.
  void see_pair_through(size_t reader, Operands* operands) {
    TensorInfo key = operands->key, value = operands->value;
    const std::optional<int64_t> repeats = repeats_of(key);
    if (repeats && repeats == repeats_of(value)) {
      float scale = operands->scale;
      for (TensorInfo* info : {&key, &value}) {
        info->strides[1] = graph_.sizes.mul(info->strides[1], graph_.sizes.constant(*repeats));
        info->dims[1] = *graph_.sizes.quotient(info->dims[1], graph_.sizes.constant(*repeats));
      }
      const uint32_t key_copy = key.storage, value_copy = value.storage;
      see_through(graph_, build_, flow_, reader, &key, &scale);
      see_through(graph_, build_, flow_, reader, &value, nullptr);
      if (key.storage != key_copy && value.storage != value_copy) {
        operands->key = key;
        operands->value = value;
        operands->scale = scale;
        return;
      }
    }
    see_through(graph_, build_, flow_, reader, &operands->key, &operands->scale);
    see_through(graph_, build_, flow_, reader, &operands->value, nullptr);
  }

  // How many times the viewed copy repeats each head consecutively.
  std::optional<int64_t> repeats_of(const TensorInfo& view) {
    const int64_t maker = flow_.producer[view.storage];
    if (maker < 0 || graph_.nodes[static_cast<size_t>(maker)].op != Op::Elementwise ||
        !graph_.sizes.is_constant(view.dims[1]))
      return std::nullopt;
    const Node& node = graph_.nodes[static_cast<size_t>(maker)];
    const TensorInfo &out = build_.info(node.outputs[0]), &in = build_.info(node.inputs[0]);
    for (int i = 0; i < std::min(out.rank, in.rank); ++i) {
      const SizeId size = build_.dim_from_end(out, i);
      const auto at = static_cast<size_t>(in.rank - 1 - i);
      const bool repeats = graph_.sizes.is_constant(in.strides[at], 0) || graph_.sizes.is_constant(in.dims[at], 1);
      if (repeats && graph_.sizes.is_constant(size) && !graph_.sizes.is_constant(size, 1) &&
          graph_.sizes.quotient(view.dims[1], size))
        return build_.max_of(size);
    }
    return std::nullopt;
  }

  bool are_operands(const Operands& operands) const {
    const TensorInfo &q = operands.query, &k = operands.key, &v = operands.value;
    return is_float(q.dtype) && q.dtype == k.dtype && q.dtype == v.dtype && k.dims[1] == v.dims[1] &&
           k.dims[2] == v.dims[2] && q.dims[3] == k.dims[3];
  }

  // A view of a mask or bias that broadcasts to [B, H, S_q, S_kv]. None if no strides express it.
  std::optional<Tensor> of_scores(const OfScores& given, const Split& split) {
    const TensorInfo shape = build_.info(given.shape);
    TensorInfo info = build_.info(given.tensor);
    if (shape.rank == 4 && shape.dims[0] == split.batch && shape.dims[1] == split.heads) return given.tensor;
    if (!regroup(graph_.sizes, shape, split.batch, split.heads, &info)) return std::nullopt;
    return view_of(info);
  }

  std::optional<Tensor> masked(const Scores& scores, const Split& split) {
    return scores.mask.tensor.valid() ? of_scores(scores.mask, split) : Tensor{};
  }

  // The sum of all biases; invalid if there are none.
  std::optional<Tensor> biased(Scores* scores, const Split& split, DType dtype) {
    Tensor sum;
    for (const OfScores& bias : scores->biases) {
      std::optional<Tensor> one = of_scores(bias, split);
      if (!one) one = of_scores(repeated(bias, scores), split);
      if (!one) return std::nullopt;
      sum = sum.valid() ? sum_of(sum, *one, scores) : *one;
    }
    return sum.valid() && build_.info(sum).dtype != dtype ? cast(sum, dtype, scores) : sum;
  }

  // A copy with all dims of the scores except the heads, for windowed attention, where each window has its own mask.
  OfScores repeated(const OfScores& bias, Scores* scores) {
    TensorInfo info = build_.info(bias.shape);
    const TensorInfo own = build_.info(bias.tensor);
    if (own.rank != info.rank || info.rank < 3) return bias;
    for (const int axis : {info.rank - 3, info.rank - 2, info.rank - 1})
      info.dims[static_cast<size_t>(axis)] = own.dims[static_cast<size_t>(axis)];
    const Tensor copy = build_.add_like(info, own.dtype);
    add({bias.tensor}, copy, ElementwiseAttrs{}, "bias", &scores->made);
    return {copy, bias.shape};
  }

  // Adds the attention, which writes token by token, and a copy if its result needs another layout.
  void put(Node attention, const Node& values, const Split& split, SizeId columns, std::vector<Node>* nodes) {
    SizeTable& sizes = graph_.sizes;
    TensorInfo wanted = build_.info(values.outputs[0]);
    static_cast<void>(as_heads(build_.info(values.outputs[0]), split, &wanted));
    move_behind_copy(values.outputs[0], &wanted);
    TensorInfo tokens = wanted;
    const SizeId token = sizes.mul(split.heads, columns);
    tokens.strides = {sizes.mul(token, wanted.dims[2]), columns, token, sizes.constant(1)};
    tokens.offset = sizes.constant(0);
    bool lies_so = tokens.offset == wanted.offset;
    for (size_t i = 0; i < 4; ++i)
      lies_so = lies_so && (sizes.is_constant(wanted.dims[i], 1) || wanted.strides[i] == tokens.strides[i]);
    const Tensor result = view_of(wanted);
    attention.outputs[0] = lies_so ? view_of((tokens.storage = wanted.storage, tokens)) : build_.add_storage(tokens);
    const Tensor made = attention.outputs[0];
    const std::string label = attention.label;
    nodes->push_back(std::move(attention));
    if (!lies_so) add({made}, result, ElementwiseAttrs{}, label + ".output", nodes);
  }

  // If only a copy reads the result, the attention writes the copy's result.
  void move_behind_copy(Tensor result, TensorInfo* wanted) {
    const Dataflow::Reader* reader = flow_.only_reader(result.id);
    if (reader == nullptr || graph_.nodes[reader->node].op != Op::Elementwise) return;
    const Node& copy = graph_.nodes[reader->node];
    const Tensor made = copy.outputs[0];
    const TensorInfo from = build_.info(copy.inputs[0]), to = build_.info(made);
    if (!copy.as<ElementwiseAttrs>().is_copy() || from.dtype != to.dtype || made.id != to.storage || is_state(made) ||
        !build_.same_shape(from, to) || !graph_.sizes.is_constant(from.offset, 0))
      return;
    std::array<SharedAxis, kMaxRank> axes{};
    for (size_t i = 0; i < static_cast<size_t>(to.rank); ++i) axes[i] = {to.dims[i], from.strides[i], to.strides[i]};
    if (!move_view(graph_.sizes, std::span(axes).first(static_cast<size_t>(to.rank)), wanted)) return;
    wanted->storage = made.id;
    gone_[reader->node] = true;
  }

  Tensor view_of(const TensorInfo& info) { return build_.add_view(info, info.storage); }

  static void add(std::initializer_list<Tensor> inputs, Tensor output, const ElementwiseAttrs& attrs, std::string label,
                  std::vector<Node>* nodes) {
    Node& node = nodes->emplace_back();
    std::copy(inputs.begin(), inputs.end(), node.inputs.begin());
    node.outputs[0] = output;
    node.attrs = attrs;
    node.label = std::move(label);
  }

  Tensor with_number(Function function, Tensor x, float value, Scores* scores) {
    ElementwiseAttrs attrs = ElementwiseAttrs::empty();
    attrs.add(function, {ElementwiseAttrs::input(0), attrs.scalar(value)});
    const Tensor result = build_.add_like(build_.info(x), build_.info(x).dtype);
    add({x}, result, attrs, "bias", &scores->made);
    return result;
  }
  Tensor sum_of(Tensor a, Tensor b, Scores* scores) {
    TensorInfo shape;
    static_cast<void>(build_.broadcast(build_.info(a), build_.info(b), &shape));
    const Tensor result = build_.add_like(shape, build_.info(a).dtype);
    add({a, b}, result, ElementwiseAttrs::of(Function::Add), "bias", &scores->made);
    return result;
  }
  Tensor cast(Tensor x, DType dtype, Scores* scores) {
    const Tensor result = build_.add_like(build_.info(x), dtype);
    add({x}, result, ElementwiseAttrs{}, "bias", &scores->made);
    return result;
  }

  GraphData& graph_;
  Build build_;
  const Dataflow flow_;
  std::vector<std::vector<Node>> instead_;  // nodes to insert after node n
  std::vector<bool> gone_;
};

}  // namespace

void recognize_attention(GraphData* graph) {
  AttentionRecognition(graph).run();
  remove_dead_nodes(graph);
}

}  // namespace heed::detail
