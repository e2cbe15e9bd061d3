// Tensors that stay from run to run, and writes to them. A write is a copy whose output is a view of the state; write_in_place.cpp lets the
// pass before it write there directly, if possible.
#include "graph/build/build.hpp"
#include "graph/build/op_place.hpp"

namespace heed {

using detail::Build;

namespace {

// Records a mistake and returns false unless both are tensors and the first is a tensor of a state.
bool check_operands(Build& build, Tensor state, Tensor value) {
  if (!build.needs({state, value})) return false;
  const TensorInfo& info = build.info(state);
  if (overlap_of(build, info).outer >= 0)
    return build.refuse(
        Status::InvalidArgument,
        format("%s shows elements of the state several times; it cannot be written", build.text(state).c_str()));
  if (build.is_state(info.storage)) return true;
  return build.refuse(Status::InvalidArgument,
                      format("%s is neither a state nor a view of one", build.text(state).c_str()));
}

// Whether a value may be written to `place`, a view of a state of the same shape. Records a mistake if not.
bool fits(Build& build, Tensor place, Tensor value) {
  const TensorInfo &to = build.info(place), &from = build.info(value);
  const bool types_fit = from.dtype == to.dtype || (is_float(from.dtype) && is_float(to.dtype));
  if (types_fit && build.same_shape(from, to)) return true;
  return build.refuse(types_fit ? Status::ShapeMismatch : Status::DTypeMismatch,
                      format("%s cannot be written to %s", build.text(value).c_str(), build.text(place).c_str()));
}

// Counts one more write, and returns the tensor that shows the part `state` after it.
Tensor written(Build& build, Tensor state) {
  const uint32_t storage = build.info(state).storage;
  ++build.data().tensors[storage].writes;
  return build.add_view(build.info(state), storage);
}

// Writes a value to `place`, a view of what `state` shows. Returns the tensor that shows the part `state` afterwards.
Tensor write(Build& build, Tensor state, Tensor place, Tensor value) {
  if (!place.valid() || !fits(build, place, value)) return {};
  // A pass must not read the memory that it writes.
  if (build.info(value).storage == build.info(place).storage) value = build.copy(value);
  build.add_node(Op::Elementwise, {value}, place, ElementwiseAttrs{});
  return written(build, state);
}

// The view of a state to which rows of this shape are written along an axis, from `at` on. Records a mistake and returns an invalid tensor
// if they do not fit.
Tensor place_for(Build& build, Tensor state, Tensor rows, int axis, Dim at) {
  const TensorInfo &info = build.info(rows), &whole = build.info(state);
  if (info.rank != whole.rank)
    return build.fail(Status::ShapeMismatch,
                      format("%s cannot be written to %s", build.text(rows).c_str(), build.text(state).c_str()));
  const int counted = build.axis_of(axis, info.rank);
  if (counted < 0) return {};
  return build.add_slice(state, counted, at, build.dim_of(info.dims[static_cast<size_t>(counted)]));
}

}  // namespace

Tensor Graph::state(std::string_view name, const Shape& shape, DType dtype) {
  Build build(*data_, "state");
  TensorInfo info;
  const std::string text(name);
  if (build.failed()) return {};
  if (name.empty()) return build.fail(Status::InvalidArgument, "the name is empty");
  if (!build.is_type(dtype, text.c_str()) || !build.sizes_of(shape, text.c_str(), &info)) return {};
  for (int i = 0; i < info.rank; ++i)
    if (!data_->sizes.is_constant(info.dims[static_cast<size_t>(i)]))
      return build.fail(Status::InvalidArgument, format("'%s': a state cannot have extents", text.c_str()));
  info.dtype = dtype;
  build.make_contiguous(&info);
  for (const detail::NamedTensor& known : data_->states) {
    if (known.name != name) continue;
    const TensorInfo& before = build.info({known.tensor});
    if (!build.same_shape(before, info) || before.dtype != dtype)
      return build.fail(Status::ShapeMismatch,
                        format("%s was declared before; now %s %s", build.text({known.tensor}).c_str(),
                               to_string(dtype), build.shape_text(info).c_str()));
    return build.add_view(info, known.tensor);
  }
  TensorInfo whole = info;
  whole.name = text;
  const Tensor storage = build.add_storage(std::move(whole));
  data_->states.push_back({text, storage.id});
  return build.add_view(info, storage.id);
}

Tensor Graph::append(Tensor state, Tensor rows, int axis, Dim at) {
  Build build(*data_, "append");
  if (!check_operands(build, state, rows)) return {};
  return write(build, state, place_for(build, state, rows, axis, at), rows);
}

Tensor Graph::append(Tensor state, Tensor rows, int axis, Tensor at) {
  Build build(*data_, "append");
  if (!check_operands(build, state, rows) || !build.needs({at})) return {};
  const Tensor place = place_for(build, state, rows, axis, 0);
  if (!place.valid() || !fits(build, place, rows)) return {};
  const int counted = build.axis_of(axis, build.info(rows).rank);
  Tensor places = detail::places_of(build, at, build.info(rows), counted);
  if (!places.valid()) return {};
  if (const DType to = build.info(place).dtype; build.info(rows).dtype != to) {
    const Tensor converted = build.add_like(build.info(rows), to);
    build.add_node(Op::Elementwise, {rows}, converted, ElementwiseAttrs{});
    rows = converted;
  }
  // A pass must not read the memory that it writes.
  const uint32_t storage = build.info(place).storage;
  if (build.info(rows).storage == storage) rows = build.copy(rows);
  if (build.info(places).storage == storage) places = build.copy(places);
  build.add_node(Op::Place, {rows, places}, place,
                 PlaceAttrs{counted, build.info(state).dims[static_cast<size_t>(counted)], false});
  return written(build, state);
}

Tensor Graph::assign(Tensor state, Tensor value) {
  Build build(*data_, "assign");
  return check_operands(build, state, value) ? write(build, state, state, value) : Tensor{};
}

}  // namespace heed
