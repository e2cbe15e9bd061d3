#include <algorithm>
#include <cmath>

#include "cpu/rows.hpp"

namespace heed::cpu {
namespace {

// y = x / max(|x|, eps). Where |x| is larger: (g - y sum of g y) / |x|; elsewhere g / eps. Sums are double, since squares of
// values above 1e19 or below 1e-19 leave the range of f32.
void l2_backward(const float* x, const float* g, double eps, float* out, int64_t n) {
  double squares = 0.0, products = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const auto value = static_cast<double>(x[i]);
    squares += value * value;
    products += value * static_cast<double>(g[i]);
  }
  const double length = std::sqrt(squares);
  const bool divides = length > eps;
  const double inverse = 1.0 / std::max(length, eps), share = divides ? products * inverse * inverse : 0.0;
  for (int64_t i = 0; i < n; ++i) {
    const double gradient = (static_cast<double>(g[i]) - static_cast<double>(x[i]) * share) * inverse;
    out[i] = static_cast<float>(length == 0.0 && eps == 0.0 ? 0.0 : gradient);
  }
}

}  // namespace

ScratchNeed norm_backward_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.outputs[0], 4); }

void run_norm_backward(const Pass& pass) {
  using Kind = NormBackwardAttrs::Kind;
  const Operand x = pass.input(in::kX), upstream = pass.input(in::kUpstream), gamma = pass.input(in::kBackwardGamma);
  const Operand out = pass.output();
  const auto& attrs = pass.node.as<NormBackwardAttrs>();
  const RowKernels& kernels = *pass.kernels.rows;
  const int64_t n = row_length(out.view), pitch = row_pitch(n);
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* buffer = pass.scratch<float>(worker);
    NormRow row;
    row.gamma = load_vector(gamma, buffer + pitch);
    row.eps = attrs.eps;
    for (int64_t r = begin; r < end; ++r) {
      row.x = load_row(x, r, buffer);
      const float* g = load_row(upstream, r, buffer + 2 * pitch);
      float* to = row_target(out, r, buffer + 3 * pitch);
      if (attrs.kind == Kind::L2)
        l2_backward(row.x, g, static_cast<double>(attrs.eps), to, n);
      else
        (attrs.kind == Kind::Layer ? kernels.layernorm_backward : kernels.rmsnorm_backward)(row, g, to, n);
      store_row(out, r, to);
    }
  });
}

}  // namespace heed::cpu
