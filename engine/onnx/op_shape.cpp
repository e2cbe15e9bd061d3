// Operators that reshape, repeat or pad tensors.
#include <algorithm>
#include <array>
#include <cmath>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

void shape(Call& call) {
  const std::vector<Dim> dims = call.dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  const auto bounded = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  Known made;
  for (int64_t i = bounded(call.integer("start", 0)); i < bounded(call.integer("end", rank)); ++i)
    made.numbers.push_back(Number(dims[static_cast<size_t>(i)]));
  made.dims = {static_cast<int64_t>(made.numbers.size())};
  call.give(ElementType::I64, std::move(made));
}

void size(Call& call) {
  Number all = 1.0;
  for (const Dim& dim : call.dims(0)) {
    const Number pair[] = {all, Number(dim)};
    all = compute(call.g, "Mul", ElementType::I64, pair).value_or(all);
  }
  call.give(ElementType::I64, Known{{}, {all}});
}

// Unites dims that only one of two shapes of equal element count has. If both have as many of them, they are equal pairwise, in order.
bool unite_elements(Call& call, std::vector<Dim> a, std::vector<Dim> b) {
  if (std::find(b.begin(), b.end(), Dim(-1)) != b.end()) return true;
  for (auto one = a.begin(); one != a.end();) {
    const auto other = std::find(b.begin(), b.end(), *one);
    if (other == b.end() || one->is_constant()) {
      ++one;
      continue;
    }
    b.erase(other);
    one = a.erase(one);
  }
  const auto take_constant = [](std::vector<Dim>* dims) {
    int64_t product = 1;
    std::erase_if(
        *dims, [&](const Dim& dim) { return dim.is_constant() && (product = product_of(product, dim.value), true); });
    return product;
  };
  const int64_t factor_a = take_constant(&a), factor_b = take_constant(&b);
  if (a.size() != b.size()) return !call.failed();
  if (factor_a == factor_b)
    for (size_t i = 0; i < a.size() && !call.failed(); ++i) (void)call.agree(a[i], b[i]);
  else if (a.size() == 1 && factor_b > 0 && factor_a % factor_b == 0)
    (void)call.importer().unite_multiple(a[0], b[0], factor_a / factor_b);
  return !call.failed();
}

std::vector<Dim> dims_of(const Graph& g, Tensor x) {
  const Shape shape = g.shape(x);
  return {shape.dims.begin(), shape.dims.begin() + shape.rank};
}

// A ramp stays a ramp if axes of size 1 are added or removed.
void keep_ramp(Call& call, const std::vector<Dim>& from, const std::vector<Dim>& to) {
  const std::vector<Ramp>& ramps = call.in(0).ramps;
  if (ramps.size() != 1) return;
  // Axes whose size is not 1, counted from the end.
  const auto others = [](const std::vector<Dim>& dims) {
    std::vector<int> axes;
    for (size_t i = 0; i < dims.size(); ++i)
      if (dims[dims.size() - 1 - i] != Dim(1)) axes.push_back(static_cast<int>(i));
    return axes;
  };
  const std::vector<int> before = others(from), after = others(to);
  bool same = before.size() == after.size();
  for (size_t i = 0; same && i < before.size(); ++i)
    same = from[from.size() - 1 - static_cast<size_t>(before[i])] == to[to.size() - 1 - static_cast<size_t>(after[i])];
  const auto found = std::find(before.begin(), before.end(), ramps[0].axis);
  if (same && found != before.end())
    call.out.back().ramps = {{after[static_cast<size_t>(found - before.begin())], ramps[0].first}};
}

void give_empty(Call& call, std::vector<Dim> dims) {
  Value empty = call.in(0);
  empty.dims = std::move(dims);
  call.give(empty);
}

// Gives input 0 in another shape: as known numbers, or as a view.
void give_reshaped(Call& call, const std::vector<Dim>& dims) {
  if (call.failed()) return;
  if (call.in(0).is_empty) return give_empty(call, dims);
  std::vector<int64_t> small;
  const bool has_rest = std::find(dims.begin(), dims.end(), Dim(-1)) != dims.end();
  if (const Known* known = call.known(0); known != nullptr && !has_rest && is_small(dims, &small)) {
    if (count(small) != static_cast<int64_t>(known->numbers.size()))
      return call.fail("%zu numbers for a shape of %lld", known->numbers.size(), static_cast<long long>(count(small)));
    return call.give(call.type(0), Known{std::move(small), known->numbers});
  }
  if (!unite_elements(call, call.dims(0), dims)) return;
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  call.give(reshaped(call, x, dims), call.type(0), dims.empty());
  keep_ramp(call, dims_of(call.g, x), dims_of(call.g, call.out.back().tensor));
}

void reshape(Call& call) {
  std::vector<Dim> from = call.dims(0), dims;
  std::vector<Number> wanted;
  if (const Known* known = call.need_known(1)) wanted = known->numbers;
  if (call.failed()) return;
  const bool keeps_0 = call.integer("allowzero", 0) != 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].is(0) && !keeps_0) {
      if (i >= from.size()) return call.fail("dim %zu is 0, which stands for a dim that the input has not", i);
      dims.push_back(from[i]);
    } else {
      dims.push_back(wanted[i].dim());
    }
  }
  const auto rest = std::find(dims.begin(), dims.end(), Dim(-1));
  std::vector<int64_t> all, others;
  std::vector<Dim> given = dims;
  std::erase(given, Dim(-1));
  if (rest != dims.end() && is_small(from, &all) && is_small(given, &others) && count(others) > 0)
    *rest = count(all) / count(others);
  give_reshaped(call, dims);
}

void flatten(Call& call) {
  const std::vector<Dim> dims = call.dims(0);
  const int64_t rank = static_cast<int64_t>(dims.size()), given = call.integer("axis", 1);
  const int64_t axis = given < 0 ? given + rank : given;
  Dim before = 1, behind = 1;
  for (int64_t i = 0; i < rank; ++i) {
    Dim& part = i < axis ? before : behind;
    part = call.g.dim_product(part, dims[static_cast<size_t>(i)]);
  }
  give_reshaped(call, {before, behind});
}

void squeeze(Call& call) {
  const std::vector<Dim> dims = call.dims(0);
  const int rank = static_cast<int>(dims.size());
  std::vector<int64_t> axes;
  const bool given = call.has(1) || call.find("axes") != nullptr;
  if (given && !call.axes(1, &axes)) return;
  std::vector<bool> gone(dims.size(), false);
  for (const int64_t axis : axes) gone[static_cast<size_t>(call.axis(axis, std::max(rank, 1)))] = true;
  if (call.failed()) return;
  std::vector<Dim> left;
  for (size_t i = 0; i < dims.size(); ++i)
    if (given ? !gone[i] : dims[i] != Dim(1)) left.push_back(dims[i]);
  give_reshaped(call, left);
}

void unsqueeze(Call& call) {
  const std::vector<Dim> dims = call.dims(0);
  std::vector<int64_t> axes;
  if (!call.axes(1, &axes)) return;
  const int rank = static_cast<int>(dims.size() + axes.size());
  std::vector<bool> made(static_cast<size_t>(rank), false);
  for (const int64_t axis : axes) made[static_cast<size_t>(call.axis(axis, rank))] = true;
  if (call.failed()) return;
  std::vector<Dim> shape;
  size_t next = 0;
  for (const bool is_made : made) shape.push_back(is_made || next == dims.size() ? Dim(1) : dims[next++]);
  give_reshaped(call, shape);
}

void transpose(Call& call) {
  const std::vector<Dim> dims = call.dims(0);
  const size_t rank = dims.size();
  std::vector<int64_t> order = call.integers("perm");
  if (order.empty())
    for (size_t i = rank; i-- > 0;) order.push_back(static_cast<int64_t>(i));
  if (order.size() != rank) return call.fail("%zu axes for a tensor of rank %zu", order.size(), rank);
  std::vector<int> axes;
  for (const int64_t axis : order) {
    axes.push_back(call.axis(axis, static_cast<int>(rank)));
    if (std::count(axes.begin(), axes.end(), axes.back()) > 1) call.fail("axis %d is named twice", axes.back());
  }
  if (call.failed()) return;
  if (call.in(0).is_empty) {
    std::vector<Dim> turned;
    for (const int axis : axes) turned.push_back(dims[static_cast<size_t>(axis)]);
    return give_empty(call, turned);
  }
  if (const Known* known = call.known(0)) {
    Known made;
    for (const int axis : axes) made.dims.push_back(known->dims[static_cast<size_t>(axis)]);
    std::vector<int64_t> strides(rank, 1);
    for (size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * known->dims[i];
    const int64_t n = count(made.dims);
    for (int64_t i = 0; i < n; ++i) {
      int64_t left = i, at = 0;
      for (size_t d = rank; d-- > 0;) {
        at += left % made.dims[d] * strides[static_cast<size_t>(axes[d])];
        left /= made.dims[d];
      }
      made.numbers.push_back(known->numbers[static_cast<size_t>(at)]);
    }
    return call.give(call.type(0), std::move(made));
  }
  const Tensor x = call.tensor(0);
  if (!call.failed()) call.give(rank == 0 ? x : call.g.permute(x, axes), call.type(0), rank == 0);
}

void expand(Call& call) {
  const Known* wanted = call.need_known(1);
  if (wanted == nullptr) return;
  std::vector<Dim> to;
  for (const Number& number : wanted->numbers) to.push_back(number.dim());
  const std::vector<Dim> dims = call.broadcast(call.dims(0), to);
  if (call.failed()) return;
  std::vector<int64_t> small;
  if (const Known* known = call.known(0); known != nullptr && is_small(dims, &small))
    return call.give(call.type(0), Known{small, spread(*known, small)});
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  call.give(call.g.expand(x, shape_of(dims)), call.type(0), dims.empty());
  if (call.in(0).ramps.size() == 1) call.out.back().ramps = call.in(0).ramps;
}

void tile(Call& call) {
  const Known* times = call.need_known(1);
  if (times == nullptr) return;
  const std::vector<Dim> dims = call.dims(0);
  if (times->numbers.size() != dims.size())
    return call.fail("%zu repeats for a tensor of rank %zu", times->numbers.size(), dims.size());
  Tensor x = call.tensor(0);
  for (size_t i = 0; i < dims.size() && !call.failed(); ++i) {
    const Number& number = times->numbers[i];
    if (number.is(1)) continue;
    if (dims[i] == Dim(1)) {
      Shape shape = call.g.shape(x);
      shape[static_cast<int>(i)] = number.dim();
      x = call.g.expand(x, shape);
    } else if (number.is_size()) {
      return call.fail("axis %zu is repeated as often as a run says", i);
    } else {
      x = call.g.tile(x, static_cast<int>(i), number.whole());
    }
  }
  call.give(x, call.type(0));
}

void pad(Call& call) {
  const std::vector<Dim> dims = call.dims(0);
  std::vector<int64_t> pads, axes;
  if (call.opset < 11)
    pads = call.integers("pads");
  else if (!call.integers(1, &pads))
    return;
  if (call.has(3) && !call.integers(3, &axes)) return;
  if (axes.empty())
    for (size_t i = 0; i < dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (pads.size() != 2 * axes.size()) return call.fail("%zu numbers of padding for %zu axes", pads.size(), axes.size());
  PadOptions options;
  const std::string_view mode = call.text("mode", "constant");
  if (mode == "reflect")
    options.mode = Padding::Reflect;
  else if (mode == "edge")
    options.mode = Padding::Edge;
  else if (mode == "wrap")
    options.mode = Padding::Wrap;
  if (const Known* value = call.has(2) ? call.need_known(2) : nullptr; value != nullptr && !value->numbers.empty())
    options.value = value->numbers[0].value;
  if (call.opset < 11) options.value = static_cast<double>(call.number("value", 0.0f));
  Tensor x = call.tensor(0);
  for (size_t i = 0; i < axes.size() && !call.failed(); ++i)
    if (pads[i] != 0 || pads[i + axes.size()] != 0)
      x = call.g.pad(x, call.axis(axes[i], static_cast<int>(dims.size())), pads[i], pads[i + axes.size()], options);
  call.give(x, call.type(0));
}

void depth_to_space(Call& call) {
  Graph& g = call.g;
  const std::vector<Dim> d = call.dims(0);
  const int64_t size = call.integer("blocksize", 1);
  if (d.size() != 4 || size < 1 || size > 1 << 15 || !d[1].is_constant() || d[1].value % (size * size) != 0)
    return call.fail("[N, C, H, W] with C a multiple of the squared blocksize is needed");
  const Dim c = d[1].value / (size * size);
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  const bool depth_first = call.text("mode", "DCR") == "DCR";
  const Tensor cut = depth_first ? g.permute(g.reshape(x, {d[0], size, size, c, d[2], d[3]}), {0, 3, 4, 1, 5, 2})
                                 : g.permute(g.reshape(x, {d[0], c, size, size, d[2], d[3]}), {0, 1, 4, 2, 5, 3});
  call.give(g.reshape(cut, {d[0], c, g.dim_product(d[2], size), g.dim_product(d[3], size)}), call.type(0));
}

void space_to_depth(Call& call) {
  Graph& g = call.g;
  const std::vector<Dim> d = call.dims(0);
  const int64_t size = call.integer("blocksize", 1);
  if (d.size() != 4 || size < 1 || size > 1 << 15 || !d[1].is_constant()) return call.fail("[N, C, H, W] is needed");
  const Dim h = g.dim_quotient(d[2], size), w = g.dim_quotient(d[3], size);
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  const Tensor parts = g.reshape(x, {d[0], d[1], h, size, w, size});
  const bool depth_first = call.text("mode", "DCR") == "DCR";
  const Tensor cut = depth_first ? g.permute(parts, {0, 3, 5, 1, 2, 4}) : g.permute(parts, {0, 1, 3, 5, 2, 4});
  call.give(g.reshape(cut, {d[0], d[1].value * size * size, h, w}), call.type(0));
}

constexpr Operator kShapeOperators[] = {
    {"DepthToSpace", depth_to_space},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Pad", pad},
    {"Reshape", reshape},
    {"Shape", shape},
    {"Size", size},
    {"SpaceToDepth", space_to_depth},
    {"Squeeze", squeeze},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const Operator> shape_operators() { return kShapeOperators; }

}  // namespace heed::onnx
