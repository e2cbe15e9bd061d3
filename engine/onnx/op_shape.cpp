// Operators that see, repeat, cut and join, and those that make tensors of shapes.
#include <algorithm>
#include <array>
#include <cmath>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

// The known numbers as they are, in another shape.
void give_seen(Call& call, const Known& known, std::vector<int64_t> dims) {
  call.give(call.type(0), Known{std::move(dims), known.numbers});
}

bool are_constant(std::span<const Dim> dims) {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_constant(); });
}
std::vector<int64_t> values_of(std::span<const Dim> dims) {
  std::vector<int64_t> values;
  for (const Dim& dim : dims) values.push_back(dim.value);
  return values;
}

void shape(Call& call) {
  const std::vector<Dim> dims = call.dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  const auto bounded = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  Known made;
  for (int64_t i = bounded(call.integer("start", 0)); i < bounded(call.integer("end", rank)); ++i)
    made.numbers.push_back(Number(dims[static_cast<size_t>(i)]));
  for (Number& number : made.numbers)
    if (!number.is_size()) number = Number(number.value);
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

// Dims of one shape that the other has not. Where there are as many of each, and the rest is the same, they are the same sizes in turn.
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

// A ramp stays one where axes of size 1 come and go.
void keep_ramp(Call& call, const std::vector<Dim>& from, const std::vector<Dim>& to) {
  const std::vector<Ramp>& ramps = call.in(0).ramps;
  if (ramps.size() != 1) return;
  // Axes that are not 1, counted from the end.
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

// What is asked for as another shape of input 0: known numbers, or a view.
void give_reshaped(Call& call, const std::vector<Dim>& dims) {
  if (call.failed()) return;
  if (call.in(0).is_empty) return give_empty(call, dims);
  if (const Known* known = call.known(0);
      known != nullptr && are_constant(dims) && std::find(dims.begin(), dims.end(), Dim(-1)) == dims.end())
    return give_seen(call, *known, values_of(dims));
  if (!unite_elements(call, call.dims(0), dims)) return;
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  call.give(reshaped(call, x, dims), call.type(0), dims.empty());
  keep_ramp(call, dims_of(call.g, x), dims_of(call.g, call.out.back().tensor));
}

void reshape(Call& call) {
  std::vector<Dim> from = call.dims(0), dims;
  std::vector<Number> wanted;
  if (call.opset < 5) {
    for (const int64_t size : call.integers("shape")) wanted.push_back(static_cast<double>(size));
  } else if (const Known* known = call.need_known(1); known != nullptr) {
    wanted = known->numbers;
  }
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
  if (rest != dims.end() && are_constant(from)) {
    int64_t all = 1, others = 1;
    for (const Dim& dim : from) all = product_of(all, dim.value);
    bool known = true;
    for (const Dim& dim : dims) {
      known = known && dim.is_constant();
      if (dim != Dim(-1)) others = product_of(others, dim.value);
    }
    if (known && others > 0) *rest = all / others;
  }
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
  for (const int64_t axis : order) axes.push_back(call.axis(axis, static_cast<int>(rank)));
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
  if (const Known* known = call.known(0); known != nullptr && are_constant(dims) && count(values_of(dims)) <= 1 << 16)
    return call.give(call.type(0), Known{values_of(dims), spread(*known, values_of(dims))});
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  call.give(call.g.expand(x, shape_of(dims)), call.type(0), dims.empty());
  if (call.in(0).ramps.size() == 1) call.out.back().ramps = call.in(0).ramps;
}

void concat(Call& call) {
  const ElementType type = call.type(0);
  const int axis = call.axis(call.integer("axis", 0), call.rank(0));
  if (call.failed()) return;
  if (call.are_known()) {
    Known made = *call.known(0);
    made.numbers.clear();
    made.dims[static_cast<size_t>(axis)] = 0;
    int64_t outer = 1;
    for (int i = 0; i < axis; ++i) outer *= made.dims[static_cast<size_t>(i)];
    for (size_t i = 0; i < call.count(); ++i)
      made.dims[static_cast<size_t>(axis)] += call.known(i)->dims[static_cast<size_t>(axis)];
    for (int64_t row = 0; row < outer; ++row)
      for (size_t i = 0; i < call.count(); ++i) {
        const std::vector<Number>& numbers = call.known(i)->numbers;
        const auto each = static_cast<ptrdiff_t>(numbers.size()) / outer;
        made.numbers.insert(made.numbers.end(), numbers.begin() + row * each, numbers.begin() + (row + 1) * each);
      }
    return call.give(type, std::move(made));
  }
  std::vector<Tensor> parts;
  std::vector<Dim> first;
  for (size_t i = 0; i < call.count(); ++i) {
    if (call.in(i).is_empty) continue;
    const std::vector<Dim> dims = call.dims(i);
    if (first.empty()) first = dims;
    for (size_t d = 0; d < dims.size() && d < first.size(); ++d)
      if (static_cast<int>(d) != axis && !call.agree(dims[d], first[d]))
        call.fail("axis %zu of input %zu differs from the others", d, i);
    parts.push_back(call.tensor(i));
  }
  if (call.failed()) return;
  // A node has room for so many.
  constexpr size_t kMost = 8;
  while (parts.size() > kMost) {
    const Tensor joined = call.g.concat(std::span(parts).first(kMost), axis);
    parts.erase(parts.begin(), parts.begin() + kMost);
    parts.insert(parts.begin(), joined);
  }
  call.give(parts.size() == 1 ? parts[0] : call.g.concat(parts, axis), type);
  std::vector<Ramp> ramps;
  for (size_t i = 0; i < call.count() && axis == static_cast<int>(first.size()) - 1; ++i)
    if (call.in(i).ramps.size() == 1 && call.dims(i).back() == Dim(1)) ramps.push_back(call.in(i).ramps[0]);
  if (ramps.size() == call.count()) call.out.back().ramps = std::move(ramps);
}

void split(Call& call) {
  const std::vector<Dim> dims = call.dims(0);
  const int axis = call.axis(call.integer("axis", 0), static_cast<int>(dims.size()));
  const size_t parts = call.node.outputs.size();
  if (call.failed()) return;
  const Dim whole = dims[static_cast<size_t>(axis)];
  std::vector<Dim> sizes;
  if (call.has(1)) {
    const Known* known = call.need_known(1);
    if (known == nullptr) return;
    for (const Number& number : known->numbers) sizes.push_back(number.dim());
  } else if (const std::vector<int64_t> given = call.integers("split"); !given.empty()) {
    sizes.assign(given.begin(), given.end());
  } else if (!whole.is_constant()) {
    sizes.assign(parts, call.g.dim_quotient(whole, static_cast<int64_t>(parts)));
  } else {
    const int64_t each = (whole.value + static_cast<int64_t>(parts) - 1) / static_cast<int64_t>(parts);
    for (size_t i = 0; i < parts; ++i) sizes.push_back(std::min(each, whole.value - static_cast<int64_t>(i) * each));
  }
  if (const Known* known = call.known(0); known != nullptr && known->dims.size() == 1 && are_constant(sizes)) {
    int64_t at = 0;
    for (const Dim& size : sizes) {
      if (at + size.value > static_cast<int64_t>(known->numbers.size()))
        return call.fail("the sizes are more than the axis has");
      call.give(call.type(0),
                Known{{size.value}, {known->numbers.begin() + at, known->numbers.begin() + at + size.value}});
      at += size.value;
    }
    return;
  }
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  for (const Tensor part : call.g.split(x, axis, std::span<const Dim>(sizes))) call.give(part, call.type(0));
}

// --- Slices

struct Range {
  Dim begin = 0, size = 0;
  int64_t step = 1;
  bool is_whole = false;
};

// Where a slice of `length` begins, and how long it is. Negative numbers count from the end.
std::optional<Number> clamped(Graph& g, const Number& at, const Dim& length) {
  const Number all{length};
  if (at == all) return at;
  // A size is 1 or more, and what is behind the end does not count.
  if (at.is_size()) return length == Dim(1) ? Number(1.0) : at;
  if (at.value >= static_cast<double>(length.value))
    return length.is_constant() ? Number(static_cast<double>(length.value)) : all;
  if (at.value >= 0) return at;  // of an axis that some runs make shorter, a bound refuses those
  if (length.is_constant()) return Number(std::max(static_cast<double>(length.value) + at.value, 0.0));
  const Number pair[] = {all, at};
  return compute(g, "Add", ElementType::I64, pair);
}

bool find_range(Call& call, const Number& start, const Number& end, const Number& step, const Dim& length,
                Range* range) {
  if (step.is_size() || step.value == 0) {
    call.fail("the step is no constant");
    return false;
  }
  range->step = static_cast<int64_t>(step.value);
  if (range->step < 0) {  // all in reverse, or a part of that
    if (!length.is_constant() || start.is_size() || end.is_size()) {
      call.fail("a negative step along an axis whose size differs from run to run");
      return false;
    }
    const double n = static_cast<double>(length.value);
    const double first = std::clamp(start.value < 0 ? start.value + n : start.value, -1.0, n - 1);
    const double last = std::clamp(end.value < 0 ? end.value + n : end.value, -1.0, n - 1);
    range->begin = static_cast<int64_t>(n - 1 - first);
    range->size = static_cast<int64_t>(std::max(first - last, 0.0));
    return true;
  }
  const std::optional<Number> first = clamped(call.g, start, length), last = clamped(call.g, end, length);
  if (!first || !last) {
    call.fail("the slice's place is not known");
    return false;
  }
  const Number all = length.is_constant() ? Number(static_cast<double>(length.value)) : Number{length};
  range->is_whole = first->is(0) && *last == all;
  range->begin = first->dim();
  if (!first->is_size() && !last->is_size()) {
    range->size = static_cast<int64_t>(std::max(last->value - first->value, 0.0));
  } else {
    const Number pair[] = {*last, *first};
    const std::optional<Number> size = compute(call.g, "Sub", ElementType::I64, pair);
    if (!size) {
      call.fail("the slice's size is not known");
      return false;
    }
    range->size = size->dim();
  }
  return true;
}

Known cut(const Known& known, size_t axis, const Range& range) {
  Known made;
  made.dims = known.dims;
  const int64_t length = known.dims[axis], step = range.step < 0 ? -range.step : range.step;
  made.dims[axis] = (range.size.value + step - 1) / step;
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < known.dims.size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : known.dims[i];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < made.dims[axis]; ++i) {
      const int64_t counted = range.begin.value + i * step, at = range.step < 0 ? length - 1 - counted : counted;
      for (int64_t k = 0; k < inner; ++k)
        made.numbers.push_back(known.numbers[static_cast<size_t>((o * length + at) * inner + k)]);
    }
  return made;
}

void slice(Call& call) {
  const std::vector<Dim> dims = call.dims(0);
  std::vector<Number> starts, ends, axes, steps;
  const auto take = [&](size_t i, const char* attribute, std::vector<Number>* numbers) {
    if (call.opset < 10) {
      for (const int64_t number : call.integers(attribute)) numbers->push_back(static_cast<double>(number));
    } else if (call.has(i)) {
      if (const Known* known = call.need_known(i)) *numbers = known->numbers;
    }
  };
  take(1, "starts", &starts);
  take(2, "ends", &ends);
  take(3, "axes", &axes);
  if (call.opset >= 10) take(4, "", &steps);
  if (call.failed()) return;
  Value seen = call.in(0);
  const Known* known = call.known(0);
  std::optional<Known> left = known != nullptr ? std::optional(*known) : std::nullopt;
  Tensor x = left ? Tensor{} : call.tensor(0);
  for (size_t i = 0; i < starts.size() && i < ends.size() && !call.failed(); ++i) {
    const int axis = call.axis(axes.empty() ? static_cast<int64_t>(i) : static_cast<int64_t>(axes[i].value),
                               static_cast<int>(dims.size()));
    if (call.failed()) return;
    const Dim length = dims[static_cast<size_t>(axis)];
    Range range;
    if (!find_range(call, starts[i], ends[i], steps.empty() ? Number(1.0) : steps[i], length, &range)) return;
    if (left && range.begin.is_constant() && range.size.is_constant()) {
      left = cut(*left, static_cast<size_t>(axis), range);
      continue;
    }
    if (left) {
      x = call.importer().tensor_of(known_value(call.type(0), *left), call.node.inputs[0]);
      left.reset();
    }
    if (range.size == Dim(0)) return call.fail("the slice along axis %d has no elements", axis);
    if (range.step < 0) x = call.g.flip(x, axis);
    if (!range.is_whole) x = call.g.slice(x, axis, range.begin, range.size);
    const int64_t step = range.step < 0 ? -range.step : range.step;
    if (step != 1) x = call.g.stride(x, axis, step);
  }
  if (left) return call.give(call.type(0), std::move(*left));
  call.give(x, call.type(0));
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
      x = call.g.tile(x, static_cast<int>(i), static_cast<int64_t>(number.value));
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

// --- Made of shapes

void constant_of_shape(Call& call) {
  const Known* wanted = call.need_known(0);
  if (wanted == nullptr) return;
  ElementType type = ElementType::F32;
  Number value = 0.0;
  if (const FileAttribute* given = call.find("value"); given != nullptr) {
    Known known;
    if (!read_numbers(given->tensor, &known) || known.numbers.empty()) return call.fail("the value is no number");
    type = given->tensor.type;
    value = known.numbers[0];
  }
  std::vector<Dim> dims;
  for (const Number& number : wanted->numbers) dims.push_back(number.dim());
  if (are_constant(dims) && count(values_of(dims)) <= 1 << 16) {
    const std::vector<int64_t> shape = values_of(dims);
    return call.give(type, Known{shape, std::vector<Number>(static_cast<size_t>(count(shape)), value)});
  }
  const Tensor one = call.importer().tensor_of(known_value(type, Known{{1}, {value}}), "value");
  if (!call.failed()) call.give(call.g.expand(one, shape_of(dims)), type);
}

void range(Call& call) {
  const Known *start = call.need_known(0), *limit = call.need_known(1), *step = call.need_known(2);
  if (call.failed()) return;
  const ElementType type = call.type(0);
  const Number first = start->numbers[0], last = limit->numbers[0], each = step->numbers[0];
  if (!first.is_size() && !last.is_size() && !each.is_size()) {
    if (each.value == 0) return call.fail("the step is 0");
    Known made;
    const double n = std::max(std::ceil((last.value - first.value) / each.value), 0.0);
    if (n > 1 << 20) return call.fail("the range has %.0f numbers", n);
    for (double i = 0; i < n; ++i) made.numbers.push_back(first.value + i * each.value);
    made.dims = {static_cast<int64_t>(made.numbers.size())};
    return call.give(type, std::move(made));
  }
  if (!each.is(1)) return call.fail("a step other than 1 between sizes");
  const Number pair[] = {last, first};
  const std::optional<Number> n = compute(call.g, "Sub", ElementType::I64, pair);
  if (!n) return call.fail("how many numbers the range has is not known");
  Graph& g = call.g;
  Tensor numbers = call.importer().iota(n->dim());
  if (first.is_size())  // those of a longer range
    numbers = g.slice(call.importer().iota(Dim(last.size.value)), 0, first.dim(), n->dim());
  else if (!first.is(0))
    numbers = g.add(numbers, g.number(first.value, DType::I32));
  if (call.failed()) return;
  call.give(cast_to(call, numbers, ElementType::I64, type), type);
  call.out.back().ramps = {{0, first}};
}

void triangle(Call& call) {
  Graph& g = call.g;
  const std::vector<Dim> dims = call.dims(0);
  const Known* offset = call.has(1) ? call.need_known(1) : nullptr;
  if (call.failed() || dims.size() < 2) return call.fail("a matrix is needed");
  const double k = offset != nullptr && !offset->numbers.empty() ? offset->numbers[0].value : 0.0;
  const bool upper = call.integer("upper", 1) != 0;
  const Dim rows = dims[dims.size() - 2], columns = dims.back();
  if (const Known* known = call.known(0)) {
    Known made = *known;
    for (size_t i = 0; i < made.numbers.size(); ++i) {
      const auto row = static_cast<double>(static_cast<int64_t>(i) / columns.value % rows.value);
      const auto column = static_cast<double>(static_cast<int64_t>(i) % columns.value);
      if (upper ? column - row < k : column - row > k) made.numbers[i] = 0.0;
    }
    return call.give(call.type(0), std::move(made));
  }
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  const Tensor row = g.add(g.reshape(call.importer().iota(rows), {rows, 1}), g.number(k, DType::I32));
  const Tensor column = g.reshape(call.importer().iota(columns), {1, columns});
  const Tensor keeps = upper ? g.ge(column, row) : g.le(column, row);
  call.give(g.where(keeps, x, number_like(g, 0, x)), call.type(0));
}

void constant(Call& call) {
  const FileAttribute* found = nullptr;
  for (const char* name : {"value", "value_float", "value_int", "value_floats", "value_ints"})
    if (found == nullptr) found = call.find(name);
  if (found == nullptr) return call.fail("the value is of a kind that heed has not");
  switch (found->kind) {
    case FileAttribute::Kind::Tensor: {
      Value value;
      value.type = found->tensor.type;
      value.file = &found->tensor;
      Known known;
      // A constant of the graph itself has no name that a weight could have.
      if (!read_numbers(found->tensor, &known))
        return call.fail("a constant of type %s", to_string(found->tensor.type));
      return call.give(found->tensor.type, std::move(known));
    }
    case FileAttribute::Kind::Float:
      return call.give(ElementType::F32, Known{{}, {Number(static_cast<double>(found->number))}});
    case FileAttribute::Kind::Int:
      return call.give(ElementType::I64, Known{{}, {Number(static_cast<double>(found->integer))}});
    case FileAttribute::Kind::Floats: {
      Known known{{static_cast<int64_t>(found->numbers.size())}, {}};
      for (const float number : found->numbers) known.numbers.push_back(static_cast<double>(number));
      return call.give(ElementType::F32, std::move(known));
    }
    case FileAttribute::Kind::Ints: {
      Known known{{static_cast<int64_t>(found->integers.size())}, {}};
      for (const int64_t number : found->integers) known.numbers.push_back(static_cast<double>(number));
      return call.give(ElementType::I64, std::move(known));
    }
    default: return call.fail("the value is of a kind that heed has not");
  }
}

void depth_to_space(Call& call) {
  Graph& g = call.g;
  const std::vector<Dim> d = call.dims(0);
  const int64_t size = call.integer("blocksize", 1);
  if (d.size() != 4 || size < 1 || !d[1].is_constant() || d[1].value % (size * size) != 0)
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
  if (d.size() != 4 || size < 1 || !d[1].is_constant()) return call.fail("[N, C, H, W] is needed");
  const Dim h = g.dim_quotient(d[2], size), w = g.dim_quotient(d[3], size);
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  const Tensor cut = g.permute(g.reshape(x, {d[0], d[1], h, size, w, size}), {0, 3, 5, 1, 2, 4});
  call.give(g.reshape(cut, {d[0], d[1].value * size * size, h, w}), call.type(0));
}

constexpr Operator kOperators[] = {
    {"Concat", concat},
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"DepthToSpace", depth_to_space},
    {"Expand", expand},
    {"Flatten", flatten},
    {"Pad", pad},
    {"Range", range},
    {"Reshape", reshape},
    {"Shape", shape},
    {"Size", size},
    {"Slice", slice},
    {"SpaceToDepth", space_to_depth},
    {"Split", split},
    {"Squeeze", squeeze},
    {"Tile", tile},
    {"Transpose", transpose},
    {"Trilu", triangle},
    {"Unsqueeze", unsqueeze},
};

}  // namespace

std::span<const Operator> shape_operators() { return kOperators; }

}  // namespace heed::onnx
