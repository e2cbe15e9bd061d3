// Tensor layouts and views of SPV_NV_tensor_addressing, and how matrices are loaded and stored by them.
#include <algorithm>
#include <vector>

#include "interpreter/workgroup.hpp"

namespace heed::interpreter {
namespace {

// Slots of a layout: five of each, and the value for what is outside.
constexpr uint32_t kDimension = 0, kStride = 5, kOffset = 10, kSpan = 15, kBlock = 20, kClampValue = 25;
// Slots of a view: rows and columns that are not clipped.
constexpr uint32_t kClipRow = 0, kClipRows = 1, kClipColumn = 2, kClipColumns = 3;
constexpr uint32_t kWithView = 1;  // a bit of the operands

}  // namespace

// Where an element of a matrix is.
struct Workgroup::Address {
  uint64_t index = 0;    // in the tensor's memory
  bool outside = false;  // of the tensor
  bool clipped = false;  // by the view
};

std::vector<Workgroup::Address> Workgroup::addresses(const Instruction& i, uint32_t layout, uint32_t view,
                                                     const Shape& shape, const Lanes& at) {
  const Type& type = module_.type_of(layout);
  const uint32_t dims = type.dims;
  const auto of_layout = [&](uint32_t part, uint32_t d) { return uniform(i, layout, at, part + d); };
  uint32_t dimension[5], stride[5], offset[5], span[5];
  for (uint32_t d = 0; d < dims; ++d) {
    dimension[d] = of_layout(kDimension, d);
    stride[d] = of_layout(kStride, d);
    offset[d] = of_layout(kOffset, d);
    span[d] = of_layout(kSpan, d);
    if (of_layout(kBlock, d) != 1) throw Unknown("blocks of a tensor");
    if (span[d] == 0) throw Unknown("an empty slice of a tensor");
  }
  uint32_t clip[4] = {0, UINT32_MAX, 0, UINT32_MAX};
  for (uint32_t c = 0; view != 0 && c < 4; ++c) clip[c] = uniform(i, view, at, c);
  std::vector<Address> result(shape.elements());
  uint64_t covered = 1;
  for (uint32_t d = 0; d < dims; ++d) covered *= span[d];
  if (covered != shape.elements()) wrong(i, "has a slice of another size than the matrix", at.list[0]);
  for (uint32_t e = 0; e < shape.elements(); ++e) {
    uint32_t row = e / shape.columns, column = e % shape.columns, linear = e;
    Address& element = result[e];
    if (view != 0) {
      element.clipped = row < clip[0] || row - clip[0] >= clip[1] || column < clip[2] || column - clip[2] >= clip[3];
      if (element.clipped) continue;
      uint32_t rest = (row - clip[0]) * std::min(shape.columns, clip[3]) + (column - clip[2]), coordinate[5];
      const Type& view_type = module_.type_of(view);
      for (uint32_t d = dims; d-- > 0;) {
        const uint32_t which = view_type.permutation[d];
        coordinate[which] = rest % span[which];
        rest /= span[which];
      }
      linear = 0;
      for (uint32_t d = 0; d < dims; ++d) linear = linear * span[d] + coordinate[d];
    }
    for (uint32_t d = dims; d-- > 0;) {
      const uint32_t at_dimension = linear % span[d] + offset[d];
      linear /= span[d];
      element.outside |= at_dimension >= dimension[d];
      element.index += uint64_t{at_dimension} * stride[d];
    }
    if (element.outside && type.clamp == kClampUndefined)
      wrong(i, "leaves a tensor whose layout has nothing outside", at.list[0]);
  }
  return result;
}

// Calls f(place, where the element is, its offset, first invocation of those that share, index) for each element of a matrix
// of this type that the view does not clip.
template <class F>
void Workgroup::walk_tensor(const Instruction& i, const Lanes& at, uint32_t type, const F& f) {
  const uint32_t pointer = i.operands[0], layout = i.operands[2];
  if (i.operands[3] != 0) throw Unknown("operands of a memory access");
  const uint32_t view = (i.operands[4] & kWithView) != 0 ? i.operands[5] : 0;
  const Shape shape = shape_of(type);
  const Place place = place_of(pointer);
  const std::vector<Address> all = addresses(i, layout, view, shape, at);
  const uint64_t base = uniform(i, pointer, at);
  for (const uint32_t first : sharers(i, shape, at))
    for (uint32_t e = 0; e < shape.elements(); ++e) {
      const uint64_t offset = std::min<uint64_t>(base + all[e].index * (shape.width / 8), UINT32_MAX);
      if (!all[e].clipped) f(place, all[e], static_cast<uint32_t>(offset), first, e);
    }
}

void Workgroup::load_tensor(const Instruction& i, const Lanes& at) {
  const Shape shape = shape_of(i.type);
  const uint32_t outside = uniform(i, i.operands[2], at, kClampValue);
  for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)  // what is clipped stays what it was
    each(at, [&](uint32_t l) { slot(i.result, s)[l] = slot(i.operands[1], s)[l]; });
  walk_tensor(i, at, i.type, [&](const Place& place, const Address& from, uint32_t offset, uint32_t first, uint32_t e) {
    element(i.result, shape, first, e) =
        from.outside ? outside : read(i, place, offset, shape.width, first + shape.holder(e));
  });
}

void Workgroup::store_tensor(const Instruction& i, const Lanes& at) {
  const uint32_t value = i.operands[1], type = module_.type_id_of(value);
  const Shape shape = shape_of(type);
  walk_tensor(i, at, type, [&](const Place& place, const Address& to, uint32_t offset, uint32_t first, uint32_t e) {
    if (!to.outside) write(i, place, offset, shape.width, first + shape.holder(e), element(value, shape, first, e));
  });
}

bool Workgroup::do_tensor(const Instruction& i, const Lanes& at) {
  const auto set = [&](uint32_t s, const auto& value) {
    each(at, [&](uint32_t l) { slot(i.result, s)[l] = value(l); });
  };
  const auto copy = [&] {
    for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)
      set(s, [&](uint32_t l) { return slot(i.operands[0], s)[l]; });
  };
  const auto operand = [&](size_t index) {
    return [this, &i, index](uint32_t l) { return slot(i.operands[index])[l]; };
  };
  const uint32_t dims = module_.type(i.type).dims;
  switch (i.op) {
    case Op::CreateTensorLayout:
      for (uint32_t s = 0; s < module_.type(i.type).slots; ++s)
        set(s, [&](uint32_t) { return s >= kBlock && s < kClampValue ? 1u : 0u; });
      return true;
    case Op::TensorLayoutSetDimension:
      copy();
      for (uint32_t d = 0; d < dims; ++d) {
        set(kDimension + d, operand(1 + d));
        set(kSpan + d, operand(1 + d));
        set(kOffset + d, [](uint32_t) { return 0u; });
      }
      // Rows one after the other.
      for (uint32_t d = dims; d-- > 0;)
        set(kStride + d, [&](uint32_t l) {
          return d + 1 == dims ? 1u : slot(i.result, kStride + d + 1)[l] * slot(i.result, kDimension + d + 1)[l];
        });
      return true;
    case Op::TensorLayoutSetStride:
      copy();
      for (uint32_t d = 0; d < dims; ++d) set(kStride + d, operand(1 + d));
      return true;
    case Op::TensorLayoutSlice:
      copy();
      for (uint32_t d = 0; d < dims; ++d) {
        set(kOffset + d,
            [&](uint32_t l) { return slot(i.operands[0], kOffset + d)[l] + slot(i.operands[1 + 2 * d])[l]; });
        set(kSpan + d, operand(2 + 2 * d));
      }
      return true;
    case Op::CreateTensorView:
      if (module_.type(i.type).has_dimensions) throw Unknown("a view with dimensions of its own");
      for (const uint32_t s : {kClipRow, kClipColumn}) set(s, [](uint32_t) { return 0u; });
      for (const uint32_t s : {kClipRows, kClipColumns}) set(s, [](uint32_t) { return UINT32_MAX; });
      return true;
    case Op::CooperativeMatrixLoadTensor: load_tensor(i, at); return true;
    case Op::CooperativeMatrixStoreTensor: store_tensor(i, at); return true;
    default: return false;
  }
}

}  // namespace heed::interpreter
