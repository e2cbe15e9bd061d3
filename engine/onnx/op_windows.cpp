// Convolutions and pools. ONNX has channels before the spatial axes, heed after them.
#include <algorithm>
#include <numeric>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

// Moves channels to the end, [N, C, ...] -> [N, ..., C]; and back.
Tensor last_channels(Graph& g, Tensor x, int rank) {
  std::vector<int> axes = {0};
  for (int i = 2; i < rank; ++i) axes.push_back(i);
  axes.push_back(1);
  return g.permute(x, axes);
}
Tensor first_channels(Graph& g, Tensor y, int rank) {
  std::vector<int> axes = {0, rank - 1};
  for (int i = 1; i < rank - 1; ++i) axes.push_back(i);
  return g.permute(y, axes);
}

struct Windows {
  std::vector<WindowOptions> axes;
  std::vector<int64_t> more;  // padding at the end that only ceil_mode needs
};

bool find_windows(Call& call, std::span<const int64_t> sizes, Windows* windows) {
  const std::vector<Dim> dims = call.dims(0);
  const size_t count = sizes.size();
  const std::vector<int64_t> ones(count, 1), strides = call.integers("strides", ones),
                                             dilations = call.integers("dilations", ones),
                                             pads = call.integers("pads", std::vector<int64_t>(2 * count, 0));
  const std::string_view how = call.text("auto_pad", "NOTSET");
  if (dims.size() != count + 2 || count < 1 || count > 2 || strides.size() != count || dilations.size() != count ||
      pads.size() != 2 * count) {
    call.fail("windows of one or two axes are supported, with a number for each");
    return false;
  }
  // Larger numbers could overflow here; Graph checks the rest.
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const std::span<const int64_t> numbers :
       {sizes, std::span<const int64_t>(strides), std::span<const int64_t>(dilations)})
    for (const int64_t number : numbers)
      if (number < 1 || number >= kMost)
        call.fail("a size, stride or dilation of %lld", static_cast<long long>(number));
  for (const int64_t number : pads)
    if (number < 0 || number >= kMost) call.fail("%lld elements of padding", static_cast<long long>(number));
  for (size_t i = 0; i < count; ++i) {
    if (call.failed()) return false;
    const Dim length = dims[i + 2];
    const int64_t span = (sizes[i] - 1) * dilations[i] + 1;
    WindowOptions window{strides[i], pads[i], pads[i + count], dilations[i]};
    const bool is_same = how == "SAME_UPPER" || how == "SAME_LOWER", ceils = call.integer("ceil_mode", 0) != 0;
    if ((is_same || ceils) && !length.is_constant() && !(is_same && strides[i] == 1)) {
      call.fail("%s along an axis whose size differs from run to run", is_same ? "auto_pad" : "ceil_mode");
      return false;
    }
    if (is_same) {
      const int64_t windows_made = strides[i] == 1 ? 1 : (length.value + strides[i] - 1) / strides[i];
      const int64_t missing =
          strides[i] == 1 ? span - 1 : std::max<int64_t>((windows_made - 1) * strides[i] + span - length.value, 0);
      window.before = how == "SAME_UPPER" ? missing / 2 : missing - missing / 2;
      window.behind = missing - window.before;
    }
    int64_t more = 0;
    if (ceils) {
      int64_t made = (length.value + window.before + window.behind - span + strides[i] - 1) / strides[i] + 1;
      if ((made - 1) * strides[i] >= length.value + window.before) --made;  // removes a window that consists of padding
      more = std::max<int64_t>((made - 1) * strides[i] + span - length.value - window.before - window.behind, 0);
    }
    window.behind += more;
    windows->axes.push_back(window);
    windows->more.push_back(more);
  }
  return true;
}

void conv(Call& call) {
  Graph& g = call.g;
  const int rank = call.rank(0);
  std::vector<int64_t> sizes;
  for (const Dim& dim : call.dims(1)) sizes.push_back(dim.value);
  if (sizes.size() < 3) return call.fail("a kernel of rank %zu", sizes.size());
  sizes.erase(sizes.begin(), sizes.begin() + 2);
  Windows windows;
  if (!find_windows(call, sizes, &windows)) return;
  const Tensor x = call.tensor(0), w = call.tensor(1), bias = call.has(2) ? call.tensor(2) : Tensor{};
  if (call.failed()) return;
  const Tensor rows = last_channels(g, x, rank), weight = last_channels(g, w, rank);
  const Tensor y = windows.axes.size() == 1
                       ? g.conv1d(rows, weight, bias, windows.axes[0])
                       : g.conv2d(rows, weight, bias, {.rows = windows.axes[0], .columns = windows.axes[1]});
  if (!call.failed()) call.give(first_channels(g, y, rank), call.type(0));
}

template <Reduction kind>
void pool(Call& call) {
  Graph& g = call.g;
  const int rank = call.rank(0);
  const std::vector<int64_t> sizes = call.integers("kernel_shape");
  if (kind == Reduction::L2 && call.integer("p", 2) != 2) return call.fail("p is not 2");
  Windows windows;
  if (!find_windows(call, sizes, &windows)) return;
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  Tensor y = last_channels(g, x, rank);
  for (size_t i = 0; i < sizes.size() && !call.failed(); ++i) {
    WindowOptions window = windows.axes[i];
    const int axis = static_cast<int>(i) + 1;
    if (call.integer("count_include_pad", 0) != 0) {
      y = g.pad(y, axis, window.before, window.behind - windows.more[i]);
      window.before = 0, window.behind = windows.more[i];
    }
    y = g.pool(y, axis, sizes[i], kind, window);
  }
  if (!call.failed()) call.give(first_channels(g, y, rank), call.type(0));
}

template <Reduction kind>
void global_pool(Call& call) {
  const Tensor x = call.tensor(0);
  std::vector<int> axes(static_cast<size_t>(std::max(call.rank(0) - 2, 0)));
  std::iota(axes.begin(), axes.end(), 2);
  if (!call.failed()) call.give(axes.empty() ? x : call.g.reduce(x, kind, axes, true), call.type(0));
}

constexpr Operator kWindowOperators[] = {
    {"AveragePool", pool<Reduction::Mean>},
    {"Conv", conv},
    {"GlobalAveragePool", global_pool<Reduction::Mean>},
    {"GlobalMaxPool", global_pool<Reduction::Max>},
    {"LpPool", pool<Reduction::L2>},
    {"MaxPool", pool<Reduction::Max>},
};

}  // namespace

std::span<const Operator> window_operators() { return kWindowOperators; }

}  // namespace heed::onnx
