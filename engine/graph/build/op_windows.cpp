// Graph calls along windows: views of windows, convolutions, pools. A matmul reads the overlapping windows of a convolution as rows
// directly, so that no pass copies them.
#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "graph/build/build.hpp"

namespace heed {

using detail::Build;

detail::Overlap detail::overlap_of(const Build& build, const TensorInfo& view) {
  std::vector<int> axes;
  for (int i = 0; i < view.rank; ++i)
    if (build.max_of(view.dims[static_cast<size_t>(i)]) > 1) axes.push_back(i);
  const auto stride = [&](int axis) { return build.max_of(view.strides[static_cast<size_t>(axis)]); };
  std::sort(axes.begin(), axes.end(), [&](int a, int b) { return stride(a) < stride(b); });
  int64_t last = 0;  // index of the last element along the axes so far
  for (size_t i = 0; i < axes.size(); ++i) {
    if (stride(axes[i]) <= last || stride(axes[i]) == 0) return {axes[i], axes[i > 0 ? i - 1 : 0]};
    last += (build.max_of(view.dims[static_cast<size_t>(axes[i])]) - 1) * stride(axes[i]);
  }
  return {};
}

namespace {

constexpr int64_t kMost = int64_t{1} << 31;

bool is_within(int64_t value, int64_t least) { return value >= least && value < kMost; }

bool check_window(Build& build, int64_t size, const WindowOptions& window) {
  if (is_within(size, 1) && is_within(window.stride, 1) && is_within(window.dilation, 1) &&
      is_within(window.before, 0) && is_within(window.behind, 0) && (size - 1) * window.dilation < kMost)
    return true;
  const auto number = [](int64_t value) { return static_cast<long long>(value); };
  return build.refuse(
      Status::InvalidArgument,
      format("windows of %lld with stride %lld, dilation %lld, %lld before and %lld behind; the first three must be at "
             "least 1, the others at least 0",
             number(size), number(window.stride), number(window.dilation), number(window.before),
             number(window.behind)));
}

// The number of windows of `size` along an axis that includes its padding. Records a mistake and returns 0 if the axis is too short.
Dim count_windows(Graph& g, Build& build, Tensor x, int axis, int64_t size, const WindowOptions& window) {
  const Dim length = build.dim_of(build.info(x).dims[static_cast<size_t>(axis)]);
  const int64_t span = (size - 1) * window.dilation + 1;
  if (length.value < span) {
    build.fail(Status::ShapeMismatch, format("a window of %lld elements does not fit axis %d of %s",
                                             static_cast<long long>(span), axis, build.text(x).c_str()));
    return 0;
  }
  return g.sum(g.dim_floor_quotient(g.dim_difference(length, span), window.stride), 1);
}

// Element `at` of each window.
Tensor tap(Build& build, Tensor x, int axis, Dim count, int64_t at, const WindowOptions& window) {
  const auto i = static_cast<size_t>(axis);
  SizeTable& sizes = build.data().sizes;
  TensorInfo view = build.info(x);
  view.name.clear();
  view.offset = sizes.add(view.offset, sizes.mul(view.strides[i], sizes.constant(at * window.dilation)));
  view.dims[i] = build.id_of(count);
  view.strides[i] = sizes.mul(view.strides[i], sizes.constant(window.stride));
  return build.add_view(view, view.storage);
}

// x, padded, as [.., windows, elements of a window, ..]. The rank of x is below kMaxRank.
Tensor all_taps(Build& build, Tensor x, int axis, Dim count, int64_t size, const WindowOptions& window) {
  const auto i = static_cast<size_t>(axis);
  SizeTable& sizes = build.data().sizes;
  TensorInfo view = build.info(x);
  for (size_t d = kMaxRank - 1; d > i; --d) {
    view.dims[d] = view.dims[d - 1];
    view.strides[d] = view.strides[d - 1];
  }
  ++view.rank;
  view.name.clear();
  view.dims[i] = build.id_of(count);
  view.dims[i + 1] = sizes.constant(size);
  view.strides[i] = sizes.mul(view.strides[i + 1], sizes.constant(window.stride));
  view.strides[i + 1] = sizes.mul(view.strides[i + 1], sizes.constant(window.dilation));
  return build.add_view(view, view.storage);
}

// --- Convolutions of x [B, .., C], channels last, with a weight [N, .., C / groups]; one axis or two between them.
class Convolution {
 public:
  Convolution(Graph& g, Build& build, Tensor x, Tensor weight, std::span<const WindowOptions> windows)
      : g_(g), build_(build), x_(x), weight_(weight), windows_(windows.begin(), windows.end()) {}

  Tensor run(Tensor bias) {
    if (!fits(bias)) return {};
    for (size_t i = 0; i < windows_.size(); ++i)
      x_ = g_.pad(x_, static_cast<int>(i) + 1, windows_[i].before, windows_[i].behind);
    if (build_.failed()) return {};
    for (size_t i = 0; i < windows_.size(); ++i)
      counts_.push_back(count_windows(g_, build_, x_, static_cast<int>(i) + 1, size(i), windows_[i]));
    if (build_.failed()) return {};
    const int64_t groups = channels_ / weight_channels_;
    if (groups > 1 && weight_channels_ == 1) return each_channel(groups, bias);
    if (groups == 1) return product_of(x_, weight_, bias);
    std::vector<Tensor> parts;
    const int64_t made = results_ / groups;
    for (int64_t i = 0; i < groups; ++i)
      parts.push_back(product_of(g_.slice(x_, -1, i * weight_channels_, weight_channels_),
                                 g_.slice(weight_, 0, i * made, made),
                                 bias.valid() ? g_.slice(bias, 0, i * made, made) : bias));
    return g_.concat(parts, -1);
  }

 private:
  int64_t size(size_t axis) const { return build_.max_of(build_.info(weight_).dims[axis + 1]); }
  size_t last() const { return windows_.size() - 1; }

  bool fits(Tensor bias) {
    if (!build_.needs({x_, weight_}) || !build_.allows({bias})) return false;
    const TensorInfo &x = build_.info(x_), &w = build_.info(weight_);
    const int rank = static_cast<int>(windows_.size()) + 2;
    const SizeTable& sizes = build_.data().sizes;
    bool is_known = x.rank == rank && w.rank == rank && sizes.is_constant(build_.dim_from_end(x, 0));
    for (int i = 0; is_known && i < rank; ++i) is_known = sizes.is_constant(w.dims[static_cast<size_t>(i)]);
    if (is_known) {
      channels_ = build_.max_of(build_.dim_from_end(x, 0));
      weight_channels_ = build_.max_of(build_.dim_from_end(w, 0));
      results_ = build_.max_of(w.dims[0]);
      is_known = channels_ % weight_channels_ == 0 && results_ % (channels_ / weight_channels_) == 0;
    }
    const bool fits_bias = !bias.valid() || (build_.info(bias).rank == 1 && build_.info(bias).dims[0] == w.dims[0]);
    if (!is_known || !fits_bias)
      return build_.refuse(
          Status::ShapeMismatch,
          format("x %s, weight %s%s%s; x [B, %s, C], weight [N, %s, C / groups] of constants, with N a "
                 "multiple of groups, and bias [N] are needed",
                 build_.text(x_).c_str(), build_.text(weight_).c_str(), bias.valid() ? ", bias " : "",
                 bias.valid() ? build_.text(bias).c_str() : "", rank == 3 ? "S" : "H, W",
                 rank == 3 ? "k" : "k_h, k_w"));
    for (size_t i = 0; i < windows_.size(); ++i)
      if (!check_window(build_, size(i), windows_[i])) return false;
    return true;
  }

  // Rows of x for element `at` of each axis: [B, .., C], or, if it `joins` the elements along the last axis, [B, .., k C].
  Tensor rows_of(Tensor x, std::span<const int64_t> at, bool joins) {
    for (size_t i = 0; i < windows_.size(); ++i) {
      const int axis = static_cast<int>(i) + 1;
      if (i < last() || !joins) {
        x = tap(build_, x, axis, counts_[i], at[i], windows_[i]);
        continue;
      }
      const Tensor all = all_taps(build_, x, axis, counts_[i], size(i), windows_[i]);
      Shape shape = build_.shape_of(build_.info(all));
      shape[axis + 1] = size(i) * shape[axis + 2].value;
      --shape.rank;
      x = g_.reshape(all, shape);
    }
    return x;
  }

  // Whether windows neither overlap nor leave a gap. Then a pass copies all of them in the order of the weight, each element once.
  bool tiles(Tensor x) const {
    for (size_t i = 0; i < windows_.size(); ++i)
      if (windows_[i].stride != size(i) || windows_[i].dilation != 1) return false;
    return windows_.size() == 2 && size(0) > 1 && build_.data().sizes.is_constant(build_.info(x).dims[2]);
  }
  Tensor tiled_rows(Tensor x) {
    const TensorInfo info = build_.info(x);
    const Dim batch = build_.dim_of(info.dims[0]), down = counts_[0], across = counts_[1];
    const int64_t width = size(1) * build_.max_of(info.dims[3]);
    x = g_.slice(g_.slice(x, 1, 0, g_.dim_product(down, size(0))), 2, 0, g_.dim_product(across, size(1)));
    const Tensor cut = g_.reshape(x, {g_.dim_product(batch, down), size(0), across, width});
    return g_.reshape(g_.permute(cut, {0, 2, 1, 3}), {batch, down, across, size(0) * width});
  }

  // The convolution as a sum of matmuls over the elements of a window: [B, .., N].
  Tensor product_of(Tensor x, Tensor weight, Tensor bias) {
    const int64_t made = build_.max_of(build_.info(weight).dims[0]);
    if (tiles(x)) return product(tiled_rows(x), g_.reshape(weight, {made, -1}), bias);
    // Elements along the last axis and their channels form one row if they are contiguous.
    const bool joins = windows_[last()].dilation == 1 && channels_ == weight_channels_;
    if (joins) x = build_.contiguous(x);
    Tensor sum;
    for_elements(joins, [&](std::span<const int64_t> at) {
      Tensor part = weight;
      for (size_t i = 0; i < windows_.size(); ++i)
        if (i < last() || !joins) part = g_.select(part, 1, at[i]);
      if (joins) part = g_.reshape(part, {made, -1});
      const Tensor made_here = product(rows_of(x, at, joins), part, sum.valid() ? Tensor{} : bias);
      sum = sum.valid() ? g_.add(made_here, sum) : made_here;
    });
    return sum;
  }

  Tensor product(Tensor rows, Tensor weight, Tensor bias) {
    const Tensor made = g_.matmul(rows, weight, {.transpose_b = true});
    return bias.valid() && made.valid() ? g_.add(made, bias) : made;
  }

  // Calls each(at) for the elements of a window, row by row. If it `joins`, only for the first element of the last axis.
  template <class Each>
  void for_elements(bool joins, const Each& each) {
    std::array<int64_t, 2> at{};
    for (at[0] = 0; at[0] < (last() == 0 && joins ? 1 : size(0)); ++at[0])
      for (at[1] = 0; at[1] < (last() == 0 || joins ? 1 : size(1)); ++at[1]) each(at);
  }

  // Depthwise convolution: sums of products element by element, in F32. Channel c gives results c m to c m + m - 1.
  Tensor each_channel(int64_t channels, Tensor bias) {
    const int64_t times = results_ / channels, window = windows_.size() == 2 ? size(0) * size(1) : size(0);
    const DType dtype = build_.info(x_).dtype;
    const Shape each = times == 1 ? Shape{channels} : Shape{channels, times};
    const Tensor by_element = g_.transpose(g_.reshape(weight_, {results_, window}), 0, 1);
    const Tensor weights = build_.contiguous(by_element.valid() ? by_element : weight_);
    Tensor sum = bias.valid() ? g_.cast(g_.reshape(bias, each), DType::F32) : Tensor{};
    int64_t next = 0;
    for_elements(false, [&](std::span<const int64_t> at) {
      Tensor row = rows_of(x_, at, false);
      if (times > 1) {
        Shape apart = build_.shape_of(build_.info(row));
        apart.push_back(1);
        row = g_.reshape(row, apart);
      }
      const Tensor factor = g_.reshape(g_.select(weights, 0, next++), each);
      const Tensor term = g_.mul(g_.cast(row, DType::F32), g_.cast(factor, DType::F32));
      sum = sum.valid() ? g_.add(sum, term) : term;
    });
    sum = g_.cast(sum, dtype);
    if (times == 1 || !sum.valid()) return sum;
    Shape joined = build_.shape_of(build_.info(sum));
    joined[--joined.rank - 1] = results_;
    return g_.reshape(sum, joined);
  }

  Graph& g_;
  Build& build_;
  Tensor x_, weight_;
  std::vector<WindowOptions> windows_;
  std::vector<Dim> counts_;
  int64_t channels_ = 0, weight_channels_ = 1, results_ = 0;
};

// --- Pools

// The neutral element of a reduction, with which pools are padded.
double neutral(Reduction kind, DType dtype) {
  const bool is_whole = dtype == DType::I32;
  const double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
    case Reduction::Max: return is_whole ? -2147483648.0 : -infinity;
    case Reduction::Min: return is_whole ? 2147483647.0 : infinity;
    case Reduction::LogSumExp: return -infinity;
    case Reduction::Product: return 1.0;
    default: return 0.0;
  }
}

// Larger windows, and other reductions, are copied to rows. Up to five further elements fit into one pass.
constexpr int64_t kMostTaps = 32;

bool is_chain(Reduction kind) {
  return kind == Reduction::Max || kind == Reduction::Min || kind == Reduction::Sum || kind == Reduction::Mean;
}

}  // namespace

Tensor Graph::windows(Tensor x, int axis, int64_t size, const WindowOptions& options) {
  Build build(*data_, "windows");
  if (!build.needs({x}) || !check_window(build, size, options)) return {};
  const int rank = build.info(x).rank, counted = build.axis_of(axis, rank);
  if (counted < 0) return {};
  if (rank == kMaxRank)
    return build.fail(Status::ShapeMismatch,
                      format("%s cannot get another axis; %d are the most", build.text(x).c_str(), kMaxRank));
  const Tensor padded = pad(x, counted, options.before, options.behind);
  if (!padded.valid()) return {};
  const Dim count = count_windows(*this, build, padded, counted, size, options);
  return build.failed() ? Tensor{} : all_taps(build, padded, counted, count, size, options);
}

Tensor Graph::conv1d(Tensor x, Tensor weight, Tensor bias, const WindowOptions& options) {
  Build build(*data_, "conv1d");
  return Convolution(*this, build, x, weight, std::array{options}).run(bias);
}

Tensor Graph::conv2d(Tensor x, Tensor weight, Tensor bias, const Conv2dOptions& options) {
  Build build(*data_, "conv2d");
  return Convolution(*this, build, x, weight, std::array{options.rows, options.columns}).run(bias);
}

Tensor Graph::pool(Tensor x, int axis, int64_t size, Reduction kind, const WindowOptions& options) {
  Build build(*data_, "pool");
  if (!build.needs({x}) || !check_window(build, size, options)) return {};
  const TensorInfo from = build.info(x);
  const int counted = build.axis_of(axis, from.rank);
  if (counted < 0) return {};
  if (kind > Reduction::L2)
    return build.fail(Status::InvalidArgument, format("there is no reduction %d", static_cast<int>(kind)));
  const bool keeps_whole = kind == Reduction::Max || kind == Reduction::Min || kind == Reduction::Sum;
  if (!is_float(from.dtype) && !(from.dtype == DType::I32 && keeps_whole))
    return build.fail(Status::DTypeMismatch,
                      format("%s: f32, f16, bf16 or, for sums, max and min, i32 is needed", build.text(x).c_str()));
  const Tensor padded = pad(x, counted, options.before, options.behind, {.value = neutral(kind, from.dtype)});
  if (!padded.valid()) return {};
  const Dim count = count_windows(*this, build, padded, counted, size, options);
  if (build.failed()) return {};
  const bool sums = kind == Reduction::Sum || kind == Reduction::Mean, is_padded = padded != x;
  if (!is_chain(kind) || size > kMostTaps) {
    if (from.rank == kMaxRank)
      return build.fail(Status::ShapeMismatch,
                        format("%s cannot get another axis for this reduction's windows", build.text(x).c_str()));
    const bool counts = is_padded && kind == Reduction::Mean;
    const Tensor all = all_taps(build, padded, counted, count, size, options);
    if (!counts) return reduce(all, kind, {counted + 1});
    x = reduce(cast(all, DType::F32), Reduction::Sum, {counted + 1});
  } else {
    const bool widens = sums && from.dtype != DType::I32;
    x = {};
    for (int64_t i = 0; i < size; ++i) {
      Tensor one = tap(build, padded, counted, count, i, options);
      if (widens) one = cast(one, DType::F32);
      x = !x.valid() ? one : sums ? add(x, one) : kind == Reduction::Max ? maximum(x, one) : minimum(x, one);
    }
    if (kind == Reduction::Mean && !is_padded) x = scale(x, static_cast<float>(1.0 / static_cast<double>(size)));
  }
  if (kind == Reduction::Mean && is_padded) {
    // Windows at the ends have fewer elements: their number is the sum of a window over ones.
    Shape ones, along;
    ones.push_back(build.dim_of(from.dims[static_cast<size_t>(counted)]));
    const Tensor counts = pool(expand(number(1.0), ones), 0, size, Reduction::Sum, options);
    if (!counts.valid()) return {};
    along.push_back(build.dim_of(build.info(counts).dims[0]));
    for (int i = counted + 1; i < from.rank; ++i) along.push_back(1);
    x = div(x, maximum(reshape(counts, along), number(1.0)));
  }
  return cast(x, from.dtype);
}

}  // namespace heed
