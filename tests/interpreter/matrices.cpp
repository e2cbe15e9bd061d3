// Cooperative matrices, whose elements are spread over the invocations of a subgroup.
#include <algorithm>

#include "interpreter/workgroup.hpp"

namespace heed::interpreter {

Workgroup::Shape Workgroup::shape_of(uint32_t id) const {
  const Type& type = module_.type(id);
  if (type.kind != Type::Kind::CooperativeMatrix) throw Unknown("this is no cooperative matrix");
  const Type& number = module_.type(type.element);
  return {type.rows, type.columns, type.sharers, number.width, number.bfloat};
}

uint32_t& Workgroup::element(uint32_t value, const Shape& shape, uint32_t first, uint32_t index) {
  return slot(value, index / shape.sharers)[first + shape.holder(index)];
}

std::vector<uint32_t> Workgroup::sharers(const Instruction& i, const Shape& shape, const Lanes& at) {
  std::vector<uint32_t> result;
  for (size_t k = 0; k < at.list.size();) {
    const uint32_t first = at.list[k] / shape.sharers * shape.sharers;
    size_t end = k;
    while (end < at.list.size() && at.list[end] / shape.sharers == at.list[k] / shape.sharers) ++end;
    if (end - k == shape.sharers)
      result.push_back(first);
    else
      wrong(i, "comes to an operation on matrices without others that share them", at.list[k]);
    k = end;
  }
  return result;
}

// Calls f(place, offset, first invocation of the group that shares the matrix, index) for each element of a matrix in memory.
template <class F>
void Workgroup::walk_matrix(const Instruction& i, const Lanes& at, const MatrixAccess& access, const F& f) {
  const Shape shape = shape_of(access.type);
  const bool by_columns = module_.constant(access.layout) != 0;
  const Place place = place_of(access.pointer);
  const uint32_t unit = module_.bytes(module_.type_of(access.pointer).element), bytes = shape.width / 8;
  for (const uint32_t first : sharers(i, shape, at)) {
    const uint32_t base = slot(access.pointer)[first], stride = slot(access.stride)[first] * unit;
    count_matrix(place, base, stride, by_columns ? shape.columns : shape.rows,
                 (by_columns ? shape.rows : shape.columns) * bytes);
    for (uint32_t e = 0; e < shape.elements(); ++e) {
      const uint32_t row = e / shape.columns, column = e % shape.columns;
      f(place, base + (by_columns ? column * stride + row * bytes : row * stride + column * bytes), first, e);
    }
  }
}

void Workgroup::load_matrix(const Instruction& i, const Lanes& at) {
  const Shape shape = shape_of(i.type);
  walk_matrix(i, at, {i.type, i.operands[0], i.operands[1], i.operands[2]},
              [&](const Place& place, uint32_t offset, uint32_t first, uint32_t e) {
                element(i.result, shape, first, e) = read(i, place, offset, shape.width, first + shape.holder(e));
              });
}

void Workgroup::store_matrix(const Instruction& i, const Lanes& at) {
  const uint32_t value = i.operands[1], type = module_.type_id_of(value);
  const Shape shape = shape_of(type);
  walk_matrix(i, at, {type, i.operands[0], i.operands[2], i.operands[3]},
              [&](const Place& place, uint32_t offset, uint32_t first, uint32_t e) {
                write(i, place, offset, shape.width, first + shape.holder(e), element(value, shape, first, e));
              });
}

void Workgroup::multiply(const Instruction& i, const Lanes& at) {
  const uint32_t ids[3] = {i.operands[0], i.operands[1], i.operands[2]};
  const Shape a = shape_of(module_.type_id_of(ids[0])), b = shape_of(module_.type_id_of(ids[1])), c = shape_of(i.type);
  if (a.columns != b.rows || a.rows != c.rows || b.columns != c.columns) throw Unknown("matrices that do not fit");
  if (c.bfloat) throw Unknown("sums of bf16");
  if (module_.scalar_of(module_.type(i.type).element).kind == Type::Kind::Int) return multiply_whole(i, at);
  const auto number = [](uint32_t bits, const Shape& of) {
    return of.bfloat ? as_float(bits << 16) : float_of(bits, of.width);
  };
  std::vector<float> left(a.elements()), right(b.elements()), sum(c.elements());
  for (const uint32_t first : sharers(i, c, at)) {
    for (uint32_t e = 0; e < a.elements(); ++e) left[e] = number(element(ids[0], a, first, e), a);
    for (uint32_t e = 0; e < b.elements(); ++e) right[e] = number(element(ids[1], b, first, e), b);
    for (uint32_t e = 0; e < c.elements(); ++e) sum[e] = float_of(element(ids[2], c, first, e), c.width);
    for (uint32_t m = 0; m < a.rows; ++m)
      for (uint32_t k = 0; k < a.columns; ++k) {
        const float factor = left[m * a.columns + k];
        for (uint32_t n = 0; n < b.columns; ++n) sum[m * b.columns + n] += factor * right[k * b.columns + n];
      }
    for (uint32_t e = 0; e < c.elements(); ++e) element(i.result, c, first, e) = bits_of(sum[e], c.width);
  }
}

// Signed bytes with 32-bit sums.
void Workgroup::multiply_whole(const Instruction& i, const Lanes& at) {
  constexpr uint32_t kAllSigned = 0xf;  // signedness of A, B, C and the result
  const uint32_t ids[3] = {i.operands[0], i.operands[1], i.operands[2]};
  const Shape a = shape_of(module_.type_id_of(ids[0])), b = shape_of(module_.type_id_of(ids[1])), c = shape_of(i.type);
  if (a.width != 8 || b.width != 8 || c.width != 32 || i.operands.size() < 4 || i.operands[3] != kAllSigned)
    throw Unknown("products of whole numbers but for signed bytes");
  const auto number = [](uint32_t byte) {
    return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(byte)));
  };
  std::vector<uint32_t> right(b.elements());
  for (const uint32_t first : sharers(i, c, at)) {
    for (uint32_t e = 0; e < b.elements(); ++e) right[e] = number(element(ids[1], b, first, e));
    for (uint32_t m = 0; m < a.rows; ++m)
      for (uint32_t n = 0; n < b.columns; ++n) {
        uint32_t sum = element(ids[2], c, first, m * b.columns + n);
        for (uint32_t k = 0; k < a.columns; ++k)
          sum += number(element(ids[0], a, first, m * a.columns + k)) * right[k * b.columns + n];
        element(i.result, c, first, m * b.columns + n) = sum;
      }
  }
}

bool Workgroup::do_cooperative(const Instruction& i, const Lanes& at) {
  switch (i.op) {
    case Op::CooperativeMatrixLoad: load_matrix(i, at); return true;
    case Op::CooperativeMatrixStore: store_matrix(i, at); return true;
    case Op::CooperativeMatrixMulAdd: multiply(i, at); return true;
    case Op::CooperativeMatrixLength:
      each(at, [&](uint32_t l) { slot(i.result)[l] = module_.type(i.operands[0]).slots; });
      return true;
    default: return false;
  }
}

}  // namespace heed::interpreter
