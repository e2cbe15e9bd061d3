#include "graph/rewrite/formula.hpp"

#include <cmath>

namespace heed::detail {

std::optional<double> function_at(Function function, double a, double b) {
  switch (function) {
    case Function::Copy: return a;
    case Function::Add: return a + b;
    case Function::Sub: return a - b;
    case Function::Mul: return a * b;
    case Function::Div: return a / b;
    case Function::Pow: return std::pow(a, b);
    case Function::Neg: return -a;
    case Function::Reciprocal: return 1.0 / a;
    case Function::Sqrt: return std::sqrt(a);
    case Function::Rsqrt: return 1.0 / std::sqrt(a);
    case Function::Exp: return std::exp(a);
    case Function::Erf: return std::erf(a);
    case Function::Sigmoid: return 1.0 / (1.0 + std::exp(-a));
    case Function::Tanh: return std::tanh(a);
    default: return std::nullopt;
  }
}

const Node* maker_of(const GraphData& graph, Build& build, const Dataflow& flow, Tensor tensor) {
  const TensorInfo& info = build.info(tensor);
  const int64_t maker = flow.producer[info.storage];
  if (maker < 0 || build.is_state(info.storage)) return nullptr;
  const Node& node = graph.nodes[static_cast<size_t>(maker)];
  const TensorInfo& whole = build.info(node.outputs[0]);
  const bool makes_all = node.outputs[0].id == info.storage && build.is_contiguous(whole);
  const bool sees_all = build.is_contiguous(info) && graph.sizes.is_constant(info.offset, 0) &&
                        build.elements(info) == build.elements(whole);
  return makes_all && (node.outputs[0] == tensor || sees_all) ? &node : nullptr;
}

}  // namespace heed::detail
