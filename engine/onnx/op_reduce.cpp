// Reductions, cumulative sums, argmax and argmin.
#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

template <class F>
void reduced(Call& call, const F& f) {
  const int rank = call.rank(0);
  std::vector<int64_t> given;
  if (!call.axes(1, &given)) return;
  const bool keeps = call.integer("keepdims", 1) != 0;
  std::vector<int> axes;
  for (const int64_t axis : given) axes.push_back(call.axis(axis, rank));
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  if (axes.empty() && call.integer("noop_with_empty_axes", 0) != 0) return call.give(call.in(0));
  const bool all = axes.empty() || static_cast<int>(axes.size()) == rank;
  call.give(rank == 0 ? f(x, {}, true) : f(x, axes, keeps), call.type(0), all && !keeps);
}

using Axes = const std::vector<int>&;

template <Reduction kind>
void reduce(Call& call) {
  reduced(call, [&](Tensor x, Axes axes, bool keeps) { return call.g.reduce(x, kind, axes, keeps); });
}
void reduce_l1(Call& call) {
  reduced(call,
          [&](Tensor x, Axes axes, bool keeps) { return call.g.reduce(call.g.abs(x), Reduction::Sum, axes, keeps); });
}
void reduce_squares(Call& call) {
  reduced(call, [&](Tensor x, Axes axes, bool keeps) {
    return call.g.reduce(call.g.mul(x, x), Reduction::Sum, axes, keeps);
  });
}
void reduce_log_sum(Call& call) {
  reduced(call,
          [&](Tensor x, Axes axes, bool keeps) { return call.g.log(call.g.reduce(x, Reduction::Sum, axes, keeps)); });
}

template <Tensor (Graph::*index_of)(Tensor, int, bool, bool)>
void index(Call& call) {
  const int axis = call.axis(call.integer("axis", 0), call.rank(0));
  const bool keeps = call.integer("keepdims", 1) != 0, last = call.integer("select_last_index", 0) != 0;
  const Tensor x = call.tensor(0);
  if (!call.failed())
    call.give((call.g.*index_of)(x, axis, keeps, last), ElementType::I64, !keeps && call.rank(0) == 1);
}

void cumsum(Call& call) {
  std::vector<int64_t> axis;
  if (!call.integers(1, &axis) || axis.size() != 1) return call.fail("one axis is needed");
  const int counted = call.axis(axis[0], call.rank(0));
  const bool exclusive = call.integer("exclusive", 0) != 0, reverse = call.integer("reverse", 0) != 0;
  const ElementType type = call.type(0);
  Tensor x = call.tensor(0);
  if (call.failed()) return;
  // Integers are summed as floats, which is exact while sums are below 2^24, as those of masks are.
  const bool whole = is_whole(type);
  if (whole) x = call.g.cast(x, DType::F32);
  x = call.g.cumsum(x, counted, exclusive, reverse);
  call.give(whole ? call.g.cast(x, DType::I32) : x, type);
}

void top_k(Call& call) {
  std::vector<int64_t> k;
  if (call.opset < 10)
    k.push_back(call.integer("k", 1));
  else if (!call.integers(1, &k) || k.size() != 1)
    return call.fail("k is no number");
  const int axis = call.axis(call.integer("axis", -1), call.rank(0));
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  const TopKResult made = call.g.top_k(x, k[0], axis, call.integer("largest", 1) == 0);
  call.give(made.values, call.type(0));
  call.give(made.indices, ElementType::I64);
}

constexpr Operator kReduceOperators[] = {
    {"ArgMax", index<&Graph::argmax>},
    {"ArgMin", index<&Graph::argmin>},
    {"CumSum", cumsum},
    {"ReduceL1", reduce_l1},
    {"ReduceL2", reduce<Reduction::L2>},
    {"ReduceLogSum", reduce_log_sum},
    {"ReduceLogSumExp", reduce<Reduction::LogSumExp>},
    {"ReduceMax", reduce<Reduction::Max>},
    {"ReduceMean", reduce<Reduction::Mean>},
    {"ReduceMin", reduce<Reduction::Min>},
    {"ReduceProd", reduce<Reduction::Product>},
    {"ReduceSum", reduce<Reduction::Sum>},
    {"ReduceSumSquare", reduce_squares},
    {"TopK", top_k},
};

}  // namespace

std::span<const Operator> reduce_operators() { return kReduceOperators; }

}  // namespace heed::onnx
