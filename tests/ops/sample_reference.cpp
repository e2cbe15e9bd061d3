#include "ops/sample_reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace heed::ops {
namespace {

double as_float(double x) {
  const auto rounded = static_cast<double>(static_cast<float>(x));
  return std::abs(rounded) < 0x1p-126 ? 0.0 : rounded;
}

// Row `row` of an operand that has a row of `length` for each, or one row for all.
double number(const Array& x, int64_t length, int64_t row, int64_t i) {
  return x.at(x.size() > length ? row * length + i : i);
}

struct Row {
  std::vector<double> logits;  // after penalty and bias; NaN: forbidden
  std::vector<int64_t> order;  // those that are not forbidden, the largest first
};

Row row_of(const Array& logits, const SampleReference& reference, int64_t row) {
  const int64_t n = logits.dim(0);
  std::set<int64_t> seen;
  if (reference.previous != nullptr) {
    const int64_t length = reference.previous->dim(0);
    int64_t count = reference.count < 0 ? length : reference.count;
    if (reference.counts != nullptr) count = static_cast<int64_t>(number(*reference.counts, 1, row, 0));
    for (int64_t i = 0; i < std::min(count, length); ++i)
      seen.insert(static_cast<int64_t>(number(*reference.previous, length, row, i)));
  }
  const auto penalty = static_cast<double>(reference.options.repetition_penalty);
  Row result;
  for (int64_t i = 0; i < n; ++i) {
    double logit = as_float(logits.at(row * n + i));
    if (seen.contains(i)) logit = as_float(logit > 0.0 ? logit * as_float(1.0 / penalty) : logit * penalty);
    const double bias = reference.bias == nullptr ? 0.0 : as_float(number(*reference.bias, n, row, i));
    const bool forbidden = logit == -kInfinity || bias == -kInfinity || std::isnan(bias);
    result.logits.push_back(forbidden ? NAN : as_float(logit + bias));
    if (!std::isnan(result.logits.back())) result.order.push_back(i);
  }
  std::stable_sort(result.order.begin(), result.order.end(), [&](int64_t a, int64_t b) {
    return result.logits[static_cast<size_t>(a)] > result.logits[static_cast<size_t>(b)];
  });
  return result;
}

// The remaining tokens, in order, with running sums of their weights; the largest weight is 1.
struct Left {
  std::vector<int64_t> tokens;
  std::vector<double> sums;  // including the token's own
  double bound = 0.0;        // error of every sum
  bool unclear = false;
};

Left left_of(const Row& row, const SampleOptions& options) {
  const auto logit = [&](size_t i) { return row.logits[static_cast<size_t>(row.order[i])]; };
  const auto temperature = static_cast<double>(options.temperature);
  Left left;
  std::vector<double> weights, errors;
  const size_t most =
      options.top_k == 0 ? row.order.size() : std::min(row.order.size(), static_cast<size_t>(options.top_k));
  double sum = 0.0;
  for (size_t i = 0; i < most; ++i) {
    const double distance = logit(i) == logit(0) ? 0.0 : (logit(0) - logit(i)) / temperature;
    weights.push_back(std::exp(-distance));
    // Three roundings of f32 in the exponent, the polynomial, and the last bit of a weight.
    errors.push_back(weights.back() * (std::min(distance, 1e3) * 4.0 * kUnit + 4.0 * 0x1p-24) + 0x1p-32);
    left.tokens.push_back(row.order[i]);
    left.sums.push_back(sum += weights.back());
    left.bound += errors.back();
  }
  size_t end = most;
  if (options.top_p < 1.0f) {
    const double share = static_cast<double>(options.top_p) * sum;
    end = 1;
    while (end < most && left.sums[end - 1] < share) ++end;
    for (const double edge : left.sums) left.unclear |= std::abs(edge - share) <= 2.0 * left.bound;
  }
  const auto least = static_cast<double>(options.min_p);
  for (size_t i = 1; i < end; ++i) {
    left.unclear |= least > 0.0 && std::abs(weights[i] - least) <= errors[i];
    if (weights[i] >= least) continue;
    end = i;
  }
  left.tokens.resize(end);
  left.sums.resize(end);
  return left;
}

}  // namespace

Array sample(const Array& logits, const SampleReference& reference, int64_t* unclear) {
  Array tokens(Sizes(logits.shape.begin(), logits.shape.end() - 1));
  for (int64_t r = 0; r < tokens.size(); ++r) {
    const Row row = row_of(logits, reference, r);
    tokens.at(r) = row.order.empty() ? -1.0 : static_cast<double>(row.order[0]);
    if (row.order.empty() || reference.options.temperature == 0.0f) continue;
    const Left left = left_of(row, reference.options);
    const auto step =
        reference.steps == nullptr ? reference.step : static_cast<int64_t>(number(*reference.steps, 1, r, 0));
    const auto seed = reference.seeds == nullptr
                          ? reference.seed
                          : static_cast<uint32_t>(static_cast<int64_t>(number(*reference.seeds, 1, r, 0)));
    const uint32_t number_of_row = reference.seeds == nullptr ? static_cast<uint32_t>(r) : 0;
    const auto words = random_words(seed, reference.stream, {static_cast<uint32_t>(step), number_of_row, 0, 1});
    const double share = (static_cast<double>(words[0]) + static_cast<double>(words[1]) * 0x1p-32) * 0x1p-32;
    const double target = share * left.sums.back();
    size_t at = 0;
    while (at + 1 < left.sums.size() && left.sums[at] <= target) ++at;
    tokens.at(r) = static_cast<double>(left.tokens[at]);
    const bool near_end = at + 1 < left.sums.size() && left.sums[at] - target <= 2.0 * left.bound;
    const bool near_begin = at > 0 && target - left.sums[at - 1] <= 2.0 * left.bound;
    if (!left.unclear && !near_end && !near_begin) continue;
    tokens.err(r) = kInfinity;
    if (unclear != nullptr) ++*unclear;
  }
  return tokens;
}

std::vector<double> probabilities(const Array& logits, const SampleReference& reference) {
  const Left left = left_of(row_of(logits, reference, 0), reference.options);
  std::vector<double> result(static_cast<size_t>(logits.dim(0)), 0.0);
  for (size_t i = 0; i < left.tokens.size(); ++i)
    result[static_cast<size_t>(left.tokens[i])] = (left.sums[i] - (i == 0 ? 0.0 : left.sums[i - 1])) / left.sums.back();
  return result;
}

}  // namespace heed::ops
