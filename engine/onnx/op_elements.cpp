// Elementwise operators.
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>
#include <utility>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

using Unary = Tensor (Graph::*)(Tensor);
using Binary = Tensor (Graph::*)(Tensor, Tensor);

// Whether all operands, and thus the result, have rank 0.
bool is_scalar(Call& call) {
  for (size_t i = 0; i < call.count(); ++i)
    if (call.has(i) && call.rank(i) > 0) return false;
  return true;
}

template <Binary call_of>
void two(Call& call, ElementType result) {
  if (fold(call, call.node.op, result)) return;
  (void)call.broadcast(call.dims(0), call.dims(1));
  const Tensor a = call.tensor(0), b = call.tensor(1);
  if (!call.failed()) call.give((call.g.*call_of)(a, b), result, is_scalar(call));
}
template <Binary call_of>
void arithmetic(Call& call) {
  two<call_of>(call, call.type(0));
}
template <Binary call_of>
void comparison(Call& call) {
  two<call_of>(call, ElementType::Bool);
}

template <Binary call_of>
void several(Call& call) {
  const ElementType type = call.type(0);
  if (fold(call, call.node.op, type)) return;
  Tensor sum = call.tensor(0);
  std::vector<Dim> dims = call.dims(0);
  for (size_t i = 1; i < call.count() && !call.failed(); ++i) {
    dims = call.broadcast(dims, call.dims(i));
    sum = (call.g.*call_of)(sum, call.tensor(i));
  }
  call.give(sum, type, is_scalar(call));
}

template <class F>
void one(Call& call, const F& f) {
  const ElementType type = call.type(0);
  if (fold(call, call.node.op, type)) return;
  const Tensor x = call.tensor(0);
  if (!call.failed()) call.give(f(call.g, x), type, is_scalar(call));
}
template <Unary call_of>
void function(Call& call) {
  one(call, [](Graph& g, Tensor x) { return (g.*call_of)(x); });
}
template <Activation kind>
void activation(Call& call) {
  one(call, [](Graph& g, Tensor x) { return g.activation(x, kind); });
}

void logical_not(Call& call) {
  if (fold(call, "Not", ElementType::Bool)) return;
  const Tensor x = call.tensor(0);
  if (!call.failed()) call.give(call.g.logical_not(x), ElementType::Bool, is_scalar(call));
}

void pow(Call& call) {
  const ElementType type = call.type(0);
  if (fold(call, "Pow", type)) return;
  Graph& g = call.g;
  const Tensor x = call.tensor(0);
  const Known* exponent = call.known(1);
  if (call.failed()) return;
  // Squares and cubes become products, which also work for negative numbers.
  if (exponent != nullptr && exponent->numbers.size() == 1 &&
      (exponent->numbers[0].is(2) || exponent->numbers[0].is(3))) {
    const Tensor square = g.mul(x, x);
    return call.give(exponent->numbers[0].is(2) ? square : g.mul(square, x), type, is_scalar(call));
  }
  (void)call.broadcast(call.dims(0), call.dims(1));
  const Tensor y = call.tensor(1);
  if (!call.failed()) call.give(g.pow(x, cast_to(call, y, call.type(1), type)), type, is_scalar(call));
}

void mod(Call& call) {
  if (call.integer("fmod", 0) == 0) return arithmetic<&Graph::mod>(call);
  Graph& g = call.g;
  (void)call.broadcast(call.dims(0), call.dims(1));
  const Tensor a = call.tensor(0), b = call.tensor(1);
  if (!call.failed()) call.give(g.mul(g.sign(a), g.mod(g.abs(a), g.abs(b))), call.type(0), is_scalar(call));
}

void gelu(Call& call) {
  const bool by_tanh = call.text("approximate", "none") == "tanh";
  one(call, [&](Graph& g, Tensor x) { return g.activation(x, by_tanh ? Activation::GeluTanh : Activation::GeluErf); });
}

void elu(Call& call) {
  const float alpha = call.number("alpha", 1.0f);
  one(call, [&](Graph& g, Tensor x) { return g.elu(x, alpha); });
}
void selu(Call& call) {
  const float alpha = call.number("alpha", 1.67326319217681884765625f),
              gamma = call.number("gamma", 1.05070102214813232421875f);
  one(call, [&](Graph& g, Tensor x) { return g.scale(g.elu(x, alpha), gamma); });
}
void leaky_relu(Call& call) {
  const float alpha = call.number("alpha", 0.01f);
  one(call, [&](Graph& g, Tensor x) { return g.leaky_relu(x, alpha); });
}
void hard_sigmoid(Call& call) {
  const float alpha = call.number("alpha", 0.2f), beta = call.number("beta", 0.5f);
  one(call, [&](Graph& g, Tensor x) { return g.clamp(g.add(g.scale(x, alpha), g.number(beta)), 0.0f, 1.0f); });
}
void swish(Call& call) {
  const float alpha = call.number("alpha", 1.0f);
  one(call, [&](Graph& g, Tensor x) {
    return alpha == 1.0f ? g.activation(x, Activation::Silu) : g.mul(x, g.sigmoid(g.scale(x, alpha)));
  });
}
void mish(Call& call) {
  one(call, [](Graph& g, Tensor x) { return g.mul(x, g.activation(g.softplus(x), Activation::Tanh)); });
}
void softsign(Call& call) {
  one(call, [](Graph& g, Tensor x) { return g.div(x, g.add(g.abs(x), g.number(1.0))); });
}
void prelu(Call& call) {
  (void)call.broadcast(call.dims(0), call.dims(1));
  const Tensor x = call.tensor(0), slope = call.tensor(1);
  if (!call.failed())
    call.give(call.g.where(call.g.lt(x, number_like(call.g, 0, x)), call.g.mul(x, slope), x), call.type(0));
}

void clip(Call& call) {
  Graph& g = call.g;
  const ElementType type = call.type(0);
  Tensor x = call.tensor(0);
  if (call.opset < 11) {
    const float low = call.number("min", std::numeric_limits<float>::lowest()),
                high = call.number("max", std::numeric_limits<float>::max());
    return call.give(g.clamp(x, low, high), type, is_scalar(call));
  }
  if (call.has(1)) x = g.maximum(x, call.tensor(1));
  if (call.has(2)) x = g.minimum(x, call.tensor(2));
  call.give(x, type, is_scalar(call));
}

void where(Call& call) {
  const ElementType type = call.type(1);
  if (call.are_known()) {
    std::vector<Dim> dims;
    for (size_t i = 0; i < 3; ++i) dims = call.broadcast(dims, call.dims(i));
    const Known* condition = call.known(0);
    if (call.failed()) return;
    Known made;
    if (!condition->has_sizes() && is_small(dims, &made.dims)) {
      const std::vector<Number> chosen = spread(*condition, made.dims), a = spread(*call.known(1), made.dims),
                                b = spread(*call.known(2), made.dims);
      for (size_t i = 0; i < chosen.size(); ++i) made.numbers.push_back(chosen[i].is(0) ? b[i] : a[i]);
      return call.give(type, std::move(made));
    }
  }
  (void)call.broadcast(call.broadcast(call.dims(0), call.dims(1)), call.dims(2));
  const Tensor condition = call.tensor(0), a = call.tensor(1), b = call.tensor(2);
  if (!call.failed()) call.give(call.g.where(condition, a, b), type, is_scalar(call));
}

void cast(Call& call, ElementType to) {
  const ElementType from = call.type(0);
  if (const Known* known = call.known(0); known != nullptr) {
    Known made{known->dims, {}};
    bool all = true;
    for (const Number& number : known->numbers) {
      const std::optional<Number> cast = converted(number, from, to);
      all = all && cast.has_value();
      made.numbers.push_back(cast.value_or(Number{}));
    }
    if (all) return call.give(to, std::move(made));
  }
  const Tensor x = call.tensor(0);
  if (!call.failed()) call.give(cast_to(call, x, from, to), to, call.in(0).is_scalar);
}
void cast_op(Call& call) { cast(call, static_cast<ElementType>(call.integer("to", 1))); }
void cast_like(Call& call) { cast(call, call.type(1)); }

void is_nan(Call& call) {
  const Tensor x = call.tensor(0);
  if (!call.failed()) call.give(call.g.ne(x, x), ElementType::Bool, is_scalar(call));
}
void is_inf(Call& call) {
  Graph& g = call.g;
  const Tensor x = call.tensor(0);
  const double infinity = std::numeric_limits<double>::infinity();
  const bool above = call.integer("detect_positive", 1) != 0, below = call.integer("detect_negative", 1) != 0;
  if (call.failed()) return;
  const Tensor is_above = g.eq(x, g.number(infinity)), is_below = g.eq(x, g.number(-infinity));
  call.give(above && below ? g.logical_or(is_above, is_below)
            : above        ? is_above
            : below        ? is_below
                           : g.ne(x, x),
            ElementType::Bool, is_scalar(call));
}

// The series x (1 + c[0] x^2 + c[1] x^4 + ...) near 0, and `otherwise` elsewhere, which loses precision near 0 by cancellation.
Tensor series_near_0(Graph& g, Tensor x, std::initializer_list<double> coefficients, Tensor otherwise) {
  const Tensor square = g.mul(x, x);
  Tensor sum = number_like(g, 0, x);
  for (const double* c = std::end(coefficients); c != std::begin(coefficients);)
    sum = g.mul(square, g.add(number_like(g, *--c, x), sum));
  return g.where(g.lt(g.abs(x), number_like(g, 0.125, x)), g.add(x, g.mul(x, sum)), otherwise);
}
// log(x + root). For large x the square inside the root would overflow, so root is replaced by x.
Tensor log_with_root(Graph& g, Tensor x, Tensor root) {
  return g.where(g.gt(x, number_like(g, 1e4, x)), g.add(g.log(x), number_like(g, std::numbers::ln2, x)),
                 g.log(g.add(x, root)));
}
void acosh(Call& call) {
  one(call, [](Graph& g, Tensor x) {
    const Tensor one = number_like(g, 1, x);
    return log_with_root(g, x, g.sqrt(g.mul(g.sub(x, one), g.add(x, one))));
  });
}
void asinh(Call& call) {
  one(call, [](Graph& g, Tensor x) {
    const Tensor size = g.abs(x), root = g.sqrt(g.add(g.mul(x, x), number_like(g, 1, x)));
    return series_near_0(g, x, {-1.0 / 6, 3.0 / 40, -15.0 / 336}, g.mul(g.sign(x), log_with_root(g, size, root)));
  });
}
void atanh(Call& call) {
  one(call, [](Graph& g, Tensor x) {
    const Tensor one = number_like(g, 1, x);
    return series_near_0(g, x, {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9},
                         g.scale(g.log(g.div(g.add(one, x), g.sub(one, x))), 0.5f));
  });
}
// exp(|x|) / 2 and exp(-|x|) / 2. The first is a product of two powers, so that it overflows only if the result does.
std::pair<Tensor, Tensor> half_exponentials(Graph& g, Tensor x) {
  const Tensor root = g.exp(g.scale(g.abs(x), 0.5f));
  return {g.mul(g.scale(root, 0.5f), root), g.scale(g.exp(g.neg(g.abs(x))), 0.5f)};
}
void cosh(Call& call) {
  one(call, [](Graph& g, Tensor x) {
    const auto [grows, shrinks] = half_exponentials(g, x);
    return g.add(grows, shrinks);
  });
}
void sinh(Call& call) {
  one(call, [](Graph& g, Tensor x) {
    const auto [grows, shrinks] = half_exponentials(g, x);
    return series_near_0(g, x, {1.0 / 6, 1.0 / 120}, g.mul(g.sign(x), g.sub(grows, shrinks)));
  });
}
void celu(Call& call) {
  const float alpha = call.number("alpha", 1.0f);
  one(call, [&](Graph& g, Tensor x) { return g.scale(g.elu(g.scale(x, 1.0f / alpha)), alpha); });
}
void shrink(Call& call) {
  const auto bias = static_cast<double>(call.number("bias", 0.0f)),
             most = static_cast<double>(call.number("lambd", 0.5f));
  one(call, [&](Graph& g, Tensor x) {
    const Tensor less = g.sub(x, number_like(g, bias, x)), more = g.add(x, number_like(g, bias, x));
    return g.where(g.lt(x, number_like(g, -most, x)), more,
                   g.where(g.gt(x, number_like(g, most, x)), less, number_like(g, 0, x)));
  });
}
void thresholded_relu(Call& call) {
  const auto alpha = static_cast<double>(call.number("alpha", 1.0f));
  one(call, [&](Graph& g, Tensor x) { return g.where(g.gt(x, number_like(g, alpha, x)), x, number_like(g, 0, x)); });
}
void swiglu(Call& call) {
  Graph& g = call.g;
  const float alpha = call.number("alpha", 1.0f);
  (void)call.broadcast(call.dims(0), call.dims(1));
  const Tensor x = call.tensor(0), y = call.tensor(1);
  if (!call.failed()) call.give(g.mul(g.mul(x, g.sigmoid(g.scale(x, alpha))), y), call.type(0), is_scalar(call));
}
void mean(Call& call) {
  several<&Graph::add>(call);
  if (call.failed() || call.out.empty()) return;
  const Tensor sum = call.importer().tensor_of(call.out[0], "the sum");
  if (call.failed()) return;
  call.out.clear();
  call.give(call.g.scale(sum, 1.0f / static_cast<float>(call.count())), call.type(0), is_scalar(call));
}

void tan(Call& call) {
  one(call, [](Graph& g, Tensor x) { return g.div(g.sin(x), g.cos(x)); });
}
void ceil(Call& call) {
  one(call, [](Graph& g, Tensor x) { return g.neg(g.floor(g.neg(x))); });
}

constexpr Operator kElementOperators[] = {
    {"Abs", function<&Graph::abs>},
    {"Acosh", acosh},
    {"Add", arithmetic<&Graph::add>},
    {"And", comparison<&Graph::logical_and>},
    {"Asinh", asinh},
    {"Atanh", atanh},
    {"Cast", cast_op},
    {"CastLike", cast_like},
    {"Ceil", ceil},
    {"Celu", celu},
    {"Clip", clip},
    {"Cos", function<&Graph::cos>},
    {"Cosh", cosh},
    {"Div", arithmetic<&Graph::div>},
    {"Elu", elu},
    {"Equal", comparison<&Graph::eq>},
    {"Erf", function<&Graph::erf>},
    {"Exp", function<&Graph::exp>},
    {"Floor", function<&Graph::floor>},
    {"Gelu", gelu},
    {"Greater", comparison<&Graph::gt>},
    {"GreaterOrEqual", comparison<&Graph::ge>},
    {"HardSigmoid", hard_sigmoid},
    {"HardSwish", function<&Graph::hard_swish>},
    {"IsInf", is_inf},
    {"IsNaN", is_nan},
    {"LeakyRelu", leaky_relu},
    {"Less", comparison<&Graph::lt>},
    {"LessOrEqual", comparison<&Graph::le>},
    {"Log", function<&Graph::log>},
    {"Max", several<&Graph::maximum>},
    {"Mean", mean},
    {"Min", several<&Graph::minimum>},
    {"Mish", mish},
    {"Mod", mod},
    {"Mul", arithmetic<&Graph::mul>},
    {"Neg", function<&Graph::neg>},
    {"Not", logical_not},
    {"Or", comparison<&Graph::logical_or>},
    {"PRelu", prelu},
    {"Pow", pow},
    {"Reciprocal", function<&Graph::reciprocal>},
    {"Relu", activation<Activation::Relu>},
    {"Round", function<&Graph::round>},
    {"Selu", selu},
    {"Shrink", shrink},
    {"Sigmoid", function<&Graph::sigmoid>},
    {"Sign", function<&Graph::sign>},
    {"Sin", function<&Graph::sin>},
    {"Sinh", sinh},
    {"Softplus", function<&Graph::softplus>},
    {"Softsign", softsign},
    {"Sqrt", function<&Graph::sqrt>},
    {"Sub", arithmetic<&Graph::sub>},
    {"Sum", several<&Graph::add>},
    {"SwiGLU", swiglu},
    {"Swish", swish},
    {"Tan", tan},
    {"Tanh", activation<Activation::Tanh>},
    {"ThresholdedRelu", thresholded_relu},
    {"Where", where},
    {"Xor", comparison<&Graph::ne>},
};

}  // namespace

std::span<const Operator> element_operators() { return kElementOperators; }

}  // namespace heed::onnx
