// Operators that slice, split and concatenate tensors.
#include <algorithm>
#include <cmath>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

// Concat(n copies of one number, x), where n is the length of a cache and may be 0: x is padded at its front by the maximum of n, and a
// slice removes the excess.
Tensor behind_filled(Call& call, const Value& filled, Tensor x, int axis) {
  Graph& g = call.g;
  const Dim size = filled.dims[static_cast<size_t>(axis)], most = size.value;
  const Tensor padded = g.pad(x, axis, most.value, 0, {.value = filled.filled->value});
  return g.slice(padded, axis, g.dim_difference(most, size), g.sum(size, g.shape(x)[axis]));
}

void concat(Call& call) {
  const ElementType type = call.type(0);
  const int axis = call.axis(call.integer("axis", 0), call.rank(0));
  if (call.failed()) return;
  for (size_t i = 0; i < call.count(); ++i)
    if (call.rank(i) != call.rank(0)) return call.fail("input %zu is of another rank", i);
  if (call.in(0).cache >= 0 && call.count() == 2) {
    const std::vector<Dim> before = call.dims(0), rows = call.dims(1);
    for (size_t d = 0; d < rows.size(); ++d)
      if (static_cast<int>(d) != axis && !call.agree(rows[d], before[d]))
        call.fail("axis %zu of input 1 differs from the other", d);
    const Tensor fresh = call.tensor(1);
    if (!call.failed()) call.give(call.importer().append(call.in(0), fresh, axis));
    return;
  }
  if (call.are_known()) {
    Known made = *call.known(0);
    made.numbers.clear();
    made.dims[static_cast<size_t>(axis)] = 0;
    int64_t outer = 1;
    for (int i = 0; i < axis; ++i) outer *= made.dims[static_cast<size_t>(i)];
    for (size_t i = 1; i < call.count(); ++i)
      for (size_t d = 0; d < made.dims.size(); ++d)
        if (static_cast<int>(d) != axis && call.known(i)->dims[d] != made.dims[d])
          return call.fail("axis %zu of input %zu differs from the others", d, i);
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
    if (i == 0 && call.in(i).filled && !call.in(i).filled->is_size()) {
      first = dims;
      continue;
    }
    if (first.empty()) first = dims;
    for (size_t d = 0; d < dims.size() && d < first.size(); ++d)
      if (static_cast<int>(d) != axis && !call.agree(dims[d], first[d]))
        call.fail("axis %zu of input %zu differs from the others", d, i);
    parts.push_back(call.tensor(i));
  }
  if (call.failed()) return;
  // The most tensors that one concat node can join.
  constexpr size_t kMost = 8;
  while (parts.size() > kMost) {
    const Tensor joined = call.g.concat(std::span(parts).first(kMost), axis);
    parts.erase(parts.begin(), parts.begin() + kMost);
    parts.insert(parts.begin(), joined);
  }
  if (parts.empty()) return call.fail("there are no elements");
  Tensor joined = parts.size() == 1 ? parts[0] : call.g.concat(parts, axis);
  if (call.in(0).filled) joined = behind_filled(call, call.in(0), joined, axis);
  call.give(joined, type);
  std::vector<Ramp> ramps;
  for (size_t i = 0; i < call.count() && axis == static_cast<int>(first.size()) - 1; ++i)
    if (call.in(i).ramps.size() == 1 && call.dims(i).back() == Dim(1)) ramps.push_back(call.in(i).ramps[0]);
  if (ramps.size() == call.count()) call.out.back().ramps = std::move(ramps);
}

void split(Call& call) {
  const std::vector<Dim> dims = call.dims(0);
  const int axis = call.axis(call.integer("axis", 0), static_cast<int>(dims.size()));
  const size_t parts = call.node.outputs.size();
  if (parts == 0) call.fail("there is no output");
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
  if (const Known* known = call.known(0); known != nullptr && known->dims.size() == 1) {
    int64_t at = 0;
    for (const Dim& size : sizes) {
      if (!size.is_constant()) return call.fail("the sizes of the parts differ from run to run");
      if (size.value < 0 || size.value > static_cast<int64_t>(known->numbers.size()) - at)
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

// Clamps an index of a slice to an axis of `length`. Negative numbers count from the end.
std::optional<Number> clamped(Graph& g, const Number& at, const Dim& length) {
  const Number all{length};
  if (at == all) return at;
  // A size is at least 1, and indices beyond the end are clamped.
  if (at.is_size()) return length == Dim(1) ? Number(1.0) : at;
  if (at.value >= static_cast<double>(length.value))
    return length.is_constant() ? Number(static_cast<double>(length.value)) : all;
  if (at.value >= 0) return at;  // if runs could make the axis shorter, a bound refuses them
  if (length.is_constant()) return Number(std::max(static_cast<double>(length.value) + at.value, 0.0));
  const Number pair[] = {all, at};
  return compute(g, "Add", ElementType::I64, pair);
}

bool find_range(Call& call, const Number& start, const Number& end, const Number& step, const Dim& length,
                Range* range) {
  if (step.is_size() || !(std::abs(step.value) >= 1)) {
    call.fail("the step is no constant");
    return false;
  }
  constexpr double kLongest = 1e12;
  range->step = Number(std::clamp(step.value, -kLongest, kLongest)).whole();
  if (range->step < 0) {  // a reversed slice
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
    range->size = Number(std::max(last->value - first->value, 0.0)).whole();
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
  if (ends.size() != starts.size() || (!axes.empty() && axes.size() != starts.size()) ||
      (!steps.empty() && steps.size() != starts.size()))
    return call.fail("%zu starts, %zu ends, %zu axes, %zu steps", starts.size(), ends.size(), axes.size(),
                     steps.size());
  const Known* known = call.known(0);
  std::optional<Known> left = known != nullptr ? std::optional(*known) : std::nullopt;
  Tensor x = left ? Tensor{} : call.tensor(0);
  for (size_t i = 0; i < starts.size() && !call.failed(); ++i) {
    const int axis = call.axis(axes.empty() ? static_cast<int64_t>(i) : axes[i].whole(), static_cast<int>(dims.size()));
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

constexpr Operator kSliceOperators[] = {
    {"Concat", concat},
    {"Slice", slice},
    {"Split", split},
};

}  // namespace

std::span<const Operator> slice_operators() { return kSliceOperators; }

}  // namespace heed::onnx
