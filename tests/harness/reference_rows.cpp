// Softmax, log-sum-exp, cross entropy and norms, which work on whole rows.
#include <algorithm>
#include <cmath>

#include "harness/reference.hpp"

namespace heed::ops {
namespace {

// One row of softmax from its logits; -infinity: masked. With d = x - max and E a bound of the error of d, the relative error of e^d is at
// most e^E - 1 plus that of the device's exp (3 + 2|d| ulp). The quotient doubles the error.
void softmax_row(const std::vector<double>& logits, const std::vector<double>& errors, Array* y, int64_t first) {
  double max = -kInfinity, max_error = 0.0, total = 0.0;
  const size_t n = logits.size();
  for (size_t k = 0; k < n; ++k) max = std::max(max, logits[k]);
  for (size_t k = 0; k < n; ++k)
    if (logits[k] > max - 20.0) max_error = std::max(max_error, errors[k]);  // the other weights are nearly 0
  for (size_t k = 0; k < n; ++k)
    if (logits[k] != -kInfinity) total += std::exp(logits[k] - max);
  for (size_t k = 0; k < n; ++k) {
    if (logits[k] == -kInfinity) continue;  // zero, exactly
    const double d = max - logits[k], p = std::exp(-d) / total;
    const double relative =
        std::expm1(2.0 * (errors[k] + max_error)) + kUnit * (static_cast<double>(n) / 16.0 + 48.0 + 8.0 * d);
    y->at(first + static_cast<int64_t>(k)) = p;
    y->err(first + static_cast<int64_t>(k)) = std::min(1.0, p * relative) + 0x1p-120;
  }
}

// Calls f(row, logits, errors) for each row; -infinity: masked.
template <class F>
void for_logits(const Array& x, const SoftmaxReference& options, const F& f) {
  const int64_t keys = x.dim(0), queries = x.shape.size() > 1 ? x.dim(1) : 1;
  const int64_t rows = x.size() / keys, rows_per_batch = x.shape.size() > 1 ? rows / x.shape[0] : 1;
  const Array bias = options.bias != nullptr ? broadcast(*options.bias, x.shape) : Array();
  const Array mask = options.mask != nullptr ? broadcast(*options.mask, x.shape) : Array();
  std::vector<double> logits(static_cast<size_t>(keys)), errors(logits.size());
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t batch = row / rows_per_batch;
    const auto length = options.lengths != nullptr ? static_cast<int64_t>(options.lengths->at(batch)) : keys;
    const int64_t end = std::clamp<int64_t>(length, 0, keys);
    int64_t place = row % queries + (options.causal != Causal::TopLeft ? end - queries : 0);
    if (options.positions != nullptr) place = row % queries + static_cast<int64_t>(options.positions->at(batch));
    for (int64_t k = 0; k < keys; ++k) {
      const int64_t i = row * keys + k;
      double logit = options.scale * x.at(i), error = std::abs(options.scale) * x.err(i) + kUnit * std::abs(logit);
      if (options.bias != nullptr) {
        logit += bias.at(i);
        error += bias.err(i);
        if (std::isfinite(logit)) error += kUnit * std::abs(logit);
      }
      bool hidden =
          options.causal != Causal::None ? k > place : options.window_ahead > 0 && k >= place + options.window_ahead;
      hidden |= options.window > 0 && k + options.window <= place;
      if (options.mask != nullptr) hidden |= (mask.at(i) != 0.0) != options.mask_keeps;
      if (options.key_padding != nullptr) {
        const bool set = options.key_padding->at(batch * keys + k) != 0.0;
        hidden |= set != options.key_padding_keeps;
      }
      if (hidden) logit = options.masked_fill.value_or(-kInfinity);
      if (k >= end) logit = -kInfinity;  // no visible key
      logits[static_cast<size_t>(k)] = logit;
      errors[static_cast<size_t>(k)] = hidden || logit == -kInfinity ? 0.0 : error;
    }
    f(row, logits, errors);
  }
}

}  // namespace

Array softmax(const Array& x, const SoftmaxReference& options) {
  Array y(x.shape);
  for_logits(x, options, [&](int64_t row, const auto& logits, const auto& errors) {
    softmax_row(logits, errors, &y, row * x.dim(0));
  });
  return y;
}

Array logits(const Array& x, const SoftmaxReference& options) {
  Array y(x.shape);
  for_logits(x, options, [&](int64_t row, const auto& logits, const auto& errors) {
    std::copy(logits.begin(), logits.end(), y.value.begin() + row * x.dim(0));
    std::copy(errors.begin(), errors.end(), y.bound.begin() + row * x.dim(0));
  });
  return y;
}

// The relative error of the sum becomes an absolute error of its logarithm. Near 1 a GPU's log adds 2^-21.
Array log_sum_exp(const Array& x, const SoftmaxReference& options) {
  Array y(Sizes(x.shape.begin(), x.shape.end() - 1));
  for_logits(x, options, [&](int64_t row, const auto& logits, const auto& errors) {
    const double max = *std::max_element(logits.begin(), logits.end());
    double total = 0.0, max_error = 0.0;
    for (size_t k = 0; k < logits.size() && max != -kInfinity; ++k) {
      total += std::exp(logits[k] - max);
      if (logits[k] > max - 20.0) max_error = std::max(max_error, errors[k]);
    }
    y.at(row) = max == -kInfinity ? -kInfinity : max + std::log(total);
    y.err(row) = max_error + kUnit * (static_cast<double>(logits.size()) / 16.0 + 64.0);
    if (max != -kInfinity) y.err(row) += 4.0 * kUnit * (std::abs(max) + std::abs(y.at(row)));
  });
  return y;
}

// Every device adds a row in at least 16 partial sums, so that n / 16 additions follow one another; 32 more cover combining them and later
// arithmetic.
static double row_roundings(int64_t n) { return (static_cast<double>(n) / 16.0 + 32.0) * kUnit; }

Array cross_entropy(const Array& x, const Array& labels, double label_smoothing) {
  const int64_t n = x.dim(0);
  Array y = log_sum_exp(x, {});
  for (int64_t row = 0; row < y.size(); ++row) {
    const auto label = static_cast<int64_t>(labels.at(row));
    if (label < 0 || label >= n) {
      y.at(row) = y.err(row) = 0.0;
      continue;
    }
    const auto first = x.value.begin() + row * n, end = first + n;
    const bool forbidden = std::find(first, end, -kInfinity) != end;
    double strange = 0.0;  // NaN, or plus infinity with NaN
    for (auto value = first; value != end; ++value)
      if (*value != -kInfinity) strange += *value - *value;
    if (std::isnan(strange)) {
      y.at(row) = strange;
      continue;
    }
    if ((label_smoothing < 1.0 && x.at(row * n + label) == -kInfinity) || (label_smoothing > 0.0 && forbidden)) {
      y.at(row) = kInfinity;
      continue;
    }
    const double largest = *std::max_element(first, end);
    double loss = y.at(row) - largest, spread = 0.0;  // spread: mean magnitude of the distances
    if (label_smoothing < 1.0) loss -= (1.0 - label_smoothing) * (x.at(row * n + label) - largest);
    for (auto value = first; value != end && label_smoothing > 0.0; ++value) {
      spread += (largest - *value) / static_cast<double>(n);
      loss += label_smoothing * (largest - *value) / static_cast<double>(n);
    }
    y.at(row) = loss;
    y.err(row) += x.err(row * n + label) + label_smoothing * spread * row_roundings(n) +
                  4.0 * kUnit * (std::abs(largest - x.at(row * n + label)) + std::abs(loss));
  }
  return y;
}

Array log_softmax(const Array& x) {
  const int64_t n = x.dim(0);
  const Array sums = log_sum_exp(x, {});
  Array y(x.shape);
  for (int64_t row = 0; row < sums.size(); ++row) {
    double strange = 0.0, largest = -kInfinity;  // NaN, or plus infinity with NaN
    for (int64_t i = row * n; i < (row + 1) * n; ++i) {
      if (x.at(i) != -kInfinity) strange += x.at(i) - x.at(i);
      largest = std::max(largest, x.at(i));
    }
    for (int64_t i = row * n; i < (row + 1) * n; ++i) {
      y.at(i) = std::isnan(strange) ? strange : x.at(i);
      if (std::isnan(strange) || x.at(i) == -kInfinity) continue;
      y.at(i) = x.at(i) - sums.at(row);
      y.err(i) = sums.err(row) + x.err(i) + 4.0 * kUnit * (largest - x.at(i) + std::abs(y.at(i)));
    }
  }
  return y;
}

// If x and length are each off by at most `shift`, then t = x / length is off by at most 1 + |t| times the result.
static double moved_by(double shift, double length) { return shift < length ? shift / (length - shift) : kInfinity; }

Array layernorm(const Array& x, const Array* gamma, const Array* beta, double eps) {
  const int64_t n = x.dim(0);
  Array y(x.shape);
  for (int64_t row = 0; row < x.size() / n; ++row) {
    double mean = 0.0, variance = 0.0, error = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      mean += x.at(row * n + i) / static_cast<double>(n);
      error = std::max(error, x.err(row * n + i));
    }
    double spread = 0.0;  // mean magnitude of the deviations
    for (int64_t i = 0; i < n; ++i) {
      variance += std::pow(x.at(row * n + i) - mean, 2) / static_cast<double>(n);
      spread += std::abs(x.at(row * n + i) - mean) / static_cast<double>(n);
    }
    const double inverse = 1.0 / std::sqrt(variance + eps);
    // Rounding the mean to f32 costs u |mean|, and its last correction half of that. The sum of deviations also rounds.
    const double shift = 2.0 * error + 1.5 * kUnit * std::abs(mean) + row_roundings(n) * spread;
    // The shift changes the numerator, and the deviation by at most as much.
    const double moved = moved_by(shift, 1.0 / inverse);
    for (int64_t i = 0; i < n; ++i) {
      const double t = (x.at(row * n + i) - mean) * inverse;
      const double g = gamma != nullptr ? gamma->at(i) : 1.0, b = beta != nullptr ? beta->at(i) : 0.0;
      const double v = t * g + b;
      y.at(row * n + i) = v;
      const double own = moved * (1.0 + std::abs(t)) + std::abs(t) * row_roundings(n);
      y.err(row * n + i) = std::abs(g) * own + kUnit * (std::abs(v) + std::abs(t * g));
    }
  }
  return y;
}

Array rmsnorm(const Array& x, const Array* gamma, double eps) {
  const int64_t n = x.dim(0);
  Array y(x.shape);
  for (int64_t row = 0; row < x.size() / n; ++row) {
    double mean_square = 0.0, error = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      mean_square += x.at(row * n + i) * x.at(row * n + i) / static_cast<double>(n);
      error = std::max(error, x.err(row * n + i));
    }
    const double inverse = 1.0 / std::sqrt(mean_square + eps), moved = moved_by(error, 1.0 / inverse);
    for (int64_t i = 0; i < n; ++i) {
      const double t = x.at(row * n + i) * inverse, g = gamma != nullptr ? gamma->at(i) : 1.0;
      y.at(row * n + i) = t * g;
      y.err(row * n + i) = std::abs(g) * (moved * (1.0 + std::abs(t)) + std::abs(t) * row_roundings(n));
    }
  }
  return y;
}

Array l2_normalize(const Array& x, double eps) {
  const int64_t n = x.dim(0);
  Array y(x.shape);
  for (int64_t row = 0; row < x.size() / n; ++row) {
    double squares = 0.0, error2 = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      squares += x.at(row * n + i) * x.at(row * n + i);
      error2 += x.err(row * n + i) * x.err(row * n + i);
    }
    const double length = std::max(std::sqrt(squares), eps), moved = moved_by(std::sqrt(error2), length);
    for (int64_t i = 0; i < n; ++i) {
      y.at(row * n + i) = x.at(row * n + i) / length;
      const double t = std::abs(y.at(row * n + i));
      y.err(row * n + i) = moved * (1.0 + t) + t * row_roundings(n) + 0x1p-120;
    }
  }
  return y;
}

std::span<const RowOperation> row_operations() {
  static constexpr RowOperation kOperations[] = {
      {"l2_normalize", [](Graph& g, Tensor x, float eps) { return g.l2_normalize(x, eps); }, l2_normalize},
      {"log_softmax", [](Graph& g, Tensor x, float) { return g.log_softmax(x); },
       [](const Array& x, double) { return log_softmax(x); }},
  };
  return kOperations;
}

Array weighted_cross_entropy(const Array& x, const Array& labels, const Array* weights,
                             const nn::CrossEntropyOptions& options) {
  const int64_t n = x.dim(0);
  const auto share = static_cast<double>(options.label_smoothing);
  const Array logs = options.of_log_probabilities ? x : log_softmax(x);
  Array losses(labels.shape), sum({1});
  double total = 0.0, size = 0.0;
  for (int64_t row = 0; row < labels.size(); ++row) {
    const auto label = static_cast<int64_t>(labels.at(row));
    if (label < 0 || label >= n || label == options.ignored) continue;
    const auto weight = [&](int64_t i) { return weights != nullptr ? weights->at(i) : 1.0; };
    const auto add = [&](int64_t i, double factor) {
      losses.at(row) -= factor * logs.at(row * n + i);
      losses.err(row) += std::abs(factor) * (logs.err(row * n + i) + 8.0 * kUnit * std::abs(logs.at(row * n + i)));
      size += std::abs(factor * logs.at(row * n + i));
    };
    add(label, (1.0 - share) * weight(label));
    for (int64_t i = 0; i < n && share > 0.0; ++i) add(i, share * weight(i) / static_cast<double>(n));
    losses.err(row) += row_roundings(n) * std::abs(losses.at(row)) + (share > 0.0 ? row_roundings(n) * size : 0.0);
    total += weight(label);
    sum.at(0) += losses.at(row);
    sum.err(0) += losses.err(row);
  }
  if (options.reduction == nn::LossReduction::None) return losses;
  sum.err(0) += row_roundings(labels.size()) * size;
  if (options.reduction == nn::LossReduction::Sum) return sum;
  const double by = total == 0.0 ? 1.0 : total;
  sum.at(0) /= by;
  sum.err(0) = sum.err(0) / std::abs(by) + row_roundings(labels.size()) * std::abs(sum.at(0));
  return sum;
}

}  // namespace heed::ops
