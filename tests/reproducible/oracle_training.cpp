// Losses, gradients and optimizers of the canon.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "reproducible/oracle.hpp"

namespace heed::reproducible {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
float of_bits(uint32_t bits) { return std::bit_cast<float>(bits); }
float magnitude_up_to(float x, float most) { return std::fabs(x) > most ? most : std::fabs(x); }
Floats row_of(const Floats& x, size_t row, int64_t n) {
  const auto first = x.begin() + static_cast<ptrdiff_t>(row) * n;
  return {first, first + n};
}
void append(Floats* to, const Floats& values) { to->insert(to->end(), values.begin(), values.end()); }
float largest_of(const Floats& row) {
  float largest = -kInfinity;
  for (const float v : row) largest = v > largest ? v : largest;
  return std::any_of(row.begin(), row.end(), [](float v) { return v != v; }) ? std::nanf("") : largest;
}

}  // namespace

Oracle::LogParts Oracle::log_parts(float x) const {
  const uint32_t bits = bits_of(x) - 0x3f3504f3u;
  const float n = static_cast<float>(static_cast<int32_t>(bits) >> 23),
              f = of_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f, square = f * f;
  float y = 7.03768363e-2f;
  for (const float c : {-1.15146103e-1f, 1.16769987e-1f, -1.24201408e-1f, 1.42493229e-1f, -1.66680578e-1f,
                        2.00007148e-1f, -2.49999940e-1f, 3.33333312e-1f})
    y = multiply_add(y, f, c);
  return {n, f, y * f * square};
}

float Oracle::log(float x) const {
  if (fault == Fault::LibraryLog) return std::log(x);
  const auto [n, f, cubic] = log_parts(x);
  const float y = f + ((cubic + n * -2.12194440e-4f) + f * f * -0.5f);
  return y + n * 0.693359375f;
}

float Oracle::root(float x) const {
  const float y = on_grid(x);
  return y == 0.0f ? 0.0f : times(y, reciprocal_root(y));
}

float Oracle::one_less_power(float x) const {
  if (x < -0.5f) return 1.0f - exp(x);
  float y = 2.75573192e-6f;
  for (const float c :
       {2.48015873e-5f, 1.98412698e-4f, 1.38888889e-3f, 8.33333333e-3f, 4.16666667e-2f, 1.66666667e-1f, 0.5f, 1.0f})
    y = multiply_add(y, x, c);
  return times(-x, y);
}

float Oracle::derivative(Activation kind, float x) const {
  if (x != x) return x;
  const auto sigmoid = [&](float at) {
    const float e = exp(-std::fabs(at)), whole = reciprocal(1.0f + e);
    return at < 0.0f ? times(e, whole) : whole;
  };
  switch (kind) {
    case Activation::Relu: return x > 0.0f ? 1.0f : 0.0f;
    case Activation::GeluErf: {
      const float t = magnitude_up_to(x, 6.0f), tail = normal_tail(t);
      const float slope = times(t, exp(t * t * -0.5f) * 0.398942280f);
      if (std::fabs(x) > 6.0f) return x < 0.0f ? 0.0f : 1.0f;
      return x < 0.0f ? flush(tail - slope) : plus(1.0f - tail, slope);
    }
    case Activation::GeluTanh: {
      const float limited = std::clamp(x, -9.0f, 9.0f), square = limited * limited;
      const float twice = limited * multiply_add(square, 0.044715f, 1.0f) * 1.59576912f;
      const float slope = multiply_add(square, 0.134145f, 1.0f) * 1.59576912f;
      return times(sigmoid(twice), plus(1.0f, times(times(limited, slope), sigmoid(-twice))));
    }
    case Activation::Silu: {
      const float limited = std::clamp(x, -87.0f, 87.0f);
      return times(sigmoid(limited), plus(1.0f, times(limited, sigmoid(-limited))));
    }
    case Activation::Tanh: {
      const float e = exp(magnitude_up_to(x, 40.0f) * -2.0f), inverse = reciprocal(1.0f + e);
      return 4.0f * e * inverse * inverse;
    }
    default: return 1.0f;
  }
}

Floats Oracle::loss(const Floats& x, const std::vector<int32_t>& labels, int64_t n, float smoothing) const {
  Floats out;
  for (size_t r = 0; r < labels.size(); ++r) {
    Floats row = row_of(x, r, n);
    for (float& v : row) v = flush(v);
    const auto label = static_cast<size_t>(labels[r]);
    if (label >= row.size()) {
      out.push_back(0.0f);
      continue;
    }
    const float largest = largest_of(row);
    const bool hides = std::any_of(row.begin(), row.end(), [](float v) { return v == -kInfinity; });
    if (largest != largest || largest == kInfinity) {
      out.push_back(of_bits(0x7fc00000u));
      continue;
    }
    if ((row[label] == -kInfinity && smoothing < 1.0f) || (hides && smoothing > 0.0f)) {
      out.push_back(kInfinity);
      continue;
    }
    Floats powers, apart;
    for (const float v : row) {
      const float distance = flush(v - largest);
      powers.push_back(v == -kInfinity ? 0.0f : exp(distance));
      apart.push_back(v == -kInfinity ? 0.0f : on_grid(distance));
    }
    float value = log(row_sum(powers));
    if (smoothing < 1.0f) value = flush(value - times(1.0f - smoothing, flush(row[label] - largest)));
    if (smoothing > 0.0f) value = flush(value - times(smoothing, over(row_sum(apart), n)));
    out.push_back(canonical(value));
  }
  return out;
}

Floats Oracle::loss_backward(const Floats& x, const std::vector<int32_t>& labels, const Floats& upstream, int64_t n,
                             float smoothing) const {
  Floats out;
  for (size_t r = 0; r < labels.size(); ++r) {
    Floats row = row_of(x, r, n);
    const auto label = static_cast<size_t>(labels[r]);
    if (label >= row.size()) {
      append(&out, Floats(row.size(), 0.0f));
      continue;
    }
    for (float& v : row) v = flush(v);
    const float largest = largest_of(row), g = flush(upstream[r]);
    if (!(std::fabs(largest) < kInfinity)) {
      append(&out, Floats(row.size(), of_bits(0x7fc00000u)));
      continue;
    }
    for (float& v : row) v = v == -kInfinity ? 0.0f : exp(flush(v - largest));
    const float own = row[label];
    row[label] = 0.0f;
    const float others = row_sum(row), inverse = reciprocal(others + own), everywhere = over(smoothing, n);
    for (float& v : row) v = canonical(times(g, flush(times(v, inverse) - everywhere)));
    row[label] = canonical(times(g, flush(flush(smoothing - everywhere) - times(others, inverse))));
    append(&out, row);
  }
  return out;
}

Floats Oracle::softmax_backward(const Floats& weights, const Floats& upstream, int64_t n, float scale) const {
  Floats out;
  for (size_t r = 0; r * static_cast<size_t>(n) < weights.size(); ++r) {
    const Floats p = row_of(weights, r, n), g = row_of(upstream, r, n);
    Floats products;
    for (size_t i = 0; i < p.size(); ++i) products.push_back(coarse(p[i]) == 0.0f ? 0.0f : coarse(p[i]) * coarse(g[i]));
    const float sum = row_sum(products);
    for (size_t i = 0; i < p.size(); ++i) {
      const float weight = coarse(p[i]);
      out.push_back(weight == 0.0f ? 0.0f : canonical(times(scale, times(weight, flush(flush(g[i]) - sum)))));
    }
  }
  return out;
}

Oracle::AttentionGradients Oracle::causal_attention_backward(const Floats& q, const Floats& k, const Floats& v,
                                                             const Floats& upstream, int64_t rows, float scale) const {
  const int64_t depth = static_cast<int64_t>(q.size()) / rows, width = static_cast<int64_t>(v.size()) / rows;
  const Floats weights = softmax(causal_scores(q, k, rows, scale), rows, 1.0f);
  const Floats of_weights = product(upstream, turned(v, rows), {}, rows, rows, 1.0f, Activation::None);
  const Floats of_logits = softmax_backward(weights, of_weights, rows, 1.0f);
  return {product(of_logits, k, {}, rows, depth, scale, Activation::None, Zeros::Skipped),
          product(turned(of_logits, rows), q, {}, rows, depth, scale, Activation::None),
          product(turned(weights, rows), upstream, {}, rows, width, 1.0f, Activation::None)};
}

Oracle::NormGradients Oracle::norm_backward(Norm kind, const Floats& x, const Floats& upstream, const Floats& gamma,
                                            int64_t n, float eps) const {
  constexpr size_t kSums = 16;
  const auto width = static_cast<size_t>(n);
  NormGradients made;
  std::vector<Floats> of_gamma(kSums, Floats(width, 0.0f)), of_beta = of_gamma;
  for (size_t r = 0; r * width < x.size(); ++r) {
    const Floats row = row_of(x, r, n), g = row_of(upstream, r, n);
    const float first = kind == Norm::Layer ? flush(row[0]) : 0.0f;
    Floats differences, summed, squares;
    for (const float v : row) differences.push_back(flush(flush(v) - first));
    for (const float v : differences) summed.push_back(on_grid(v));
    const float by = row_scale(differences, kind == Norm::L2 ? bits_of(eps) : near_root(eps));
    const float mean = kind == Norm::Layer ? plus(first, over(row_sum(summed), n)) : 0.0f;
    Floats normal;
    summed.clear();
    for (const float v : row) {
      normal.push_back(times(flush(flush(v) - mean), by));
      summed.push_back(on_grid(normal.back()));
      squares.push_back(coarse(normal.back()) * coarse(normal.back()));
    }
    const float rest = kind == Norm::Layer ? over(row_sum(summed), n) : 0.0f, sum = row_sum(squares);
    float inverse = 0.0f;
    bool divides = true;
    if (kind == Norm::L2) {
      const float least = times(eps, by), root = reciprocal_root(sum);
      divides = times(sum, root) >= least;
      inverse = !divides ? reciprocal(least) : sum == 0.0f ? 0.0f : root;
    } else {
      const float variance = std::max(flush(over(sum, n) - times(rest, rest)), 0.0f);
      inverse = reciprocal_root(plus(variance, times(times(eps, by), by)));
    }
    Floats gradient, of_mean, products;
    for (size_t i = 0; i < width; ++i) {
      normal[i] = times(flush(normal[i] - rest), inverse);
      gradient.push_back(gamma.empty() ? flush(g[i]) : times(flush(g[i]), flush(gamma[i])));
      of_mean.push_back(on_grid(gradient[i]));
      products.push_back(coarse(gradient[i]) * coarse(normal[i]));
    }
    const float center = kind == Norm::Layer ? over(row_sum(of_mean), n) : 0.0f, product = row_sum(products);
    const float share = kind != Norm::L2 ? over(product, n) : divides ? product : 0.0f;
    const size_t slot = fault == Fault::OneSumOfRows ? 0 : r % kSums;
    for (size_t i = 0; i < width; ++i) {
      const float left = flush(flush(gradient[i] - center) - times(normal[i], share));
      made.x.push_back(canonical(times(times(left, inverse), by)));
      of_gamma[slot][i] = of_gamma[slot][i] + coarse(g[i]) * coarse(normal[i]);
      of_beta[slot][i] = of_beta[slot][i] + on_grid(g[i]);
    }
  }
  for (size_t i = 0; i < width; ++i) {
    for (size_t height = kSums / 2; height > 0; height /= 2)
      for (size_t s = 0; s < height; ++s) {
        of_gamma[s][i] = of_gamma[s][i] + of_gamma[s + height][i];
        of_beta[s][i] = of_beta[s][i] + of_beta[s + height][i];
      }
    made.gamma.push_back(canonical(of_gamma[0][i]));
    made.beta.push_back(canonical(of_beta[0][i]));
  }
  return made;
}

Floats Oracle::embedding_backward(const Floats& rows, const std::vector<int32_t>& ids, int64_t vocabulary,
                                  int64_t n) const {
  Floats out(static_cast<size_t>(vocabulary * n), 0.0f);
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t at = fault == Fault::ReversedTable ? ids.size() - 1 - i : i;
    const Floats row = row_of(rows, at, n);
    for (size_t c = 0; c < row.size(); ++c) {
      float& sum = out[static_cast<size_t>(ids[at] * n) + c];
      sum = plus(sum, flush(row[c]));
    }
  }
  for (float& v : out) v = canonical(v);
  return out;
}

float Oracle::norm_of(const Floats& gradient) const {
  constexpr size_t kBlock = 4096;
  Floats blocks, squares;
  for (size_t i = 0; i < gradient.size(); ++i) {
    squares.push_back(coarse(gradient[i]) * coarse(gradient[i]));
    if (squares.size() < kBlock && i + 1 < gradient.size()) continue;
    blocks.push_back(row_sum(squares));
    squares.clear();
  }
  return root(row_sum(blocks));
}

float Oracle::clip(const UpdateSettings& numbers, const Floats& gradient) const {
  const float clipped = times(numbers.most_norm, reciprocal(plus(norm_of(gradient), 1e-6f)));
  return clipped < 1.0f ? clipped : 1.0f;
}

void Oracle::sgd(const UpdateSettings& numbers, bool nesterov, const Floats& gradient, Floats* weights,
                 Floats* first) const {
  const float factor = clip(numbers, gradient);
  for (size_t i = 0; i < gradient.size(); ++i) {
    const float w = flush((*weights)[i]), g = plus(times(flush(gradient[i]), factor), times(numbers.decay, w));
    float moved = g;
    if (!first->empty()) {
      const float m = plus(times(numbers.first, flush((*first)[i])), times(numbers.first_rest, g));
      (*first)[i] = canonical(m);
      moved = nesterov ? plus(g, times(numbers.first, m)) : m;
    }
    (*weights)[i] = canonical(flush(w - times(numbers.rate, moved)));
  }
}

void Oracle::adamw(const UpdateSettings& numbers, float steps, const Floats& gradient, Floats* weights, Floats* first,
                   Floats* second) const {
  const auto inverse = [&](float log) { return reciprocal(one_less_power(times(steps, log))); };
  const float factor = clip(numbers, gradient);
  const float rate = times(numbers.rate, inverse(numbers.log_first)), scale = inverse(numbers.log_second);
  for (size_t i = 0; i < gradient.size(); ++i) {
    const float g = times(flush(gradient[i]), factor), w = flush((*weights)[i]);
    const float m = plus(times(numbers.first, flush((*first)[i])), times(numbers.first_rest, g));
    const float v = plus(times(numbers.second, flush((*second)[i])), times(times(numbers.second_rest, g), g));
    const float divisor = plus(root(times(v, scale)), numbers.eps);
    const float change = plus(times(numbers.decay, w), times(rate, times(m, reciprocal(divisor))));
    (*first)[i] = canonical(m);
    (*second)[i] = canonical(v);
    (*weights)[i] = canonical(flush(w - change));
  }
}

}  // namespace heed::reproducible
