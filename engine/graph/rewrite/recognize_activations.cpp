// Recognizes composed activations, as in models from other tools: x * 0.5 * (1 + erf(x / sqrt(2))) is GELU. The single node that replaces
// the formula can be fused into a matmul.
#include <array>
#include <cmath>
#include <optional>

#include "graph/rewrite/formula.hpp"

namespace heed::detail {
namespace {

// A formula is compared with each activation at these points. Formulas consist of few analytic functions: one that agrees at all points to
// seven digits is the activation, whatever the order of its summands and the folding of its constants. The two GELUs differ by 1e-4 at some
// points.
constexpr std::array kPlaces = {-6.0, -4.1, -3.2, -2.6, -2.1, -1.7, -1.3, -0.9, -0.6, -0.3, -0.05,
                                0.1,  0.4,  0.7,  1.1,  1.5,  1.9,  2.3,  2.9,  3.7,  5.3};
constexpr double kTolerance = 2e-7;  // covers constants that were rounded to F32
constexpr int kMostFunctions = 16;

double compute(Activation kind, double x) {
  switch (kind) {
    case Activation::GeluErf: return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::GeluTanh:
      return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case Activation::Silu: return x / (1.0 + std::exp(-x));
    case Activation::Tanh: return std::tanh(x);
    default: return x;
  }
}

class ActivationRecognition {
 public:
  explicit ActivationRecognition(GraphData* graph) : graph_(*graph), build_(*graph, "recognize"), flow_(*graph) {}

  void run() {
    for (Node& node : graph_.nodes) {
      if (node.op != Op::Elementwise || !is_float(build_.info(node.outputs[0]).dtype)) continue;
      const Activation kind = activation_of(node);
      if (kind == Activation::None) continue;
      node.inputs = {x_};
      node.attrs = program_of({.activation = kind});
    }
  }

 private:
  // The activation of x_ that a node and those before it compose.
  Activation activation_of(const Node& node) {
    constexpr std::array kKinds = {Activation::GeluErf, Activation::GeluTanh, Activation::Silu, Activation::Tanh};
    std::array<bool, kKinds.size()> fits;
    fits.fill(true);
    x_ = {};
    for (const double place : kPlaces) {
      left_ = kMostFunctions;
      const std::optional<double> value = value_of(node, place);
      if (!value || !x_.valid()) return Activation::None;
      bool any = false;
      for (size_t k = 0; k < kKinds.size(); ++k) {
        fits[k] = fits[k] && std::abs(*value - compute(kKinds[k], place)) <= kTolerance * (1.0 + std::abs(place));
        any = any || fits[k];
      }
      if (!any) return Activation::None;
    }
    // A state is excluded as x, since it may be written between the functions that read it.
    if (kMostFunctions - left_ < 2 || !has_shape_of(x_, node.outputs[0]) || build_.is_state(build_.info(x_).storage))
      return Activation::None;
    for (size_t k = 0; k < kKinds.size(); ++k)
      if (fits[k]) return kKinds[k];
    return Activation::None;
  }

  bool has_shape_of(Tensor x, Tensor result) const {
    const TensorInfo &a = build_.info(x), &b = build_.info(result);
    return a.dtype == b.dtype && build_.same_shape(a, b);
  }

  // The value of a node's result for x = `place`. None if it does not consist of one tensor, numbers and known functions.
  std::optional<double> value_of(const Node& node, double place) {
    const auto& attrs = node.as<ElementwiseAttrs>();
    std::array<double, ElementwiseAttrs::kSteps> results{};
    for (size_t i = 0; i < attrs.count; ++i) {
      const ElementwiseAttrs::Step& step = attrs.steps[i];
      const int operands = info_of(step.function).operands;
      if (step.domain != Domain::Float || operands > 2 || --left_ < 0) return std::nullopt;
      std::array<double, 2> values{};
      for (size_t k = 0; k < static_cast<size_t>(operands); ++k) {
        const ElementwiseAttrs::Operand from = step.operands[k];
        if (from.is(ElementwiseAttrs::Operand::Step)) {
          values[k] = results[from.index()];
        } else if (from.is(ElementwiseAttrs::Operand::Scalar)) {
          values[k] = static_cast<double>(std::bit_cast<float>(attrs.scalars[from.index()]));
        } else {
          const std::optional<double> value = value_of(node.inputs[from.index()], place);
          if (!value) return std::nullopt;
          values[k] = *value;
        }
      }
      const std::optional<double> result = function_at(step.function, values[0], values[1]);
      if (!result) return std::nullopt;
      results[i] = *result;
    }
    return results[attrs.count - size_t{1}];
  }

  // A tensor that only one node reads is a step of the formula. Any other tensor is x, of which there may be only one.
  std::optional<double> value_of(Tensor tensor, double place) {
    const uint32_t storage = build_.info(tensor).storage;
    const int64_t maker = flow_.producer[storage];
    if (maker >= 0 && flow_.only_reader(storage) != nullptr && !build_.is_state(storage)) {
      const Node& node = graph_.nodes[static_cast<size_t>(maker)];
      if (node.op == Op::Elementwise && node.outputs[0] == tensor) return value_of(node, place);
    }
    if (x_.valid() && x_ != tensor) return std::nullopt;
    x_ = tensor;
    return place;
  }

  GraphData& graph_;
  const Build build_;
  const Dataflow flow_;
  Tensor x_;
  int left_ = 0;
};

}  // namespace

void recognize_activations(GraphData* graph) {
  ActivationRecognition(graph).run();
  remove_dead_nodes(graph);
}

}  // namespace heed::detail
