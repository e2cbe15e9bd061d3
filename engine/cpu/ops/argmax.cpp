#include <algorithm>
#include <numeric>

#include "cpu/ops/axis.hpp"

namespace heed::cpu {
namespace {

// Orders indices of a row by value: NaN come last.
template <class T>
struct Order {
  const T* row;
  const ArgmaxAttrs& attrs;

  bool operator()(int32_t a, int32_t b) const {
    const T x = row[a], y = row[b];
    const bool lost = x != x, other_lost = y != y;
    if (lost != other_lost) return other_lost;
    if (!lost && x != y) return attrs.smallest ? x < y : x > y;
    return attrs.last ? a > b : a < b;
  }
};

template <class T>
void find_first(const T* row, int64_t n, const ArgmaxAttrs& attrs, int32_t* order, int32_t* out, int64_t stride) {
  const Order<T> before{row, attrs};
  if (attrs.count == 1) {
    int32_t best = 0;
    for (int32_t i = 1; i < n; ++i)
      if (before(i, best)) best = i;
    *out = best;
    return;
  }
  std::iota(order, order + n, 0);
  std::partial_sort(order, order + attrs.count, order + n, before);
  for (int64_t i = 0; i < attrs.count; ++i) out[i * stride] = order[i];
}

}  // namespace

// Memory for a row of values, and their indices.
ScratchNeed argmax_scratch(const ScratchQuery& query) {
  const auto& attrs = query.node.as<ArgmaxAttrs>();
  const int64_t n = query.view(query.node.inputs[in::kX]).dim[attrs.axis];
  return {.shared = 0, .per_worker = 2 * static_cast<uint64_t>(row_pitch(n)) * sizeof(float)};
}

void run_argmax(const Pass& pass) {
  const Operand x = pass.input(in::kX), out = pass.output();
  const auto& attrs = pass.node.as<ArgmaxAttrs>();
  const AxisView from(x.view, attrs.axis, x.view.rank), to(out.view, attrs.axis, x.view.rank);
  const CanonKernels* const canon = pass.kernels.rows->canon;
  const int64_t n = from.size;
  pass.parallel(from.count(), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    auto* const values = pass.scratch<float>(worker);
    auto* const order = reinterpret_cast<int32_t*>(values + row_pitch(n));
    for (int64_t r = begin; r < end; ++r) {
      int32_t* const result = out.at<int32_t>(to.offset(r));
      if (x.view.dtype == DType::I32) {
        auto* const whole = reinterpret_cast<int32_t*>(values);
        for (int64_t i = 0; i < n; ++i) whole[i] = *x.at<const int32_t>(from.offset(r) + i * from.stride);
        find_first(whole, n, attrs, order, result, to.stride);
        continue;
      }
      const float* row = load(x, from.offset(r), from.stride, n, values);
      if (canon != nullptr) {
        canon->flush(row, values, n);
        row = values;
      }
      find_first(row, n, attrs, order, result, to.stride);
    }
  });
}

}  // namespace heed::cpu
