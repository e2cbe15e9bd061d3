// Reductions over axes, running sums, and sorting.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/reference.hpp"

namespace heed::ops {
namespace {

struct Reduced {
  double value, bound;
};

// Operands may be added or multiplied in any order.
Reduced reduce_row(Reduction kind, const double* x, const double* errors, int64_t n) {
  const auto terms = static_cast<double>(n) + 8.0;
  double sum = 0.0, size = 0.0, error = 0.0, squares = 0.0, error2 = 0.0, product = 1.0, most = 1.0, magnitude = 1.0;
  double best = x[0];
  for (int64_t i = 0; i < n; ++i) {
    const bool is_min = kind == Reduction::Min;
    if (!std::isnan(best) && (std::isnan(x[i]) || (is_min ? x[i] < best : x[i] > best))) best = x[i];
    sum += x[i];
    size += std::abs(x[i]);
    error += errors[i];
    squares += x[i] * x[i];
    error2 += errors[i] * errors[i];
    product *= x[i];
    magnitude *= std::abs(x[i]);
    most *= std::abs(x[i]) + errors[i];
  }
  const double by_sums = error + terms * kUnit * (size + error), length = std::sqrt(squares);
  switch (kind) {
    case Reduction::Sum: return {sum, by_sums};
    case Reduction::Mean: return {sum / static_cast<double>(n), by_sums / static_cast<double>(n)};
    case Reduction::Product: return {product, most - magnitude + terms * kUnit * most};
    case Reduction::L2: return {length, std::sqrt(error2) + terms * kUnit * length};
    default: return {best, *std::max_element(errors, errors + n)};
  }
}

// x with its axes permuted: first those that stay, then the others.
std::vector<int> order_of(const Array& x, const std::vector<int>& axes) {
  std::vector<int> order;
  for (const bool reduced : {false, true})
    for (int i = 0; i < static_cast<int>(x.shape.size()); ++i)
      if ((std::count(axes.begin(), axes.end(), i) != 0) == reduced) order.push_back(i);
  return order;
}

std::vector<int> inverse_of(const std::vector<int>& order) {
  std::vector<int> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) inverse[static_cast<size_t>(order[i])] = static_cast<int>(i);
  return inverse;
}

}  // namespace

Array reduce(const Array& x, Reduction kind, std::vector<int> axes, bool keep) {
  if (axes.empty()) {
    axes.resize(x.shape.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  int64_t n = 1;
  Sizes shape;
  for (int i = 0; i < static_cast<int>(x.shape.size()); ++i) {
    const bool reduced = std::count(axes.begin(), axes.end(), i) != 0;
    if (reduced) n *= x.shape[static_cast<size_t>(i)];
    if (!reduced || keep) shape.push_back(reduced ? 1 : x.shape[static_cast<size_t>(i)]);
  }
  if (shape.empty()) shape = {1};
  const Array rows = reshape(permute(x, order_of(x, axes)), {x.size() / n, n});
  if (kind == Reduction::LogSumExp) return reshape(log_sum_exp(rows), shape);
  Array y(shape);
  for (int64_t row = 0; row < y.size(); ++row) {
    const Reduced made =
        reduce_row(kind, &rows.value[static_cast<size_t>(row * n)], &rows.bound[static_cast<size_t>(row * n)], n);
    y.at(row) = made.value;
    y.err(row) = made.bound;
  }
  return y;
}

Array cumsum(const Array& x, int axis, bool exclusive, bool reverse) {
  const std::vector<int> order = order_of(x, {axis});
  Array rows = permute(x, order);
  const int64_t n = rows.dim(0);
  for (int64_t row = 0; row < rows.size() / n; ++row) {
    double sum = 0.0, size = 0.0, error = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = row * n + (reverse ? n - 1 - i : i);
      const double value = rows.at(at), before = sum;
      sum += value;
      error += rows.err(at);
      size += std::abs(value);
      rows.at(at) = exclusive ? before : sum;
      rows.err(at) = error + (static_cast<double>(i) + 8.0) * kUnit * (size + error);
    }
  }
  return permute(rows, inverse_of(order));
}

Array first_indices(const Array& x, int axis, int64_t count, bool smallest, bool last) {
  const std::vector<int> order = order_of(x, {axis});
  const Array rows = permute(x, order);
  const int64_t n = rows.dim(0);
  Sizes shape = rows.shape;
  shape.back() = count;
  Array y(shape);
  for (int64_t row = 0; row < rows.size() / n; ++row) {
    std::vector<int64_t> all(static_cast<size_t>(n));
    std::iota(all.begin(), all.end(), 0);
    if (last) std::reverse(all.begin(), all.end());
    std::stable_sort(all.begin(), all.end(), [&](int64_t a, int64_t b) {
      const double u = rows.at(row * n + a), v = rows.at(row * n + b);
      if (std::isnan(u) || std::isnan(v)) return !std::isnan(u) && std::isnan(v);
      return smallest ? u < v : u > v;
    });
    for (int64_t i = 0; i < count; ++i) y.at(row * count + i) = static_cast<double>(all[static_cast<size_t>(i)]);
  }
  return permute(y, inverse_of(order));
}

Array take_along(const Array& x, int axis, const Array& indices) {
  const std::vector<int> order = order_of(x, {axis});
  const Array rows = permute(x, order);
  Array places = permute(indices, order);
  const int64_t n = rows.dim(0), count = places.dim(0);
  for (int64_t i = 0; i < places.size(); ++i) {
    const int64_t from = i / count * n + static_cast<int64_t>(places.at(i));
    places.at(i) = rows.at(from);
    places.err(i) = rows.err(from);
  }
  return permute(places, inverse_of(order));
}

}  // namespace heed::ops
