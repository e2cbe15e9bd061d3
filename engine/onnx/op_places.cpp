// Gather and scatter operators.
#include <algorithm>
#include <numeric>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

Known gathered(const Known& x, const Known& at, size_t axis) {
  Known made;
  made.dims.assign(x.dims.begin(), x.dims.begin() + static_cast<ptrdiff_t>(axis));
  made.dims.insert(made.dims.end(), at.dims.begin(), at.dims.end());
  made.dims.insert(made.dims.end(), x.dims.begin() + static_cast<ptrdiff_t>(axis) + 1, x.dims.end());
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < x.dims.size(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= x.dims[i];
  const int64_t length = x.dims[axis];
  for (int64_t o = 0; o < outer; ++o)
    for (const Number& number : at.numbers) {
      const int64_t index = number.whole();
      const int64_t from = index < 0 ? index + length : index;
      for (int64_t k = 0; k < inner; ++k)
        made.numbers.push_back(
            from < 0 || from >= length ? Number(0.0) : x.numbers[static_cast<size_t>((o * length + from) * inner + k)]);
    }
  return made;
}

// Indices with negative ones counted from the end.
Tensor counted(Call& call, size_t i, const Dim& length) {
  Graph& g = call.g;
  const Tensor at = cast_to(call, call.tensor(i), call.type(i), ElementType::I32);
  if (const Known* known = call.known(i); known != nullptr || call.failed()) {
    if (known == nullptr) return at;
    const auto negative = [](const Number& number) { return !number.is_size() && number.value < 0; };
    if (std::none_of(known->numbers.begin(), known->numbers.end(), negative)) return at;
  }
  if (!length.is_constant()) {
    const Value size = known_value(ElementType::I32, Known{{}, {Number(length)}});
    return g.where(g.lt(at, g.number(0, DType::I32)), g.add(at, call.importer().tensor_of(size, "length")), at);
  }
  const Tensor behind = g.add(at, g.number(static_cast<double>(length.value), DType::I32));
  return g.where(g.lt(at, g.number(0, DType::I32)), behind, at);
}

void gather(Call& call) {
  Graph& g = call.g;
  const std::vector<Dim> dims = call.dims(0), places = call.dims(1);
  const int rank = static_cast<int>(dims.size()), axis = call.axis(call.integer("axis", 0), rank);
  if (call.failed()) return;
  const ElementType type = call.type(0);
  const Known* at = call.known(1);
  if (const Known* known = call.known(0); known != nullptr && at != nullptr && !at->has_sizes())
    return call.give(type, gathered(*known, *at, static_cast<size_t>(axis)));
  const Tensor x = call.tensor(0);
  if (call.failed()) return;
  const Dim length = dims[static_cast<size_t>(axis)];
  if (at != nullptr && at->numbers.size() == 1) {
    // A single index: a slice.
    const Number number = at->numbers[0];
    const Tensor one = number.is_size() ? g.slice(x, axis, number.dim(), 1) : g.slice(x, axis, number.whole(), 1);
    std::vector<Dim> shape(dims.begin(), dims.begin() + axis);
    shape.insert(shape.end(), places.begin(), places.end());
    shape.insert(shape.end(), dims.begin() + axis + 1, dims.end());
    if (call.failed()) return;
    return call.give(reshaped(call, one, shape), type, shape.empty());
  }
  const Tensor ids = counted(call, 1, length);
  if (call.failed()) return;
  // For rows of a table, the axis goes first and all others are merged.
  std::vector<int> order = {axis};
  std::vector<Dim> rest;
  for (int i = 0; i < rank; ++i) {
    if (i == axis) continue;
    order.push_back(i);
    rest.push_back(dims[static_cast<size_t>(i)]);
  }
  const Tensor turned = axis == 0 ? x : g.permute(x, order);
  Tensor taken;
  const bool is_table = g.dtype(x) == DType::F32 || g.dtype(x) == DType::F16 || g.dtype(x) == DType::BF16;
  if (is_table && length.is_constant()) {
    const Tensor table = rest.size() == 1 ? turned : g.reshape(turned, {length, -1});
    taken = g.embedding(table, ids, g.dtype(x));
  } else {
    const Tensor flat = places.size() == 1 ? ids : g.reshape(ids, {-1});
    taken = g.take(turned, 0, flat);
  }
  std::vector<Dim> shape(places.begin(), places.end());
  shape.insert(shape.end(), rest.begin(), rest.end());
  if (call.failed()) return;
  taken = reshaped(call, taken, shape);
  if (axis > 0) {
    std::vector<int> back;
    const int count = static_cast<int>(places.size());
    for (int i = 0; i < axis; ++i) back.push_back(count + i);
    for (int i = 0; i < count; ++i) back.push_back(i);
    for (int i = axis; i < rank - 1; ++i) back.push_back(count + i);
    taken = g.permute(taken, back);
  }
  call.give(taken, type, shape.empty());
}

void gather_elements(Call& call) {
  Graph& g = call.g;
  const std::vector<Dim> dims = call.dims(0), places = call.dims(1);
  const int axis = call.axis(call.integer("axis", 0), static_cast<int>(dims.size()));
  Tensor x = call.tensor(0);
  if (call.failed() || places.size() != dims.size()) return call.fail("indices of another rank");
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_part = dims[i].is_constant() && places[i].is_constant() && places[i].value < dims[i].value;
    if (static_cast<int>(i) != axis && is_part) x = g.slice(x, static_cast<int>(i), 0, places[i]);
  }
  const Tensor at = counted(call, 1, dims[static_cast<size_t>(axis)]);
  if (!call.failed()) call.give(g.gather(x, axis, at), call.type(0));
}

void scatter_elements(Call& call) {
  Graph& g = call.g;
  const std::vector<Dim> dims = call.dims(0);
  const int axis = call.axis(call.integer("axis", 0), static_cast<int>(dims.size()));
  const std::string_view how = call.text("reduction", "none");
  if (how != "none" && how != "add") return call.fail("the reduction '%s'", std::string(how).c_str());
  const Tensor x = call.tensor(0), values = call.tensor(2), at = counted(call, 1, dims[static_cast<size_t>(axis)]);
  if (!call.failed())
    call.give(how == "add" ? g.scatter_add(x, axis, at, values) : g.scatter(x, axis, at, values), call.type(0));
}

// x with the elements from `first` on, along the first axes, replaced by `values`.
Tensor with_slice(Call& call, Tensor x, std::span<const Ramp> first, Tensor values, int axis) {
  Graph& g = call.g;
  if (axis == static_cast<int>(first.size())) return values;
  const Dim whole = g.shape(x)[axis], size = g.shape(values)[axis],
            begin = first[static_cast<size_t>(axis)].first.dim();
  const Dim end = g.sum(begin, size);
  const Tensor middle =
      with_slice(call, begin == Dim(0) && size == whole ? x : g.slice(x, axis, begin, size), first, values, axis + 1);
  std::vector<Tensor> parts;
  if (begin != Dim(0)) parts.push_back(g.slice(x, axis, 0, begin));
  parts.push_back(middle);
  if (end != whole) parts.push_back(g.slice(x, axis, end, g.dim_difference(whole, end)));
  return parts.size() == 1 ? parts[0] : g.concat(parts, axis);
}

// Indices that are a ramp along each axis describe a slice.
bool assigns_slice(Call& call) {
  const std::vector<Ramp>& ramps = call.in(1).ramps;
  const size_t rank = call.dims(1).size();
  if (ramps.empty() || rank != ramps.size() + 1 || call.dims(1).back() != Dim(static_cast<int64_t>(ramps.size())))
    return false;
  for (size_t i = 0; i < ramps.size(); ++i)
    if (ramps[i].axis != static_cast<int>(rank - 1 - i)) return false;
  return true;
}

// Writes whole rows, or elements, at known indices.
void scatter_nd(Call& call) {
  if (call.text("reduction", "none") != "none") return call.fail("a reduction");
  if (assigns_slice(call)) {
    const Tensor x = call.tensor(0), values = call.tensor(2);
    if (!call.failed()) call.give(with_slice(call, x, call.in(1).ramps, values, 0), call.type(0));
    return;
  }
  const Known* at = call.need_known(1);
  if (at == nullptr) return;
  const Known *x = call.known(0), *updates = call.known(2);
  if (x == nullptr || updates == nullptr || at->has_sizes())
    return call.fail("a tensor or values that differ from run to run");
  Known made = *x;
  const auto depth = static_cast<size_t>(at->dims.empty() ? 0 : at->dims.back());
  if (depth == 0 || depth > made.dims.size()) return call.fail("places of %zu dims", depth);
  int64_t inner = 1;
  for (size_t i = depth; i < made.dims.size(); ++i) inner *= made.dims[i];
  if (updates->numbers.size() != at->numbers.size() / depth * static_cast<size_t>(inner))
    return call.fail("%zu values do not fit the indices", updates->numbers.size());
  for (size_t row = 0; row * depth < at->numbers.size(); ++row) {
    int64_t to = 0;
    for (size_t i = 0; i < depth; ++i) {
      int64_t index = at->numbers[row * depth + i].whole();
      if (index < 0) index += made.dims[i];
      if (index < 0 || index >= made.dims[i])
        return call.fail("index %lld is outside the tensor", static_cast<long long>(index));
      to = to * made.dims[i] + index;
    }
    for (int64_t k = 0; k < inner; ++k)
      made.numbers[static_cast<size_t>(to * inner + k)] =
          updates->numbers[row * static_cast<size_t>(inner) + static_cast<size_t>(k)];
  }
  call.give(call.type(0), std::move(made));
}

void one_hot(Call& call) {
  Graph& g = call.g;
  std::vector<int64_t> depth;
  const Known* values = call.need_known(2);
  if (!call.integers(1, &depth) || values == nullptr || depth.size() != 1 || values->numbers.size() != 2)
    return call.fail("a constant depth and two values are needed");
  const Tensor ids = counted(call, 0, depth[0]);
  if (call.failed()) return;
  Shape shape = g.shape(ids);
  const int rank = call.rank(0);
  shape.push_back(1);
  const int axis = call.axis(call.integer("axis", -1), rank + 1);
  const Tensor chosen = g.eq(rank == 0 ? ids : g.reshape(ids, shape), call.importer().iota(depth[0]));
  const ElementType type = call.type(2);
  const DType dtype = device_type(type).value_or(DType::F32),
              of = dtype == DType::I32 || dtype == DType::U8 ? dtype : DType::F32;
  Tensor y = g.where(chosen, g.number(values->numbers[1].value, of), g.number(values->numbers[0].value, of));
  if (dtype != of) y = g.cast(y, dtype);
  std::vector<int> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  order.insert(order.begin() + axis, rank);
  if (!call.failed()) call.give(axis == rank ? y : g.permute(y, order), type);
}

constexpr Operator kPlaceOperators[] = {
    {"Gather", gather},        {"GatherElements", gather_elements},
    {"OneHot", one_hot},       {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
};

}  // namespace

std::span<const Operator> place_operators() { return kPlaceOperators; }

}  // namespace heed::onnx
