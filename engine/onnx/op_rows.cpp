// Norms and softmax.
#include <algorithm>
#include <array>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

// Calls f on rows along the axis; up to opset 12, on all axes from it on merged into one.
template <class F>
void rows(Call& call, const F& f) {
  Graph& g = call.g;
  const std::vector<Dim> dims = call.dims(0);
  const int rank = static_cast<int>(dims.size()),
            axis = call.axis(call.integer("axis", call.opset < 13 ? 1 : -1), std::max(rank, 1));
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  Tensor y;
  if (call.opset < 13 && axis < rank - 1) {
    Dim width = 1;
    for (int i = axis; i < rank; ++i) width = g.dim_product(width, dims[static_cast<size_t>(i)]);
    y = reshaped(call, f(g.reshape(x, {-1, width})), dims);
  } else {
    constexpr int kMost = 4;  // highest rank for Graph::softmax
    y = along(call, x, std::min(axis, rank - 1), [&](Tensor turned) {
      const Shape shape = g.shape(turned);
      if (shape.rank <= kMost) return f(turned);
      return g.reshape(f(g.reshape(turned, {-1, shape[shape.rank - 1]})), shape);
    });
  }
  call.give(y, call.type(0), rank == 0);
}

void softmax(Call& call) {
  rows(call, [&](Tensor x) { return call.g.softmax(x); });
}
void log_softmax(Call& call) {
  rows(call, [&](Tensor x) { return call.g.log_softmax(x); });
}
void hardmax(Call& call) {
  Graph& g = call.g;
  rows(call, [&](Tensor x) {
    const Shape shape = g.shape(x);
    return g.cast(g.eq(g.argmax(x, -1, true), call.importer().iota(shape[shape.rank - 1])), g.dtype(x));
  });
}

struct Moments {
  Tensor mean, centred, inverse;  // inverse: 1 / sqrt(variance + eps)
};
Moments moments_of(Graph& g, Tensor x, std::span<const int> axes, double eps) {
  const Tensor mean = g.reduce(x, Reduction::Mean, axes, true), centred = g.sub(x, mean);
  const Tensor variance = g.reduce(g.mul(centred, centred), Reduction::Mean, axes, true);
  return {mean, centred, g.rsqrt(g.add(variance, g.number(eps)))};
}

// The same on the axes from `axis` on, merged, with factors merged likewise.
template <class F>
void norm(Call& call, float eps, const F& f) {
  Graph& g = call.g;
  const std::vector<Dim> dims = call.dims(0);
  const int rank = static_cast<int>(dims.size()), axis = call.axis(call.integer("axis", -1), rank);
  const Tensor x = call.tensor(0), gamma = call.has(1) ? call.tensor(1) : Tensor{},
               beta = call.has(2) ? call.tensor(2) : Tensor{};
  if (call.failed()) return;
  std::vector<Dim> flat(dims.begin(), dims.begin() + axis);
  Dim width = 1;
  for (int i = axis; i < rank; ++i) width = g.dim_product(width, dims[static_cast<size_t>(i)]);
  flat.push_back(width);
  const auto factor = [&](Tensor t) {
    if (!t.valid()) return t;
    const Shape shape = g.shape(t);
    if (shape.rank == 1 && shape[0] == width) return t;
    return g.reshape(g.expand(t, shape_of(std::span(dims).subspan(static_cast<size_t>(axis)))), {width});
  };
  const Tensor whole = reshaped(call, x, flat), y = f(whole, factor(gamma), factor(beta), eps);
  if (call.failed()) return;
  call.give(reshaped(call, y, dims), call.type(0));
  if (call.node.outputs.size() == 1) return;
  const Moments moments = moments_of(g, whole, std::array{-1}, static_cast<double>(eps));
  std::vector<Dim> ones(dims.begin(), dims.begin() + axis);
  ones.resize(dims.size(), Dim(1));
  for (const Tensor t : {moments.mean, moments.inverse}) call.give(reshaped(call, t, ones), call.type(0));
}

void layernorm(Call& call) {
  norm(call, call.number("epsilon", 1e-5f),
       [&](Tensor x, Tensor gamma, Tensor beta, float eps) { return call.g.layernorm(x, gamma, beta, eps); });
}
void rmsnorm(Call& call) {
  norm(call, call.number("epsilon", 1e-5f),
       [&](Tensor x, Tensor gamma, Tensor, float eps) { return call.g.rmsnorm(x, gamma, eps); });
}

// A factor for each channel, [C], in the shape that broadcasts to x [N, C, ...].
Tensor of_channels(Call& call, size_t i) {
  const Tensor factor = call.tensor(i);
  if (call.failed()) return {};
  Shape shape = {-1};
  for (int k = 2; k < call.rank(0); ++k) shape.push_back(1);
  return shape.rank == 1 ? factor : call.g.reshape(factor, shape);
}

// (x - mean) / sqrt(variance + eps) over the last axis, without factors.
Tensor standardized(Call& call, Tensor rows, float eps) { return call.g.layernorm(rows, {}, {}, eps); }

void instancenorm(Call& call) {
  Graph& g = call.g;
  const std::vector<Dim> dims = call.dims(0);
  const Tensor x = call.tensor(0);
  if (call.failed() || dims.size() < 3) return call.fail("[N, C, ...] is needed");
  const Tensor y =
      reshaped(call, standardized(call, g.reshape(x, {dims[0], dims[1], -1}), call.number("epsilon", 1e-5f)), dims);
  const Tensor factor = of_channels(call, 1), offset = of_channels(call, 2);
  if (!call.failed()) call.give(g.add(g.mul(y, factor), offset), call.type(0));
}

void groupnorm(Call& call) {
  Graph& g = call.g;
  const std::vector<Dim> dims = call.dims(0);
  const Tensor x = call.tensor(0);
  if (call.failed() || dims.size() < 3) return call.fail("[N, C, ...] is needed");
  const Tensor y = reshaped(
      call,
      standardized(call, g.reshape(x, {dims[0], call.integer("num_groups", 1), -1}), call.number("epsilon", 1e-5f)),
      dims);
  const Tensor factor = of_channels(call, 1), offset = of_channels(call, 2);
  if (!call.failed()) call.give(g.add(g.mul(y, factor), offset), call.type(0));
}

void mean_variance_norm(Call& call) {
  Graph& g = call.g;
  std::vector<int> axes;
  for (const int64_t axis : call.integers("axes", {0, 2, 3})) axes.push_back(call.axis(axis, call.rank(0)));
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  const Moments moments = moments_of(g, x, axes, 1e-9);
  call.give(g.mul(moments.centred, moments.inverse), call.type(0));
}

void batchnorm(Call& call) {
  Graph& g = call.g;
  if (call.integer("training_mode", 0) != 0) return call.fail("the training mode");
  const Tensor x = call.tensor(0), gamma = of_channels(call, 1), beta = of_channels(call, 2),
               mean = of_channels(call, 3), variance = of_channels(call, 4);
  if (call.failed()) return;
  const Tensor inverse = g.rsqrt(g.add(variance, g.number(static_cast<double>(call.number("epsilon", 1e-5f)))));
  call.give(g.add(g.mul(g.mul(g.sub(x, mean), inverse), gamma), beta), call.type(0));
}

void lpnorm(Call& call) {
  Graph& g = call.g;
  const int axis = call.axis(call.integer("axis", -1), call.rank(0));
  const bool sums = call.integer("p", 2) == 1;
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  const Tensor length =
      sums ? g.reduce(g.abs(x), Reduction::Sum, {axis}, true) : g.reduce(x, Reduction::L2, {axis}, true);
  const Tensor zero = g.number(0.0), is_zero = g.eq(length, zero);
  call.give(g.where(is_zero, zero, g.div(x, g.where(is_zero, g.number(1.0), length))), call.type(0));
}

constexpr Operator kRowOperators[] = {
    {"BatchNormalization", batchnorm},
    {"GroupNormalization", groupnorm},
    {"Hardmax", hardmax},
    {"InstanceNormalization", instancenorm},
    {"LayerNormalization", layernorm},
    {"LogSoftmax", log_softmax},
    {"LpNormalization", lpnorm},
    {"MeanVarianceNormalization", mean_variance_norm},
    {"RMSNormalization", rmsnorm},
    {"Softmax", softmax},
};

}  // namespace

std::span<const Operator> row_operators() { return kRowOperators; }

}  // namespace heed::onnx
