#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "cpu/ops/masking.hpp"
#include "cpu/ops/rows.hpp"

namespace heed::cpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Writes a row whose sum is not finite: minus infinity if the row has nothing else, and NaN otherwise.
void fill_strange(const float* x, int64_t n, float* out) {
  const bool hidden = std::all_of(x, x + n, [](float v) { return v == kHidden; });
  std::fill_n(out, n, hidden ? kHidden : kNan);
}

// `powers` is a buffer of n floats.
void log_softmax_row(const RowKernels& kernels, const float* x, int64_t n, float* powers, float* out) {
  const float largest = kernels.largest(x, n);
  if (std::isinf(largest)) return fill_strange(x, n, out);
  const double log_sum = std::log(kernels.powers(x, largest, powers, n));  // NaN if an element is NaN
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(static_cast<double>(x[i]) - static_cast<double>(largest) - log_sum);
}

// In reproducible plans an element is minus the cross entropy for its label.
void canon_log_softmax_row(const CanonKernels& canon, const float* x, int64_t n, float* flushed, float* out) {
  canon.flush(x, flushed, n);
  const auto stored = [](float v) { return std::fabs(v) < FLT_MIN ? 0.0f : v; };
  const float* const top = std::max_element(flushed, flushed + n);
  if (std::isinf(*top) || std::any_of(flushed, flushed + n, [](float v) { return std::isnan(v); }))
    return fill_strange(flushed, n, out);
  const float largest = *top, log_sum = canon.loss(flushed, n, top - flushed, 0.0f);
  for (int64_t i = 0; i < n; ++i) out[i] = stored(stored(flushed[i] - largest) - log_sum);
}

}  // namespace

ScratchNeed log_softmax_scratch(const ScratchQuery& query) { return row_scratch(query, query.node.outputs[0], 3); }

void run_log_softmax(const Pass& pass) {
  const Operand x = pass.input(in::kX), out = pass.output_rows();
  const RowKernels& kernels = *pass.kernels.rows;
  const int64_t n = row_length(out.view);
  pass.parallel(row_count(out.view), row_grain(n), [&](uint32_t worker, int64_t begin, int64_t end) {
    float* const buffer = pass.scratch<float>(worker);
    float *const other = buffer + row_pitch(n), *const made = other + row_pitch(n);
    for (int64_t row = begin; row < end; ++row) {
      const float* const values = load_row(x, row, buffer);
      float* const to = row_target(out, row, made);
      if (kernels.canon != nullptr)
        canon_log_softmax_row(*kernels.canon, values, n, other, to);
      else
        log_softmax_row(kernels, values, n, other, to);
      store_row(out, row, to);
    }
  });
}

}  // namespace heed::cpu
