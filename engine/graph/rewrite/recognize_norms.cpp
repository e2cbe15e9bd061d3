// Recognizes composed LayerNorm and RMSNorm, as in ONNX files below opset 17: (x - mean) / sqrt(mean of squares + eps) * gamma + beta.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "graph/rewrite/formula.hpp"

namespace heed::detail {
namespace {

// The most nodes of a formula; the longest known one has 12, with casts.
constexpr size_t kMostNormNodes = 20;
constexpr int64_t kMostColumns = 1 << 16;
// Largest difference between a formula, whose constants were rounded to F32, and a norm.
constexpr double kNormTolerance = 2e-6;

// A row of a tensor, or one number that all its elements share.
using Row = std::vector<double>;

double at(const Row& row, size_t i) { return row[row.size() == 1 ? 0 : i]; }

// Test values without a pattern and with a nonzero mean, each within 1 of 0.4.
Row sample_row(size_t columns, size_t seed, double scale) {
  Row row(columns);
  for (size_t i = 0; i < columns; ++i)
    row[i] = scale * (0.4 + std::sin(static_cast<double>(i * i + 17 * seed) * 0.7 + static_cast<double>(i)));
  return row;
}

// The formula of a node, as a function of a row of its input x. Sample values stand for the other rows that it reads, such as gamma.
class RowFormula {
 public:
  RowFormula(const GraphData& graph, const Dataflow& flow, Build& build, const Node& node)
      : graph_(graph), flow_(flow), build_(build), node_(node), shape_(build.info(node.outputs[0])) {}

  // Collects the nodes before `node` that may belong to the formula, nearest first. Returns false if there is no reduction among them.
  bool collect() {
    bool reduces = false;
    visit(node_);
    for (size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = *nodes_[n];
      reduces = reduces || node.op == Op::Reduce;
      for (const Tensor input : node.inputs) {
        if (!input.valid()) continue;
        if (is_full(build_.info(input)) && std::find(full_.begin(), full_.end(), input) == full_.end())
          full_.push_back(input);
        const Node* before = maker_of(graph_, build_, flow_, input);
        if (before != nullptr && (before->op == Op::Elementwise || is_mean(*before))) visit(*before);
      }
    }
    return reduces;
  }
  // Tensors that may be x, the earliest first.
  std::vector<Tensor> candidates() const {
    std::vector<Tensor> sorted = full_;
    std::stable_sort(sorted.begin(), sorted.end(), [&](Tensor a, Tensor b) { return maker(a) < maker(b); });
    return sorted;
  }

  // The node's result for this row of x.
  std::optional<Row> value(Tensor x, const Row& row) {
    x_ = x;
    row_ = &row;
    known_.clear();
    used_.clear();
    factors_.clear();
    scalars_.clear();
    return value_of(node_);
  }
  // The operands that the last call of value() read: row tensors other than x, constant numbers, and nodes.
  const std::vector<Tensor>& factors() const { return factors_; }
  const std::vector<float>& scalars() const { return scalars_; }
  const std::vector<const Node*>& used() const { return used_; }
  Row factor_row(size_t i) const { return sample_row(columns(), i + 1, 1.0); }
  size_t columns() const { return static_cast<size_t>(build_.max_of(build_.dim_from_end(shape_, 0))); }

 private:
  int64_t maker(Tensor tensor) const { return flow_.producer[build_.info(tensor).storage]; }

  bool is_full(const TensorInfo& info) const { return build_.same_shape(info, shape_); }
  // Whether the tensor has one number for each row.
  bool is_column(const TensorInfo& info) const {
    TensorInfo wanted = shape_;
    wanted.dims[static_cast<size_t>(wanted.rank - 1)] = info.dims[static_cast<size_t>(info.rank - 1)];
    return graph_.sizes.is_constant(build_.dim_from_end(info, 0), 1) && build_.same_shape(info, wanted);
  }
  // Whether the tensor has one row, shared by all.
  bool is_row(const TensorInfo& info) const {
    for (int i = 0; i + 1 < info.rank; ++i)
      if (!graph_.sizes.is_constant(info.dims[static_cast<size_t>(i)], 1)) return false;
    return build_.dim_from_end(info, 0) == build_.dim_from_end(shape_, 0);
  }

  // Adds a node if there is room.
  void visit(const Node& node) {
    if (nodes_.size() < kMostNormNodes && std::find(nodes_.begin(), nodes_.end(), &node) == nodes_.end())
      nodes_.push_back(&node);
  }

  static bool is_sum(const Node& node) { return node.as<ReduceAttrs>().kind == Reduction::Sum; }
  // Whether the node is a sum or mean over the last axis, of rows of this length.
  bool is_mean(const Node& node) const {
    if (node.op != Op::Reduce || node.inputs[in::kReduceMask].valid()) return false;
    const TensorInfo& info = build_.info(node.inputs[in::kX]);
    return (is_sum(node) || node.as<ReduceAttrs>().kind == Reduction::Mean) && is_full(info) &&
           node.as<ReduceAttrs>().axis == info.rank - 1;
  }

  std::optional<Row> value_of(Tensor tensor) {
    if (tensor == x_) return *row_;
    const TensorInfo info = build_.info(tensor);
    if (is_row(info) && !is_full(info)) return factor(tensor);
    if (!is_full(info) && !is_column(info)) return std::nullopt;
    const Node* before = maker_of(graph_, build_, flow_, tensor);
    if (before == nullptr) return std::nullopt;
    for (const auto& [node, row] : known_)
      if (node == before) return row;
    std::optional<Row> row;
    if (before->op == Op::Elementwise) row = value_of(*before);
    if (is_mean(*before)) row = mean_of(*before);
    if (row) known_.emplace_back(before, *row);
    return row;
  }

  Row factor(Tensor tensor) {
    const auto found = std::find(factors_.begin(), factors_.end(), tensor);
    const auto index = static_cast<size_t>(found - factors_.begin());
    if (found == factors_.end()) factors_.push_back(tensor);
    return factor_row(index);
  }

  std::optional<Row> mean_of(const Node& node) {
    const std::optional<Row> rows = value_of(node.inputs[in::kX]);
    if (!rows) return std::nullopt;
    used_.push_back(&node);
    double sum = 0;
    for (size_t i = 0; i < columns(); ++i) sum += at(*rows, i);
    return Row{is_sum(node) ? sum : sum / static_cast<double>(columns())};
  }

  std::optional<Row> value_of(const Node& node) {
    const auto& attrs = node.as<ElementwiseAttrs>();
    std::vector<Row> results;
    for (size_t i = 0; i < attrs.count; ++i) {
      const ElementwiseAttrs::Step& step = attrs.steps[i];
      const int operands = info_of(step.function).operands;
      if (step.domain != Domain::Float || operands > 2) return std::nullopt;
      std::array<Row, 2> values = {Row{0}, Row{0}};
      for (size_t k = 0; k < static_cast<size_t>(operands); ++k) {
        const std::optional<Row> value = value_of(node, step.operands[k], results);
        if (!value) return std::nullopt;
        values[k] = *value;
      }
      Row& result = results.emplace_back(std::max(values[0].size(), values[1].size()));
      for (size_t c = 0; c < result.size(); ++c) {
        const std::optional<double> number = function_at(step.function, at(values[0], c), at(values[1], c));
        if (!number) return std::nullopt;
        result[c] = *number;
      }
    }
    used_.push_back(&node);
    return results.back();
  }

  std::optional<Row> value_of(const Node& node, ElementwiseAttrs::Operand from, const std::vector<Row>& results) {
    if (from.is(ElementwiseAttrs::Operand::Step)) return results[from.index()];
    if (from.is(ElementwiseAttrs::Operand::Input)) return value_of(node.inputs[from.index()]);
    const float scalar = std::bit_cast<float>(node.as<ElementwiseAttrs>().scalars[from.index()]);
    if (std::find(scalars_.begin(), scalars_.end(), scalar) == scalars_.end()) scalars_.push_back(scalar);
    return Row{static_cast<double>(scalar)};
  }

  const GraphData& graph_;
  const Dataflow& flow_;
  Build& build_;
  const Node& node_;
  const TensorInfo shape_;
  std::vector<const Node*> nodes_;
  std::vector<Tensor> full_;

  Tensor x_;
  const Row* row_ = nullptr;
  std::vector<std::pair<const Node*, Row>> known_;
  std::vector<const Node*> used_;
  std::vector<Tensor> factors_;
  std::vector<float> scalars_;
};

struct Norm {
  Op op = Op::LayerNorm;
  Tensor x, gamma, beta;
  float eps = 0.0f;
};

// LayerNorm or RMSNorm of a row, without gamma and beta.
Row norm_of(Op op, const Row& x, double eps) {
  const auto n = static_cast<double>(x.size());
  double mean = 0, square = 0;
  for (const double value : x) mean += value / n;
  if (op == Op::RmsNorm) mean = 0;
  for (const double value : x) square += (value - mean) * (value - mean) / n;
  Row row(x.size());
  for (size_t i = 0; i < x.size(); ++i) row[i] = (x[i] - mean) / std::sqrt(square + eps);
  return row;
}

class NormRecognition {
 public:
  explicit NormRecognition(GraphData* graph) : graph_(*graph), build_(*graph, "recognize"), flow_(*graph) {}

  void run() {
    // The last node of a norm is visited first; the nodes of its formula are then dead.
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      Node& node = graph_.nodes[n];
      if (node.op != Op::Elementwise || !may_end_norm(build_.info(node.outputs[0]))) continue;
      if (const std::optional<Norm> norm = norm_of(node)) {
        node.op = norm->op;
        node.inputs = {norm->x, as_row(norm->gamma), as_row(norm->beta)};
        node.attrs = NormAttrs{norm->eps};
      }
    }
  }

 private:
  bool may_end_norm(const TensorInfo& info) const {
    const SizeId columns = build_.dim_from_end(info, 0);
    return is_float(info.dtype) && info.rank <= kMaxNodeRank && graph_.sizes.is_constant(columns) &&
           build_.max_of(columns) > 1 && build_.max_of(columns) <= kMostColumns;
  }

  std::optional<Norm> norm_of(const Node& node) {
    RowFormula formula(graph_, flow_, build_, node);
    if (!formula.collect()) return std::nullopt;
    for (const Tensor x : formula.candidates()) {
      const TensorInfo& info = build_.info(x);
      if (info.dtype != build_.info(node.outputs[0]).dtype || build_.is_state(info.storage)) continue;
      if (const std::optional<Norm> norm = norm_of(formula, x); norm && is_read_here(formula, node)) return norm;
    }
    return std::nullopt;
  }

  // eps is one of the formula's numbers. Rows about as small as its square root distinguish it from the others.
  std::optional<Norm> norm_of(RowFormula& formula, Tensor x) {
    const Row row = sample_row(formula.columns(), 0, 1.0);
    const std::optional<Row> value = formula.value(x, row);
    if (!value || value->size() != row.size() || formula.factors().size() > 2) return std::nullopt;
    std::vector<float> numbers = formula.scalars();
    numbers.push_back(0.0f);
    for (const float eps : numbers) {
      if (!(eps >= 0.0f && eps < 0.1f)) continue;
      const Row small = sample_row(formula.columns(), 5, eps > 0.0f ? std::sqrt(static_cast<double>(eps)) : 0.01);
      for (const Op op : {Op::LayerNorm, Op::RmsNorm}) {
        std::optional<Norm> norm = with_factors(formula, op, x, eps, row, *value);
        if (!norm) continue;
        const std::optional<Row> other = formula.value(x, small);
        const std::optional<Norm> again = other ? with_factors(formula, op, x, eps, small, *other) : std::nullopt;
        if (again && again->gamma == norm->gamma && again->beta == norm->beta) return norm;
      }
    }
    return std::nullopt;
  }

  // The norm whose result is `value` for `row`, trying each factor of the formula as gamma or beta.
  std::optional<Norm> with_factors(const RowFormula& formula, Op op, Tensor x, float eps, const Row& row,
                                   const Row& value) const {
    const Row plain = detail::norm_of(op, row, static_cast<double>(eps));
    const std::vector<Tensor>& factors = formula.factors();
    constexpr size_t kNone = 2;
    const auto tensor = [&](size_t i) { return i < factors.size() ? factors[i] : Tensor{}; };
    for (size_t gamma = 0; gamma <= kNone; ++gamma)
      for (size_t beta = 0; beta <= kNone; ++beta) {
        const size_t given = size_t{gamma < kNone} + size_t{beta < kNone};
        const bool names_each = given == factors.size() && (gamma != beta || gamma == kNone) &&
                                (gamma == kNone || gamma < factors.size()) && (beta == kNone || beta < factors.size());
        if (!names_each || (op == Op::RmsNorm && beta != kNone)) continue;
        if (!are_possible({tensor(gamma), tensor(beta)}, build_.info(x).dtype)) continue;
        const Row factor = gamma < kNone ? formula.factor_row(gamma) : Row{1.0},
                  addend = beta < kNone ? formula.factor_row(beta) : Row{0.0};
        bool fits = true;
        for (size_t i = 0; i < value.size() && fits; ++i) {
          const double wanted = plain[i] * at(factor, i) + at(addend, i);
          fits = std::abs(value[i] - wanted) <= kNormTolerance * (1.0 + std::abs(wanted));
        }
        if (fits) return Norm{op, x, tensor(gamma), tensor(beta), eps};
      }
    return std::nullopt;
  }

  bool are_possible(std::initializer_list<Tensor> factors, DType dtype) const {
    return std::all_of(factors.begin(), factors.end(), [&](Tensor factor) {
      if (!factor.valid()) return true;
      const TensorInfo& info = build_.info(factor);
      return info.dtype == dtype && !build_.is_state(info.storage) &&
             graph_.sizes.is_constant(info.strides[static_cast<size_t>(info.rank - 1)], 1);
    });
  }

  // Whether no other node reads intermediate results of the formula, as a gradient would.
  bool is_read_here(const RowFormula& formula, const Node& node) const {
    const auto is_used = [&](const Node* one) {
      return std::find(formula.used().begin(), formula.used().end(), one) != formula.used().end();
    };
    for (const Node* used : formula.used()) {
      if (used == &node) continue;
      const uint32_t storage = build_.info(used->outputs[0]).storage;
      if (flow_.is_output[storage]) return false;
      for (const Dataflow::Reader& reader : flow_.readers(storage))
        if (!is_used(&graph_.nodes[reader.node])) return false;
    }
    return true;
  }

  // [1, .., n] viewed as [n].
  Tensor as_row(Tensor factor) {
    if (!factor.valid() || build_.info(factor).rank == 1) return factor;
    TensorInfo info = build_.info(factor);
    const auto last = static_cast<size_t>(info.rank - 1);
    info.name.clear();
    info.dims[0] = info.dims[last];
    info.strides[0] = info.strides[last];
    info.rank = 1;
    return build_.add_view(info, info.storage);
  }

  GraphData& graph_;
  Build build_;
  const Dataflow flow_;
};

}  // namespace

void recognize_norms(GraphData* graph) {
  NormRecognition(graph).run();
  remove_dead_nodes(graph);
}

}  // namespace heed::detail
