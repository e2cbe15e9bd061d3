#include <bit>
#include <cmath>
#include <numbers>
#include <optional>

#include "train/rules.hpp"

namespace heed::train {
namespace {

using Kind = ElementwiseAttrs::Operand;

// The gradients of a function's operands a, b and c. An invalid one is zeros. The function's result is y, with gradient g.
struct Passed {
  Tensor a, b, c;
};

// 2 / sqrt(pi)
constexpr double kErfSlope = 2.0 * std::numbers::inv_sqrtpi;

// An operand of a function: a tensor, and its value if it is a number.
struct Of {
  Tensor tensor;
  std::optional<double> value;
  bool wanted = false;
};

Passed pass_back_power(Graph& G, const Of& a, const Of& b, Tensor y, Tensor g) {
  Passed passed;
  if (a.wanted && b.value) {
    if (*b.value != 0.0) passed.a = G.mul(G.mul(g, G.number(*b.value)), G.pow(a.tensor, G.number(*b.value - 1.0)));
  } else if (a.wanted) {
    const Tensor slope = G.mul(b.tensor, G.pow(a.tensor, G.sub(b.tensor, G.number(1))));
    passed.a = G.mul(g, G.where(G.eq(b.tensor, G.number(0)), G.number(0), slope));
  }
  if (b.wanted && a.value) {
    if (*a.value != 0.0) passed.b = G.mul(G.mul(g, y), G.number(std::log(*a.value)));
  } else if (b.wanted) {
    const Tensor slope = G.mul(y, G.log(a.tensor));
    passed.b = G.mul(g, G.where(G.eq(a.tensor, G.number(0)), G.number(0), slope));
  }
  return passed;
}

// Computes the gradients of a function's operands, only as far as they are needed.
Passed pass_back(Backflow& flow, Function function, const Of& of_a, const Of& of_b, bool c_wanted, Tensor y, Tensor g) {
  Graph& G = flow.graph();
  const Tensor a = of_a.tensor, b = of_b.tensor;
  const auto each = [&](const auto& for_a, const auto& for_b) {
    return Passed{of_a.wanted ? for_a() : Tensor{}, of_b.wanted ? for_b() : Tensor{}, {}};
  };
  const auto whole = [&] { return g; };
  const auto number = [&](double value) { return G.number(value); };
  const auto where = [&](Tensor mask) { return G.where(mask, g, number(0)); };
  const Activation kind = activation_of(function);
  if (kind != Activation::None) return {detail::activation_backward(flow.data(), g, a, kind), {}, {}};
  switch (function) {
    case Function::Copy: return {g, {}, {}};
    case Function::Add: return {g, g, {}};
    case Function::Sub: return each(whole, [&] { return G.neg(g); });
    case Function::Mul: return each([&] { return G.mul(g, b); }, [&] { return G.mul(g, a); });
    case Function::Div: return each([&] { return G.div(g, b); }, [&] { return G.neg(G.div(G.mul(g, y), b)); });
    case Function::Mod: return each(whole, [&] { return G.neg(G.mul(g, G.floor(G.div(a, b)))); });
    // If both are equal, the first operand gets the whole gradient.
    case Function::Min: return each([&] { return where(G.le(a, b)); }, [&] { return where(G.gt(a, b)); });
    case Function::Max: return each([&] { return where(G.ge(a, b)); }, [&] { return where(G.lt(a, b)); });
    case Function::Pow: return pass_back_power(G, of_a, of_b, y, g);
    case Function::Neg: return {G.neg(g), {}, {}};
    case Function::Abs: return {G.mul(g, G.sign(a)), {}, {}};
    case Function::Reciprocal: return {G.neg(G.mul(g, G.mul(y, y))), {}, {}};
    case Function::Sqrt: return {G.div(G.mul(g, number(0.5)), y), {}, {}};
    case Function::Rsqrt: return {G.mul(G.mul(g, number(-0.5)), G.mul(y, G.mul(y, y))), {}, {}};
    case Function::Exp: return {G.mul(g, y), {}, {}};
    case Function::Log: return {G.div(g, a), {}, {}};
    case Function::Sin: return {G.mul(g, G.cos(a)), {}, {}};
    case Function::Cos: return {G.neg(G.mul(g, G.sin(a))), {}, {}};
    case Function::Erf: return {G.mul(g, G.mul(G.exp(G.neg(G.mul(a, a))), number(kErfSlope))), {}, {}};
    case Function::Sigmoid: return {G.mul(g, G.mul(y, G.sub(number(1), y))), {}, {}};
    case Function::Softplus: return {G.mul(g, G.sigmoid(a)), {}, {}};
    case Function::Elu: return {G.where(G.gt(a, number(0)), g, G.mul(g, G.add(y, b))), {}, {}};
    case Function::Where:
      return {{}, of_b.wanted ? where(a) : Tensor{}, c_wanted ? G.where(a, number(0), g) : Tensor{}};
    default: return {};  // piecewise constant, or integers
  }
}

// An elementwise program as the equivalent graph calls.
class Steps {
 public:
  Steps(Backflow& flow, const Node& node) : flow_(flow), node_(node), attrs_(node.as<ElementwiseAttrs>()) {
    for (size_t i = 0; i < attrs_.count; ++i)
      values_[i] = i + 1 < attrs_.count ? computed(attrs_.steps[i]) : node.outputs[0];
  }

  void pass_back_from(Tensor upstream) {
    std::array<Tensor, ElementwiseAttrs::kSteps> flows{};
    flows[attrs_.count - 1u] = upstream;
    for (size_t i = attrs_.count; i-- > 0;) {
      const ElementwiseAttrs::Step& step = attrs_.steps[i];
      if (!flows[i].valid() || !is_wanted(step) || step.domain != Domain::Float) continue;
      const auto& of = step.operands;
      const int count = info_of(step.function).operands;
      const Passed passed = pass_back(flow_, step.function, seen(of[0], step), count > 1 ? seen(of[1], step) : Of{},
                                      count > 2 && is_wanted(of[2]), values_[i], flows[i]);
      for (int k = 0; k < count; ++k) {
        const Tensor g = k == 0 ? passed.a : k == 1 ? passed.b : passed.c;
        const ElementwiseAttrs::Operand operand = of[static_cast<size_t>(k)];
        if (!g.valid() || !is_wanted(operand)) continue;
        if (operand.is(Kind::Input)) flow_.add(node_.inputs[operand.index()], g);
        if (!operand.is(Kind::Step)) continue;
        Tensor& sum = flows[operand.index()];
        sum = sum.valid() ? flow_.graph().add(sum, g) : g;
      }
    }
  }

 private:
  bool is_wanted(ElementwiseAttrs::Operand x) const {
    if (x.is(Kind::Input)) return flow_.wants(node_.inputs[x.index()]);
    return x.is(Kind::Step) && is_wanted(attrs_.steps[x.index()]);
  }
  bool is_wanted(const ElementwiseAttrs::Step& step) const {
    bool wanted = false;
    for (int k = 0; k < info_of(step.function).operands; ++k)
      wanted = wanted || is_wanted(step.operands[static_cast<size_t>(k)]);
    return wanted;
  }

  Of seen(ElementwiseAttrs::Operand x, const ElementwiseAttrs::Step& step) {
    Of of{value(x, step), {}, is_wanted(x)};
    if (x.is(Kind::Scalar)) of.value = std::bit_cast<float>(attrs_.scalars[x.index()]);
    return of;
  }
  Tensor value(ElementwiseAttrs::Operand x, const ElementwiseAttrs::Step& step) {
    if (x.is(Kind::Input)) return node_.inputs[x.index()];
    if (x.is(Kind::Step)) return values_[x.index()];
    const uint32_t bits = attrs_.scalars[x.index()];
    if (step.domain == Domain::Float) return flow_.graph().number(std::bit_cast<float>(bits));
    return flow_.graph().number(static_cast<int32_t>(bits), step.domain == Domain::Whole ? DType::I32 : DType::U8);
  }

  Tensor computed(const ElementwiseAttrs::Step& step) {
    std::array<Tensor, 3> operands{};
    const auto count = static_cast<size_t>(info_of(step.function).operands);
    for (size_t k = 0; k < count; ++k) operands[k] = value(step.operands[k], step);
    return detail::apply(flow_.data(), step.function, std::span(operands).first(count));
  }

  Backflow& flow_;
  const Node node_;
  const ElementwiseAttrs attrs_;
  std::array<Tensor, ElementwiseAttrs::kSteps> values_{};
};

}  // namespace

void elementwise_rule(Backflow& flow, const Node& node) {
  const auto& attrs = node.as<ElementwiseAttrs>();
  for (size_t i = 0; i < attrs.count; ++i)
    if (backward_activation_of(attrs.steps[i].function) != Activation::None)
      return flow.refuse(node, "of an activation's gradient has none itself");
  if (domain_of(flow.info(node.outputs[0]).dtype) != Domain::Float) return;
  const Tensor upstream = flow.upstream(node.outputs[0]);
  if (upstream.valid()) Steps(flow, node).pass_back_from(upstream);
}

// The same random bits are drawn again for the same elements.
void dropout_rule(Backflow& flow, const Node& node) {
  Build build(flow.data(), "dropout");
  const Tensor upstream = flow.upstream(node.outputs[0]);
  if (!build.needs({upstream})) return;
  const Tensor result = build.add_like(flow.info(upstream), flow.info(upstream).dtype);
  build.add_node(Op::Dropout, {upstream}, result, node.as<DropoutAttrs>());
  flow.add(node.inputs[in::kX], result);
}

}  // namespace heed::train
