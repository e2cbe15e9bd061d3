// Recognizes composed rotary embedding, x * cos + rotate_half(x) * sin, as in models from other tools: of halves or neighbours, of the
// whole row or its first part. The single node that replaces it reads x once, and makes no rotated copy.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "graph/rewrite/formula.hpp"

namespace heed::detail {
namespace {

// The most nodes of a formula; the longest known one has 9.
constexpr size_t kMostRotaryNodes = 16;
constexpr int64_t kMostChannels = 1024;

// An element of each row of a tensor: in the first row it lies `at` units behind the storage's origin, the first element of that storage
// that was visited.
struct Element {
  uint32_t storage = 0;
  std::array<SizeId, kMaxRank> strides{};  // strides of the rows
  SizeId unit = 0;                         // in elements; gathered rows may be interleaved
  int64_t at = 0;
};
bool lie_alike(const Element& a, const Element& b) {
  return a.storage == b.storage && a.strides == b.strides && a.unit == b.unit;
}

// The summand factor * x * by, in which x or by or both may be absent.
struct Term {
  double factor = 1.0;
  std::optional<Element> x, by;
};
using Sum = std::vector<Term>;
using SumRow = std::vector<Sum>;  // or one sum that all elements share

const Sum& at(const SumRow& row, size_t i) { return row[row.size() == 1 ? 0 : i]; }

std::optional<Sum> product(const Sum& a, const Sum& b) {
  if (a.size() != 1 && b.size() != 1) return std::nullopt;
  Sum made;
  for (const Term& one : a)
    for (const Term& other : b) {
      if ((one.x && other.x) || (one.by && other.by)) return std::nullopt;
      made.push_back({one.factor * other.factor, one.x ? one.x : other.x, one.by ? one.by : other.by});
    }
  return made;
}

std::optional<Sum> sum_at(Function function, const Sum& a, const Sum& b) {
  Sum made = a;
  switch (function) {
    case Function::Copy: return made;
    case Function::Neg:
      for (Term& term : made) term.factor = -term.factor;
      return made;
    case Function::Mul: return product(a, b);
    case Function::Sub:
    case Function::Add:
      for (Term term : b) {
        if (function == Function::Sub) term.factor = -term.factor;
        made.push_back(term);
      }
      // An element of a rotary embedding has at most two summands.
      if (made.size() <= 2) return made;
      return std::nullopt;
    default: return std::nullopt;
  }
}

bool is_linear(const Node& node) {
  if (node.op == Op::Concat) return true;
  if (node.op != Op::Elementwise) return false;
  const auto& attrs = node.as<ElementwiseAttrs>();
  return std::all_of(attrs.steps.begin(), attrs.steps.begin() + attrs.count, [](const ElementwiseAttrs::Step& step) {
    return step.domain == Domain::Float &&
           (step.function == Function::Copy || step.function == Function::Neg || step.function == Function::Add ||
            step.function == Function::Sub || step.function == Function::Mul);
  });
}

// Expresses each element of a row of a node's result as a sum of products of elements of x and elements of other tensors. The first `rows`
// dims of all tensors that hold elements of x equal the node's; the further dims form a row.
class RowSums {
 public:
  RowSums(const GraphData& graph, const Dataflow& flow, Build& build, const Node& node, int rows)
      : graph_(graph), flow_(flow), build_(build), node_(node), shape_(build.info(node.outputs[0])), rows_(rows) {}

  // Collects the nodes before `node` that may belong to the formula, nearest first. Returns false if none of them is a concat.
  bool collect() {
    bool joins = false;
    visit(node_);
    for (size_t n = 0; n < nodes_.size(); ++n) {
      joins = joins || nodes_[n]->op == Op::Concat;
      for (const Tensor input : nodes_[n]->inputs) {
        if (!input.valid()) continue;
        const uint32_t storage = build_.info(input).storage;
        if (std::find(storages_.begin(), storages_.end(), storage) == storages_.end()) storages_.push_back(storage);
        const Node* before = maker_of(graph_, build_, flow_, input);
        if (before != nullptr && is_linear(*before)) visit(*before);
      }
    }
    return joins;
  }
  // Storages that may be x.
  const std::vector<uint32_t>& storages() const { return storages_; }

  std::optional<SumRow> sums_of(uint32_t x) {
    x_ = x;
    used_.clear();
    find_holders();
    return row_of(node_);
  }
  // Nodes that depend on x and that the last sums_of visited.
  const std::vector<const Node*>& used() const { return used_; }
  // The offset of the first visited element of a storage.
  SizeId origin(uint32_t storage) const {
    return std::find_if(origins_.begin(), origins_.end(), [&](const auto& o) { return o.first == storage; })->second;
  }

 private:
  void visit(const Node& node) {
    if (nodes_.size() < kMostRotaryNodes && std::find(nodes_.begin(), nodes_.end(), &node) == nodes_.end())
      nodes_.push_back(&node);
  }

  bool holds_x(Tensor tensor) {
    if (build_.info(tensor).storage == x_) return true;
    const Node* before = inside(tensor);
    return before != nullptr && std::find(holders_.begin(), holders_.end(), before) != holders_.end();
  }
  // Finds the nodes whose results depend on x.
  void find_holders() {
    const auto reads_x = [&](const Node* node) {
      return std::any_of(node->inputs.begin(), node->inputs.end(),
                         [&](Tensor input) { return input.valid() && holds_x(input); });
    };
    holders_.clear();
    for (size_t before = 1; before != holders_.size();) {
      before = holders_.size();
      for (const Node* node : nodes_)
        if (std::find(holders_.begin(), holders_.end(), node) == holders_.end() && reads_x(node))
          holders_.push_back(node);
    }
  }
  const Node* inside(Tensor tensor) {
    const Node* before = maker_of(graph_, build_, flow_, tensor);
    return before != nullptr && std::find(nodes_.begin(), nodes_.end(), before) != nodes_.end() ? before : nullptr;
  }

  bool has_rows(const TensorInfo& info) const {
    return info.rank >= rows_ && std::equal(info.dims.begin(), info.dims.begin() + rows_, shape_.dims.begin()) &&
           info.dtype == shape_.dtype;
  }
  // Number of elements in a row of a tensor with these row dims; 0 if that is not constant, or too large.
  int64_t length_of(const TensorInfo& info) const { return count_of(info, rows_, info.rank); }
  int64_t count_of(const TensorInfo& info, int first, int end) const {
    int64_t count = 1;
    for (int i = first; i < end; ++i) {
      const SizeId dim = info.dims[static_cast<size_t>(i)];
      if (!graph_.sizes.is_constant(dim) || build_.max_of(dim) > kMostChannels) return 0;
      count *= build_.max_of(dim);
      if (count > kMostChannels) return 0;
    }
    return count;
  }

  // A tensor as an operand of a node whose result has this shape.
  std::optional<SumRow> row_of(Tensor tensor, const TensorInfo& shape) {
    const TensorInfo info = build_.info(tensor);
    if (info.dtype != shape_.dtype || build_.is_state(info.storage)) return std::nullopt;
    if (info.storage == x_ || !holds_x(tensor)) return leaf(info, shape);
    const Node* before = inside(tensor);
    if (before == nullptr || !build_.same_shape(info, shape)) return std::nullopt;
    std::optional<SumRow> row = row_of(*before);
    if (!row || static_cast<int64_t>(row->size()) != length_of(info)) return std::nullopt;
    return row;
  }

  std::optional<SumRow> row_of(const Node& node) {
    const TensorInfo shape = build_.info(node.outputs[0]);
    if (!has_rows(shape) || length_of(shape) == 0) return std::nullopt;
    if (std::find(used_.begin(), used_.end(), &node) == used_.end()) used_.push_back(&node);
    return node.op == Op::Concat ? joined(node, shape) : computed(node, shape);
  }

  std::optional<SumRow> computed(const Node& node, const TensorInfo& shape) {
    const auto& attrs = node.as<ElementwiseAttrs>();
    const auto n = static_cast<size_t>(length_of(shape));
    std::vector<SumRow> results;
    for (size_t i = 0; i < attrs.count; ++i) {
      const ElementwiseAttrs::Step& step = attrs.steps[i];
      std::array<SumRow, 2> operands = {SumRow{{}}, SumRow{{}}};
      for (size_t k = 0; k < static_cast<size_t>(info_of(step.function).operands); ++k) {
        const ElementwiseAttrs::Operand from = step.operands[k];
        std::optional<SumRow> row;
        if (from.is(ElementwiseAttrs::Operand::Step))
          row = results[from.index()];
        else if (from.is(ElementwiseAttrs::Operand::Input))
          row = row_of(node.inputs[from.index()], shape);
        else
          row = SumRow{{Term{static_cast<double>(std::bit_cast<float>(attrs.scalars[from.index()])), {}, {}}}};
        if (!row) return std::nullopt;
        operands[k] = std::move(*row);
      }
      SumRow& result = results.emplace_back();
      for (size_t c = 0; c < n; ++c) {
        std::optional<Sum> sum = sum_at(step.function, at(operands[0], c), at(operands[1], c));
        if (!sum) return std::nullopt;
        result.push_back(std::move(*sum));
      }
    }
    return results.back();
  }

  std::optional<SumRow> joined(const Node& node, const TensorInfo& shape) {
    const int axis = node.as<ConcatAttrs>().axis;
    if (axis < rows_) return std::nullopt;
    const auto outer = static_cast<size_t>(count_of(shape, rows_, axis));
    std::vector<SumRow> parts;
    for (const Tensor input : node.inputs) {
      if (!input.valid()) continue;
      const TensorInfo info = build_.info(input);
      std::optional<SumRow> part = has_rows(info) && length_of(info) > 0 ? row_of(input, info) : std::nullopt;
      if (!part) return std::nullopt;
      parts.push_back(std::move(*part));
    }
    SumRow row;
    for (size_t o = 0; o < outer; ++o)
      for (const SumRow& part : parts) {
        const auto begin = part.begin() + static_cast<std::ptrdiff_t>(o * (part.size() / outer));
        row.insert(row.end(), begin, begin + static_cast<std::ptrdiff_t>(part.size() / outer));
      }
    return row;
  }

  // Elements of a tensor that is not part of the formula, broadcast to the shape.
  std::optional<SumRow> leaf(const TensorInfo& info, const TensorInfo& shape) {
    SizeTable& sizes = build_.data().sizes;
    Element first;
    first.storage = info.storage;
    first.unit = sizes.constant(1);
    const std::optional<int64_t> offset = behind_origin(info);
    if (!offset || info.rank > shape.rank) return std::nullopt;
    first.at = *offset;
    std::array<int64_t, kMaxRank> strides{};
    for (int i = 0; i < shape.rank; ++i) {
      const int own = i - (shape.rank - info.rank);
      const auto axis = static_cast<size_t>(i);
      const bool repeats = own < 0 || sizes.is_constant(info.dims[static_cast<size_t>(own)], 1);
      if (!repeats && info.dims[static_cast<size_t>(own)] != shape.dims[axis]) return std::nullopt;
      const SizeId stride = repeats ? sizes.constant(0) : info.strides[static_cast<size_t>(own)];
      if (i < rows_) {
        first.strides[axis] = stride;
      } else if (sizes.is_constant(stride)) {
        strides[axis] = build_.max_of(stride);
      } else {
        // A tensor with a single axis, from its origin on.
        if (shape.rank != rows_ + 1 || first.at != 0) return std::nullopt;
        first.unit = stride;
        strides[axis] = 1;
      }
    }
    const bool is_x = info.storage == x_;
    if (is_x && !has_rows(info)) return std::nullopt;
    SumRow row;
    for (int64_t i = 0; i < length_of(shape); ++i) {
      Element element = first;
      int64_t rest = i;
      for (int axis = shape.rank - 1; axis >= rows_; --axis) {
        const int64_t dim = build_.max_of(shape.dims[static_cast<size_t>(axis)]);
        element.at += rest % dim * strides[static_cast<size_t>(axis)];
        rest /= dim;
      }
      row.push_back({is_x ? Term{1.0, element, {}} : Term{1.0, {}, element}});
    }
    return row;
  }

  std::optional<int64_t> behind_origin(const TensorInfo& info) {
    SizeTable& sizes = build_.data().sizes;
    const auto known =
        std::find_if(origins_.begin(), origins_.end(), [&](const auto& o) { return o.first == info.storage; });
    if (known == origins_.end()) {
      origins_.emplace_back(info.storage, info.offset);
      return 0;
    }
    if (sizes.is_constant(info.offset) && sizes.is_constant(known->second))
      return build_.max_of(info.offset) - build_.max_of(known->second);
    if (const auto behind = sizes.difference(info.offset, known->second); behind && sizes.is_constant(*behind))
      return build_.max_of(*behind);
    if (const auto before = sizes.difference(known->second, info.offset); before && sizes.is_constant(*before))
      return -build_.max_of(*before);
    return std::nullopt;
  }

  const GraphData& graph_;
  const Dataflow& flow_;
  Build& build_;
  const Node& node_;
  const TensorInfo shape_;
  const int rows_;
  std::vector<const Node*> nodes_;
  std::vector<uint32_t> storages_;
  std::vector<std::pair<uint32_t, SizeId>> origins_;

  uint32_t x_ = 0;
  std::vector<const Node*> holders_, used_;
};

// Elements of a row with a constant step, from `first` on.
struct Line {
  Element first;
  int64_t step = 0;

  bool has(const Element& element, int64_t i) const {
    return lie_alike(element, first) && element.at == first.at + i * step;
  }
};

struct Turning {
  RotaryPairs pairs = RotaryPairs::Halves;
  int64_t width = 0;   // width of the part that is rotated
  bool whole = false;  // each element has its own cosine; otherwise each pair has one
  Line x, cos, sin;

  int64_t first_of(int64_t pair) const { return pairs == RotaryPairs::Halves ? pair : 2 * pair; }
  int64_t second_of(int64_t pair) const { return pairs == RotaryPairs::Halves ? pair + width / 2 : 2 * pair + 1; }
};

// The summands of a rotated element: x * cos, and the other element * +-sin.
struct Turned {
  const Term* own = nullptr;
  const Term* other = nullptr;
};
Turned terms_of(const Sum& sum, double sign) {
  for (const size_t i : {size_t{0}, size_t{1}})
    if (sum[i].factor == 1.0 && sum[1 - i].factor == sign && sum[i].x && sum[i].by && sum[1 - i].x && sum[1 - i].by)
      return {&sum[i], &sum[1 - i]};
  return {};
}

// The rotation of x that `row` expresses, or nothing if its pairs are not of this kind.
std::optional<Turning> turning_of(const SumRow& row, RotaryPairs pairs) {
  Turning turning;
  turning.pairs = pairs;
  const auto sum = [&](int64_t i) -> const Sum& { return row[static_cast<size_t>(i)]; };
  const auto n = static_cast<int64_t>(row.size());
  while (turning.width < n && sum(turning.width).size() == 2) ++turning.width;
  if (turning.width < 2 || turning.width % 2 != 0) return std::nullopt;
  const int64_t count = turning.width / 2, partner = turning.second_of(0), next = turning.first_of(1);
  const Turned first = terms_of(sum(0), -1.0);
  if (first.own == nullptr) return std::nullopt;
  const int64_t apart = first.other->x->at - first.own->x->at;
  if (apart % partner != 0 || apart <= 0) return std::nullopt;
  turning.x = {*first.own->x, apart / partner};
  turning.cos = {*first.own->by, 0};
  turning.sin = {*first.other->by, 0};
  // The second element of the first pair shows whether it has its own cosine, and the next pair shows the distance between cosines.
  for (const bool whole : {false, true}) {
    turning.whole = whole;
    const int64_t known = whole ? partner : next, index = whole ? partner : 1;
    int64_t step = 0;
    if (whole || count > 1) {
      const Sum& told = sum(known);
      const Term* cosine = nullptr;
      for (const Term& term : told)
        if (term.x && term.by && term.factor == 1.0 && turning.x.has(*term.x, known) &&
            lie_alike(*term.by, turning.cos.first))
          cosine = &term;
      if (cosine == nullptr) continue;
      step = cosine->by->at - turning.cos.first.at;
      if (step < 0 || step % index != 0) continue;
      step /= index;
    }
    turning.cos.step = turning.sin.step = step;
    const auto fits = [&](int64_t element, int64_t other, double sign, int64_t place) {
      for (const Term& own : sum(element))
        for (const Term& added : sum(element))
          if (&own != &added && own.factor == 1.0 && added.factor == sign && own.x && own.by && added.x && added.by &&
              turning.x.has(*own.x, element) && turning.x.has(*added.x, other) && turning.cos.has(*own.by, place) &&
              turning.sin.has(*added.by, place))
            return true;
      return false;
    };
    bool all = true;
    for (int64_t i = 0; i < count && all; ++i) {
      const int64_t a = turning.first_of(i), b = turning.second_of(i);
      all = fits(a, b, -1.0, whole ? a : i) && fits(b, a, 1.0, whole ? b : i);
    }
    for (int64_t i = turning.width; i < n && all; ++i)
      all = sum(i).size() == 1 && sum(i)[0].factor == 1.0 && sum(i)[0].x && !sum(i)[0].by &&
            turning.x.has(*sum(i)[0].x, i);
    if (all) return turning;
  }
  return std::nullopt;
}

class RotaryRecognition {
 public:
  explicit RotaryRecognition(GraphData* graph) : graph_(*graph), build_(*graph, "recognize"), flow_(*graph) {}

  void run() {
    // The last node of a formula is visited first; the nodes of its formula are then dead.
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      Node& node = graph_.nodes[n];
      const TensorInfo info = build_.info(node.outputs[0]);
      if (!is_linear(node) || !is_float(info.dtype) || info.storage != node.outputs[0].id) continue;
      // In formulas that stack neighbours, the pair is an axis of its own.
      if (!(is_pair(info) && recognize(&node, info.rank - 2))) recognize(&node, info.rank - 1);
    }
  }

 private:
  bool is_pair(const TensorInfo& info) const {
    return info.rank >= 3 && graph_.sizes.is_constant(info.dims[static_cast<size_t>(info.rank - 1)], 2);
  }

  bool recognize(Node* node, int rows) {
    if (rows < 1 || rows + 1 > kMaxNodeRank) return false;
    RowSums formula(graph_, flow_, build_, *node, rows);
    if (!formula.collect()) return false;
    for (const uint32_t x : formula.storages()) {
      const std::optional<SumRow> row = formula.sums_of(x);
      if (!row) continue;
      for (const RotaryPairs pairs : {RotaryPairs::Halves, RotaryPairs::Adjacent}) {
        const std::optional<Turning> turning = turning_of(*row, pairs);
        if (!turning || turning->cos.first.strides != turning->sin.first.strides || !is_read_here(formula, *node))
          continue;
        replace(node, formula, *turning, rows, static_cast<int64_t>(row->size()));
        return true;
      }
    }
    return false;
  }

  // Whether no other node reads intermediate results of the formula, as a gradient would.
  bool is_read_here(const RowSums& formula, const Node& node) const {
    const auto is_used = [&](const Node* one) {
      return std::find(formula.used().begin(), formula.used().end(), one) != formula.used().end();
    };
    return std::all_of(formula.used().begin(), formula.used().end(), [&](const Node* used) {
      if (used == &node) return true;
      const uint32_t storage = build_.info(used->outputs[0]).storage;
      const auto readers = flow_.readers(storage);
      return !flow_.is_output[storage] && std::all_of(readers.begin(), readers.end(), [&](const Dataflow::Reader& r) {
        return is_used(&graph_.nodes[r.node]);
      });
    });
  }

  void replace(Node* node, const RowSums& formula, const Turning& turning, int rows, int64_t channels) {
    const int64_t cosines = turning.whole ? turning.width : turning.width / 2;
    node->op = Op::Rotary;
    node->label = node->label.substr(0, node->label.rfind('.') + 1) + "rotary";
    TensorInfo out = build_.info(node->outputs[0]);
    const Tensor x = view_of(formula, turning.x, out, rows, channels),
                 cos = view_of(formula, turning.cos, out, rows, cosines),
                 sin = view_of(formula, turning.sin, out, rows, cosines);
    if (out.rank != rows + 1) {
      out.name.clear();
      out.rank = rows + 1;
      out.dims[static_cast<size_t>(rows)] = graph_.sizes.constant(channels);
      build_.make_contiguous(&out);
      node->outputs[0] = build_.add_view(out, out.storage);
    }
    node->inputs = {};
    node->inputs[in::kX] = x;
    node->inputs[in::kCos] = cos;
    node->inputs[in::kSin] = sin;
    node->attrs = RotaryAttrs{.pairs = turning.pairs, .width = turning.width};
  }

  // A view [.., count] with the row dims of `out`, or 1 along dims where all rows are the same.
  Tensor view_of(const RowSums& formula, const Line& line, const TensorInfo& out, int rows, int64_t count) {
    SizeTable& sizes = graph_.sizes;
    TensorInfo info;
    info.dtype = out.dtype;
    info.rank = rows + 1;
    for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
      info.strides[i] = line.first.strides[i];
      info.dims[i] = sizes.is_constant(info.strides[i], 0) ? sizes.constant(1) : out.dims[i];
    }
    info.dims[static_cast<size_t>(rows)] = sizes.constant(count);
    info.strides[static_cast<size_t>(rows)] = sizes.mul(line.first.unit, sizes.constant(line.step));
    const SizeId origin = formula.origin(line.first.storage),
                 apart = sizes.mul(line.first.unit, sizes.constant(std::abs(line.first.at)));
    info.offset = line.first.at >= 0 ? sizes.add(origin, apart) : *sizes.difference(origin, apart);
    return build_.add_view(info, line.first.storage);
  }

  GraphData& graph_;
  Build build_;
  const Dataflow flow_;
};

}  // namespace

void recognize_rotary(GraphData* graph) {
  RotaryRecognition(graph).run();
  remove_dead_nodes(graph);
}

}  // namespace heed::detail
