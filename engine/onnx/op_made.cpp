// Operators that make tensors from shapes and numbers only.
#include <algorithm>
#include <cmath>

#include "onnx/operators.hpp"

namespace heed::onnx {
namespace {

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
  std::vector<int64_t> small;
  if (is_small(dims, &small)) {
    const auto n = static_cast<size_t>(count(small));
    return call.give(type, Known{std::move(small), std::vector<Number>(n, value)});
  }
  const bool is_empty = std::find(dims.begin(), dims.end(), Dim(0)) != dims.end();
  if (is_empty ||
      std::any_of(dims.begin(), dims.end(), [&](const Dim& dim) { return call.importer().may_be_0(dim); })) {
    Value made;
    made.type = type;
    made.is_empty = is_empty;
    if (!is_empty) made.filled = value;
    made.dims = std::move(dims);
    return call.give(made);
  }
  const Tensor one = call.importer().tensor_of(known_value(type, Known{{1}, {value}}), "value");
  if (!call.failed()) call.give(call.g.expand(one, shape_of(dims)), type);
}

void range(Call& call) {
  const Known *start = call.need_known(0), *limit = call.need_known(1), *step = call.need_known(2);
  if (call.failed()) return;
  if (start->numbers.size() != 1 || limit->numbers.size() != 1 || step->numbers.size() != 1)
    return call.fail("three numbers are needed");
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
  if (first.is_size())  // elements of a longer range
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
  if (found == nullptr) return call.fail("the value is of a kind that heed does not support");
  switch (found->kind) {
    case FileAttribute::Kind::Tensor: {
      Known known;
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
    default: return call.fail("the value is of a kind that heed does not support");
  }
}

constexpr Operator kMadeOperators[] = {
    {"Constant", constant},
    {"ConstantOfShape", constant_of_shape},
    {"Range", range},
    {"Trilu", triangle},
};

}  // namespace

std::span<const Operator> made_operators() { return kMadeOperators; }

}  // namespace heed::onnx
