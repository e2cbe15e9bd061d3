#include "onnx/operators.hpp"

#include <algorithm>
#include <array>

namespace heed::onnx {

namespace {

std::array<std::span<const Operator>, 12> rooms() {
  return {element_operators(), shape_operators(),     slice_operators(),   made_operators(),
          place_operators(),   product_operators(),   row_operators(),     reduce_operators(),
          window_operators(),  attention_operators(), control_operators(), loss_operators()};
}

constexpr int64_t kMostFolded = 1 << 16;  // the most elements of a folded result

}  // namespace

std::vector<Operator> operators() {
  std::vector<Operator> made;
  for (const auto& room : rooms()) made.insert(made.end(), room.begin(), room.end());
  std::sort(made.begin(), made.end(), [](const Operator& a, const Operator& b) { return a.name < b.name; });
  return made;
}

const Operator* find_operator(std::string_view name) {
  for (const auto& room : rooms())
    for (const Operator& row : room)
      if (row.name == name) return &row;
  return nullptr;
}

bool is_small(std::span<const Dim> dims, std::vector<int64_t>* values) {
  values->clear();
  for (const Dim& dim : dims) {
    if (!dim.is_constant()) return false;
    values->push_back(dim.value);
  }
  const int64_t n = count(*values);
  // Empty results are allowed for lists only: shapes and axes may be empty.
  return n <= kMostFolded && (n > 0 || (n == 0 && values->size() == 1));
}

std::vector<Number> spread(const Known& known, std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 0);
  int64_t stride = 1;
  const size_t missing = dims.size() - known.dims.size();
  for (size_t i = known.dims.size(); i-- > 0;) {
    if (known.dims[i] != 1) strides[i + missing] = stride;
    stride *= known.dims[i];
  }
  std::vector<Number> numbers;
  const int64_t n = count(dims);
  for (int64_t i = 0; i < n; ++i) {
    int64_t left = i, at = 0;
    for (size_t d = dims.size(); d-- > 0;) {
      at += left % dims[d] * strides[d];
      left /= dims[d];
    }
    numbers.push_back(known.numbers[static_cast<size_t>(at)]);
  }
  return numbers;
}

bool fold(Call& call, std::string_view op, ElementType result) {
  if (!call.are_known()) return false;
  std::vector<Dim> dims;
  for (size_t i = 0; i < call.count(); ++i) dims = call.broadcast(dims, call.dims(i));
  if (call.failed()) return false;
  Known made;
  if (!is_small(dims, &made.dims)) return false;
  std::vector<std::vector<Number>> operands;
  for (size_t i = 0; i < call.count(); ++i) operands.push_back(spread(*call.known(i), made.dims));
  const ElementType type = call.type(0);
  for (size_t i = 0; i < operands[0].size(); ++i) {
    Number value = operands[0][i];
    for (size_t k = operands.size() == 1 ? 0 : 1; k < operands.size(); ++k) {
      const Number pair[] = {value, operands[k][i]};
      const std::optional<Number> computed = compute(call.g, op, type, std::span(pair, operands.size() == 1 ? 1 : 2));
      if (!computed) return false;
      value = *computed;
    }
    made.numbers.push_back(value);
  }
  call.give(result, std::move(made));
  return true;
}

Shape shape_of(std::span<const Dim> dims) {
  Shape shape;
  for (const Dim& dim : dims) shape.push_back(dim);
  if (shape.rank == 0) shape.push_back(1);
  return shape;
}

Tensor reshaped(Call& call, Tensor x, std::span<const Dim> dims) {
  const Shape shape = shape_of(dims), from = call.g.shape(x);
  bool same = shape.rank == from.rank;
  for (int i = 0; same && i < shape.rank; ++i) same = shape[i] == from[i];
  return same ? x : call.g.reshape(x, shape);
}

Tensor number_like(Graph& g, double value, Tensor x) {
  const DType dtype = g.dtype(x);
  return g.number(value, dtype == DType::I32 || dtype == DType::U8 ? dtype : DType::F32);
}

Tensor cast_to(Call& call, Tensor x, ElementType from, ElementType to) {
  const std::optional<DType> dtype = device_type(to);
  if (!dtype) {
    call.fail("heed has no type %s", to_string(to));
    return {};
  }
  if (to == ElementType::Bool) return from == ElementType::Bool ? x : call.g.ne(x, number_like(call.g, 0, x));
  return call.g.cast(x, *dtype);
}

}  // namespace heed::onnx
