#include "graph/build/build.hpp"

#include <algorithm>
#include <utility>

#include "base/arith.hpp"

namespace heed::detail {

Tensor Build::fail(Status status, const std::string& message) {
  if (data_.status == Status::Ok) {
    data_.status = status;
    data_.error = std::string(op_) + ": " + message;
    if (!data_.labels.empty()) data_.error = data_.labels.back() + ": " + data_.error;
  }
  return {};
}

bool Build::needs(std::span<const Tensor> tensors) {
  if (!needs_of_any_type(tensors)) return false;
  for (Tensor t : tensors)
    if (is_quantized(info(t).dtype))
      return refuse(Status::DTypeMismatch,
                    format("%s is quantized; only linear, matmul's b and embedding's table may be", text(t).c_str()));
  return true;
}

bool Build::needs_of_any_type(std::span<const Tensor> tensors) {
  if (failed()) return false;
  int position = 0;
  for (Tensor t : tensors) {
    if (t.id >= data_.tensors.size())
      return refuse(Status::InvalidArgument, format("operand %d is not a tensor of this graph", position));
    if (info(t).writes != data_.tensors[info(t).storage].writes)
      return refuse(Status::InvalidArgument,
                    format("%s is what the state was before it was written; use what append or assign returned",
                           text(t).c_str()));
    ++position;
  }
  return true;
}

bool Build::allows(std::initializer_list<Tensor> tensors) {
  for (Tensor t : tensors)
    if (t.valid() && !needs({t})) return false;
  return !failed();
}

int64_t Build::value_of(SizeId size, int64_t ExtentInfo::* of_extent) const {
  std::vector<int64_t> values;
  values.reserve(data_.extents.size());
  for (const ExtentInfo& extent : data_.extents) values.push_back(extent.*of_extent);
  return data_.sizes.evaluate(size, values);
}

int64_t Build::max_elements(const TensorInfo& info) const {
  int64_t elements = 1;
  for (int i = 0; i < info.rank; ++i)
    if (!checked_mul(elements, max_of(info.dims[static_cast<size_t>(i)]), &elements)) return INT64_MAX;
  return elements;
}

SizeId Build::elements(const TensorInfo& info, int first, int end) {
  SizeId elements = data_.sizes.constant(1);
  for (int i = first; i < end; ++i) elements = data_.sizes.mul(elements, info.dims[static_cast<size_t>(i)]);
  return elements;
}

bool Build::same_shape(const TensorInfo& a, const TensorInfo& b) const {
  return a.rank == b.rank && std::equal(a.dims.begin(), a.dims.begin() + a.rank, b.dims.begin());
}

std::string Build::size_text(SizeId size) const {
  if (data_.sizes.is_constant(size)) return format("%lld", static_cast<long long>(max_of(size)));
  for (const ExtentInfo& extent : data_.extents)
    if (extent.size == size)
      return extent.is_computed ? extent.name
                                : format("%s<=%lld", extent.name.c_str(), static_cast<long long>(extent.max));
  return format("<=%lld", static_cast<long long>(max_of(size)));
}

std::string Build::shape_text(const TensorInfo& info) const {
  std::string text = "[";
  for (int i = 0; i < info.rank; ++i) {
    if (i > 0) text += ", ";
    text += size_text(info.dims[static_cast<size_t>(i)]);
  }
  return text + "]";
}

std::string Build::text(Tensor t) const {
  const TensorInfo& tensor = info(t);
  const std::string& name = tensor.name.empty() ? data_.tensors[tensor.storage].name : tensor.name;
  std::string text = name.empty() ? std::string() : "'" + name + "' ";
  return text + to_string(tensor.dtype) + " " + shape_text(tensor);
}

bool Build::is_type(DType type, const char* what) {
  if (failed()) return false;
  if (block_of(type).elements == 0)
    return refuse(Status::InvalidArgument, format("%s is of type %d, which is none", what, static_cast<int>(type)));
  if (is_quantized(type))
    return refuse(Status::DTypeMismatch, format("%s is %s; only weights may be quantized", what, to_string(type)));
  return true;
}

// The maximum is compared as well, which detects most numbers of other graphs.
bool Build::is_number(const Dim& dim) const {
  if (dim.is_constant()) return dim.value >= 0;
  return static_cast<size_t>(dim.expr) < data_.sizes.count() && !data_.sizes.is_constant(dim.expr) &&
         max_of(dim.expr) == dim.value;
}

bool Build::is_size(const Dim& dim) const {
  return is_number(dim) && (dim.is_constant() ? dim.value : least_of(dim.expr)) >= 1;
}

Dim Build::dim_of(SizeId size) const {
  Dim dim = max_of(size);
  if (!data_.sizes.is_constant(size)) dim.expr = size;
  return dim;
}

Shape Build::shape_of(const TensorInfo& info) const {
  Shape shape;
  for (int i = 0; i < info.rank; ++i) shape.push_back(dim_of(info.dims[static_cast<size_t>(i)]));
  return shape;
}

bool Build::sizes_of(const Shape& shape, const char* what, TensorInfo* info) {
  if (failed()) return false;
  if (!shape.valid())
    return refuse(Status::InvalidArgument,
                  format("%s has %d dims; at most %d are supported", what, shape.rank, kMaxRank));
  if (shape.rank == 0) return refuse(Status::InvalidArgument, format("%s has no dims; a single value is [1]", what));
  info->rank = shape.rank;
  for (int i = 0; i < shape.rank; ++i) {
    const Dim& dim = shape[i];
    if (!is_size(dim) && (dim.is_constant() || !is_number(dim) || !keep_from_0(dim.expr)))
      return refuse(Status::InvalidArgument,
                    dim.is_constant() ? format("%s: dim %d is %lld; it must be at least 1", what, i,
                                               static_cast<long long>(dim.value))
                    : is_number(dim)  ? format("%s: dim %d is a position or a difference, which may be 0", what, i)
                                      : format("%s: dim %d is an extent of another graph", what, i));
    info->dims[static_cast<size_t>(i)] = id_of(dim);
  }
  const int64_t elements = max_elements(*info);
  if (elements > INT64_MAX / 16)
    return refuse(Status::InvalidArgument,
                  format("%s %s has more elements than can be addressed", what, shape_text(*info).c_str()));
  return true;
}

bool Build::broadcast(const TensorInfo& a, const TensorInfo& b, TensorInfo* out) const {
  out->rank = std::max(a.rank, b.rank);
  for (int i = 0; i < out->rank; ++i) {
    const auto at = static_cast<size_t>(out->rank - 1 - i);
    if (i >= a.rank)
      out->dims[at] = dim_from_end(b, i);
    else if (i >= b.rank)
      out->dims[at] = dim_from_end(a, i);
    else {
      const SizeId da = dim_from_end(a, i), db = dim_from_end(b, i);
      if (da != db && !data_.sizes.is_constant(da, 1) && !data_.sizes.is_constant(db, 1)) return false;
      out->dims[at] = data_.sizes.is_constant(da, 1) ? db : da;
    }
  }
  return true;
}

bool Build::broadcasts_to(const TensorInfo& from, const TensorInfo& to) const {
  TensorInfo out;
  return broadcast(from, to, &out) && same_shape(out, to);
}

void Build::make_contiguous(TensorInfo* info) {
  SizeId stride = data_.sizes.constant(1);
  for (int i = info->rank - 1; i >= 0; --i) {
    info->strides[static_cast<size_t>(i)] = stride;
    stride = data_.sizes.mul(stride, info->dims[static_cast<size_t>(i)]);
  }
  info->offset = data_.sizes.constant(0);
}

bool Build::is_contiguous(const TensorInfo& info) {
  TensorInfo dense = info;
  make_contiguous(&dense);
  for (int i = 0; i < info.rank; ++i) {
    const auto at = static_cast<size_t>(i);
    if (info.strides[at] != dense.strides[at] && !data_.sizes.is_constant(info.dims[at], 1)) return false;
  }
  return true;
}

bool Build::has_whole_rows(const TensorInfo& rows, Tensor t) {
  if (!is_quantized(rows.dtype)) return true;
  const int64_t block = block_of(rows.dtype).elements;
  bool whole = is_contiguous(rows) && data_.sizes.is_constant(rows.offset) &&
               data_.sizes.is_multiple(rows.offset, block) && data_.sizes.is_multiple(dim_from_end(rows, 0), block);
  for (int i = 0; i < rows.rank; ++i) whole = whole && data_.sizes.is_constant(rows.dims[static_cast<size_t>(i)]);
  return whole || refuse(Status::DTypeMismatch,
                         format("%s: rows of whole blocks of %lld are needed, contiguous and of constant shape",
                                text(t).c_str(), static_cast<long long>(block)));
}

Tensor Build::add_storage(TensorInfo info) {
  info.storage = static_cast<uint32_t>(data_.tensors.size());
  data_.tensors.push_back(std::move(info));
  return {data_.tensors.back().storage};
}

Tensor Build::add_like(const TensorInfo& shape_of, DType dtype) {
  TensorInfo info;
  info.dtype = dtype;
  info.rank = shape_of.rank;
  info.dims = shape_of.dims;
  make_contiguous(&info);
  return add_storage(std::move(info));
}

Tensor Build::add_view(TensorInfo info, uint32_t storage) {
  info.storage = storage;
  info.writes = data_.tensors[storage].writes;
  data_.tensors.push_back(std::move(info));
  return {static_cast<uint32_t>(data_.tensors.size() - 1)};
}

Tensor Build::add_transposed(Tensor x, int axis_a, int axis_b) {
  TensorInfo view = info(x);
  const auto a = static_cast<size_t>(axis_a), b = static_cast<size_t>(axis_b);
  view.name.clear();
  std::swap(view.dims[a], view.dims[b]);
  std::swap(view.strides[a], view.strides[b]);
  return add_view(view, view.storage);
}

Node& Build::add_node(Op op, std::initializer_list<Tensor> inputs, Tensor output, Attrs attrs) {
  if (op != Op::Elementwise && op != Op::Reduce)
    for (const Tensor operand : inputs)
      if (operand.valid() && info(operand).rank > kMaxNodeRank)
        fail(Status::ShapeMismatch,
             format("%s: at most %d dims are supported here", text(operand).c_str(), kMaxNodeRank));
  Node node;
  node.op = op;
  std::copy(inputs.begin(), inputs.end(), node.inputs.begin());
  node.outputs[0] = output;
  node.attrs = std::move(attrs);
  if (!data_.labels.empty()) node.label = data_.labels.back() + ".";
  node.label += op_;
  data_.nodes.push_back(std::move(node));
  return data_.nodes.back();
}

Tensor Build::copy(Tensor x) {
  const Tensor dense = add_like(info(x), info(x).dtype);
  add_node(Op::Elementwise, {x}, dense, ElementwiseAttrs{});
  return dense;
}

Tensor Build::contiguous(Tensor x) {
  const TensorInfo view = info(x);
  return is_contiguous(view) ? x : copy(x);
}

bool Build::is_state(uint32_t storage) const {
  return std::any_of(data_.states.begin(), data_.states.end(),
                     [&](const NamedTensor& state) { return state.tensor == storage; });
}

int Build::axis_of(int axis, int rank) {
  const int counted = axis < 0 ? axis + rank : axis;
  if (counted >= 0 && counted < rank) return counted;
  fail(Status::InvalidArgument, format("axis %d is outside a tensor of rank %d", axis, rank));
  return -1;
}

}  // namespace heed::detail
