#include <algorithm>
#include <cstring>

#include "cpu/ops/rows.hpp"

namespace heed::cpu {
namespace {

constexpr int64_t kColumns = 128;  // of one item
constexpr int64_t kHeld = 32;      // elements that are added up as floats

struct Operands {
  Operand x, out, mask;
  const MeanAttrs& attrs;
  View rest;  // x without its averaged axis: the logical shape of out

  explicit Operands(const Pass& pass) : attrs(pass.node.as<MeanAttrs>()) {
    x = pass.input(in::kX);
    out = pass.output();
    mask = pass.input(in::kMeanMask);
    rest = x.view;
    for (int i = attrs.axis; i + 1 < rest.rank; ++i) {
      rest.dim[i] = rest.dim[i + 1];
      rest.stride[i] = rest.stride[i + 1];
    }
    --rest.rank;
    if (mask.valid() && rest.rank == 1) {  // x [B, S]: every element of out has a mask row of its own
      append_unit_axis(&rest);
      append_unit_axis(&out.view);
    }
  }

  static void append_unit_axis(View* view) {
    view->dim[view->rank] = 1;
    view->stride[view->rank] = 1;
    ++view->rank;
  }

  bool kept(int64_t batch, int64_t i) const {
    if (!mask.valid()) return true;
    const View& v = mask.view;
    const bool nonzero = *mask.at<const uint8_t>(batch * v.stride[0] + i * v.stride[1]) != 0;
    return nonzero == (attrs.mask_meaning == Mask::Meaning::Keep);
  }

  // Column c of values goes to sum i % 4 of the column, i counting along the axis; these are added in halves.
  void run_canon(int64_t row, int64_t first, int64_t n, float* sums) const {
    constexpr int64_t kSums = 4;
    const CanonKernels& canon = *x.kernels->canon;
    float* const buffer = sums + kSums * kColumns;
    std::memset(sums, 0, static_cast<size_t>(kSums * kColumns) * sizeof(float));
    int64_t used = 0;
    each_kept(row, first, n, buffer, [&](int64_t i, const float* values) {
      ++used;
      canon.add_to(values, sums + i % kSums * kColumns, n);
    });
    for (int64_t height = kSums / 2; height > 0; height /= 2)
      for (int64_t s = 0; s < height; ++s)
        for (int64_t c = 0; c < n; ++c) sums[s * kColumns + c] += sums[(s + height) * kColumns + c];
    if (attrs.sum)
      canon.flush(sums, buffer, n);
    else
      canon.mean(sums, used, buffer, n);
    store(out, row_offset(out.view, row) + first * row_stride(out.view), row_stride(out.view), n, buffer);
  }

  // Computes columns first .. first + n of out's row `row`. A few elements are added up as floats, and these sums as doubles, so that
  // their order hardly matters.
  void run(int64_t row, int64_t first, int64_t n, double* sums, float* buffer) const {
    float* const held = buffer + kColumns;
    const RowKernels& kernels = *x.kernels;
    std::memset(sums, 0, static_cast<size_t>(n) * sizeof(double));
    const auto add_held = [&] {
      for (int64_t c = 0; c < n; ++c) sums[c] += static_cast<double>(held[c]);
    };
    int64_t used = 0;
    each_kept(row, first, n, buffer, [&](int64_t, const float* values) {
      if (used++ % kHeld != 0) {
        kernels.add(held, values, held, n);
        return;
      }
      if (used > 1) add_held();
      std::copy_n(values, n, held);
    });
    if (used > 0) add_held();
    const double inverse = attrs.sum ? 1.0 : used > 0 ? 1.0 / static_cast<double>(used) : 0.0;
    for (int64_t c = 0; c < n; ++c) buffer[c] = static_cast<float>(sums[c] * inverse);
    store(out, row_offset(out.view, row) + first * row_stride(out.view), row_stride(out.view), n, buffer);
  }

  // Calls visit(i, values) for the values of these columns at each index that the mask keeps.
  template <class Visit>
  void each_kept(int64_t row, int64_t first, int64_t n, float* buffer, const Visit& visit) const {
    const int64_t count = x.view.dim[attrs.axis], stride = x.view.stride[attrs.axis];
    const int64_t offset = row_offset(rest, row) + first * row_stride(rest);
    // A mask has one row per index along axis 0 of x; the averaged axis is then axis 1.
    const int64_t batch = mask.valid() ? row / std::max<int64_t>(1, row_count(rest) / outer()) : 0;
    for (int64_t i = 0; i < count; ++i)
      if (kept(batch, i)) visit(i, load(x, offset + i * stride, row_stride(rest), n, buffer));
  }

  int64_t outer() const { return rest.rank > 1 ? rest.dim[0] : 1; }
};

}  // namespace

ScratchNeed mean_scratch(const ScratchQuery&) {
  return {.shared = 0, .per_worker = kColumns * (2 * sizeof(double) + sizeof(float))};
}

void run_mean(const Pass& pass) {
  const Operands operands(pass);
  const int64_t length = row_length(operands.rest), blocks = ceil_div(length, kColumns);
  pass.parallel(row_count(operands.rest) * blocks, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    double* sums = pass.scratch<double>(worker);
    float* buffer = reinterpret_cast<float*>(sums + kColumns);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kColumns;
      const int64_t n = std::min(kColumns, length - first);
      if (operands.x.kernels->canon != nullptr)
        operands.run_canon(i / blocks, first, n, reinterpret_cast<float*>(sums));
      else
        operands.run(i / blocks, first, n, sums, buffer);
    }
  });
}

}  // namespace heed::cpu
