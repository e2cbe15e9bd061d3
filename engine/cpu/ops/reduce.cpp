#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/ops/axis.hpp"

namespace heed::cpu {
namespace {

constexpr int64_t kColumns = 128;  // columns of one item
constexpr int64_t kHeld = 32;      // elements that are summed in f32
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// The memory of a worker: buffers of kColumns numbers each.
struct Buffers {
  double* sums;
  float *values, *held, *largest, *made, *canon_sums;  // the last buffer has four sums for each column

  explicit Buffers(double* memory)
      : sums(memory),
        values(reinterpret_cast<float*>(memory + kColumns)),
        held(values + kColumns),
        largest(held + kColumns),
        made(largest + kColumns),
        canon_sums(made + kColumns) {}
  static constexpr uint64_t kBytes = kColumns * (sizeof(double) + 8 * sizeof(float));
};

float larger(float a, float b) { return std::isnan(a) || a > b ? a : b; }
float smaller(float a, float b) { return std::isnan(a) || a < b ? a : b; }

class Reducer {
 public:
  explicit Reducer(const Pass& pass)
      : attrs_(pass.node.as<ReduceAttrs>()),
        x_(pass.input(in::kX)),
        out_(pass.output()),
        mask_(pass.input(in::kReduceMask)),
        from_(x_.view, attrs_.axis, x_.view.rank),
        to_(out_.view, attrs_.axis, x_.view.rank),
        kernels_(*x_.kernels) {
    if (mask_.valid() && from_.rest.rank == 1) {  // x [B, S]: every element of out has its own mask row
      append_unit_axis(&from_.rest);
      append_unit_axis(&to_.rest);
    }
  }

  // Whether a contiguous row is reduced to one number, so that it is viewed as several columns. Otherwise columns of neighbouring results
  // are reduced together.
  bool goes_by_rows() const {
    return from_.stride == 1 && from_.size >= 32 && !mask_.valid() && kernels_.canon == nullptr;
  }
  int64_t results() const { return from_.count(); }
  int64_t length() const { return row_length(from_.rest); }
  int64_t rows() const { return row_count(from_.rest); }
  int64_t size() const { return from_.size; }
  bool is_whole() const { return x_.view.dtype == DType::I32; }

  void reduce_row(int64_t result, Buffers& at) const {
    const int64_t width = std::min(kColumns, from_.size), offset = from_.offset(result);
    const auto each = [&](const auto& visit) {
      for (int64_t i = 0; i < from_.size; i += kColumns) {
        const int64_t n = std::min(kColumns, from_.size - i);
        visit(i, load(x_, offset + i, 1, n, at.values), n);
      }
    };
    find_largest(each, width, at);
    float best = 0.0f;
    if (is_extreme() || is_powers()) {
      best = at.largest[0];
      for (int64_t c = 1; c < width; ++c) best = is_min() ? smaller(best, at.largest[c]) : larger(best, at.largest[c]);
      std::fill_n(at.largest, width, best);
    }
    if (is_extreme()) {
      *at.made = best;
    } else {
      add_up(each, width, at);
      for (int64_t c = 1; c < width; ++c) at.sums[0] = is_product() ? at.sums[0] * at.sums[c] : at.sums[0] + at.sums[c];
      *at.made = finished(at.sums[0], best, from_.size);
    }
    store(out_, to_.offset(result), 1, 1, at.made);
  }

  // Computes results first .. first + n of row `row` of the remaining axes.
  void reduce_columns(int64_t row, int64_t first, int64_t n, Buffers& at) const {
    int64_t used = 0;
    const auto each = [&](const auto& visit) {
      used = 0;
      each_kept(row, first, n, at.values, [&](int64_t i, const float* values) {
        ++used;
        visit(i, values, n);
      });
    };
    find_largest(each, n, at);
    const float* made = at.made;
    if (is_extreme()) {
      made = at.largest;
    } else if (kernels_.canon != nullptr) {
      add_up_canon(each, n, at);
      kernels_.canon->finish(attrs_.kind, at.canon_sums, at.largest, used, at.made, n);
    } else {
      add_up(each, n, at);
      for (int64_t c = 0; c < n; ++c) at.made[c] = finished(at.sums[c], at.largest[c], used);
    }
    const int64_t stride = row_stride(to_.rest);
    store(out_, row_offset(to_.rest, row) + first * stride, stride, n, made);
  }

  void reduce_whole(int64_t result) const {
    const auto* from = x_.at<const int32_t>(from_.offset(result));
    int32_t made = *from;
    for (int64_t i = 1; i < from_.size; ++i) {
      const int32_t value = from[i * from_.stride];
      if (is_extreme())
        made = is_min() ? std::min(made, value) : std::max(made, value);
      else
        made = static_cast<int32_t>(static_cast<uint32_t>(made) + static_cast<uint32_t>(value));
    }
    *out_.at<int32_t>(to_.offset(result)) = made;
  }

 private:
  static void append_unit_axis(View* view) {
    view->dim[view->rank] = 1;
    view->stride[view->rank] = 1;
    ++view->rank;
  }

  bool is_min() const { return attrs_.kind == Reduction::Min; }
  bool is_extreme() const { return is_min() || attrs_.kind == Reduction::Max; }
  bool is_product() const { return attrs_.kind == Reduction::Product; }
  bool is_powers() const { return attrs_.kind == Reduction::LogSumExp; }
  bool is_length() const { return attrs_.kind == Reduction::L2; }

  bool kept(int64_t batch, int64_t i) const {
    if (!mask_.valid()) return true;
    const View& v = mask_.view;
    const bool nonzero = *mask_.at<const uint8_t>(batch * v.stride[0] + i * v.stride[1]) != 0;
    return nonzero == (attrs_.mask_meaning == Mask::Meaning::Keep);
  }

  // Calls visit(i, values) with the values of these columns at each index that the mask keeps.
  template <class Visit>
  void each_kept(int64_t row, int64_t first, int64_t n, float* buffer, const Visit& visit) const {
    const View& rest = from_.rest;
    const int64_t offset = row_offset(rest, row) + first * row_stride(rest);
    // A mask has one row per index along axis 0 of x; the reduced axis is then axis 1.
    const int64_t outer = rest.rank > 1 ? rest.dim[0] : 1;
    const int64_t batch = mask_.valid() ? row / std::max<int64_t>(1, row_count(rest) / outer) : 0;
    for (int64_t i = 0; i < from_.size; ++i)
      if (kept(batch, i)) visit(i, load(x_, offset + i * from_.stride, row_stride(rest), n, buffer));
  }

  void apply(Function function, const float* a, const float* b, float* out, int64_t n) const {
    const FunctionOperand operands[] = {{a}, {b}, {a}};
    kernels_.apply(function, Domain::Float, operands, out, n);
  }

  // Finds the largest or smallest element of each column, or, for L2 in reproducible plans, the largest magnitude.
  template <class Each>
  void find_largest(const Each& each, int64_t width, Buffers& at) const {
    const bool magnitudes = is_length() && kernels_.canon != nullptr;
    if (!is_extreme() && !is_powers() && !magnitudes) return;
    std::fill_n(at.largest, width, is_min() ? -kLowest : magnitudes ? 0.0f : kLowest);
    each([&](int64_t, const float* values, int64_t n) {
      if (magnitudes) apply(Function::Abs, values, values, at.made, n);
      apply(is_min() ? Function::Min : Function::Max, at.largest, magnitudes ? at.made : values, at.largest, n);
    });
  }

  // A few elements are summed in f32, and these sums in double, so that their order hardly matters.
  template <class Each>
  void add_up(const Each& each, int64_t width, Buffers& at) const {
    std::fill_n(at.sums, width, is_product() ? 1.0 : 0.0);
    int64_t held = 0;
    const auto add_held = [&] {
      for (int64_t c = 0; c < width && held > 0; ++c) at.sums[c] += static_cast<double>(at.held[c]);
      held = 0;
    };
    each([&](int64_t, const float* values, int64_t n) {
      if (is_product()) {
        for (int64_t c = 0; c < n; ++c) at.sums[c] *= static_cast<double>(values[c]);
        return;
      }
      if (is_length()) {
        for (int64_t c = 0; c < n; ++c) at.sums[c] += static_cast<double>(values[c]) * static_cast<double>(values[c]);
        return;
      }
      if (is_powers()) {
        apply(Function::Sub, values, at.largest, at.made, n);
        apply(Function::Exp, at.made, at.made, at.made, n);
        values = at.made;
      }
      if (held == 0) {
        std::copy_n(values, n, at.held);
        std::fill(at.held + n, at.held + width, 0.0f);
      } else {
        kernels_.add(at.held, values, at.held, n);
      }
      if (++held == kHeld) add_held();
    });
    add_held();
  }

  // Index i along the axis is added to sum i % 4 of its column; these are then added pairwise.
  template <class Each>
  void add_up_canon(const Each& each, int64_t width, Buffers& at) const {
    constexpr int64_t kSums = 4;
    std::fill_n(at.canon_sums, kSums * kColumns, is_product() ? 1.0f : 0.0f);
    each([&](int64_t i, const float* values, int64_t n) {
      kernels_.canon->add(attrs_.kind, values, at.largest, at.canon_sums + i % kSums * kColumns, n);
    });
    for (int64_t height = kSums / 2; height > 0; height /= 2)
      for (int64_t s = 0; s < height; ++s)
        kernels_.canon->join(attrs_.kind, at.canon_sums + (s + height) * kColumns, at.canon_sums + s * kColumns, width);
  }

  float finished(double sum, float largest, int64_t count) const {
    switch (attrs_.kind) {
      case Reduction::Mean: return count == 0 ? 0.0f : static_cast<float>(sum * (1.0 / static_cast<double>(count)));
      case Reduction::LogSumExp:
        return std::isfinite(largest) ? static_cast<float>(static_cast<double>(largest) + std::log(sum)) : largest;
      case Reduction::L2: return static_cast<float>(std::sqrt(sum));
      default: return static_cast<float>(sum);
    }
  }

  const ReduceAttrs& attrs_;
  Operand x_, out_, mask_;
  AxisView from_, to_;
  const RowKernels& kernels_;
};

}  // namespace

ScratchNeed reduce_scratch(const ScratchQuery&) { return {.shared = 0, .per_worker = Buffers::kBytes}; }

void run_reduce(const Pass& pass) {
  const Reducer reducer(pass);
  const int64_t grain = row_grain(reducer.size());
  if (reducer.is_whole())
    return pass.parallel(reducer.results(), grain, [&](uint32_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) reducer.reduce_whole(i);
    });
  if (reducer.goes_by_rows())
    return pass.parallel(reducer.results(), grain, [&](uint32_t worker, int64_t begin, int64_t end) {
      Buffers at(pass.scratch<double>(worker));
      for (int64_t i = begin; i < end; ++i) reducer.reduce_row(i, at);
    });
  const int64_t length = reducer.length(), blocks = ceil_div(length, kColumns);
  pass.parallel(reducer.rows() * blocks, 1, [&](uint32_t worker, int64_t begin, int64_t end) {
    Buffers at(pass.scratch<double>(worker));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % blocks * kColumns;
      reducer.reduce_columns(i / blocks, first, std::min(kColumns, length - first), at);
    }
  });
}

}  // namespace heed::cpu
