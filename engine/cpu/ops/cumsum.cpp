#include <algorithm>
#include <array>

#include "cpu/ops/axis.hpp"

namespace heed::cpu {
namespace {

constexpr int64_t kBlock = 128;

struct Running {
  bool exclusive = false;
  double sum = 0.0;
  float canon = 0.0f;

  void add(float* values, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
      const double before = sum;
      sum += static_cast<double>(values[i]);
      values[i] = static_cast<float>(exclusive ? before : sum);
    }
  }

  // In blocks of 128: each element adds the sum of the element 1 before it, then 2, 4 and so on; then the sum of all earlier blocks.
  void add_canon(const CanonKernels& kernels, const float* values, float* out, int64_t n) {
    std::array<float, kBlock> sums{};
    kernels.add(Reduction::Sum, values, nullptr, sums.data(), n);
    for (int64_t distance = 1; distance < kBlock; distance *= 2)
      for (int64_t i = kBlock - 1; i >= distance; --i)
        sums[static_cast<size_t>(i)] += sums[static_cast<size_t>(i - distance)];
    for (int64_t i = 0; i < n; ++i) {
      const float shown = !exclusive ? sums[static_cast<size_t>(i)] : i > 0 ? sums[static_cast<size_t>(i - 1)] : 0.0f;
      out[i] = canon + shown;
    }
    canon += sums[kBlock - 1];
    kernels.flush(out, out, n);
  }
};

}  // namespace

ScratchNeed cumsum_scratch(const ScratchQuery&) { return {}; }

void run_cumsum(const Pass& pass) {
  const Operand x = pass.input(in::kX), out = pass.output();
  const auto& attrs = pass.node.as<CumsumAttrs>();
  const AxisView from(x.view, attrs.axis, x.view.rank), to(out.view, attrs.axis, x.view.rank);
  const CanonKernels* const canon = pass.kernels.rows->canon;
  const int64_t n = from.size;
  pass.parallel(from.count(), row_grain(n), [&](uint32_t, int64_t begin, int64_t end) {
    std::array<float, kBlock> buffer;
    for (int64_t r = begin; r < end; ++r) {
      Running running{attrs.exclusive};
      for (int64_t first = 0; first < n; first += kBlock) {
        const int64_t count = std::min(kBlock, n - first), begins = attrs.reverse ? n - first - count : first;
        load_copy(x, from.offset(r) + begins * from.stride, from.stride, count, buffer.data());
        if (attrs.reverse) std::reverse(buffer.begin(), buffer.begin() + count);
        if (canon != nullptr)
          running.add_canon(*canon, buffer.data(), buffer.data(), count);
        else
          running.add(buffer.data(), count);
        if (attrs.reverse) std::reverse(buffer.begin(), buffer.begin() + count);
        store(out, to.offset(r) + begins * to.stride, to.stride, count, buffer.data());
      }
    }
  });
}

}  // namespace heed::cpu
